/**
 * The port over both SDKs, spoken to on the wire: what is sent, what each kind of answer becomes, and what a call costs.
 */
import { expect, test } from "vitest";
import { KEY, LOCAL, SECRETS, claude, local, open, request } from "./opened.ts";
import { anthropicEvents, fakeModel } from "./server.ts";

const SCHEMA = { type: "object", properties: { n: { type: "integer" } }, required: ["n"], additionalProperties: false };
const TOOLS = [{ name: "look", description: "Look something up", schema: { type: "object", properties: { id: { type: "string" } } } }];

for (const [name, trust, config] of [
  ["anthropic", claude, ""],
  ["openai", local, LOCAL],
] as const) {
  test(`${name}: text, JSON, tools and streaming come through, with what they cost`, async () => {
    const server = await fakeModel(({ body }) =>
      body.tools !== undefined
        ? { call: { name: "look", input: { id: "7" } } }
        : JSON.stringify(body).includes("count")
          ? '{"n": 42}'
          : { text: "ready, all of it", usage: [1000, 50, 800] },
    );
    const { llm, ledger } = await open(trust(server), config, {}, SECRETS);
    const deltas: string[] = [];
    const text = await llm.generate(request({ onText: (delta) => deltas.push(delta) }));
    expect(text).toMatchObject({ content: [{ type: "text", text: "ready, all of it" }], stop: "end", attempts: 1 });
    expect(text.usage).toEqual({ input: 1000, output: 50, cache_read: 800, cache_write: 0 });
    expect(deltas.join("")).toBe("ready, all of it");
    // claude-haiku-5-5: 200 at 0.10 + 800 at 0.01 + 50 at 0.50 for a million. A local model has no price, which is not 0.
    expect(text.cost).toBe(name === "anthropic" ? "0.000053" : null);
    const json = await llm.generate(request({ schema: SCHEMA, messages: [{ role: "user", content: "count" }] }));
    expect(json.value).toEqual({ n: 42 });
    const call = await llm.generate(request({ tools: TOOLS }));
    expect(call.content).toEqual([{ type: "tool_call", id: expect.any(String), tool: "look", params: { id: "7" } }]);
    expect(call.stop).toBe("tools");
    expect(ledger.report("run")).toMatchObject([{ name: "run_1", calls: 3, open: 0, unknown: name === "anthropic" ? 0 : 3 }]);
  });

  test(`${name}: a transcript with tool calls and their results is sent as the server wants it`, async () => {
    const server = await fakeModel(() => "done");
    const { llm } = await open(trust(server), config, {}, SECRETS);
    const thought = { type: "opaque" as const, model: "claude-haiku-5-5", body: { type: "thinking", thinking: "", signature: "sig" } };
    await llm.generate(
      request({
        tools: TOOLS,
        messages: [
          { role: "user", content: "look 7 up" },
          { role: "assistant", content: [thought, { type: "tool_call", id: "c1", tool: "look", params: { id: "7" } }] },
          { role: "user", content: [{ type: "tool_result", id: "c1", text: "84.00" }] },
        ],
      }),
    );
    const [
      {
        body: { messages },
      },
    ] = server.asked as [(typeof server.asked)[0]];
    if (name === "anthropic") {
      expect(messages[1].content).toEqual([thought.body, { type: "tool_use", id: "c1", name: "look", input: { id: "7" } }]);
      expect(messages[2].content).toEqual([{ type: "tool_result", tool_use_id: "c1", content: "84.00" }]);
    } else {
      expect(messages[2].tool_calls[0].function).toEqual({ name: "look", arguments: '{"id":"7"}' });
      expect(messages[3]).toEqual({ role: "tool", tool_call_id: "c1", content: "84.00" });
    }
    expect(server.asked[0]?.body).not.toHaveProperty("temperature");
    expect(server.asked[0]?.body).not.toHaveProperty("top_p");
  });

  const ends: [what: string, reply: Parameters<typeof fakeModel>[0], code: string, sent: number][] = [
    ["an address nobody listens at", undefined, "LLM_DOWN", 0],
    ["a busy server", () => ({ status: 529, headers: { "retry-after-ms": "5" } }), "LLM_DOWN", 4],
    ["a limit that lasts", () => ({ status: 429, headers: { "retry-after": "120" } }), "LLM_LIMITED", 1],
    ["a limit that never ends", () => ({ status: 429, headers: { "retry-after-ms": "5" } }), "LLM_LIMITED", 4],
    ["a wrong key", () => ({ status: 401 }), "LLM_REFUSED", 1],
    ["an unknown model", () => ({ status: 404 }), "LLM_REFUSED", 1],
    ["a redirect", () => ({ status: 307, headers: { location: "http://127.0.0.1:9/" } }), "LLM_REFUSED", 1],
    ["200 with an error", () => ({ status: 200, body: '{"error": {"message": "model not loaded"}}' }), "LLM_ANSWER", 1],
    ["another model's name", () => ({ text: "ready", model: "gpt-2" }), "LLM_ANSWER", 1],
    ["more than the limit", () => ({ text: "x".repeat(2 * 1024 * 1024) }), "LLM_ANSWER", 1],
    ["a page of HTML", () => ({ status: 200, headers: { "content-type": "text/html" }, body: "<html>hello</html>" }), "LLM_ANSWER", 1],
    ["a server that says nothing", () => ({ by: () => undefined }), "LLM_LOST", 2],
    ["a connection that breaks", () => ({ by: (response) => response.destroy() }), "LLM_LOST", 2],
  ];
  test.each(ends)(`${name}: %s ends in its own code`, async (what, reply, code, sent) => {
    const server = await fakeModel(reply ?? (() => "ready"));
    const gone = what.startsWith("an address") ? { ...server, url: "http://127.0.0.1:9" } : server;
    // Only who says nothing is waited for to the end: on a busy machine an answer comes late.
    const timeout = `, timeout_ms: ${what.endsWith("says nothing") ? 300 : 10_000}`;
    const { llm, ledger } = await open(trust(gone, timeout), config, {}, SECRETS);
    const error = await llm.generate(request()).then(
      () => null,
      (one: Error & { code: string }) => one,
    );
    expect(error).toMatchObject({ code });
    expect(error?.message).not.toContain(KEY);
    expect(server.asked.length).toBe(sent);
    // Whatever may have been computed is counted in full, and nothing else.
    const [row] = ledger.report("run");
    expect(row?.open ?? 0).toBe(code === "LLM_LOST" ? 2 : code === "LLM_ANSWER" && !what.startsWith("another") ? 1 : 0);
  });

  test(`${name}: half a stream is no answer`, async () => {
    const server = await fakeModel(({ body }) => ({
      by(response) {
        response.writeHead(200, { "content-type": "text/event-stream" });
        const whole =
          name === "anthropic"
            ? anthropicEvents(body.model, { text: "ready, all of it" })
            : [
                `data: ${JSON.stringify({ id: "c", model: body.model, choices: [{ index: 0, delta: { content: "rea" }, finish_reason: null }] })}\n\n`,
                "",
                "",
              ];
        response.end(whole.slice(0, -2).join(""));
      },
    }));
    const { llm } = await open(trust(server), config, {}, SECRETS);
    await expect(llm.generate(request({ onText: () => undefined }))).rejects.toMatchObject({ code: "LLM_LOST" });
  });

  test(`${name}: what stands in the way for a moment is asked again, and each time is a row of the costs`, async () => {
    const server = await fakeModel((_, before) =>
      before === 0 ? { status: 429, headers: { "retry-after": "0.05" } } : before === 1 ? { status: 503 } : "ready",
    );
    const { llm, ledger } = await open(trust(server), config, {}, SECRETS);
    expect(await llm.generate(request())).toMatchObject({ stop: "end", attempts: 3 });
    expect(ledger.report("run")).toMatchObject([{ calls: 3, open: 0, input: 100, output: 20 }]);
  });

  test(`${name}: stops are data`, async () => {
    const words = name === "anthropic" ? ["refusal", "max_tokens", "model_context_window_exceeded"] : ["content_filter", "length"];
    const server = await fakeModel((_, before) => ({ text: "no", stop: words[before] ?? "stop" }));
    const { llm } = await open(trust(server), config, {}, SECRETS);
    const stops = [];
    for (const _ of words) stops.push((await llm.generate(request())).stop);
    expect(stops).toEqual(["refusal", "max_tokens", "context_exceeded"].slice(0, words.length));
  });

  test(`${name}: wrong JSON is repaired at most twice, then an error, never a silent default`, async () => {
    const server = await fakeModel((_, before) => (before === 0 ? "not json" : before === 1 ? '{"n": "many"}' : '{"n": 3}'));
    const { llm, ledger } = await open(trust(server), config, {}, SECRETS);
    expect(await llm.generate(request({ schema: SCHEMA }))).toMatchObject({ value: { n: 3 }, attempts: 3, usage: { input: 300 } });
    server.answer = () => "never json";
    await expect(llm.generate(request({ schema: SCHEMA }))).rejects.toMatchObject({
      code: "LLM_ANSWER",
      message: expect.stringContaining("3 times"),
    });
    expect(ledger.report("day")).toMatchObject([{ name: "2026-11-23", calls: 6 }]);
  });

  test(`${name}: no secret, no number of a person and no group its entry may not have is in a request`, async () => {
    const server = await fakeModel(() => "ready");
    const { llm } = await open(
      trust(server, ", sends: [personal]"),
      config,
      { OPENAI_API_KEY: "sk-of-the-user-000000", ANTHROPIC_AUTH_TOKEN: "other" },
      {
        ...SECRETS,
        bank: "correct-horse-battery",
      },
    );
    const text =
      "SSN 123-45-6789, card 4111 1111 1111 1111, IBAN DE89370400440532013000, salary 90,000, ann@example.com, correct-horse-battery";
    await llm.generate(
      request({
        system: text,
        messages: [
          { role: "user", content: text },
          { role: "assistant", content: [{ type: "tool_call", id: "c", tool: "look", params: { password: "hunter2-hunter2", text } }] },
          { role: "user", content: [{ type: "tool_result", id: "c", text }] },
        ],
        tools: [{ name: "look", description: text, schema: { type: "object", description: text } }],
      }),
    );
    const [{ wire, headers, body }] = server.asked as [(typeof server.asked)[0]];
    for (const secret of ["123-45-6789", "4111 1111", "DE8937", "90,000", "correct-horse", "hunter2", "of-the-user", "other"])
      expect(wire).not.toContain(secret);
    expect(wire).toContain("ann@example.com");
    expect(JSON.stringify(body)).not.toContain(KEY);
    expect(`${headers.authorization ?? headers["x-api-key"]}`.includes(KEY)).toBe(name === "anthropic");
    expect(Object.keys(headers).filter((one) => /stainless|user-agent/.test(one))).toEqual([]);
  });
}

