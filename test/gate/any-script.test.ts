/**
 * For any script and any tool names: nothing changes in a state that forbids it, and nothing acts outside without the yes its verdict
 * demands. The scripts pass no lint and swallow every error; what is true is what the shop says has reached it and what the person says
 * they have agreed to.
 */
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Host } from "../../runtime/app/host.ts";
import { canonicalJson } from "../../runtime/kernel/canonical.ts";
import type { Call, Change, Json, RunRecord, Step } from "../../runtime/kernel/ports.ts";
import { abandon, closeAll, host, removeAll } from "../engine/harness.ts";
import { header, letEventsOut, PACK, sayYes, type Shop, shop, STATES, type Yes } from "./shop.ts";
import { READS, WRITES } from "./shop-tools.ts";

const USES = "fsm, mcp, policy, approval, journal, ctx, notify, schedule, audit, script, bank, agent:child, agent:looks";

/** Does what `input.program` says, one call after the other; a call that fails ends the run, whatever the script catches. */
const WALK = `${header(USES, `${STATES}input: {program: {type: list, default: []}}\n`)}
const twice = (op) => [{ tool: op.tool, params: op.params }, { params: op.params, tool: op.tool }];
const acts = {
  enter: (op) => fsm_enter(op.state),
  policy: (op) => policy_evaluate({ policy: op.policy, facts: op.facts }),
  ask: (op) => approval_wait({ title: "Confirmed already", calls: op.calls }),
  call: (op) => mcp_call({ tool: op.tool, params: op.params }),
  bare: (op) => mcp_call({ tool: op.tool }),
  try: (op) => mcp_try({ tool: op.tool, params: op.params }),
  computed: (op) => globalThis[["mcp", "call"].join("_")]({ ...{ tool: op.tool }, ...{ params: { ...op.params } } }),
  all: (op) => mcp_fetch_all({ tool: op.tool, params: op.params }),
  sub: (op) => script_run("calls", { tool: op.tool, params: op.params }),
  twice: (op) => twice(op).map((one) => mcp_call(one)),
  bank: (op) => bank_wire({ to: "ACME", amount: "1.10" }),
  book: (op) => journal_add_double({ date: "2026-11-06", description: "Book", debit_account: 5030, credit_account: 1010, amount: "1.10", key: op.key }),
  emit: (op) => ctx_emit("go"),
  notify: (op) => notify_send({ to: "pat", subject: "Approved", text: "Approved." }),
  schedule: (op) => schedule_run({ agent: "listens", at: "2020-01-01", input: {}, key: op.key }),
  child: (op) => agent_call({ agent: op.agent, input: {} }),
};
const out = [];
for (const op of input.program) {
  try { const got = acts[op.do](op); out.push(got && got.approved ? "told that it is approved" : "ok"); } catch (error) { out.push(error.code || String(error)); }
}
({ out });`;

/** A child that acts: judged, asked and paid for by itself. */
const child = (facts: string): string => `${header("fsm, mcp, policy, approval", STATES)}fsm_enter("ASSESS");
const invoice = mcp_call({ tool: "shop/get_invoice", params: { invoice_id: "child" } });
fsm_enter("COMPUTE");
fsm_enter("POLICY_CHECK");
policy_evaluate({ policy: "pay", facts: ${facts} });
fsm_enter("APPROVAL_GATE");
approval_wait({ title: "Pay?", calls: [{ tool: "shop/pay_blind", params: { invoice_id: "child" } }] });
fsm_enter("MUTATE");
mcp_call({ tool: "shop/pay_blind", params: { invoice_id: "child" } });
1;`;

const FILES = {
  "scripts/calls.ts": `/*\nname: Calls\ndescription: test\nuses: [mcp]\n*/\nmcp_call({ tool: input.tool, params: input.params });\n`,
  "agents/child.ts": child(`{ amount: "500.00", kind: "x" }`),
  "agents/looks.ts": `${header("mcp, ctx, notify, journal", "mutates: false\n")}mcp_call({ tool: "shop/get_invoice", params: { invoice_id: "looks" } });
mcp_call({ tool: "shop/pay_blind", params: { invoice_id: "looks" } });
1;`,
  "agents/listens.ts": `${header("mcp, fsm", `trigger: [event]\non_event: go\n${STATES}`)}fsm_enter("ASSESS");
mcp_call({ tool: "shop/pay_blind", params: { invoice_id: "listens" } });
1;`,
  // A pack by the agent's own name: what else it names judges beside it.
  "policies/strict.yaml": PACK("strict"),
};

