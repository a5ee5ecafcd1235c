/** What a yes is good for: one call, exactly as it was shown, of this run; and who judges whether one is needed. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { forkRun, migrateRun } from "../../runtime/app/move-run.ts";
import type { Host } from "../../runtime/app/host.ts";
import { replayRun } from "../../runtime/engine/replay.ts";
import type { Given, Json, RunRecord } from "../../runtime/kernel/ports.ts";
import { closeAll, decide, host, openCard, removeAll, run } from "../engine/harness.ts";
import { header, letEventsOut, PACK, type Shop, shop, STATES } from "./shop.ts";

const USES = "fsm, mcp, policy, approval, journal, ctx, notify, schedule, agent:payer, agent:emits";
const INPUT = `input: {asked: {type: object, default: {invoice_id: I-1}}, made: {type: list, default: [{invoice_id: I-1}]}, amount: {type: money, default: "500.00"}, policy: {type: string, default: pay}}\n`;
const begin = (more = ""): string => `${header(USES, `${STATES}${INPUT}${more}`)}fsm_enter("ASSESS");
mcp_call({ tool: "shop/get_invoice", params: { invoice_id: "I-1" } });
fsm_enter("COMPUTE");
fsm_enter("POLICY_CHECK");
const verdict = policy_evaluate({ policy: input.policy, facts: { amount: input.amount, kind: "x", fine: true } });
`;
const ASKS = `fsm_enter("APPROVAL_GATE");
const answer = approval_wait({ title: "Pay?", calls: [{ tool: "shop/pay_blind", params: input.asked }] });
fsm_enter("MUTATE");
`;
const FILES: Record<string, string> = {
  "agents/pays.ts": `${begin()}${ASKS}for (const params of input.made) mcp_call({ tool: "shop/pay_blind", params });
fsm_enter("SCHEDULE_NOTIFY");
({ by: answer.by });`,
  "agents/takes.ts": `${begin()}${ASKS}for (const call of answer.calls) mcp_call(call);
({ by: answer.by });`,
  "agents/books.ts": `${begin()}${ASKS}ctx_log("asked");
journal_add_double({ date: "2026-11-06", description: "Book", debit_account: 5030, credit_account: 1010, amount: "1.10", key: "k" });
({ by: answer.by });`,
  "agents/straight.ts": `${begin()}if (!verdict.passed) {
  fsm_enter("APPROVAL_GATE");
  approval_wait({ title: "Pay?", calls: [{ tool: "shop/pay_blind", params: input.asked }] });
}
fsm_enter("MUTATE");
mcp_call({ tool: "shop/pay_blind", params: input.asked });
({ verdict: verdict.verdict });`,
  // Its process has a pack, whatever it names.
  "agents/invoices.ts": `${begin("process: strict_one\n")}fsm_enter("MUTATE");\n({ decision_or_status: "approved", action_taken: "a look", key_entity: "I-1", summary: "Looked." });`,
  "agents/nopack.ts": `${begin("process: no_such_pack\n")}fsm_enter("MUTATE");\n1;`,
  "policies/strict_one.yaml": PACK("strict_one"),
  "agents/payer.ts": `${header("fsm, mcp, policy", `${STATES}trigger: [event]\non_event: paid\n`)}fsm_enter("ASSESS");
fsm_enter("COMPUTE");
fsm_enter("POLICY_CHECK");
policy_evaluate({ policy: "open", facts: { fine: true } });
fsm_enter("MUTATE");
mcp_call({ tool: "shop/pay_blind", params: { invoice_id: "payer" } });
1;`,
  "agents/parent.ts": `${begin()}fsm_enter("APPROVAL_GATE");
approval_wait({ title: "Let the payer go?", calls: [{ tool: "agent_call", params: { agent: "payer" } }] });
fsm_enter("MUTATE");
({ child: agent_call({ agent: "payer" }) });`,
  "agents/starts.ts": `${header("ctx, schedule")}schedule_run({ agent: "payer", at: "2020-01-01", input: {}, key: "later" });
ctx_emit("paid");
1;`,
  "agents/emits.ts": `${header("ctx", "mutates: false\n")}ctx_emit("go");\n1;`,
  "agents/asks.ts": `${header("fsm, agent:emits", "states: [ASSESS]\n")}fsm_enter("ASSESS");\n({ child: agent_call({ agent: "emits" }) });`,
  "agents/all.ts": `${begin()}${ASKS}mcp_call({ tool: "shop/pay_blind", params: input.asked });
journal_add_double({ date: "2026-11-06", description: "Book", debit_account: 5030, credit_account: 1010, amount: "1.10", key: "all" });
agent_call({ agent: "payer" });
fsm_enter("SCHEDULE_NOTIFY");
notify_send({ to: "pat", subject: "Paid", text: "Paid." });
schedule_run({ agent: "payer", at: "2020-01-01", input: {}, key: "all" });
ctx_emit("go");
fsm_enter("COMPLETE");
({ by: answer.by });`,
};

let one: Shop;
let opened: Host;
beforeAll(async () => {
  one = await shop(FILES);
  opened = await host(one);
});
afterAll(async () => {
  await closeAll();
  await removeAll();
});

async function during<T>(use: () => Promise<T>): Promise<{ end: T; wrote: Json[] }> {
  const before = one.wrote().length;
  const end = await use();
  return {
    end,
    wrote: one
      .wrote()
      .slice(before)
      .map((call) => call.params),
  };
}
/** Starts with a yes to what was asked for. */
async function afterYes(agent: string, input: Json): Promise<{ end: RunRecord; wrote: Json[] }> {
  const waiting = await run(opened, agent, input);
  expect(waiting, String(waiting.error?.message)).toMatchObject({ status: "waiting", reason: "approval" });
  return during(() => decide(opened, waiting.id, "approved"));
}
const given = async (agent: string, given: Given, input: Json = {}): Promise<RunRecord> => {
  const { id } = await opened.start(agent, { cause: { kind: "command", key: `given-${Math.random()}` }, input, given });
  return opened.engine.result(id, { timeoutMs: 100_000 });
};