test("a large model's stable part is marked for caching, and a small one is asked to think little", async () => {
  const server = await fakeModel(() => "ready");
  const { llm } = await open(claude(server), "", {}, SECRETS);
  await llm.generate(request({ role: "large", system: "Rules. ".repeat(600), brief: true }));
  expect(server.asked[0]?.body).toMatchObject({
    model: "claude-opus-5-5",
    system: [{ cache_control: { type: "ephemeral" } }],
    output_config: { effort: "low" },
  });
});

test("a key in the environment is enough, and its address is used only on this machine or if trust.yaml names it", async () => {
  const server = await fakeModel(() => "ready");
  const env = { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: server.url };
  const { llm } = await open("", "", env);
  expect((await llm.generate(request())).model).toBe("anthropic/claude-haiku-5-5");
  const { llm: other } = await open("", "", { ...env, ANTHROPIC_BASE_URL: "https://evil.example.com" });
  await expect(other.generate(request())).rejects.toMatchObject({ code: "LLM_UNCONFIGURED" });
});

test("without a model the message names the missing setting", async () => {
  const said = async (trust: string, config: string, env = {}) =>
    (await open(trust, config, env)).llm.generate(request()).catch((error: Error & { code: string }) => `${error.code} ${error.message}`);
  expect(await said("", "")).toBe(
    "LLM_UNCONFIGURED No model is configured: store a key with `cleared secrets set anthropic`, or name a server under models: in trust.yaml and its model in config.yaml.",
  );
  const ollama = 'models: {ollama: {backend: openai, url: "http://127.0.0.1:11434/v1"}}';
  expect(await said(ollama, "")).toContain("write models: {small: ollama/MODEL} in config.yaml");
  expect(await said(ollama, "models: {small: gpt-5.4}")).toContain('Write models: {openai: {backend: openai, key: "secret:openai"}} there');
  expect(await said(ollama, "models: {small: olama/qwen3}")).toContain('Did you mean "ollama"?');
  expect(await said("", "", { FALLBACK_MODEL: "claude-haiku-5-5" })).toContain("FALLBACK_MODEL says claude-haiku-5-5");
});

