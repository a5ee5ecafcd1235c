/*
name: AR Collections
description: Go through overdue customers, remind, give notice or hand over, with a result for each
trigger: a2a
process: ar_collections
risk: medium
uses: [fsm, mcp, compute, data, policy, approval, script, notify, schedule]
input: {customers: {type: list, default: [], describe: ids; else everyone overdue}, agency: {type: string, default: Fairway Collections}}
states:
  ASSESS: read overdue invoices, the customers, what was sent to them
  COMPUTE: aging, the next step for each customer
  POLICY_CHECK: reminder from 30 days, notice from 60, agency from 90, silence, disputes
  APPROVAL_GATE?: a person looks at agency, disputes and silence
  MUTATE: take each customer's step; one that is refused does not keep the others back
  SCHEDULE_NOTIFY: tell collections, look again in five days
examples: [{customers: [C-8821, C-301]}]
*/
fsm_enter("ASSESS");
const { today, complete, aged, known } = script_run("collection_records", { customers: input.customers });
fsm_enter("COMPUTE");
const aging = compute_dt_aging(aged.map((one: any) => ({ amount: one.balance, days_outstanding: one.days_outstanding })));
const steps = known.map((one: any) => script_run("collection_step", { ...one, today, agency: input.agency }));
fsm_enter("POLICY_CHECK");
// A list that is not whole is not known to be harmless; nobody overdue is.
const nobody = { days_overdue: 0, days_without_answer: 0, disputed: false, write_off: false };
const judged = steps.length === 0 ? [nobody] : steps.map((one: any) => one.facts);
const amount = script_run("total", { amounts: ["0.00", ...steps.map((one: any) => one.amount)] });
const told = { amount, aging: aging.buckets };
const verdicts = judged.map((facts: any) => policy_evaluate({ facts: complete ? facts : {}, about: told }));
const ask = verdicts.some((one: any) => !one.passed);
const calls = steps.flatMap((one: any) => one.calls);
const title = `Collect ${amount} from ${steps.length} customers, ${calls.length} steps?`;
const customers = steps.map(({ name, action }: any, i: number) => `${name}: ${action} (${verdicts[i].summary})`);
const { by, answers: results } = script_run("carry_out", { title, calls, ask, each: true, details: { aging: aging.buckets, customers } });
const { outcome, failed } = script_run("collection_results", { planned: steps, results, verdicts: verdicts.map((one: any) => one.verdict) });
fsm_enter("SCHEDULE_NOTIFY");
const failures = failed.length === 0 ? "none failed" : `failed for ${failed.join(", ")}`;
const summary = `${amount} overdue from ${steps.length} customers: ${results.length} steps by ${by}, ${failures}`;
const ids = steps.map((one: any) => one.customer_id).join(" ");
const key = `${today} ${results.length === 0 ? ids : summary}`;
notify_send({ to: "collections", subject: `Collections of ${today}`, text: summary, key });
for (const { customer_id } of outcome.filter((one: any) => one.made > 0)) {
  const again = { customers: [customer_id], agency: input.agency };
  schedule_run({ agent: "ar_collections", at: "in 5d", input: again, key: `${customer_id} ${today}` });
}
({ ...told, action: steps.length === 0 ? "none: nothing is overdue" : outcome, failed, next_follow_up: "in 5 days", summary });
