/** What other clients send, right and wrong: every answer is JSON, nothing wrong starts anything, and nobody sees another caller's tasks. */
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleared, shell, warmUp } from "../cli/command-line.ts";
import { type Any, type Served, messageId, rpc, said, said1, serve, skill, stream } from "./client.ts";

beforeAll(warmUp);

let site: Served;
beforeAll(async () => {
  site = await serve();
});
afterAll(() => site.started.stop());

const V1 = { version: "1.0" };
const raw = async (body: string, headers: Record<string, string> = {}): Promise<Any> => {
  const answer = await fetch(`${site.url}/`, { method: "POST", body, headers });
  return { http: answer.status, ...(answer.status === 204 ? {} : ((await answer.json()) as object)) };
};
const call = (method: string, params: unknown, more = {}) => JSON.stringify({ jsonrpc: "2.0", id: 7, method, params, ...more });
const counted = async () => ((await cleared(site.dir, "runs", "list", "--json")).json() as unknown[]).length;

// what it is, the body, the error's number, the id it is answered under
const withPush = (url: string) => call("message/send", { message: said("x"), configuration: { pushNotificationConfig: { url } } });
const withTools = (tools_endpoint: string) => call("message/send", { message: said("x", skill("echo")), metadata: { tools_endpoint } });
test.each<[string, string, number, unknown]>([
  ["no JSON", "{", -32700, null],
  ["a batch", "[]", -32600, null],
  ["a text", '"x"', -32600, null],
  ["a million lists in each other", call("tasks/get", {}).replace("{}", `{"id":${"[".repeat(1e6)}${"]".repeat(1e6)}}`), -32600, null],
  ["another protocol", call("tasks/get", {}, { jsonrpc: "1.0" }), -32600, 7],
  ["an id that is an object", call("tasks/get", {}, { id: {} }), -32600, null],
  ["params as a list", call("tasks/get", []), -32602, 7],
  ["an unknown method", call("tasks/fly", {}), -32601, 7],
  ["a name of 1.0 without a version", call("SendMessage", { message: said1("x") }), -32601, 7],
  ["no message", call("message/send", {}), -32602, 7],
  ["no parts", call("message/send", { message: { messageId: "a", role: "user", parts: [] } }), -32602, 7],
  ["too many parts", call("message/send", { message: said("x", { parts: Array(1001).fill({ text: "x" }) }) }), -32602, 7],
  ["an empty part", call("message/send", { message: { messageId: "a", role: "user", parts: [{}] } }), -32602, 7],
  ["no message id", call("message/send", { message: { role: "user", parts: [{ text: "x" }] } }), -32602, 7],
  ["the agent's role", call("message/send", { message: said("x", { role: "agent" }) }), -32602, 7],
  ["a file", call("message/send", { message: said("x", { parts: [{ kind: "file", file: { uri: "x" } }] }) }), -32005, 7],
  ["a negative history", call("message/send", { message: said("x"), configuration: { historyLength: -1 } }), -32602, 7],
  ["an unknown skill", call("message/send", { message: said("x", skill("hidden")) }), -32602, 7],
  ["an unknown task", call("tasks/get", { id: "x" }), -32001, 7],
  ["a push address inside this machine", withPush("http://127.0.0.1:1"), -32602, 7],
  ["a tool address inside this machine", withTools("http://127.0.0.1:1"), -32602, 7],
  ["a tool address that is a file", withTools("file:///x"), -32602, 7],
])("%s is refused as JSON-RPC specifies", async (_, body, code, id) => {
  expect(await raw(body)).toMatchObject({ http: 200, jsonrpc: "2.0", id, error: { code, message: expect.any(String) } });
});

test("an unsupported version is reported, and a patch number is ignored", async () => {
  expect(await raw(call("GetTask", { id: "x" }), { "a2a-version": "2.0" })).toMatchObject({ error: { code: -32009 } });
  expect(await raw(call("GetTask", { id: "x" }), { "a2a-version": "1.0.3" })).toMatchObject({ error: { code: -32001 } });
});

test("variations of other clients are accepted: an empty role, several parts, JSON as text, data, no content type, a notification", async () => {
  const before = await counted();
  const send = (message: Any, more = {}) =>
    rpc(site, "message/send", { message: { messageId: messageId(), role: "user", ...message }, ...more });
  const first = async (answer: Promise<Any>) => (await answer).result.artifacts[0].parts[0].text.split("\n")[0];
  expect(await first(send({ role: "", parts: [{ text: "a" }, { kind: "text", text: "b" }], ...skill("echo") }))).toBe("said a");
  expect(await first(send({ parts: [{ type: "text", text: '{"skill": "echo", "input": {"task": "c"}}' }] }))).toBe("said c");
  expect(await first(send({ parts: [{ kind: "data", data: { task: "d" } }] }, { metadata: { skill: "echo" } }))).toBe("said d");
  expect(await raw(JSON.stringify({ jsonrpc: "2.0", method: "message/send", params: { message: said("e", skill("echo")) } }))).toEqual({
    http: 204,
  });
  expect(await counted()).toBe(before + 4);
});

