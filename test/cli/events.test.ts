/** Events through the command line: released with the commit, delivered once, with the listener's own rights. */
import { beforeAll, expect, test } from "vitest";
import { cleared, shell, start, until, workspace, warmUp } from "./command-line.ts";

beforeAll(warmUp);

const EMITTER = `/*
name: Emitter
uses: [ctx, journal]
input:
  fail: { type: boolean, default: false }
*/
ctx_emit({ event: "done", payload: { n: 1 } });
if (input.fail) journal_add({ date: ctx_today(), description: "x", key: "k", legs: [] });
1
`;
const LISTENER = `/*
name: Listener
trigger: event
on_event: done
uses: [ctx]
*/
ctx_log("heard");
input.n
`;
const PICKY = LISTENER.replace("name: Listener", "name: Picky\ninput:\n  other: { type: string, required: true }").replace("input.n", "1");
const ECHO = `/*
name: Echo
trigger: event
on_event: echo
uses: [ctx]
*/
ctx_emit({ event: "echo", payload: {} });
1
`;

const runs = async (dir: string, agent: string) => (await cleared(dir, "runs", "--agent", agent, "--limit", "100", "--json")).json();

test("an event of a finished run starts its listener once, without a running start and across its restarts", async () => {
  const dir = await workspace({ "agents/emitter.ts": EMITTER, "agents/listener.ts": LISTENER });
  expect((await cleared(dir, "run", "emitter")).code).toBe(0);
  expect(await runs(dir, "listener")).toMatchObject([{ status: "done", result: 1, cause: { kind: "event" } }]);
  // As a crash between the listener's start and its note: the emission is there again.
  const store = `const { DatabaseSync } = require("node:sqlite"); new DatabaseSync(".cleared/store.db").exec("UPDATE emitted SET taken = 0")`;
  expect(await shell(dir, `node -e '${store}'`)).toMatchObject({ code: 0 });
  const running = await start(dir);
  expect((await cleared(dir, "run", "emitter")).code).toBe(0);
  await until(async () => (await runs(dir, "listener")).length === 2);
  await running.stop();
  await (await start(dir)).stop();
  expect(await runs(dir, "listener")).toHaveLength(2);
});

test("a failed run releases no event, and a listener that refuses its payload is named and delays no other", async () => {
  const dir = await workspace({ "agents/emitter.ts": EMITTER, "agents/listener.ts": LISTENER, "agents/picky.ts": PICKY });
  expect((await cleared(dir, "run", "emitter", "--input", '{"fail": true}')).code).toBe(2);
  expect(await runs(dir, "listener")).toEqual([]);
  const emitted = await cleared(dir, "run", "emitter");
  expect(emitted.code).toBe(0);
  expect(emitted.stderr).toMatch(/Event "done" of run_\w+ does not start picky: .*other/);
  expect(await runs(dir, "listener")).toHaveLength(1);
  expect(await runs(dir, "picky")).toEqual([]);
});

test("agents that answer their own event are stopped after a chain of 32", async () => {
  const dir = await workspace({ "agents/echo.ts": ECHO });
  const first = await cleared(dir, "run", "echo");
  expect(first.stderr).toMatch(/33th of a chain of events/);
  expect(await runs(dir, "echo")).toHaveLength(33);
});
