/** agent_call: a child is a run of its own; its caller waits for it without a slot, survives kills, and is never told of the wrong child. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Host } from "../../runtime/app/host.ts";
import type { Json, RunRecord } from "../../runtime/kernel/ports.ts";
import { abandon, close, closeAll, decide, host, removeAll, run, start, workspace, type Workspace } from "./harness.ts";

const header = (uses: string, more = "") => `/*\nname: Test\ndescription: test\nuses: [${uses}]\n${more}*/\n`;
const STATES = "states: [ASSESS, POLICY_CHECK, APPROVAL_GATE?, MUTATE]\n";
const TO_MUTATE = `fsm_enter("ASSESS"); fsm_enter("POLICY_CHECK");
policy_evaluate({ policy: "open", facts: { ok: true } });
fsm_enter("MUTATE");\n`;

const FILES: Record<string, string> = {
  "policies/open.yaml":
    "process: open\nsource: test\nfacts: {ok: boolean}\nrules:\n  - {id: NOT_OK, when: '!ok', action: require_approval, level: manager, description: a test}\n",
  "agents/parent.ts": `${header("fsm, policy, journal, compute, ctx, agent:asks", STATES)}const fee = compute_prorated_for_period({ total: "12.00", period_num: 1, total_periods: 12 });
${TO_MUTATE}journal_add_double({ date: "2026-11-06", description: "Parent", debit_account: 5030, credit_account: 1010, amount: fee, key: "parent" });
const child = agent_call({ agent: "asks", input: { order: "A-7" } });
ctx_log("child " + child.status);
({ child });
`,
  "agents/asks.ts": `${header("approval, ctx", "input: {order: {type: string, required: true}}\n")}const answer = approval_wait({ title: "Go on with " + input.order + "?", calls: [] });
({ decision: answer.decision, order: input.order });
`,
  "agents/looks.ts": `${header("ctx", "mutates: false\n")}({ day: ctx_today() });\n`,
  "agents/reads.ts": `${header("fsm, agent:looks", "states: [ASSESS]\n")}fsm_enter("ASSESS");\n({ child: agent_call({ agent: "looks" }) });\n`,
  "agents/early.ts": `${header("fsm, agent:asks", STATES)}fsm_enter("ASSESS");\nagent_call({ agent: "asks", input: { order: "A-7" } });\n`,
  "agents/stranger.ts": `${header("fsm, policy, agent:looks", STATES)}${TO_MUTATE}agent_call({ agent: "asks", input: { order: "A-7" } });\n`,
  "agents/loops.ts": `${header("fsm, policy, agent:loops", STATES)}${TO_MUTATE}({ child: agent_call({ agent: "loops" }) });\n`,
};
let one: Workspace;
let opened: Host;
beforeAll(async () => {
  one = await workspace(FILES);
  opened = await host(one);
});
afterAll(async () => {
  await closeAll();
  await removeAll();
});

const ended = async (agent: string) => opened.engine.result(await start(opened, agent), { ended: true, timeoutMs: 30_000 });

/** The child, once it waits for its own answer. */
async function childOf(id: string): Promise<RunRecord> {
  const child = (await opened.engine.list({ limit: 200 })).find((run) => run.parent === id);
  return opened.engine.result(child?.id ?? "", { timeoutMs: 100_000 });
}

test("the caller's writes are committed first, it waits without a slot, and continues with the child's result", async () => {
  const waiting = await run(opened, "parent");
  expect(waiting).toMatchObject({ status: "waiting", reason: "child" });
  expect(one.git("log", "-1", "--format=%(trailers:key=Run,valueonly)").trim()).toBe(waiting.id);
  const child = await childOf(waiting.id);
  expect(child).toMatchObject({ agent: "asks", status: "waiting", reason: "approval", input: { order: "A-7" } });
  await decide(opened, child.id, "approved");
  const end = await opened.engine.result(waiting.id, { ended: true, timeoutMs: 100_000 });
  expect(end).toMatchObject({
    status: "done",
    result: { child: { run: child.id, status: "done", outcome: "completed", result: { decision: "approved", order: "A-7" }, error: null } },
  });
});

test("a read-only child can be called where reading is allowed, one that acts cannot", async () => {
  expect(await ended("reads")).toMatchObject({ status: "done", result: { child: { status: "done", outcome: "completed" } } });
  expect((await run(opened, "early")).error).toMatchObject({ code: "FSM_STATE" });
  expect((await run(opened, "stranger")).error?.code).toMatch(/SCRIPT_CAPABILITY/);
});

test("agents that call themselves are stopped", async () => {
  const end = await ended("loops");
  let deepest: Json = end.result;
  while (typeof deepest === "object" && deepest !== null && !Array.isArray(deepest) && deepest["child"] != null)
    deepest = (deepest["child"] as { result: Json; error: Json }).result ?? (deepest["child"] as { error: Json }).error ?? null;
  expect(deepest).toMatchObject({ code: "AGENT_DEPTH" });
});

test("canceling the caller cancels the child; a canceled child is reported to its caller", async () => {
  const down = await run(opened, "parent");
  await opened.engine.cancel(down.id, "test");
  expect(await childOf(down.id)).toMatchObject({ status: "canceled" });
  const up = await run(opened, "parent");
  await opened.engine.cancel((await childOf(up.id)).id, "test");
  expect(await opened.engine.result(up.id, { ended: true, timeoutMs: 100_000 })).toMatchObject({
    status: "done",
    result: { child: { status: "canceled" } },
  });
});

test("killed while the child waits: one child, and the caller continues in the next process", async () => {
  const waiting = await run(opened, "parent");
  await abandon(opened);
  opened = await host(one);
  const child = await childOf(waiting.id);
  await decide(opened, child.id, "approved");
  expect(await opened.engine.result(waiting.id, { ended: true, timeoutMs: 100_000 })).toMatchObject({ status: "done" });
  expect((await opened.engine.list({ limit: 200 })).filter((run) => run.parent === waiting.id)).toHaveLength(1);
  await close(opened);
});