test("model names find their server in common spellings", async () => {
  const trust = `models:
  anthropic: {backend: anthropic, key: "secret:anthropic"}
  openai: {backend: openai, key: "secret:openai"}
  ollama: {backend: openai, url: "http://127.0.0.1:11434/v1"}
  router: {backend: openai, url: "https://router.example.com/v1", key: "secret:router"}`;
  const { llm } = await open(trust);
  const names = ["claude-opus-5-5", "gpt-5.4", "o4-mini", "qwen3:1.7b", "Qwen/Qwen3-32B", "ollama/org/m:8b"];
  expect(await Promise.all(names.map((model) => llm.modelOf({ model })))).toEqual([
    "anthropic/claude-opus-5-5",
    "openai/gpt-5.4",
    "openai/o4-mini",
    "ollama/qwen3:1.7b",
    "router/Qwen/Qwen3-32B",
    "ollama/org/m:8b",
  ]);
});

test("eight simultaneous requests stay within a budget to the cent of their reservations", async () => {
  const server = await fakeModel(async () => {
    await new Promise((later) => setTimeout(later, 30));
    return { text: "ready", usage: [100, 100] };
  });
  const config = 'models: {large: claude-opus-5-5, budgets: {run: {usd: "0.010000"}}}';
  const { llm, ledger } = await open(claude(server), config, {}, SECRETS);
  // Worst: 100 tokens at 20 and some 350 at 5 for a million: 0.0038; two fit beside each other.
  const all = await Promise.allSettled(Array.from({ length: 8 }, () => llm.generate(request({ role: "large" }))));
  const codes = all.map((one) => (one.status === "fulfilled" ? "ok" : (one.reason as { code: string }).code));
  expect(codes.filter((one) => one === "ok").length).toBe(2);
  expect(new Set(codes)).toEqual(new Set(["ok", "LLM_BUDGET"]));
  expect(server.most).toBe(2);
  const [row] = ledger.report("run");
  expect(Number(row?.usd)).toBeLessThanOrEqual(0.01);
});