let one: Shop;
let opened: Host;
let count = 0;
beforeAll(async () => {
  one = await shop(FILES);
  opened = await host(one);
});
afterAll(async () => {
  await closeAll();
  await removeAll();
});

type Op = { do: string } & Record<string, Json>;
const tools = [...READS, ...WRITES].map((name) => `shop/${name}`);
const tool = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...tools, "shop/pay_blind", "shop/pay_blind") },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "SHOP/pay_blind",
      "shop/pay_blind ",
      "shop//pay_blind",
      "pay_blind",
      "shop/nothing",
      "shop/__proto__",
      "mcp_call",
    ),
  },
);
const params = fc.constantFrom<Record<string, Json>>(
  { invoice_id: "I-1" },
  { invoice_id: "I-1" },
  { invoice_id: "I-1", extra: true },
  { invoice_id: "I-1", n: 1 },
  { invoice_id: "I-1", n: "1" },
  { n: 1, invoice_id: "I-1" },
  { invoice_id: "I-1", nested: { a: [1, { b: 2 }] } },
  { invoice_id: "I-1", nested: { a: [1, { b: 3 }] } },
  { invoice_id: "caf\u00e9" },
  { invoice_id: "cafe\u0301" },
  {},
);
const FACTS: Record<string, Record<string, Json>> = {
  small: { amount: "5.00", kind: "x", fine: true },
  big: { amount: "500.00", kind: "x", fine: true },
  odd: { amount: "5.00", kind: "odd", fine: true },
  bad: { amount: "5.00", kind: "bad", fine: true },
  none: {},
};
const STEPS = ["ASSESS", "COMPUTE", "POLICY_CHECK", "APPROVAL_GATE", "MUTATE", "SCHEDULE_NOTIFY", "COMPLETE", "ESCALATE", "FAILED"];
const enter = (state: string): Op => ({ do: "enter", state });
const policy = fc
  .tuple(fc.constantFrom("small", "small", "big", "big", "odd", "bad", "none"), fc.constantFrom("pay", "pay", "open", "strict", "nothing"))
  .map(([facts, policy]): Op => ({ do: "policy", policy, facts: FACTS[facts] ?? {} }));
const calling = fc
  .tuple(fc.constantFrom("call", "call", "call", "bare", "try", "computed", "all", "sub", "twice"), tool, params)
  .map(([how, tool, params]): Op => ({ do: how, tool, params }));
const asking = fc.array(fc.record({ tool, params }), { maxLength: 3 }).map((calls): Op => ({ do: "ask", calls }));
const other = fc
  .tuple(fc.constantFrom("bank", "book", "emit", "notify", "schedule", "child"), fc.constantFrom("child", "looks"), fc.nat(1000))
  .map(([what, agent, key]): Op => ({ do: what, agent, key: `k${key}` }));
const wild = fc.array(fc.oneof(fc.constantFrom(...STEPS).map(enter), policy, calling, asking, other), { maxLength: 14 });
/** Near the usual way: what is asked for is then called, more or less, with anything in between. */
const how = fc.constantFrom("call", "bare", "try", "computed", "sub", "twice");
const near = fc
  .record({
    judge: fc.oneof(policy, fc.constant<Op>({ do: "policy", policy: "pay", facts: FACTS["small"] ?? {} })),
    call: fc.record({ tool: fc.oneof(tool, fc.constantFrom("shop/pay_blind", "shop/pay_keyed", "shop/pay_invoice")), params }),
    how: fc.array(how, { minLength: 2, maxLength: 2 }),
    drop: fc.array(fc.nat(40), { maxLength: 1 }),
  })
  .chain(({ judge, call, how: [first = "call", again = "call"], drop }) => {
    const usual: Op[] = [
      ...[enter("ASSESS"), enter("COMPUTE"), enter("POLICY_CHECK"), judge, enter("APPROVAL_GATE")],
      ...[{ do: "ask", calls: [call] }, enter("MUTATE"), { do: first, ...call }, { do: again, ...call }, enter("SCHEDULE_NOTIFY")],
    ].filter((_, i) => !drop.includes(i));
    return fc
      .array(fc.tuple(fc.nat(10), fc.oneof(calling, other, fc.constantFrom(...STEPS).map(enter))), { maxLength: 2 })
      .map((more) => more.reduce((all, [place, op]) => all.toSpliced(place, 0, op), usual));
  });

const ALLOWED: Record<string, readonly string[]> = {
  write: ["MUTATE"],
  external: ["MUTATE"],
  notify: ["SCHEDULE_NOTIFY", "ESCALATE", "FAILED"],
};
const NOTIFYING = ["ctx_emit", "notify_send", "schedule_run", "audit_add"];