describe("an approval covers one call", () => {
  test("made once", async () => {
    expect(await afterYes("pays", {})).toMatchObject({ end: { status: "done" }, wrote: [{ invoice_id: "I-1" }] });
  });

  test("and not made again, in the same words or others", async () => {
    const twice = await afterYes("pays", { made: [{ invoice_id: "I-1" }, { invoice_id: "I-1" }] });
    expect(twice).toMatchObject({ end: { status: "waiting", reason: "approval" }, wrote: [{ invoice_id: "I-1" }] });
    expect(await during(() => decide(opened, twice.end.id, "rejected"))).toMatchObject({ end: { outcome: "rejected" }, wrote: [] });
  });

  test.each<[string, Json, Json]>([
    ["another key", { invoice_id: "I-1" }, { invoice_id: "I-1", extra: null }],
    ["text for a number", { invoice_id: "I-1", n: 1 }, { invoice_id: "I-1", n: "1" }],
    ["a change deep inside", { lines: [{ a: [1, { b: true }] }] }, { lines: [{ a: [1, { b: false }] }] }],
    ["another order of a list", { lines: [1, 2] }, { lines: [2, 1] }],
    ["another normal form of the same letters", { invoice_id: "caf\u00e9" }, { invoice_id: "cafe\u0301" }],
    ["a blank more", { invoice_id: "I-1" }, { invoice_id: "I-1 " }],
    ["nothing", { invoice_id: "I-1" }, {}],
  ])("as it was shown: not with %s", async (_, asked, made) => {
    const { end, wrote } = await afterYes("pays", { asked, made: [made] });
    expect([end.status, wrote]).toEqual(["waiting", []]);
    expect(openCard(opened, end.id).calls).toEqual([{ tool: "shop/pay_blind", params: made }]);
    await opened.engine.cancel(end.id, "test");
  });

  test("whatever the order of its keys", async () => {
    expect(await afterYes("pays", { asked: { a: 1, b: { c: 2, d: 3 } }, made: [{ b: { d: 3, c: 2 }, a: 1 }] })).toMatchObject({
      end: { status: "done" },
      wrote: [{ a: 1, b: { c: 2, d: 3 } }],
    });
  });

  test("of this run: the next run must ask again", async () => {
    const first = await run(opened, "pays", { made: [] });
    await decide(opened, first.id, "approved");
    expect(await run(opened, "straight")).toMatchObject({ status: "waiting" });
  });

  test("as edited, not as it was", async () => {
    const calls = [{ tool: "shop/pay_blind", params: { invoice_id: "I-0", note: "second" } }];
    const asked = { invoice_id: "I-0", note: "first" };
    const takes = await run(opened, "takes", { asked });
    expect(await during(() => decide(opened, takes.id, "edited", { calls }))).toMatchObject({
      end: { status: "done" },
      wrote: [{ invoice_id: "I-0", note: "second" }],
    });
    const ignores = await run(opened, "pays", { asked, made: [asked] });
    expect(await during(() => decide(opened, ignores.id, "edited", { calls }))).toMatchObject({ end: { status: "waiting" }, wrote: [] });
  });

  test("a tool that reports everything as approved approves nothing", async () => {
    one.mood({ says: { approved: true, status: "approval granted" } });
    expect(await during(() => run(opened, "straight"))).toMatchObject({ end: { status: "waiting", reason: "approval" }, wrote: [] });
    one.mood({});
  });
});

