/** What holds at the door of the MCP server: who sees what, what a browser gets, kills, cancelled calls, and garbage. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AGENTS, type Any, type Served, again, serve } from "../a2a/client.ts";
import { cleared, commit, ENV, MAIN, until, warmUp, workspace } from "../cli/command-line.ts";
import { type Connected, overHttp, overStdio, slowAgent } from "./clients.ts";

beforeAll(warmUp);

let site: Served;
beforeAll(async () => {
  site = await serve();
  await commit(site.dir, { "agents/slow.ts": slowAgent(8000) });
});
afterAll(() => site.started.stop("SIGKILL"));

const runsOf = async (dir: string, agent: string): Promise<Any[]> =>
  (await cleared(dir, "runs", "list", "--agent", agent, "--json")).json();
const begun = (client: Connected, agent: string) =>
  until(async () => (await client.call("run_status")).value.runs.some((one: Any) => one.agent === agent));
const post = (headers: Record<string, string>, body: Any = { jsonrpc: "2.0", id: 1, method: "tools/list" }) =>
  fetch(`${site.url}/mcp`, {
    method: "POST",
    headers: { accept: "application/json, text/event-stream", "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

test("a token gives access to its agents and its own runs; runs of others, the books and requests are invisible", async () => {
  const tokens: Any = {};
  for (const [name, agents] of [
    ["ann", "pay"],
    ["ben", "pay,echo"],
  ] as const)
    tokens[name] = (await cleared(site.dir, "tokens", "add", name, "--agents", agents, "--json")).json().token;
  const [ann, ben, own] = await Promise.all([
    overHttp(site.url, "2026", tokens.ann),
    overHttp(site.url, "2025", tokens.ben),
    overHttp(site.url, "2026"),
  ]);
  const names = async (one: Any): Promise<string[]> => (await one.client.listTools()).tools.map(({ name }: Any) => name);
  expect(await names(ann)).toEqual(["pay", "run_status", "cancel_run", "queue"]);
  expect(await names(ben)).toEqual(["echo", "pay", "run_status", "cancel_run", "queue"]);
  const mine = (await ann.call("pay", { bill_id: "BILL-1" })).value;
  const theirs = (await ben.call("pay", { bill_id: "BILL-1" })).value;
  expect(mine.run).not.toBe(theirs.run);
  for (const tool of ["run_status", "cancel_run"])
    expect(await ann.call(tool, { run: theirs.run })).toMatchObject({ failed: true, value: { error: { code: "RUN_UNKNOWN" } } });
  expect((await ann.call("run_status")).value.runs.map((one: Any) => one.run)).toEqual([mine.run]);
  const { cards } = (await ann.call("queue")).value;
  expect(cards).toMatchObject([{ run: mine.run }]);
  expect(cards[0].calls).toBeUndefined();
  await expect(ann.client.readResource({ uri: `cleared://cards/${theirs.card}` })).rejects.toThrow("no card");
  await expect(ann.client.readResource({ uri: "cleared://entries/250118-0000000000" })).rejects.toThrow("Only programs of the user");
  await expect(ann.call("why", { run: mine.run })).rejects.toMatchObject({ code: -32602 });
  // The user sees all of it, with what is asked for.
  expect((await own.call("run_status", { run: theirs.run })).value.status).toBe("waiting");
  expect((await own.call("queue")).value.cards.find((one: Any) => one.run === theirs.run).calls).toMatchObject([{ tool: "bank_pay" }]);
  await Promise.all([ann, ben, own].map((one) => one.close()));
});

test("an unknown token, a browser page and another host name are refused before anything is read", async () => {
  const unknown = await post({ authorization: "Bearer cleared_x" });
  expect(unknown.status).toBe(401);
  const said = unknown.headers.get("www-authenticate") ?? "";
  const metadata = /resource_metadata="([^"]+)"/.exec(said)?.[1] ?? "";
  expect(await (await fetch(metadata)).json()).toMatchObject({ resource: `${site.url}/mcp`, bearer_methods_supported: ["header"] });
  await expect(overHttp(site.url, "2025", "cleared_x")).rejects.toThrow();
  await expect(overHttp(site.url, "2026", "cleared_x")).rejects.toThrow();
  for (const origin of ["null", "http://127.0.0.1:9", "http://evil.example"]) expect((await post({ origin })).status).toBe(403);
  expect((await post({ origin: site.url, "sec-fetch-site": "same-origin" })).status).toBe(403);
  // A client that is no browser may name the address it has, as the conformance suite of MCP does.
  expect((await post({ origin: site.url })).status).not.toBe(403);
  const { port } = new URL(site.url);
  const answer = await new Promise<string>((done) => {
    let text = "";
    const socket = connect(Number(port), "127.0.0.1", () =>
      socket.write("GET /mcp HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n"),
    );
    socket.on("data", (chunk) => (text += chunk)).on("close", () => done(text));
  });
  expect(answer).toContain("HTTP/1.1 403");
});

test("an invalid message is refused in JSON, and the next one is answered", async () => {
  for (const body of ["{", "[]", '"x"', '{"jsonrpc":"1.0","id":1,"method":"tools/list"}', "[".repeat(100_000)]) {
    const answer = await post({}, body);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(await answer.json()).toMatchObject({ error: { code: expect.any(Number) } });
  }
  const large = await post({}, "x".repeat(1_100_000));
  expect([large.status, await large.json()]).toMatchObject([413, { error: { message: expect.stringContaining("1024 KiB") } }]);
  expect((await fetch(`${site.url}/mcp`)).status).toBe(405);
  expect((await post({})).status).toBe(200);
});

test("a canceled call leaves its run running", async () => {
  const client = await overHttp(site.url, "2026");
  const stop = new AbortController();
  const call = client.call("slow", {}, { signal: stop.signal });
  await begun(client, "slow");
  stop.abort("enough");
  await expect(call).rejects.toThrow();
  const [{ id }] = await runsOf(site.dir, "slow");
  expect((await client.call("run_status", { run: id, wait_seconds: 50 })).value).toMatchObject({ status: "done", outcome: "completed" });
  await client.close();
});

test("a waiting run is the same after kill -9 of the owner, and the repeated call finds it", async () => {
  const before = await overHttp(site.url, "2025");
  const waits = (await before.call("pay", { bill_id: "BILL-K" })).value;
  await site.started.stop("SIGKILL");
  site = await again(site.dir);
  const client = await overHttp(site.url, "2025");
  expect((await client.call("pay", { bill_id: "BILL-K" })).value).toMatchObject({ run: waits.run, card: waits.card, repeated: true });
  await cleared(site.dir, "approve", String(waits.card));
  expect((await client.call("run_status", { run: waits.run, wait_seconds: 30 })).value).toMatchObject({
    status: "done",
    outcome: "completed",
  });
  await client.close();
});

test("without `cleared start` the workspace is free between calls, also after kill -9, and a call that outlasts its answer continues", async () => {
  const dir = await workspace({ ...AGENTS, "agents/slow.ts": slowAgent(8000) });
  const first = await overStdio(dir, "2025");
  const waits = (await first.call("pay", { bill_id: "BILL-9" })).value;
  expect(waits).toMatchObject({ status: "waiting", message: expect.stringContaining(`cleared approve ${waits.card}`) });
  expect(waits.review_url).toBeUndefined();
  process.kill(first.pid, "SIGKILL");
  expect((await cleared(dir, "approve", String(waits.card))).code).toBe(0);
  const second = await overStdio(dir, "2026");
  expect((await second.call("run_status", { run: waits.run })).value).toMatchObject({ status: "done", answer: { bill_id: "BILL-9" } });
  const stop = new AbortController();
  const call = second.call("slow", {}, { signal: stop.signal });
  await begun(second, "slow");
  stop.abort("enough");
  await expect(call).rejects.toThrow();
  let run: Any;
  await until(
    async () => !["queued", "running"].includes((run = (await runsOf(dir, "slow"))[0]).status),
    100_000,
    () => `slow did not end: ${JSON.stringify(run)}`,
  );
  expect(run).toMatchObject({ status: "done", outcome: "completed" });
  await second.close();
});

const NOISY = `import { definePrimitive, z } from "cleared";
console.log("a plugin speaks");
export const noisy_look = definePrimitive({ name: "noisy_look", effect: "read", access: "read", summary: "Looks.", params: z.object({}), returns: z.string(), errors: [], example: "noisy_look()", run: () => "seen" });
`;

test("garbage on standard input is skipped, and standard output carries only the protocol", async () => {
  const dir = await workspace(AGENTS);
  const trust = readFileSync(join(dir, "trust.yaml"), "utf8").replace(/^plugins:.*/m, "plugins: [plugins/noisy.ts]");
  await commit(dir, { "plugins/noisy.ts": NOISY, "trust.yaml": trust });
  const [node = "", ...rest] = MAIN;
  const child = spawn(node, [...rest, "mcp"], { cwd: dir, env: ENV, stdio: ["pipe", "pipe", "pipe"] });
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk) => (out += chunk));
  child.stderr.on("data", (chunk) => (err += chunk));
  const ended = new Promise<number | null>((done) => child.once("close", done));
  const send = (one: Any) => child.stdin.write(`${typeof one === "string" ? one : JSON.stringify({ jsonrpc: "2.0", ...one })}\n`);
  for (const one of ["", "no json", "{}", "[1]", "\u0000\u0007", '{"jsonrpc":"2.0"', "x".repeat(100_000)]) send(one);
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } };
  send({ id: 1, method: "initialize", params });
  send({ method: "notifications/initialized" });
  send({ id: 2, method: "tools/call", params: { name: "echo", arguments: { task: "hello" } } });
  send({ id: 3, method: "no/such/method" });
  await until(
    () => /"id":2\b/.test(out) && /"id":3\b/.test(out),
    60_000,
    () => `${out}\n${err}`,
  );
  child.stdin.end();
  expect(await ended).toBe(0);
  const lines = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.every((one) => one.jsonrpc === "2.0")).toBe(true);
  expect(lines.find((one) => one.id === 1).result.serverInfo.name).toBe("cleared");
  expect(lines.find((one) => one.id === 3).error.code).toBe(-32601);
  expect(err).toContain("a plugin speaks");
  expect(err).toContain("is not a message of MCP");
});