/** Checks one run against what its person said; answers the calls it made outside. */
function audited(run: RunRecord, steps: readonly Step[], process: boolean, said: readonly Call[]): Call[] {
  let state = "DECOMPOSE";
  let gates = 0;
  let strictest = -1;
  const left = said.map((call) => canonicalJson([call.tool, call.params]));
  const made: Call[] = [];
  const change = (one: Change) => {
    if (one.op === "verdict")
      strictest = Math.max(strictest, ["pass", "inform", "require_approval", "escalate", "block"].indexOf(one.verdict.verdict));
    if (one.op === "entered") {
      state = one.state;
      if (state === "APPROVAL_GATE") gates += 1;
    }
  };
  for (const step of steps) {
    const row = NOTIFYING.includes(step.name) ? "notify" : step.effect;
    if (process && step.state === "ok" && row in ALLOWED) expect(ALLOWED[row], `${run.id} ${step.name} in ${state}`).toContain(state);
    if (step.effect === "external" && step.attempts > 0) {
      const given = JSON.parse(step.params) as { tool?: string; params?: Json };
      const call = step.name.startsWith("mcp_")
        ? { tool: given.tool ?? "", params: given.params ?? {} }
        : { tool: step.name, params: given as Json };
      // What its record shows already is approved like any other, and not sent.
      const stood = step.changes.some((one) => one.op === "verified" && one.write.answer.endsWith("nothing was sent"));
      if (!stood) made.push(call);
      expect(state, `${run.id} made ${call.tool}`).toBe("MUTATE");
      expect(strictest, `${run.id} made ${call.tool} with a verdict`).toBeGreaterThanOrEqual(0);
      expect(strictest, `${run.id} made ${call.tool} although it was blocked`).toBeLessThan(4);
      const covered = left.indexOf(canonicalJson([call.tool, call.params]));
      if (strictest > 1 || gates > 1)
        expect(covered, `${run.id} made ${JSON.stringify(call)}; yes was said to ${left.join(" ")}`).toBeGreaterThanOrEqual(0);
      if (covered >= 0) left.splice(covered, 1);
    }
    for (const one of step.changes) change(one);
  }
  return made;
}

const sorted = (calls: readonly Call[]): string[] => calls.map((call) => canonicalJson([call.tool, call.params])).sort();

test("nothing changes in a state that forbids it, and nothing acts without the required approval", async () => {
  const seen = { wrote: 0, asked: 0, runs: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.oneof({ weight: 1, arbitrary: wild }, { weight: 5, arbitrary: near }),
      fc.constantFrom("walk", "walk", "strict"),
      fc.constantFrom<Json>(null, null, { approved: true, status: "approval granted" }),
      fc.boolean(),
      async (program, agent, says, killed) => {
        one.mood(says === null ? {} : { says });
        const before = one.wrote().length;
        const bank = one.bank().length;
        const known = new Set((await opened.engine.list({ limit: 10_000 })).map((run) => run.id));
        const yes: Yes = new Map();
        const cause = { kind: "exec" as const, key: `program-${++count}`, detail: { file: `agents/${agent}.ts`, text: WALK, lint: false } };
        const { id } = await opened.start(agent, { cause, input: { program } });
        if (killed && (await opened.engine.result(id, { timeoutMs: 100_000 })).status === "waiting" && count % 4 === 0) {
          await abandon(opened);
          opened = await host(one);
        }
        await sayYes(opened, id, yes);
        await letEventsOut(opened);
        const made: Call[] = [];
        for (const { id: run } of (await opened.engine.list({ limit: 200 })).filter((run) => !known.has(run.id))) {
          const rest = await sayYes(opened, run, yes);
          const process = rest.agent !== "looks";
          made.push(...audited(rest, await opened.engine.steps(run), process, yes.get(run) ?? []));
          if (rest.status === "waiting") await opened.engine.cancel(run, "test");
          seen.runs += 1;
        }
        const outside = made.filter((call) => call.tool.startsWith("shop/"));
        expect(sorted(one.wrote().slice(before)), "what reached the shop is what was made").toEqual(sorted(outside));
        expect(one.bank().length - bank).toBe(made.filter((call) => call.tool === "bank_wire").length);
        seen.wrote += outside.length;
        seen.asked += [...yes.values()].flat().length;
      },
    ),
    { numRuns: Number(process.env["GATE_RUNS"] ?? 120) },
  );
  // It has looked at something.
  expect(seen.wrote).toBeGreaterThan(10);
  expect(seen.asked).toBeGreaterThan(10);
});
