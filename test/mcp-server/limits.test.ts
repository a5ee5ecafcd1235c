/** How much one chat client may have waiting here, over HTTP and over standard input and output; config.yaml calls it `callers: open`. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Any, type Served, serve } from "../a2a/client.ts";
import { cleared, until } from "../cli/command-line.ts";
import { overStdio, slowAgent } from "./clients.ts";

let site: Served;
let [run, ann, ben] = ["", "", ""];
beforeAll(async () => {
  site = await serve({
    "agents/slow.ts": slowAgent(40_000),
    "config.yaml": "business: {name: Small}\ncallers: {open: 3}\nweb: {port: 0}\n",
  });
  for (const name of ["ann", "ben"]) {
    const { token } = (await cleared(site.dir, "tokens", "add", name, "--agents", "slow", "--json")).json();
    if (name === "ann") ann = token;
    else ben = token;
  }
});
afterAll(() => site.started.stop("SIGKILL"));

const post = async (token: string, message: Any, signal: AbortSignal | null = null): Promise<[Response, Any]> => {
  const headers = { accept: "application/json, text/event-stream", "content-type": "application/json", authorization: `Bearer ${token}` };
  const answer = await fetch(`${site.url}/mcp`, { method: "POST", headers, signal, body: JSON.stringify(message) });
  const text = await answer.text();
  return [answer, JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text)];
};
const call = (id: number, name: string, args: Any) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } });
const waiting = (id: number) => call(id, "run_status", { run, wait_seconds: 50 });
const ids = Array.from({ length: 40 }, (_, i) => i + 10);

test("a caller with the maximum number of waiting requests gets Retry-After; others are answered", async () => {
  const slow = post(ben, call(1, "slow", {}));
  await until(async () => (run = (await post(ben, call(2, "run_status", {})))[1].result.structuredContent.runs[0]?.run ?? "") !== "");
  const gone = new AbortController();
  const answers = Promise.allSettled(ids.map((id) => post(ben, waiting(id), gone.signal)));
  await until(async () => (await post(ben, call(3, "queue", {})))[0].status === 429);
  const [full, { error }] = await post(ben, call(4, "queue", {}));
  expect([full.headers.get("retry-after"), error.code, error.message]).toEqual([
    "5",
    -32029,
    expect.stringMatching(/3 of them yours, of 3/),
  ]);
  expect((await post(ann, call(1, "run_status", {})))[0].status).toBe(200);
  // Who goes away leaves its connection to others, and its call only once that is over.
  gone.abort();
  const refused = (await answers).flatMap((one) => (one.status === "fulfilled" && one.value[0].status === 429 ? [one.value] : []));
  expect(refused.length).toBeGreaterThanOrEqual(ids.length - 3);
  await until(async () => (await post(ben, call(5, "queue", {})))[0].status === 200);
  expect((await post(ben, waiting(6)))[1].error.code).toBe(-32029);
  await cleared(site.dir, "runs", "cancel", run);
  expect((await slow)[1].result.structuredContent).toMatchObject({ run });
  expect((await post(ben, waiting(7)))[1].result.structuredContent).toMatchObject({ run });
});

test("calls of one pipe, or in one request, are limited like waiting requests; calls answered at once are not", async () => {
  const client = await overStdio(site.dir, "2025");
  const slow = client.call("slow", {});
  await until(async () =>
    (await client.call("run_status")).value.runs.some((one: Any) => one.run !== run && (run = one.run) && one.status !== "canceled"),
  );
  const answers = Promise.allSettled(ids.map(() => client.call("run_status", { run, wait_seconds: 50 })));
  expect((await client.call("queue")).failed).toBe(false);
  expect((await client.call("cancel_run", { run })).failed).toBe(false);
  const refused = (await answers).flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
  expect(refused).toHaveLength(ids.length - 2);
  for (const error of refused) expect(error).toMatchObject({ code: -32029, data: { retry_after: 5 } });
  expect((await slow).value).toMatchObject({ run });
  await client.close();
  const [, { id, error }] = await post(
    ben,
    ids.map((one) => call(one, "slow", { idempotency_key: `${one}` })),
  );
  expect([id, error.code]).toEqual([ids[3], -32029]);
});
