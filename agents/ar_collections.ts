/*
name: AR Collections
description: Go through overdue customers, remind, give notice or hand over, with a result for each
trigger: a2a
process: ar_collections
risk: medium
uses: [fsm, mcp, compute, data, policy, approval, script, notify, schedule]
input:
  customers: {type: list, default: [], describe: ids; without it everyone who is overdue}
  agency: {type: string, default: Fairway Collections}
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
const today = mcp_call("erp/get_business_date");
for (const customer_id of input.customers) mcp_record({ tool: "erp/get_customer", params: { customer_id } });
const open = mcp_fetch_all({ tool: "erp/list_ar_invoices", params: { status: "open" } });
const asked = (one: any) => input.customers.length === 0 || input.customers.includes(one.customer_id);
const aged = open.records
  .filter(asked)
  .map((one) => ({ ...one, days_outstanding: script_run("days", { from: one.due_on, to: today }).days }));
const overdue = data_group_by({ records: aged.filter((one) => one.days_outstanding > 0), by: "customer_id" });
const known = overdue.map(({ key: customer_id, records }) => ({
  customer: mcp_record({ tool: "erp/get_customer", params: { customer_id } }),
  reminders: ["reminder", "notice", "final"].map((tier) => mcp_call({ tool: "erp/get_reminder", params: { customer_id, tier } })),
  invoices: records,
}));
fsm_enter("COMPUTE");
const aging = compute_dt_aging(aged.map((one) => ({ amount: one.balance, days_outstanding: one.days_outstanding })));
const steps = known.map((one) => script_run("collection_step", { ...one, today, agency: input.agency }));
fsm_enter("POLICY_CHECK");
// A list that is not whole is not known to be harmless; nobody overdue is.
const nobody = { days_overdue: 0, days_without_answer: 0, disputed: false, write_off: false };
const judged = steps.length === 0 ? [nobody] : steps.map((one) => one.facts);
const amount = script_run("total", { amounts: ["0.00", ...steps.map((one) => one.amount)] });
const about = { amount, aging: aging.buckets };
const verdicts = judged.map((facts) => policy_evaluate({ facts: open.complete ? facts : {}, about }));
const ask = verdicts.some((one) => !one.passed);
const calls = steps.flatMap((one) => one.calls);
const title = `Collect ${amount} from ${steps.length} customers, ${calls.length} steps?`;
const details = { aging: aging.buckets, customers: steps.map((one, i) => `${one.name}: ${one.action} (${verdicts[i].summary})`) };
const { by, answers: results } = script_run("carry_out", { title, calls, ask, each: true, details });
const outcome = script_run("collection_results", { steps, results, verdicts: verdicts.map((one) => one.verdict) });
const failed = outcome.filter((one: any) => one.problems.length > 0).map((one: any) => one.customer_id);
fsm_enter("SCHEDULE_NOTIFY");
const failures = failed.length === 0 ? "none failed" : `failed for ${failed.join(", ")}`;
const summary = `${amount} overdue from ${steps.length} customers: ${results.length} steps by ${by}, ${failures}`;
const ids = steps.map((one) => one.customer_id).join(" ");
notify_send({ to: "collections", subject: `Collections of ${today}`, text: summary, key: `${today} ${ids}` });
for (const { customer_id } of outcome.filter((one: any) => one.made > 0)) {
  const again = { customers: [customer_id], agency: input.agency };
  schedule_run({ agent: "ar_collections", at: "in 5d", input: again, key: `${customer_id} ${today}` });
}
({ amount, action: steps.length === 0 ? "none: nothing is overdue" : outcome, aging: aging.buckets, failed, next_follow_up: "in 5 days", summary });
