/** Process agents: what a state forbids does not happen, and nothing acts outside without the yes its verdict demands. */
import * as fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Host } from "../../runtime/app/host.ts";
import type { Json, RunRecord } from "../../runtime/kernel/ports.ts";
import { closeAll, decide, host, openCard, removeAll, run, workspace, type Workspace } from "./harness.ts";

const POLICY = `process: pay
source: test
facts: {amount: money, kind: text, pays: money, to: text}
thresholds: {manager: "100.00"}
rules:
  - {id: BIG, when: "amount > threshold.manager", action: require_approval, level: manager, description: a test}
  - {id: ODD, when: "kind == odd", action: escalate, description: a test}
  - {id: BAD, when: "kind == bad", action: block, description: a test}
  - {id: TWO, when: "kind == two", action: require_approval, approvals: 2, description: a test}
`;

const agent = (body: string, more = "", gate = "APPROVAL_GATE?"): string => `/*
name: Test
description: test
uses: [fsm, policy, approval, bank, journal, ctx, notify, compute]
states: [ASSESS, COMPUTE, POLICY_CHECK, ${gate}, MUTATE, SCHEDULE_NOTIFY]
input: {kind: {type: string, default: plain}, amount: {type: money, default: "50.00"}}
${more}*/
${body}
`;

/** To POLICY_CHECK and the verdict; what is paid was read in ASSESS. */
const ASSESSED = `fsm_enter("ASSESS");
const pay = { to: "ACME", amount: bank_rate({ day: "x", failures: 0 }).rate };
fsm_enter("COMPUTE");
fsm_enter("POLICY_CHECK");
const verdict = policy_evaluate({ policy: "pay", facts: { amount: input.amount, pays: pay.amount, to: pay.to, kind: input.kind } });`;
const GATED = `${ASSESSED}
if (!verdict.passed) {
  fsm_enter("APPROVAL_GATE");
  approval_wait({ title: "Pay?", calls: [{ tool: "bank_pay", params: pay }] });
}
fsm_enter("MUTATE");
bank_pay(pay);
fsm_enter("SCHEDULE_NOTIFY");
fsm_enter("COMPLETE");
({ decision: "approved", amount: pay.amount });`;

