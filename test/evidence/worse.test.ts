/**
 * Worse means worse, through the backtest of real recorded runs: what a run that had ended at a no, a block, an expiry or an escalation would do
 * outside; what a person decided and code now decides otherwise; and facts of a verdict that are computed otherwise.
 */
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { asked, decideCard } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import type { Host } from "../../runtime/app/host.ts";
import { differenceOf } from "../../runtime/change/evidence/compare.ts";
import { NOBODY } from "../../runtime/change/evidence/left.ts";
import type { Effects } from "../../runtime/change/evidence/types.ts";
import type { Decision, RunRecord } from "../../runtime/kernel/ports.ts";
import { type Workspace, closeAll, decide, host, removeAll, run, start, workspace } from "../engine/harness.ts";
import { header, lines, only, tried } from "./trials.ts";

let one: Workspace;
let opened: Host;
let now = Date.UTC(2026, 10, 6, 12);
beforeEach(async () => {
  one = await workspace();
  opened = await host(one, { clock: { now: () => now } });
});
afterEach(closeAll);
afterAll(removeAll);

const why = (found: Awaited<ReturnType<typeof only>>) => (found === "same" ? ["same"] : [found.class, ...found.why]);

const limits = (action: string, limit = 100) => `process: payer
source: template
facts: { amount: money }
thresholds: { limit: ${limit} }
rules:
  - { id: OVER, when: "amount > threshold.limit", action: ${action}, description: more than the limit }
`;
/** Pays what the policy lets it; asks where it must. */
const PAYER = `${header("fsm, policy, bank, approval, compute", "states: [ASSESS, COMPUTE, POLICY_CHECK, APPROVAL_GATE?, MUTATE]\n")}
fsm_enter("ASSESS");
fsm_enter("COMPUTE");
const amount = compute_percent_of({ amount: "120.00", pct: "100" }).result;
fsm_enter("POLICY_CHECK");
const verdict = policy_evaluate({ facts: { amount } });
const payment = { to: "V-100", amount };
if (!verdict.passed) {
  fsm_enter("APPROVAL_GATE");
  approval_wait({ title: "Pay?", calls: [{ tool: "bank_pay", params: payment }], expires: "1d" });
}
fsm_enter("MUTATE");
({ paid: bank_pay(payment).ref })
`;
const changed = (text: string, ...parts: string[]): string => {
  for (let n = 0; n < parts.length; n += 2) {
    expect(text).toContain(parts[n]);
    text = text.replace(parts[n] ?? "", () => parts[n + 1] ?? "");
  }
  return text;
};

async function rests(agent: string): Promise<string> {
  const id = await start(opened, agent);
  await opened.engine.result(id, { timeoutMs: 100_000 });
  return id;
}

