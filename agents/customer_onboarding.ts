/*
name: Customer Onboarding
description: Provision an account for a customer who has signed, name who looks after them, start the project
trigger: a2a
process: customer_onboarding
risk: low
uses: [fsm, mcp, data, policy, approval, script, notify, schedule]
input: {customer_id: {type: string, required: true}, plan_id: {type: string, default: PRO},
  csm: {type: string, describe: "employee; else the first of Customer Success"}}
states:
  ASSESS: read the customer, the checklist, who is in Customer Success
  POLICY_CHECK: contract signed, payment method, checklist, sanctions, exposed persons, listed countries
  APPROVAL_GATE?: a manager looks at what is open
  MUTATE: account, success manager, project
  SCHEDULE_NOTIFY: welcome, kickoff, and a look after 30, 60 and 90 days
examples: [{customer_id: C-310}]
*/
fsm_enter("ASSESS");
const { customer_id, plan_id } = input;
const { customer, contract_signed, open_items, listed_country, csm, today } = script_run("onboarding_records", input);
fsm_enter("POLICY_CHECK");
const { name, status, pep, sanctions_hit } = customer;
const payment_method_valid = customer.payment_method !== null;
const facts = { customer_status: status, contract_signed, payment_method_valid, open_items, pep, sanctions_hit, listed_country };
const verdict = policy_evaluate({ about: { customer: name, plan: plan_id }, facts });
const title = `Provision ${plan_id} for ${name}?`;
const receivers = { tool: "erp/get_employee", key: "employee_id", of: ["csm", "lead_id"] };
let day = today;
let asked: any;
do {
  const kickoff_on = script_run("days", { from: day, add: 7 }).day;
  const calls = script_run("onboarding_calls", { customer, plan_id, lead_id: csm.employee_id, kickoff_on });
  asked = script_run("carry_out", { title, calls, otherwise: [], ask: !verdict.passed, today: day, again: day !== today, receivers });
  if (asked.passed) day = mcp_call("erp/get_business_date");
} while (asked.passed);
const { by, no, calls: steps } = asked;
// Not the customer: the reason may be one they must not be told.
if (no !== null) script_run("refused", { to: csm.email, subject: `No account for ${name}`, what: `${name} gets no account.`, by, no });
const [account, assigned, project] = steps.map((call: any) => call.params);
fsm_enter("SCHEDULE_NOTIFY");
const employee = (employee_id: string) => mcp_record({ tool: "erp/get_employee", params: { employee_id } });
const [manager, lead] = [employee(assigned.csm), employee(project.lead_id)];
const { account_id } = mcp_record({ tool: "erp/get_account", params: { customer_id: account.customer_id } });
const summary = `${name} has account ${account_id} on ${account.plan_id}; ${lead.name} starts with them on ${project.kickoff_on}`;
const welcome = `${lead.name} will call you before ${project.kickoff_on}.`;
notify_send({ to: customer.email, subject: `Welcome, ${name}`, text: welcome, key: `${customer_id} ${welcome}` });
notify_send({ to: manager.email, subject: `New customer ${name}`, text: summary, key: summary });
for (const days of [30, 60, 90]) {
  const again = { task: `Check in with ${name} after ${days} days`, tool: "erp/get_customer", params: { customer_id } };
  schedule_run({ agent: "general", at: `in ${days}d`, input: again, key: `${customer_id} ${days}` });
}
const next_step = { kickoff: project.kickoff_on, check_ins: [30, 60, 90] };
({ account_id, csm: manager.name, next_step, approved_by: by, verdict: verdict.summary, summary });