test("without a skill the caller is asked for one, and a name is a valid answer; an invalid field is asked for again", async () => {
  const asked = (await rpc(site, "message/send", { message: said("good day") })).result;
  expect(asked.status).toMatchObject({ state: "input-required", message: { parts: [{ text: expect.stringContaining("- echo: ") }, {}] } });
  expect(asked.status.message.parts[1].data.skills.map(({ id }: Any) => id)).not.toContain("hidden");
  const done = (await rpc(site, "message/send", { message: said("Echo", { contextId: asked.contextId }) })).result;
  expect(done).toMatchObject({
    id: asked.id,
    status: { state: "completed" },
    artifacts: [{ parts: [{ text: "said good day\nwords: 2" }, {}] }],
  });
  const wrong = (
    await rpc(site, "message/send", { message: said("x", { parts: [{ kind: "data", data: { bill_id: 7 } }], ...skill("pay") }) })
  ).result;
  expect(wrong.status).toMatchObject({
    state: "input-required",
    message: { parts: [{ text: expect.stringContaining("bill_id: 7 is not text") }, {}] },
  });
});

test("a text that names the process and its input needs no skill", async () => {
  const waits = (await rpc(site, "message/send", { message: said("Is the bill BILL-0042 to be paid? Please pay it.") })).result;
  expect(waits.status).toMatchObject({
    state: "auth-required",
    message: { parts: [{ text: expect.stringMatching(/^Pay BILL-0042\?/) }, {}] },
  });
});

