/*
name: Subscription Migration
description: Move a subscription to another plan after five confirmations, the last one before what cannot be undone
trigger: a2a
process: subscription_migration
risk: high
uses: [fsm, mcp, compute, data, policy, approval, script, notify]
input: {subscription_id: {type: string, required: true}, plan_id: {type: string, required: true}}
states:
  ASSESS: read the subscription with its features and usage, both plans, the customer
  COMPUTE: credit for unused days, new cost, termination fee, what is lost
  POLICY_CHECK: eligible, no balance due, whether data is deleted
  APPROVAL_GATE: "five times: the change, the features lost, the data deleted, the bill, and all of it"
  MUTATE: only after the fifth yes - plan, bill, features
  SCHEDULE_NOTIFY: tell the customer
examples: [{subscription_id: SUB-77, plan_id: ENTERPRISE}]
*/
fsm_enter("ASSESS");
const { subscription_id, plan_id } = input;
const { today, subscription, customer, from, to } = script_run("migration_records", { subscription_id, plan_id });
fsm_enter("COMPUTE");
const figuresOn = (day: string) => script_run("migration_figures", { subscription, from, to, today: day });
const { net, lost, gained, deleted, ...bill } = figuresOn(today);
fsm_enter("POLICY_CHECK");
const eligible = subscription.status === "active" && subscription.plan_id !== plan_id;
const facts = { eligible, balance: subscription.balance_due, deletes_data: deleted.length > 0 };
policy_evaluate({ facts, about: { subscription_id, wanted: to.name, bill: { ...bill, net }, plan: from.name, billing: { net: "0.00" }, customer: customer.name } });
const questions = script_run("migration_questions", { customer, from, to, today, lost, gained, deleted, bill, net });
const stays = { to: customer.email, subject: `Your plan stays ${from.name}`, what: `${subscription_id} is not moved to ${to.name}.` };
for (const title of questions) {
  const said = script_run("ask", { title, calls: [], otherwise: [], ask: true, details: { bill } });
  if (said.no !== null) script_run("refused", { ...stays, by: said.by, no: said.no });
}
let day = today;
let asked: any;
do {
  const { net, lost, gained, deleted: _, ...bill } = figuresOn(day);
  const calls = script_run("migration_calls", { subscription, plan_id, today: day, net, lost, gained });
  const title = `All of it, now: ${calls.length} steps that cannot be taken back?`;
  asked = script_run("carry_out", { title, calls, otherwise: [], ask: true, today: day, again: day !== today, details: { bill, lost } });
  if (asked.passed) day = mcp_call("erp/get_business_date");
} while (asked.passed);
const { by, no, made } = asked;
if (no !== null) script_run("refused", { ...stays, by, no });
fsm_enter("SCHEDULE_NOTIFY");
const { credit, cost, fee, net: due } = figuresOn(day);
const told = script_run("migration_done", { made, subscription, planned: { plan_id, net: due, bill: { credit, cost, fee } } });
const change = `${subscription_id} is on ${told.plan} from ${told.effective}; billed ${told.billing.net}`;
const summary = `${change}; features lost: ${told.names}; confirmed five times, last by ${by}`;
notify_send({ to: customer.email, subject: `Your plan is ${told.plan}`, text: summary, key: summary });
({ ...told.answer, approved_by: by, summary });
