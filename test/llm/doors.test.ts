/** What leaves by the doors to models, and what comes in by them, where the environment, a text or a server is not as it is meant to be. */
import { afterEach, expect, test, vi } from "vitest";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import { KEY, LOCAL, SECRETS, claude, local, open, request } from "./opened.ts";
import { type Reply, anthropicEvents, fakeModel } from "./server.ts";

afterEach(() => vi.unstubAllEnvs());

const DOORS = [
  ["anthropic", claude, ""],
  ["openai", local, LOCAL],
] as const;

for (const [name, trust, config] of DOORS) {
  test(`${name}: headers of the user's environment go nowhere, and the key of the server's own entry does`, async () => {
    const server = await fakeModel(() => "ready");
    for (const one of ["ANTHROPIC", "OPENAI"])
      vi.stubEnv(`${one}_CUSTOM_HEADERS`, "Authorization: Bearer of-the-gateway\nx-api-key: of-the-gateway\nx-other: of-the-gateway");
    const keyed = name === "openai" ? ', key: "secret:anthropic"' : "";
    await (await open(trust(server, keyed), config, {}, SECRETS)).llm.generate(request());
    const [{ wire, headers }] = server.asked as [(typeof server.asked)[0]];
    expect(wire).not.toContain("of-the-gateway");
    expect([headers["x-api-key"], headers.authorization]).toEqual(name === "anthropic" ? [KEY, undefined] : [undefined, `Bearer ${KEY}`]);
  });
}

for (const [name, trust, config] of DOORS) {
  const refused = JSON.stringify({ type: "error", error: { type: "authentication_error", message: `no such key: ${KEY}` } });
  test.each<[what: string, reply: Reply]>([
    ["an answer", `your key is ${KEY}`],
    ["a call", { call: { name: "note", input: { key: KEY, [KEY]: btoa(KEY) } } }],
    ["the name of its model", { text: "ready", model: KEY }],
    ["a refusal", { status: 401, body: refused }],
    ["a refusal that is cut off inside of it", { status: 401, body: refused.replace("no such key", "no ".repeat(70)) }],
  ])(`${name}: a server that tells its key back in %s tells nobody`, async (_, reply) => {
    const server = await fakeModel(() => reply);
    const { llm } = await open(trust(server, name === "openai" ? ', key: "secret:anthropic"' : ""), config, {}, SECRETS);
    const tools = [{ name: "note", description: "Keeps a note", schema: { type: "object" } }];
    const said = JSON.stringify(await llm.generate(request({ tools })).catch(({ message, data }: ClearedError) => ({ message, data })));
    expect(said).toContain("[secret:key]");
    for (const one of [KEY, KEY.slice(0, 12), btoa(KEY)]) expect(said).not.toContain(one);
  });
}

test("a stored secret is masked in JSON text too, escaped once and twice, as is one shown only by its key", async () => {
  const server = await fakeModel(() => "ready");
  const bank = 'pa"ss\\wo\nrd-of-bank';
  const { llm } = await open(local(server), LOCAL, {}, { bank });
  const once = JSON.stringify({ note: bank });
  const nested = JSON.stringify({ params: JSON.stringify({ account_number: "123456789", password: "hunter2-hunter2" }), city: "Berlin" });
  const twice = JSON.stringify({ once });
  const cut = JSON.stringify({ result: nested }).slice(0, -9);
  for (const text of [bank, once, twice, nested, cut])
    await llm.generate(request({ system: text, messages: [{ role: "user", content: [{ type: "tool_result", id: "c", text }] }] }));
  const wires = server.asked.map(({ wire }) => wire).join("\n");
  for (const secret of ["rd-of-bank", "123456789", "hunter2"]) expect(wires).not.toContain(secret);
  expect(wires).toContain("Berlin");
});

const sse = (chunks: readonly object[]) => chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
const streamed = (text: string): Reply => ({ status: 200, headers: { "content-type": "text/event-stream" }, body: text });
const chat = (usage: unknown, more: object = {}): Reply => ({
  status: 200,
  body: JSON.stringify({ model: "qwen3", choices: [{ message: { content: "ready" }, finish_reason: "stop" }], usage, ...more }),
});
const COUNTS: [what: string, tokens: unknown][] = [
  ["halves", 1.5],
  ["nothing", null],
  ["less than nothing", -1_000_000],
  ["words", "many"],
  ["more than there is", 1e300],
];