const FILES: Record<string, string> = {
  "policies/pay.yaml": POLICY,
  "agents/gated.ts": agent(GATED, "output: {decision: {type: string}, amount: {type: money}}\n"),
  "agents/fixed.ts": agent(GATED, "", "APPROVAL_GATE"),
  "agents/ignores.ts": agent(`${ASSESSED}\nfsm_enter("MUTATE");\nbank_pay(pay);\n1;`),
  "agents/changes.ts": agent(`${ASSESSED}
fsm_enter("APPROVAL_GATE");
approval_wait({ title: "Pay?", calls: [{ tool: "bank_pay", params: pay }] });
fsm_enter("MUTATE");
bank_pay({ to: "OTHER", amount: pay.amount });
1;`),
  "agents/twice.ts": agent(`${ASSESSED}
const ask = (to: string) => {
  fsm_enter("APPROVAL_GATE");
  approval_wait({ title: "Pay " + to + "?", calls: [{ tool: "bank_pay", params: { to, amount: pay.amount } }] });
  fsm_enter("MUTATE");
  return bank_pay({ to, amount: pay.amount });
};
ask("A");
ask("B");
2;`),
  "agents/lazy.ts": agent(`${ASSESSED}
fsm_enter("APPROVAL_GATE");
approval_wait({ title: "Pay?", calls: [{ tool: "bank_pay", params: pay }] });
fsm_enter("MUTATE");
bank_pay(pay);
fsm_enter("APPROVAL_GATE");
fsm_enter("MUTATE");
1;`),
  "agents/invents.ts": agent(`${ASSESSED}\nfsm_enter("MUTATE");\nbank_pay({ to: "ACME", amount: "77.70" });\n1;`),
  "agents/asksinvented.ts": agent(
    `${ASSESSED}\nfsm_enter("APPROVAL_GATE");\napproval_wait({ title: "Pay?", calls: [{ tool: "bank_pay", params: { to: "A", amount: input.amount } }] });\n1;`,
  ),
  "agents/short.ts": agent(
    `fsm_enter("ASSESS");\n({ decision: "approved" });`,
    "output: {decision: {type: string}, amount: {type: money}}\n",
  ),
  "agents/escalates.ts": agent(`fsm_enter("ASSESS");\nfsm_enter("ESCALATE");\nctx_log("told");\n({ left: true });`),
  "agents/fails.ts": agent(`fsm_enter("ASSESS");\nfsm_enter("FAILED");\n({ left: true });`),
  "agents/walk.ts": agent(
    `const out: string[] = [];
for (const step of input.steps) {
  try {
    if (step === "rate") bank_rate({ day: "x", failures: 0 });
    else if (step === "policy") policy_evaluate({ policy: "pay", facts: { amount: input.amount, kind: input.kind } });
    else if (step === "ask") approval_wait({ title: "Pay?", calls: [{ tool: "bank_pay", params: { to: "ACME", amount: "1.1" } }] });
    else if (step === "pay") bank_pay({ to: "ACME", amount: "1.1" });
    else if (step === "book") journal_add_double({ date: "2026-11-06", description: "Book", debit_account: 5030, credit_account: 1010, amount: "1.10", key: "k" + String(out.length) });
    else if (step === "tell") ctx_emit("told");
    else fsm_enter(step);
    out.push(step);
  } catch (error) { out.push(step + "!"); }
}
({ out });`,
    "",
  ).replace('default: "50.00"}}', 'default: "50.00"}, steps: {type: list, default: []}}'),
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

const paid = (): number => one.bank().filter((what) => what === "pay").length;
const during = async (use: () => Promise<RunRecord>): Promise<{ end: RunRecord; paid: number }> => {
  const before = paid();
  const end = await use();
  return { end, paid: paid() - before };
};

describe("the verdict", () => {
  test("pass skips a conditional gate, and the metadata says so", async () => {
    const { end, paid } = await during(() => run(opened, "gated"));
    expect(end).toMatchObject({ status: "done", outcome: "completed", result: { decision: "approved", amount: "1.1" } });
    expect(end.meta).toMatchObject({ policy: "PASSED", approvals: [] });
    expect(paid).toBe(1);
  });

  test("a fixed gate asks although the policy passes", async () => {
    const { end, paid } = await during(() => run(opened, "fixed"));
    expect(end.error).toMatchObject({ code: "FSM_EDGE" });
    expect(paid).toBe(0);
  });

  test("require_approval waits for the required level, with a brief; an approval pays once, a rejection pays nothing", async () => {
    const waiting = await run(opened, "gated", { amount: "100.01" });
    expect(waiting).toMatchObject({ status: "waiting", reason: "approval" });
    expect(openCard(opened, waiting.id)).toMatchObject({ level: "manager", calls: [{ tool: "bank_pay" }] });
    expect(JSON.stringify(openCard(opened, waiting.id).brief)).toContain("BIG");
    const yes = await during(() => decide(opened, waiting.id, "approved"));
    expect(yes).toMatchObject({ end: { status: "done", outcome: "completed" }, paid: 1 });
    expect(yes.end.meta).toMatchObject({ policy: "APPROVED", approvals: [{ by: "Pat" }] });
    const other = await run(opened, "gated", { amount: "100.01" });
    const no = await during(() => decide(opened, other.id, "rejected", { reason: "too much" }));
    expect(no).toMatchObject({ end: { status: "done", outcome: "rejected" }, paid: 0 });
  });

  test("a value at the threshold is not above it", async () => {
    expect((await run(opened, "gated", { amount: "100.00" })).status).toBe("done");
  });

  test("a script that ignores the verdict does not reach MUTATE", async () => {
    const { end, paid } = await during(() => run(opened, "ignores", { amount: "5000.00" }));
    expect(end.error).toMatchObject({ code: "FSM_GATE" });
    expect(paid).toBe(0);
  });

  test("block ends the run, whatever the script does next", async () => {
    const { end, paid } = await during(() => run(opened, "gated", { kind: "bad" }));
    expect(end).toMatchObject({ status: "done", outcome: "blocked" });
    expect(JSON.stringify(end.result)).toContain("BAD");
    expect(paid).toBe(0);
  });

  test("escalate waits for a person, and then still goes through the gate", async () => {
    const waiting = await run(opened, "gated", { kind: "odd" });
    expect(waiting).toMatchObject({ status: "waiting", reason: "escalation" });
    const gate = await decide(opened, waiting.id, "approved");
    expect(gate).toMatchObject({ status: "waiting", reason: "approval" });
    expect(await during(() => decide(opened, waiting.id, "approved"))).toMatchObject({ end: { outcome: "completed" }, paid: 1 });
    const other = await run(opened, "gated", { kind: "odd" });
    expect(await during(() => decide(opened, other.id, "rejected"))).toMatchObject({ end: { outcome: "rejected" }, paid: 0 });
  });

  test("a rule that requires two people is not met by one", async () => {
    const waiting = await run(opened, "gated", { kind: "two" });
    const after = await during(() => decide(opened, waiting.id, "approved"));
    expect(after).toMatchObject({ end: { status: "waiting", reason: "approval" }, paid: 0 });
    expect(openCard(opened, waiting.id)).toMatchObject({ approvals: 2, decision: null });
    expect(await during(() => decide(opened, waiting.id, "approved"))).toMatchObject({ end: { status: "waiting" }, paid: 0 });
    await opened.engine.cancel(waiting.id, "test");
  });
});

describe("the gate", () => {
  test("parameters changed after the approval need an approval of their own", async () => {
    const waiting = await run(opened, "changes", { amount: "500.00" });
    const { end, paid } = await during(() => decide(opened, waiting.id, "approved"));
    expect(end).toMatchObject({ status: "waiting", reason: "approval" });
    expect(openCard(opened, waiting.id).calls).toEqual([{ tool: "bank_pay", params: { to: "OTHER", amount: "1.1" } }]);
    expect(paid).toBe(0);
    expect(await during(() => decide(opened, waiting.id, "rejected"))).toMatchObject({ end: { outcome: "rejected" }, paid: 0 });
  });

  test("a reopened gate needs an approval of its own", async () => {
    const first = await run(opened, "twice", { amount: "500.00" });
    const second = await during(() => decide(opened, first.id, "approved"));
    expect(second).toMatchObject({ end: { status: "waiting" }, paid: 1 });
    expect(await during(() => decide(opened, first.id, "approved"))).toMatchObject({ end: { status: "done", result: 2 }, paid: 1 });
    const lazy = await run(opened, "lazy", { amount: "500.00" });
    expect((await decide(opened, lazy.id, "approved")).error).toMatchObject({ code: "FSM_GATE" });
  });

  test("an amount that was neither computed nor read is not written, and nobody is asked about it", async () => {
    const { end, paid } = await during(() => run(opened, "invents"));
    expect(end.error).toMatchObject({ code: "AMOUNT_UNTRACED" });
    expect(end.error?.message).toContain("amount 77.70");
    expect(paid).toBe(0);
    expect((await run(opened, "asksinvented", { amount: "500.00" })).error).toMatchObject({ code: "AMOUNT_UNTRACED" });
  });
});

describe("the end", () => {
  test("a result without a declared field fails and names it", async () => {
    const end = await run(opened, "short");
    expect(end).toMatchObject({ status: "failed", error: { code: "OUTPUT_INCOMPLETE" } });
    expect(end.error?.message).toContain("amount");
  });

  test("a script that ends in ESCALATE waits until a person has reviewed it", async () => {
    const waiting = await run(opened, "escalates");
    expect(waiting).toMatchObject({ status: "waiting", reason: "escalation" });
    expect(await decide(opened, waiting.id, "approved")).toMatchObject({ status: "done", outcome: "completed", result: { left: true } });
  });

  test("FAILED is an outcome, not an error", async () => {
    expect(await run(opened, "fails")).toMatchObject({ status: "done", outcome: "blocked", result: { left: true } });
  });

  test("a read-only run reads, and does nothing else", async () => {
    const { id } = await opened.start("gated", { cause: { kind: "command", key: "ro" }, input: {}, given: { readOnly: true } });
    const end = await opened.engine.result(id, { timeoutMs: 100_000 });
    expect(end.error).toMatchObject({ code: "FSM_READ_ONLY" });
    expect((await opened.engine.steps(id)).map((step) => step.name)).toEqual(["fsm_enter", "bank_rate", "fsm_enter"]);
  });
});

const STEPS = ["ASSESS", "COMPUTE", "POLICY_CHECK", "APPROVAL_GATE", "MUTATE", "SCHEDULE_NOTIFY", "COMPLETE", "ESCALATE", "FAILED"];
const ALLOWED: Record<string, readonly string[]> = {
  pay: ["MUTATE"],
  book: ["MUTATE"],
  tell: ["SCHEDULE_NOTIFY", "ESCALATE", "FAILED"],
  policy: ["POLICY_CHECK"],
  rate: ["ASSESS", "APPROVAL_GATE", "MUTATE", "SCHEDULE_NOTIFY"],
};

let walks = 0;
let made = 0;
test("for any sequence of calls nothing happens in a state that forbids it, and nothing is paid without the required approval", async () => {
  const usual = ["ASSESS", "rate", "COMPUTE", "POLICY_CHECK", "policy", "APPROVAL_GATE", "ask", "MUTATE", "pay", "SCHEDULE_NOTIFY", "tell"];
  const steps = fc.oneof(
    fc.array(fc.constantFrom(...STEPS, "rate", "policy", "ask", "pay", "book", "tell"), { maxLength: 12 }),
    // Near the usual way: some calls left out, some put in.
    fc
      .tuple(fc.subarray(usual, { minLength: 9 }), fc.nat(10), fc.constantFrom("pay", "book", "tell", "MUTATE", "APPROVAL_GATE", "policy"))
      .map(([kept, at, more]) => [...kept.slice(0, at), more, ...kept.slice(at)]),
  );
  await fc.assert(
    fc.asyncProperty(steps, fc.constantFrom("plain", "odd", "bad"), fc.constantFrom("50.00", "500.00"), async (sequence, kind, amount) => {
      const before = paid();
      // Unlinted, or the language would refuse a script that swallows errors.
      const detail = { file: "agents/walk.ts", text: FILES["agents/walk.ts"] ?? "", lint: false };
      const cause = { kind: "exec" as const, key: `walk-${++walks}`, detail };
      const { id } = await opened.start("walk", { cause, input: { steps: sequence, kind, amount } as Json });
      let end = await opened.engine.result(id, { timeoutMs: 100_000 });
      for (let n = 0; n < 12 && end.status === "waiting"; n++) end = await decide(opened, end.id, "approved");
      const recorded = await opened.engine.steps(end.id);
      let state = "DECOMPOSE";
      let passed: boolean | null = null;
      let yes = 0;
      for (const step of recorded) {
        const word = { bank_pay: "pay", journal_add_double: "book", ctx_emit: "tell", policy_evaluate: "policy", bank_rate: "rate" }[
          step.name
        ];
        if (word !== undefined && step.state === "ok") expect(ALLOWED[word], `${word} in ${state}`).toContain(state);
        for (const change of step.changes) {
          if (change.op === "decided" && change.decision !== "rejected") yes += change.calls.length;
          if (change.op === "verdict") passed = (passed ?? true) && change.verdict.passed;
          if (change.op === "entered") state = change.state;
        }
        if (word === "pay" && step.state === "ok" && passed !== true) expect(yes--, "a yes for each payment").toBeGreaterThan(0);
      }
      expect(paid() - before).toBe(recorded.filter((step) => step.name === "bank_pay" && step.state === "ok").length);
      made += paid() - before;
    }),
    // Three that do pay, so that it has looked at something.
    { numRuns: 150, examples: ["a", "b", "c"].map(() => [usual, "plain", "500.00"]) },
  );
  expect(made).toBeGreaterThan(2);
});

afterEach(async () => {
  for (const left of await opened.engine.list({ status: ["waiting"] })) await opened.engine.cancel(left.id, "test over");
});
