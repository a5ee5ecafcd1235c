/**
 * Tasks for agents elsewhere: a workspace that asks another one over A2A 1.0, and agents with habits of their own over 0.3, one of which is
 * down, slow or lying. Its people, its questions and its end reach our caller, across kill -9, and its work is done once.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleared, warmUp, workspace } from "../cli/command-line.ts";
import { type Any, type Served, again, rpc, said, serve, skill } from "./client.ts";

beforeAll(warmUp);

const READ = `/*
name: Reader
trigger: a2a
mutates: false
uses: [a2a]
input: {task: {type: string, required: true}, agent: {type: string, default: other}}
*/
a2a_call({ agent: input.agent, text: input.task, skill: "echo" });
`;
const ORDER = `/*
name: Orderer
trigger: a2a
uses: [approval, a2a]
input: {task: {type: string, required: true}, agent: {type: string, default: other}}
*/
const params = { agent: input.agent, text: input.task, skill: "pay" };
approval_wait({ title: "Ask the other one?", calls: [{ tool: "a2a_call", params }] });
const { state, text } = a2a_call(params);
({ summary: state + ": " + text });
`;
const LATE = `/*
name: Late
trigger: a2a
mutates: false
uses: [a2a, "agent:echo"]
input: {task: {type: string, required: true}}
*/
a2a_call({ agent: "foreign", text: input.task, timeout: 2, fallback: { agent: "echo", input: { task: input.task } } });
`;

/** An agent of 0.3 with a card of its own; what it does follows from the words it gets. */
async function foreigner() {
  const got: Any[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => (text += String(chunk)));
    request.on("end", () => {
      const json = (body: unknown, status = 200) =>
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
      if (request.method === "GET") return json(card());
      const { id, method, params } = JSON.parse(text);
      got.push({ method, params, authorization: request.headers.authorization });
      const words: string = params.message?.parts[0].text ?? "";
      const result = (value: unknown) => json({ jsonrpc: "2.0", id, result: value });
      const task = (state: string) => ({ kind: "task", id: params.id ?? "task-1", contextId: "its-own", status: { state } });
      const first = got.filter((one) => one.params.message?.parts[0].text === words).length === 1;
      if (words.startsWith("lost always") || (words.startsWith("lost") && first)) return request.socket.destroy();
      if (words.startsWith("gateway")) return json({ oops: true }, 502);
      if (words.startsWith("too late")) return json({ oops: true }, 408);
      if (words.startsWith("broken")) return json({ oops: true }, 503);
      if (words.startsWith("slow")) return result(task("working"));
      if (method === "tasks/get") return result(task(params.id === "task-soon" ? "completed" : "working"));
      if (words.startsWith("soon")) return result({ ...task("working"), id: "task-soon" });
      if (method === "tasks/cancel") return result(task("canceled"));
      if (method !== "message/send") return json({ jsonrpc: "2.0", id, error: { code: -32601, message: "no such method" } });
      return result({
        kind: "message",
        messageId: "m",
        role: "agent",
        parts: [
          { kind: "text", text: `heard ${words}` },
          { kind: "data", data: { n: 7 } },
        ],
      });
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const at = { card: `${url}/` };
  const card = () => ({
    name: "Foreign",
    description: "Answers at once",
    url: at.card,
    version: "1",
    protocolVersion: "0.3.0",
    preferredTransport: "JSONRPC",
    capabilities: { streaming: false },
    defaultInputModes: ["text"],
    defaultOutputModes: ["text"],
    skills: [],
  });
  return { url, got, at, close: () => server.closeAllConnections() };
}

let other: Served;
let mine: Served;
let foreign: Awaited<ReturnType<typeof foreigner>>;
beforeAll(async () => {
  [other, foreign] = [await serve(), await foreigner()];
  const { token } = (await cleared(other.dir, "tokens", "add", "mine", "--agents", "echo,pay", "--json")).json();
  const trust = readFileSync(join(await workspace(), "trust.yaml"), "utf8").replace(/^a2a: \{\}.*$/m, () =>
    [
      "a2a:",
      `  other: {url: "${other.url}", token: "secret:other_token", skills: {echo: read}, idempotent: true}`,
      `  foreign: {url: "${foreign.url}", class: read}`,
      `  careless: {url: "${foreign.url}"}`,
      `  gone: {url: "http://127.0.0.1:1", class: read}`,
    ].join("\n"),
  );
  mine = await serve({ "trust.yaml": trust, "agents/reader.ts": READ, "agents/orderer.ts": ORDER, "agents/late.ts": LATE });
  await mine.started.stop();
  const { shell } = await import("../cli/command-line.ts");
  expect((await shell(mine.dir, `printf %s '${token}' | cleared secrets set other_token`)).code).toBe(0);
  mine = await again(mine.dir);
});
afterAll(async () => {
  await Promise.all([mine, other].map(({ started }) => started.stop("SIGKILL")));
  foreign.close();
});

const send = async (name: string, text: string, more: Any = {}): Promise<Any> =>
  (await rpc(mine, "message/send", { message: said(text, skill(name)), ...more })).result;
const read = async (id: string): Promise<Any> => (await rpc(mine, "tasks/get", { id })).result;
async function until<T>(look: () => Promise<T | false | undefined>): Promise<T> {
  for (let i = 0; i < 200; i++) {
    const found = await look();
    if (found !== false && found !== undefined) return found;
    await new Promise((done) => setTimeout(done, 200));
  }
  throw new Error("it did not come about in time");
}
const reaches = (id: string, state: string): Promise<Any> =>
  until(async () => {
    const task = await read(id);
    if (task.status.state === "failed") throw new Error(JSON.stringify(task.status));
    return task.status.state === state && task;
  });
const runsThere = async (agent: string): Promise<Any[]> => (await cleared(other.dir, "runs", "list", "--agent", agent, "--json")).json();
const dataOf = ({ artifacts }: Any): Any => artifacts[0].parts.find((part: Any) => part.kind === "data").data;

test("another workspace reads for ours over 1.0, with its token", async () => {
  const done = await send("reader", "good day");
  expect(done.status).toMatchObject({ state: "completed" });
  expect(dataOf(done)).toMatchObject({ agent: "other", state: "completed", text: "said good day\nwords: 2", data: { words: 2 } });
  expect((await runsThere("echo")).at(-1).cause.detail.owner).toBe("mine");
});

test("the remote gate is our caller's gate: waited for across kill -9, approved there, carried out once", async () => {
  const asked = await send("orderer", "Please pay BILL-901 today");
  expect(asked.status.state).toBe("auth-required");
  expect((await cleared(mine.dir, "approve", String(asked.status.message.parts[1].data.reviewId))).code).toBe(0);
  const waits = await until(async () => {
    const task = await read(asked.id);
    return JSON.stringify(task.status.message ?? "").includes("waits for somebody there") && task;
  });
  expect(waits.status).toMatchObject({ state: "auth-required" });
  expect(waits.status.message.parts[0].text).toMatch(/^other waits for somebody there who may approve: Pay BILL-901\?/);
  await mine.started.stop("SIGKILL");
  mine = await again(mine.dir);
  const [there] = await runsThere("pay");
  const cards = (await cleared(other.dir, "queue", "--json")).json();
  const card = (cards.cards ?? cards).find((one: Any) => one.run === there.id);
  expect((await cleared(other.dir, "approve", String(card.id))).code).toBe(0);
  const done = await reaches(asked.id, "completed");
  expect(done.artifacts[0].parts[0].text).toMatch(/^completed: BILL-901 approved by Ada/);
  expect(await runsThere("pay")).toHaveLength(1);
  // What was looked at meanwhile is no change of our caller's task.
  expect(done.metadata.generation).toBeLessThan(14);
});

test("a remote agent's question goes to a person here, whose answer it receives; a canceled task is canceled there", async () => {
  const asked = await send("orderer", "pay the bill");
  await cleared(mine.dir, "approve", String(asked.status.message.parts[1].data.reviewId));
  const asks = await reaches(asked.id, "auth-required");
  expect(asks.status.message.parts[0].text).toMatch(/^other asks: pay needs:[\s\S]*bill_id[\s\S]*A person of this business fills this in/);
  expect((await cleared(mine.dir, "answer", String(asks.status.message.parts[1].data.reviewId), "bill_id=BILL-902")).code).toBe(0);
  const waits = await reaches(asked.id, "auth-required");
  expect(waits.status.message.parts[0].text).toContain("Pay BILL-902?");
  await rpc(mine, "tasks/cancel", { id: asked.id });
  await until(async () => (await runsThere("pay")).some((one) => one.status === "canceled" && one.input.bill_id === "BILL-902"));
});

test("an agent that speaks 0.3 and answers at once is supported", async () => {
  const metadata = { skill: "reader", input: { task: "hello", agent: "foreign" } };
  const done = await send("reader", "hello", { metadata });
  expect(dataOf(done)).toEqual({ agent: "foreign", task: null, state: "completed", text: "heard hello", data: { n: 7 } });
  expect(foreign.got.at(-1)).toMatchObject({
    method: "message/send",
    params: { message: { role: "user", contextId: expect.any(String) } },
  });
});

test("a completed remote task is not canceled when its run ends", async () => {
  const done = await send("reader", "x", { metadata: { skill: "reader", input: { task: "soon done", agent: "foreign" } } });
  expect(dataOf(done)).toMatchObject({ task: "task-soon", state: "completed" });
  await new Promise((look) => setTimeout(look, 1500));
  expect(foreign.got.filter(({ method }) => method === "tasks/cancel")).toEqual([]);
});

test("a stored row that nobody here has written cancels no task at a remote agent", async () => {
  const done = await send("reader", "x", { metadata: { skill: "reader", input: { task: "soon done", agent: "foreign" } } });
  const store = new DatabaseSync(join(mine.dir, ".cleared/store.db"), { timeout: 60_000 });
  const columns = "(key, run, agent, task, state, at, timeout, answered, sent)";
  const forged = `INSERT INTO a2a_calls ${columns} SELECT 'forged/0', id, 'foreign', 'task-of-others', 'working', 0, 60000, NULL, 1 FROM runs WHERE id = ?`;
  expect(store.prepare(forged).run(done.metadata.run ?? done.id).changes).toBe(1);
  await until(async () => store.prepare("SELECT 1 FROM a2a_calls WHERE key = 'forged/0'").get() === undefined);
  store.close();
  expect(foreign.got.filter(({ params }) => params.id === "task-of-others")).toEqual([]);
});

test("a remote agent that fails or is too late is given up and canceled, and the local agent does the work", async () => {
  for (const words of ["broken now", "slow now"]) {
    const done = await send("late", words);
    expect(dataOf(done)).toMatchObject({ agent: "echo", state: "completed", text: `said ${words}`, task: expect.stringMatching(/^run_/) });
  }
  expect(foreign.got.map(({ method }) => method)).toContain("tasks/cancel");
});

test("a task that may have been accepted is sent again only after a person says that it was not", async () => {
  const metadata = { skill: "orderer", input: { task: "lost on the way", agent: "careless" } };
  const asked = await send("orderer", "x", { metadata });
  await cleared(mine.dir, "approve", String(asked.status.message.parts[1].data.reviewId));
  const given = () => foreign.got.filter(({ params }) => params.message?.parts[0].text === "lost on the way");
  const doubt = await until(async () => {
    const task = await read(asked.id);
    return JSON.stringify(task.status.message ?? "").includes("Did careless get this task?") && task;
  });
  expect([doubt.status.state, given().length]).toEqual(["auth-required", 1]);
  await cleared(mine.dir, "reject", String(doubt.status.message.parts[1].data.reviewId));
  expect((await reaches(asked.id, "completed")).artifacts[0].parts[0].text).toBe("completed: heard lost on the way");
  expect(new Set(given().map(({ params }) => params.message.messageId)).size).toBe(1);
});

test.each(["lost always", "gateway lost it", "too late", "broken on the way"])(
  "%s: each answer of a person sends it once",
  async (words) => {
    const asked = await send("orderer", "x", { metadata: { skill: "orderer", input: { task: words, agent: "careless" } } });
    await cleared(mine.dir, "approve", String(asked.status.message.parts[1].data.reviewId));
    const given = () => foreign.got.filter(({ params }) => params.message?.parts[0].text === words).length;
    const asksAgain = (not: string) =>
      until(async () => {
        const { status } = await read(asked.id);
        const id = String(status.message?.parts[1]?.data?.reviewId);
        return JSON.stringify(status.message ?? "").includes("Did careless get this task?") && id !== not && id;
      });
    const first = await asksAgain("");
    expect(given()).toBe(1);
    await cleared(mine.dir, "reject", first);
    const second = await asksAgain(first);
    expect(given()).toBe(2);
    await cleared(mine.dir, "approve", second);
    await until(async () => (await read(asked.id)).status.state === "failed");
    expect(given()).toBe(2);
  },
);

test("an agent that is down, unknown, or has a card pointing elsewhere is reported as such", async () => {
  const told = async (agent: string): Promise<string> => {
    const { status } = await send("reader", "x", { metadata: { skill: "reader", input: { task: "x", agent } } });
    return `${status.state} ${status.message?.parts[0].text}`;
  };
  expect(await told("gone")).toMatch(/^failed REMOTE_DOWN: gone cannot be reached/);
  expect(await told("othr")).toMatch(/^failed REMOTE_UNKNOWN: .*"other"/);
  await mine.started.stop();
  mine = await again(mine.dir);
  foreign.at.card = "http://127.0.0.1:1/elsewhere";
  expect(await told("foreign")).toMatch(/^failed REMOTE_REFUSED: The card of foreign names/);
});