test("a browser page cannot create a task, not even under another host name", async () => {
  const body = call("message/send", { message: said("x", skill("echo")) });
  expect(await raw(body, { origin: "http://evil.example" })).toMatchObject({ http: 403, error: { code: -32600 } });
  expect(await raw(body, { origin: site.url })).toMatchObject({ http: 403 });
  const said403 = await new Promise<string>((done) => {
    const { port } = new URL(site.url);
    const socket = connect(Number(port), "127.0.0.1", () =>
      socket.write("POST / HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"),
    );
    let text = "";
    socket.on("data", (chunk) => (text += String(chunk))).on("close", () => done(text));
  });
  expect(said403).toMatch(/^HTTP\/1\.1 403 [\s\S]*\{"jsonrpc":"2\.0","id":null,"error":\{"code":-32600,"message":"The address/);
});

test("a process that left a jail does not count as a program of this user, nor does a page on another port", async () => {
  const script = `fetch(${JSON.stringify(`${site.url}/tasks`)}).then((answer) => console.log(answer.status))`;
  const by = (before: string) => shell(site.dir, `${before} '${process.execPath}' -e '${script}'`);
  expect([(await by("")).stdout, (await by("setpriv --no-new-privs")).stdout]).toEqual(["200\n", "401\n"]);
  const body = call("message/send", { message: said("x", skill("echo")) });
  // A link or an image of such a page sends no Origin.
  for (const headers of [{ "sec-fetch-site": "same-site" }, { "sec-fetch-site": "cross-site" }])
    expect([(await fetch(`${site.url}/tasks`, { headers })).status, (await raw(body, headers)).http]).toEqual([403, 403]);
});

test("a token gives access to its agents and its own tasks, until it is removed", async () => {
  const made = await cleared(site.dir, "tokens", "add", "partner", "--agents", "echo", "--json");
  const { token } = made.json();
  expect((await cleared(site.dir, "tokens", "list", "--json")).json()).toMatchObject([{ name: "partner", agents: ["echo"] }]);
  expect((await cleared(site.dir, "tokens", "list")).stdout).not.toContain(token);
  const other = (await cleared(site.dir, "tokens", "add", "other", "--agents", "echo,pay", "--json")).json().token as string;
  const card = await fetch(`${site.url}/.well-known/agent-card.json`, { headers: { authorization: `Bearer ${token}` } });
  expect(((await card.json()) as Any).skills.map(({ id }: Any) => id)).toEqual(["echo"]);
  const contextId = "shared";
  const mine = (await rpc(site, "message/send", { message: said("mine", { contextId }) }, { token })).result;
  expect(mine.artifacts[0].parts[0].text).toBe("said mine\nwords: 1");
  expect((await rpc(site, "message/send", { message: said("x", skill("pay")) }, { token })).error).toMatchObject({ code: -32602 });
  for (const options of [{ token: other }, {}]) {
    expect((await rpc(site, "tasks/get", { id: mine.id }, options)).error).toMatchObject({ code: -32001 });
    expect((await rpc(site, "tasks/cancel", { id: mine.id }, options)).error).toMatchObject({ code: -32001 });
    expect((await rpc(site, "tasks/resubscribe", { id: mine.id }, options)).error).toMatchObject({ code: -32001 });
    expect((await rpc(site, "message/send", { message: said("x", { taskId: mine.id }) }, options)).error).toMatchObject({ code: -32001 });
    expect((await rpc(site, "ListTasks", { contextId }, { ...V1, ...options })).result.tasks).toEqual([]);
  }
  // The very same message of somebody else is another task.
  const message = said("same", skill("echo"));
  const ids = await Promise.all(
    [token, other].map(async (one) => (await rpc(site, "message/send", { message }, { token: one })).result.id),
  );
  expect(ids[0]).not.toBe(ids[1]);
  expect((await cleared(site.dir, "tokens", "remove", "partner")).code).toBe(0);
  const refused = await fetch(`${site.url}/`, {
    method: "POST",
    body: call("tasks/get", { id: mine.id }),
    headers: { authorization: `Bearer ${token}` },
  });
  expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, 'Bearer realm="cleared"']);
  expect(await refused.json()).toMatchObject({ error: { message: expect.stringContaining("cleared tokens add") } });
  expect((await cleared(site.dir, "tokens", "add", "x", "--agents", "hidden")).stderr).toMatch(/not an agent at HEAD with trigger: a2a/);
});

test("removing a token ends its streams, and a token with fewer agents is checked again", async () => {
  const made = async (agents: string): Promise<string> =>
    (await cleared(site.dir, "tokens", "add", "short", "--agents", agents, "--json")).json().token;
  const token = await made("echo,pay");
  const asked = (await rpc(site, "message/send", { message: said("pay", skill("pay")) }, { token })).result;
  const waits = (await rpc(site, "message/send", { message: said("BILL-9", skill("pay")) }, { token })).result;
  const body = call("tasks/resubscribe", { id: waits.id });
  const follow = () => fetch(`${site.url}/`, { method: "POST", body, headers: { authorization: `Bearer ${token}` } });
  const open = await Promise.all([follow(), follow()]);
  await cleared(site.dir, "tokens", "remove", "short");
  await cleared(site.dir, "approve", String(waits.status.message.parts[1].data.reviewId));
  for (const answer of open) {
    const events = (await answer.text()).split("\n\n").filter((one) => one.startsWith("data: "));
    expect(events.map((one) => JSON.parse(one.slice(6)))).toMatchObject([
      { id: 7, result: { status: { state: "auth-required" } } },
      { id: 7, error: { code: -32600, message: expect.stringContaining("cleared tokens add") } },
    ]);
  }
  const narrow = await made("echo");
  const again = await rpc(site, "message/send", { message: said("BILL-10", { taskId: asked.id }) }, { token: narrow });
  expect(again.result.status).toMatchObject({
    state: "input-required",
    message: { parts: [{ text: expect.stringMatching(/^Which skill/) }, {}] },
  });
  const told = await rpc(site, "message/send", { message: said("echo", { taskId: asked.id }) }, { token: narrow });
  expect(told.result.status).toMatchObject({ state: "completed" });
});

test("one caller's streams leave room for others, and each closed stream frees a place", async () => {
  const made = async (name: string): Promise<string> =>
    (await cleared(site.dir, "tokens", "add", name, "--agents", "pay", "--json")).json().token;
  const token = await made("many");
  const waits = (await rpc(site, "message/send", { message: said("BILL-77", skill("pay")) }, { token })).result;
  const cut = new AbortController();
  // Kept: a client cuts the stream of an answer that nobody can read any more.
  const answers: Response[] = [];
  const ask = async (signal: AbortSignal): Promise<string> => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${site.url}/`, { method: "POST", body: call("tasks/resubscribe", { id: waits.id }), headers, signal });
    answers.push(answer);
    return answer.headers.get("content-type") ?? "";
  };
  const kinds = await Promise.all(Array.from({ length: 203 }, () => ask(cut.signal)));
  expect(kinds.filter((one) => one.startsWith("text/event-stream"))).toHaveLength(200);
  const other = await made("third");
  const theirs = (await rpc(site, "message/send", { message: said("BILL-78", skill("pay")) }, { token: other })).result;
  const following = stream(site, "tasks/resubscribe", { id: theirs.id }, { token: other });
  expect((await following.next()).value).toMatchObject({ id: theirs.id });
  await rpc(site, "tasks/cancel", { id: theirs.id }, { token: other });
  expect((await following.next()).value).toMatchObject({ final: true });
  cut.abort();
  const last = new AbortController();
  await expect.poll(() => ask(last.signal)).toMatch(/^text.event-stream/);
  last.abort();
});

test("a task accepts at most two hundred messages", async () => {
  const { id } = (await rpc(site, "message/send", { message: said("BILL-79", skill("pay")) })).result;
  const note = () => rpc(site, "message/send", { message: said("and now?", { taskId: id }), configuration: { historyLength: 1 } });
  const answers = await Promise.all(Array.from({ length: 120 }, note));
  // Each is answered with the question, which stands in the history, too.
  const refused = answers.filter(({ error }) => error !== undefined);
  expect(refused).toHaveLength(21);
  expect(refused[0].error).toMatchObject({ code: -32004, message: expect.stringContaining("200 messages") });
  expect((await rpc(site, "tasks/cancel", { id })).result).toMatchObject({ status: { state: "canceled" } });
});

test("the card has both forms at both paths; `/` returns JSON to a JSON reader and the page to a browser", async () => {
  const get = async (path: string, headers: Record<string, string> = {}) => fetch(`${site.url}${path}`, { headers });
  for (const path of ["/.well-known/agent-card.json", "/.well-known/agent.json"]) {
    const hybrid = (await (await get(path)).json()) as Any;
    expect(hybrid).toMatchObject({
      url: `${site.url}/`,
      preferredTransport: "JSONRPC",
      protocolVersion: "0.3.0",
      capabilities: { streaming: true },
    });
    expect(hybrid.skills.map(({ id }: Any) => id)).toEqual(expect.arrayContaining(["echo", "pay"]));
    expect(hybrid.skills.length).toBeLessThanOrEqual(40);
  }
  const v1 = await get("/.well-known/agent-card.json", { "a2a-version": "1.0" });
  expect(v1.headers.get("vary")).toMatch(/A2A-Version/);
  const card = (await v1.json()) as Any;
  expect(card.supportedInterfaces.map((one: Any) => [one.protocolBinding, one.protocolVersion].join(" "))).toEqual([
    "JSONRPC 1.0",
    "HTTP+JSON 1.0",
    "JSONRPC 0.3",
  ]);
  expect(card).not.toHaveProperty("url");
  expect((await get("/.well-known/agent-card.json", { "a2a-version": "1.0", "if-none-match": v1.headers.get("etag") ?? "" })).status).toBe(
    304,
  );
  expect((await get("/", { accept: "application/json" })).headers.get("content-type")).toMatch(/json/);
  expect((await get("/", { accept: "text/html,application/json" })).headers.get("content-type")).toMatch(/html/);
  expect((await rpc(site, "GetExtendedAgentCard", {}, V1)).result.skills.length).toBe(card.skills.length);
  expect(await (await get("/health")).json()).toMatchObject({ status: "ok" });
});

test("the REST paths behave the same, with their own errors", async () => {
  const rest = async (method: string, path: string, body?: unknown) => {
    const more = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${site.url}${path}`, {
      method,
      headers: { "a2a-version": "1.0", "content-type": "application/a2a+json" },
      ...more,
    });
    return { status: answer.status, text: await answer.text() };
  };
  const sent = await rest("POST", "/message:send", { message: said1("over rest", skill("echo")) });
  const { task } = JSON.parse(sent.text) as Any;
  expect(task.status.state).toBe("TASK_STATE_COMPLETED");
  expect(JSON.parse((await rest("GET", `/tasks/${task.id}?historyLength=0`)).text)).toMatchObject({ id: task.id });
  expect(JSON.parse((await rest("GET", `/tasks?contextId=${task.contextId}`)).text)).toMatchObject({ totalSize: 1 });
  const missing = await rest("GET", "/tasks/none");
  expect([missing.status, JSON.parse(missing.text)]).toMatchObject([
    404,
    { error: { code: 404, status: "NOT_FOUND", details: [{ reason: "TASK_NOT_FOUND" }] } },
  ]);
  expect((await rest("POST", `/tasks/${task.id}:cancel`)).text).toContain("TASK_NOT_CANCELABLE");
  expect((await rest("POST", "/message:send", "x")).status).toBe(400);
  const streamed = await rest("POST", "/message:stream", { message: said1("over rest", skill("echo")) });
  expect(streamed.text.split("\n\n").filter((one) => one !== "").length).toBe(4);
});