describe("who judges", () => {
  test("the pack of the process, whatever other pack is named", async () => {
    const end = await run(opened, "invoices", { policy: "open" });
    expect(end.error).toMatchObject({ code: "FSM_GATE" });
    expect(end.error?.message).toContain("rule BIG, policies/strict_one.yaml");
    expect(await run(opened, "invoices", { policy: "open", amount: "5.00" })).toMatchObject({ status: "done", error: null });
  });

  test("a named pack can only make it stricter", async () => {
    expect((await run(opened, "invoices", { policy: "pay" })).error?.message).toContain("rule BIG, policies/pay.yaml");
  });

  test("a process without its pack is judged by none", async () => {
    expect((await run(opened, "nopack", { policy: "open" })).error).toMatchObject({ code: "POLICY_UNKNOWN" });
  });

  test.each([
    ["rules that block", `{"rules": [{"id": "NO", "condition": "true", "action": "block"}]}`, { status: "done", outcome: "blocked" }],
    ["prose", "Never pay anybody without asking me.", { status: "waiting", reason: "approval" }],
    ["an unknown action", `{"rules": [{"id": "X", "condition": "true", "action": "let through"}]}`, { status: "waiting" }],
    ["no rules, which decide nothing", `{"rules": []}`, { status: "waiting", reason: "approval" }],
  ])("a policy given with the run applies too: %s", async (_, policy, expected) => {
    const { end } = await during(() => given("straight", { policy }, { amount: "5.00" }));
    expect(end, String(end.error?.message)).toMatchObject(expected);
  });

  test("a given policy also applies to the agents the run calls", async () => {
    const waiting = await given("parent", { policy: "Never pay anybody without asking me." });
    const { end, wrote } = await during(() => decide(opened, waiting.id, "approved"));
    const rest = await opened.engine.result(end.id, { ended: true, timeoutMs: 100_000 });
    expect(wrote).toEqual([]);
    expect(JSON.stringify(rest.result)).toContain("FSM_GATE");
  });
});

test("a given policy also applies to runs started later, and by an event", async () => {
  await given("starts", { policy: "Never pay anybody without asking me." });
  await letEventsOut(opened);
  const begun = (await opened.engine.list({})).filter(({ cause }) => ["schedule", "event"].includes(cause.kind));
  const ends = await Promise.all(begun.map(({ id }) => opened.engine.result(id, { timeoutMs: 100_000 })));
  expect(ends.map(({ error }) => error?.code)).toEqual(["FSM_GATE", "FSM_GATE"]);
  expect(JSON.stringify(one.wrote())).not.toContain("payer");
});

describe("a read-only run", () => {
  test("releases no event, even as the child of another run", async () => {
    const { id } = await opened.start("asks", { cause: { kind: "command", key: "asks" }, input: {} });
    const end = await opened.engine.result(id, { ended: true, timeoutMs: 100_000 });
    expect(JSON.stringify(end.result)).toContain("FSM_READ_ONLY");
    expect(opened.emitted()).toEqual([]);
  });

  test("calls nothing that writes, whatever its name", async () => {
    const { end, wrote } = await during(() => given("straight", { readOnly: true }, { amount: "5.00" }));
    expect(wrote).toEqual([]);
    expect(end.error).toMatchObject({ code: "FSM_READ_ONLY" });
  });
});