test("at four fifths the next conversation uses the small role, a running one does not; at the limit it stops", async () => {
  // 85 % with the first, a little with each further one.
  const server = await fakeModel((_, before) => ({ text: "ready", usage: before === 0 ? [200, 2000] : [100, 10] }));
  const config = 'models: {large: claude-opus-5-5, budgets: {run: {usd: "0.048"}}}';
  const { llm, notes } = await open(claude(server), config, {}, SECRETS);
  expect((await llm.generate(request({ role: "large", max_tokens: 2000 }))).model).toBe("anthropic/claude-opus-5-5");
  const loop = request({
    role: "large",
    messages: [
      { role: "user", content: "a" },
      { role: "assistant", content: "b" },
      { role: "user", content: "c" },
    ],
  });
  expect((await llm.generate(loop)).model).toBe("anthropic/claude-opus-5-5");
  await expect(llm.generate({ ...loop, max_tokens: 2000 })).rejects.toMatchObject({ code: "LLM_BUDGET" });
  const lowered = await llm.generate(request({ role: "large" }));
  expect(lowered).toMatchObject({ model: "anthropic/claude-haiku-5-5", lowered: "large" });
  expect(notes.join()).toContain("claude-haiku-5-5 is asked instead of anthropic/claude-opus-5-5");
});