for (const [name, trust, config] of DOORS) {
  test.each(COUNTS)(`${name}: a server that counts %s has an answer, and its worst case is counted`, async (_, tokens) => {
    const events = anthropicEvents("claude-haiku-5-5", { text: "ready" }).join("");
    const own = streamed(events.replaceAll(/"(input|output)_tokens":\d+/g, `"$1_tokens":${JSON.stringify(tokens)}`));
    const server = await fakeModel(() => (name === "anthropic" ? own : chat({ prompt_tokens: tokens, completion_tokens: 20 })));
    const { llm, ledger } = await open(trust(server), config, {}, SECRETS);
    expect(await llm.generate(request())).toMatchObject({ content: [{ type: "text", text: "ready" }] });
    const [row] = ledger.report("run");
    expect(row).toMatchObject({ calls: 1, open: 0, output: 100 });
    expect(row?.input).toBeGreaterThan(300);
  });
}

const choice = (message: object) => chat({}, { choices: [{ message, finish_reason: "stop" }] });
test.each([
  ["a number as its model", chat({}, { model: 5 })],
  ["content in pieces", choice({ content: [{ type: "text", text: "ready" }] })],
  ["one call that is no list", choice({ tool_calls: { id: "c" } })],
  ["a name that is none", choice({ tool_calls: [{ id: "c", function: { name: 7 } }] })],
  ["choices that are none", chat({}, { choices: [null] })],
])("openai: %s is not an answer, and is reported", async (_, reply) => {
  const server = await fakeModel(() => reply);
  const { llm, ledger } = await open(local(server), LOCAL);
  await expect(llm.generate(request())).rejects.toMatchObject({ code: "LLM_ANSWER", message: expect.stringContaining("shape") });
  expect(ledger.report("run")).toMatchObject([{ calls: 1, open: 1 }]);
});

test("anthropic: a call with an invalid name is not an answer, and is reported", async () => {
  const events = anthropicEvents("claude-haiku-5-5", { call: { name: "look", input: {} } }).join("");
  const server = await fakeModel(() => streamed(events.replace('"name":"look"', '"name":7')));
  const { llm } = await open(claude(server), "", {}, SECRETS);
  await expect(llm.generate(request())).rejects.toMatchObject({ code: "LLM_ANSWER", message: expect.stringContaining("shape") });
});

test("openai: calls in a stream are assembled by index, however far apart", async () => {
  const delta = (index: number, part: object, id?: string) => ({
    model: "qwen3",
    choices: [{ delta: { tool_calls: [{ index, id, function: part }] }, finish_reason: null }],
  });
  const chunks = [
    delta(1_000_000_000, { name: "look", arguments: '{"id":' }, "b"),
    delta(3, { name: "look", arguments: "{}" }, "a"),
    delta(1_000_000_000, { arguments: '"7"}' }),
    { model: "qwen3", choices: [{ delta: {}, finish_reason: "tool_calls" }] },
  ];
  const server = await fakeModel(() => streamed(`${sse(chunks)}data: [DONE]\n\n`));
  const { llm } = await open(local(server), LOCAL);
  const { content } = await llm.generate(request({ onText: () => undefined }));
  expect(content).toEqual([
    { type: "tool_call", id: "b", tool: "look", params: { id: "7" } },
    { type: "tool_call", id: "a", tool: "look", params: {} },
  ]);
});

test("an answer whose cost the store cannot record stays counted in full", async () => {
  const server = await fakeModel(() => "ready");
  const { llm, ledger } = await open(claude(server), "", {}, SECRETS);
  const { settle } = ledger;
  ledger.settle = () => {
    ledger.settle = settle;
    throw new ClearedError("STORE_FULL", "full.");
  };
  await expect(llm.generate(request())).rejects.toMatchObject({ code: "STORE_FULL" });
  expect(ledger.report("run")).toMatchObject([{ calls: 1, open: 1 }]);
  expect(ledger.report("run")[0]?.usd).not.toBe("0.00");
});