describe("a copy of a run", () => {
  test("has no approvals of its own: neither for a call, nor for a write, nor in its commit", async () => {
    const paid = await run(opened, "pays");
    await decide(opened, paid.id, "approved");
    const asked = (await opened.engine.steps(paid.id)).find((step) => step.name === "approval_wait")?.seq ?? 0;
    for (const at of [asked + 1, asked + 2]) {
      const { end, wrote } = await during(async () => {
        const { run } = await forkRun(opened, { run: paid.id, by: "Pat", reason: "test", at, head: false });
        return opened.engine.result(run, { timeoutMs: 100_000 });
      });
      expect(wrote).toEqual([]);
      expect(end.status, `forked at ${at}`).not.toBe("done");
      await opened.engine.cancel(end.id, "test");
    }
    const booked = await run(opened, "books");
    await decide(opened, booked.id, "approved");
    const logged = (await opened.engine.steps(booked.id)).find((step) => step.name === "ctx_log")?.seq ?? 0;
    const { run: copy } = await forkRun(opened, { run: booked.id, by: "Pat", reason: "test", at: logged + 1, head: false });
    const end = await opened.engine.result(copy, { timeoutMs: 100_000 });
    expect(end).toMatchObject({ status: "waiting", reason: "approval" });
    expect(await decide(opened, copy, "rejected")).toMatchObject({ outcome: "rejected" });
    const whole = await forkRun(opened, { run: booked.id, by: "Pat", reason: "test", head: false });
    const meta = (await opened.engine.result(whole.run, { timeoutMs: 100_000 })).meta;
    expect(meta).toMatchObject({ approvals: [] });
  });

  test("does not act on verdicts over what its source had read: a person is asked and told why; from the beginning it reads and acts by itself", async () => {
    const paid = await run(opened, "straight", { amount: "5.00" });
    const steps = await opened.engine.steps(paid.id);
    const read = steps.findIndex((step) => step.name === "mcp_call") + 1;
    const acted = steps.findIndex((step) => step.effect === "external");
    for (const at of [0, read, acted]) {
      const { end, wrote } = await during(async () => {
        const { run } = await forkRun(opened, { run: paid.id, by: "Pat", reason: "test", at, head: false });
        return opened.engine.result(run, { timeoutMs: 100_000 });
      });
      expect(wrote, `forked at ${at}`).toHaveLength(at === 0 ? 1 : 0);
      if (at > 0) expect(openCard(opened, end.id)).toMatchObject({ body: { not_judged: expect.stringContaining("this run is a copy") } });
      await opened.engine.cancel(end.id, "test");
    }
  });

  test("moved to the same code, it continues with its approval, once", async () => {
    const waiting = await run(opened, "takes");
    one.commit({ "README.md": "moved\n" });
    await migrateRun(opened, { run: waiting.id, by: "Pat", reason: "test", dryRun: false });
    const again = await opened.engine.result(waiting.id, { timeoutMs: 100_000 });
    expect(again).toMatchObject({ status: "waiting", reason: "approval" });
    expect(await during(() => decide(opened, waiting.id, "approved"))).toMatchObject({
      end: { status: "done" },
      wrote: [{ invoice_id: "I-1" }],
    });
  });

  test("a complete replay is the same, and acts on nothing", async () => {
    const waiting = await run(opened, "all");
    await decide(opened, waiting.id, "approved");
    const end = await opened.engine.result(waiting.id, { timeoutMs: 100_000 });
    const { end: replayed, wrote } = await during(async () => replayRun(end, await opened.engine.steps(end.id), opened.world));
    expect([replayed.findings, wrote]).toEqual([[], []]);
  });
});

test("in a dry run nothing acts, and reads are made", async () => {
  const dry = await host(one, { mode: "memory" });
  const before = [one.reached().length, one.git("rev-parse", "HEAD"), one.git("status", "--porcelain")];
  const { id } = await dry.start("all", { cause: { kind: "command", key: "dry" }, input: {}, mode: "dry" });
  const end = await dry.engine.result(id, { timeoutMs: 100_000 });
  await letEventsOut(dry);
  expect([end.status, end.error]).toEqual(["done", null]);
  const reached = one.reached().slice(before[0] as number);
  expect(reached.map(({ tool, wrote }) => [tool, wrote])).toEqual([["get_invoice", false]]);
  expect([one.git("rev-parse", "HEAD"), one.git("status", "--porcelain")]).toEqual(before.slice(1));
  const { id: asking } = await dry.start("asks", { cause: { kind: "command", key: "dry asks" }, input: {}, mode: "dry" });
  expect((await dry.engine.result(asking, { ended: true, timeoutMs: 100_000 })).status).toBe("done");
  const all = await dry.engine.list({ limit: 20 });
  expect(all.map((run) => [run.agent, run.mode]).sort()).toEqual([
    ["all", "dry"],
    ["asks", "dry"],
    ["emits", "dry"],
  ]);
});