describe("a run that had ended without acting now acts outside, whatever else changed", () => {
  const ends: [what: string, action: string, end: (id: string) => Promise<string | null | undefined>][] = [
    ["a person's no", "require_approval, level: manager", async (id) => (await decide(opened, id, "rejected")).outcome],
    ["a person's no to an escalation", "escalate", async (id) => (await decide(opened, id, "rejected")).outcome],
    ["a block", "block", async (id) => (await opened.engine.get(id))?.outcome],
    [
      "an expiry",
      "require_approval, level: manager",
      async (id) => {
        now += 86_400_000 * 2;
        await expect.poll(async () => (await opened.engine.get(id))?.status).toBe("done");
        return (await opened.engine.get(id))?.outcome;
      },
    ],
  ];
  const small = 'pct: "100"';
  test.for(ends)("%s", async ([, action, end]) => {
    one.commit({ "agents/payer.ts": PAYER, "policies/payer.yaml": limits(action) });
    const outcome = await end(await rests("payer"));
    expect(["rejected", "blocked", "expired"]).toContain(outcome);
    const after = expect.stringMatching(
      /^bank_pay\(.*\) is made, where the run had ended at (?:a person's rejection|a question that nobody answered in time|a policy that blocked it)$/,
    );
    const rewrites: Record<string, string>[] = [
      { "policies/payer.yaml": limits(action, 1000) },
      { "agents/payer.ts": changed(PAYER, small, 'pct: "10"') },
      // The same, and a read that nobody recorded after it.
      {
        "agents/payer.ts": changed(
          PAYER,
          small,
          'pct: "10"',
          "({ paid: bank_pay(payment).ref })",
          '({ paid: bank_pay(payment).ref, rate: bank_rate({ day: "x", failures: 0 }).rate })',
        ),
      },
    ];
    for (const files of rewrites)
      expect(why(await only(opened, "payer", files)).slice(0, 2), JSON.stringify(files)).toEqual(["worse", after]);
    // The rule stays; what it is told is another amount: the call is asked for, because no policy has judged it.
    const lie = { "agents/payer.ts": changed(PAYER, "facts: { amount }", 'facts: { amount: "1.00" }') };
    expect(why(await only(opened, "payer", lie))[0]).toMatch(/^(?:worse|changed)$/);
    expect(one.bank()).toEqual([]);
  });

  test("an escalation, whatever the reviewer answered", async () => {
    const escalating = changed(
      PAYER,
      'if (!verdict.passed) {\n  fsm_enter("APPROVAL_GATE");\n  approval_wait({ title: "Pay?", calls: [{ tool: "bank_pay", params: payment }], expires: "1d" });\n}\nfsm_enter("MUTATE");\n({ paid: bank_pay(payment).ref })',
      'if (!verdict.passed) {\n  fsm_enter("ESCALATE");\n  ({ paid: "" });\n} else {\n  fsm_enter("MUTATE");\n  ({ paid: bank_pay(payment).ref });\n}',
    );
    one.commit({ "agents/payer.ts": escalating, "policies/payer.yaml": limits("escalate") });
    expect((await decide(opened, await rests("payer"), "approved")).outcome).toBe("completed");
    expect(why(await only(opened, "payer", { "policies/payer.yaml": limits("escalate", 1000) })).slice(0, 2)).toEqual([
      "worse",
      expect.stringMatching(/^bank_pay\(.*\) is made, where the run had ended at an escalation to a person$/),
    ]);
  });

  test("a rejection cannot be avoided by asking for something slightly different", async () => {
    const ask = (amount: string) => `${header("approval, bank, ctx")}
const payment = { to: "ACME", amount: "${amount}" };
const answer = approval_wait({ title: "Pay?", calls: [{ tool: "bank_pay", params: payment }] });
const paid = answer.decision === "approved" ? bank_pay(payment).ref : "";
({ paid })
`;
    one.commit({ "agents/payer.ts": ask("120.00") });
    await decide(opened, await rests("payer"), "rejected");
    expect(why(await only(opened, "payer", { "agents/payer.ts": ask("119.00") })).slice(0, 2)).toEqual([
      "worse",
      expect.stringMatching(/^bank_pay\(.*119.00.*\) is made, where the run had ended at a person's rejection$/),
    ]);
    expect(await only(opened, "payer", { "agents/payer.ts": `${ask("120.00")}// reviewed\n` })).toBe("same");
  });
});

describe("what a person decided is now decided differently", () => {
  const agent = (account: number, more: { status?: string; review?: boolean; note?: boolean } = {}) => `${header("journal, queue")}
const made = journal_add_double({ date: "2026-11-06", description: "AWS", debit_account: ${account}, credit_account: 1010, amount: "42.00", key: "aws", status: "${more.status ?? "pending-review"}" });
${more.review === false ? "" : 'queue_add_review({ entry_id: "pending", description: "AWS?", confidence: 0.4 });'}
${more.note === false ? "" : 'queue_add_review({ description: "Is this contract still wanted?", confidence: 0 });'}
({ id: made.entry_id })
`;

  async function recorded(title: string, decision: Partial<Decision>): Promise<void> {
    one.commit({ "agents/booker.ts": agent(5030) });
    await run(opened, "booker");
    const card = opened.cards.list({ open: true }).find((found) => found.title === title);
    if (card === undefined) throw new Error(`no card ${title}`);
    await decideCard(opened, signAs(one.dir, opened.trust, { ...asked(card), decision: "approved", at: now, ...decision }));
  }

  test("an entry they rejected or moved is confirmed by the code as it was", async () => {
    await recorded("AWS?", { decision: "rejected" });
    const waved = agent(5030, { status: "auto-confirmed", review: false });
    expect(why(await only(opened, "booker", { "agents/booker.ts": waved })).slice(0, 2)).toEqual([
      "worse",
      expect.stringMatching(/AWS: .*pending-review -> auto-confirmed, but a person has left it as /),
    ]);
  });

  test("a card they decided is no longer opened; one that nobody decided is reported", async () => {
    await recorded("Is this contract still wanted?", { decision: "rejected" });
    const dropped = agent(5030, { note: false });
    expect(why(await only(opened, "booker", { "agents/booker.ts": dropped }))).toEqual([
      "worse",
      '"Is this contract still wanted?" is no longer shown to a person, who had decided it',
      "no more review Is this contract still wanted?",
    ]);
  });

  test("an entry they confirmed is voided or reset by another run", async () => {
    const cleaner = (text: string) => `${header("journal, ctx")}
const seen = journal_query({ text: "AWS", limit: 5 });
${text}ctx_log(String(seen.length));
1;
`;
    await recorded("AWS?", {});
    one.commit({ "agents/cleaner.ts": cleaner("") });
    await run(opened, "cleaner");
    const voids = cleaner('for (const entry of seen) journal_void({ entry_id: entry.entry_id, reason: "again" });\n');
    expect(why(await only(opened, "cleaner", { "agents/cleaner.ts": voids })).slice(0, 2)).toEqual([
      "worse",
      expect.stringMatching(/^entry 261106-\w+ becomes voided, but a person has decided it$/),
    ]);
  });

  test("an entry they confirmed and then reversed is no measure", async () => {
    await recorded("AWS?", {});
    one.commit({
      "agents/fixer.ts": `${header("journal")}
for (const entry of journal_query({ text: "AWS", limit: 5 })) journal_void({ entry_id: entry.entry_id, reason: "wrong account" });
1;
`,
    });
    await run(opened, "fixer");
    expect(why(await only(opened, "booker", { "agents/booker.ts": agent(5020) }))[0]).toBe("changed");
  });
});

test("a call that had an approval is worse without one, even if its tool is called without one elsewhere", async () => {
  const call = (amount: string, approved: boolean) => ({ tool: "bank_pay", params: { amount }, approved });
  const effects = (calls: Effects["calls"]): Effects => ({
    ...{ status: "done", outcome: "completed", error: null, result: null, entries: [], changed: {}, calls },
    ...{ notices: [], gates: [], state: null, verdicts: [], reviews: [], events: [], files: {} },
  });
  const trial = (calls: Effects["calls"]) => ({
    effects: effects(calls),
    divergence: null,
    missing: null,
    supposed: [],
    steps: [],
    isRecorded: false,
    last: "",
  });
  const was = effects([call("1000.00", true), call("5.00", false)]);
  const of = (calls: Effects["calls"]) => differenceOf({ id: "run_1" } as RunRecord, was, trial(calls), NOBODY);
  expect(await of([call("1000.00", false), call("5.00", false)])).toMatchObject({
    class: "worse",
    why: [expect.stringMatching(/without a person's approval, which it had/), expect.anything()],
  });
  expect(await of([call("1000.00", true), call("6.00", false)])).toMatchObject({ class: "changed" });
});

test("an approved call and a free one swap places: fewer are approved, and more are not", async () => {
  const amounts = (
    first: string,
    second: string,
  ) => `${header("fsm, policy, bank, approval, compute", "states: [ASSESS, COMPUTE, POLICY_CHECK, APPROVAL_GATE?, MUTATE]\n")}
fsm_enter("ASSESS");
fsm_enter("COMPUTE");
const pays = [compute_percent_of({ amount: "${first}", pct: "100" }).result, compute_percent_of({ amount: "${second}", pct: "100" }).result];
fsm_enter("POLICY_CHECK");
const verdict = policy_evaluate({ facts: { amount: pays[0] } });
if (!verdict.passed) {
  fsm_enter("APPROVAL_GATE");
  approval_wait({ title: "Pay?", calls: [{ tool: "bank_pay", params: { to: "V-100", amount: pays[0] } }] });
}
fsm_enter("MUTATE");
for (const amount of pays) bank_pay({ to: "V-100", amount });
1;
`;
  one.commit({ "agents/payer.ts": amounts("120.00", "5.00"), "policies/payer.yaml": limits("require_approval, level: manager") });
  const id = await rests("payer");
  await decide(opened, id, "approved");
  // The second payment has no yes and the verdict demands one: it asks by itself.
  await decide(opened, id, "approved").catch(() => undefined);
  expect((await opened.engine.get(id))?.outcome).toBe("completed");
  const [kind, first] = why(await only(opened, "payer", { "agents/payer.ts": amounts("99.00", "26.00") }));
  expect([kind, first]).toEqual(["worse", expect.stringMatching(/is made without a person's approval/)]);
});

test("changed facts of a verdict are reported with both values and their runs, though the verdict is the same", async () => {
  one.commit({ "agents/payer.ts": PAYER, "policies/payer.yaml": limits("require_approval, level: manager", 1000) });
  const [first, second] = [(await run(opened, "payer")).id, (await run(opened, "payer")).id];
  const report = await tried(opened, "payer", { "agents/payer.ts": changed(PAYER, "facts: { amount }", 'facts: { amount: "0.00" }') });
  expect(report.counts).toMatchObject({ changed: 2 });
  expect(report.differences[0]?.why).toContain('fact amount: "120.00" -> "0.00"');
  expect(report.facts).toEqual([{ name: "amount", was: "120.00", now: "0.00", runs: 2, run: expect.stringMatching(`${first}|${second}`) }]);
  expect(lines(report)[1]).toBe('  a policy gets other facts: fact amount: "120.00" -> "0.00" (RUN and 1 more)');
});

test("payees, tags and confidence are part of what is compared", async () => {
  const agent = (more: string) => `${header("journal")}
journal_add_double({ date: "2026-11-06", description: "AWS", debit_account: 5030, credit_account: 1010, amount: "42.00", key: "aws", status: "auto-confirmed", ${more} });
1;
`;
  one.commit({ "agents/booker.ts": agent('counterparty: "Amazon", confidence: 0.9, note: "n"') });
  await run(opened, "booker");
  const of = async (more: string) => why(await only(opened, "booker", { "agents/booker.ts": agent(more) }))[1];
  expect(await of('counterparty: "Eve", confidence: 0.9, note: "n"')).toMatch(/counterparty "Amazon" -> "Eve"/);
  expect(await of('counterparty: "Amazon", confidence: 0.8, note: "n"')).toMatch(/tags.conf "0.9" -> "0.8"/);
  expect(await of('counterparty: "Amazon", confidence: 0.9, note: "m"')).toMatch(/tags.note "n" -> "m"/);
});

test("each changed payee is reported, even if the sums are equal", async () => {
  const asks = (...to: string[]) => `${header("approval, bank")}
const calls = ${JSON.stringify(to.map((name) => ({ tool: "bank_pay", params: { to: name, amount: "10.00" } })))};
approval_wait({ title: "Pay?", calls }).decision
`;
  one.commit({ "agents/payer.ts": asks("ACME", "GLOBEX", "INITECH") });
  await decide(opened, await rests("payer"), "rejected");
  const { acts = [] } = await tried(opened, "payer", { "agents/payer.ts": asks("EVE", "MALLORY", "EVE") });
  expect(acts.map(({ fields }) => fields)).toEqual([
    [
      { key: "to", to: '"EVE"', count: 2, says: '"ACME" -> "EVE"' },
      { key: "to", to: '"MALLORY"', count: 1, says: '"GLOBEX" -> "MALLORY"' },
    ],
  ]);
});
