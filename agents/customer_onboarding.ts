/*
name: Customer Onboarding
description: Provision an account for a customer who has signed, name who looks after them, start the project
trigger: a2a
process: customer_onboarding
risk: low
uses: [fsm, mcp, data, policy, approval, script, notify, schedule]
input:
  customer_id: {type: string, required: true}
  plan_id: {type: string, default: PRO}
  csm: {type: string, describe: "employee; else the first of Customer Success"}
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
const today = mcp_call("erp/get_business_date");
const customer = mcp_record({ tool: "erp/get_customer", params: { customer_id } });
mcp_record({ tool: "erp/get_plan", params: { plan_id } });
const items = mcp_fetch_all({ tool: "erp/list_onboarding_items", params: { customer_id } });
const team = mcp_fetch_all({ tool: "erp/list_employees", params: { status: "active" } }).records;
const listed = mcp_call({ tool: "erp/list_listed_countries", params: {} });
const listed_country = (listed.records ?? listed).some((one: any) => one.country === customer.country);
const csm = data_first({ records: team, where: input.csm === undefined ? { title: "Customer Success" } : { employee_id: input.csm } });
const kickoff_on = script_run("days", { from: today, add: 7 }).day;
fsm_enter("POLICY_CHECK");
const contract_signed = items.records.some((one) => one.item === "contract signed" && one.done);
const open_items = items.complete ? items.records.filter((one) => !one.done).length : null;
const { name, status: customer_status, pep, sanctions_hit } = customer;
const facts = { customer_status, contract_signed, payment_method_valid: customer.payment_method !== null, open_items, pep, sanctions_hit, listed_country };
const verdict = policy_evaluate({ about: { customer: name, plan: plan_id }, facts });
const lead_id = csm.employee_id;
const calls = [
  { tool: "erp/provision_account", params: { customer_id, plan_id, region: customer.country === "US" ? "us" : "eu" } },
  { tool: "erp/assign_csm", params: { customer_id, csm: lead_id } },
  { tool: "erp/create_project", params: { customer_id, name: `${name} go-live`, kickoff_on, lead_id } },
];
const { by, no, calls: steps } = script_run("carry_out", { title: `Provision ${plan_id} for ${name}?`, calls, otherwise: [], ask: !verdict.passed });
// Not the customer: the reason may be one they must not be told.
if (no !== null) script_run("refused", { to: csm.email, subject: `No account for ${name}`, what: `${name} gets no account.`, by, no });
const [account, assigned, project] = steps.map((call: any) => call.params);
fsm_enter("SCHEDULE_NOTIFY");
const [manager, lead] = [assigned.csm, project.lead_id].map((employee_id) => mcp_record({ tool: "erp/get_employee", params: { employee_id } }));
const { account_id } = mcp_record({ tool: "erp/get_account", params: { customer_id: account.customer_id } });
const summary = `${name} has account ${account_id} on ${account.plan_id}; ${lead.name} starts with them on ${project.kickoff_on}`;
const welcome = `${lead.name} will call you before ${project.kickoff_on}.`;
notify_send({ to: customer.email, subject: `Welcome, ${name}`, text: welcome, key: customer_id });
notify_send({ to: manager.email, subject: `New customer ${name}`, text: summary, key: `csm ${customer_id}` });
for (const days of [30, 60, 90]) {
  const again = { task: `Check in with ${name} after ${days} days`, tool: "erp/get_customer", params: { customer_id } };
  schedule_run({ agent: "general", at: `in ${days}d`, input: again, key: `${customer_id} ${days}` });
}
const next_step = { kickoff: project.kickoff_on, check_ins: [30, 60, 90] };
({ account_id, csm: manager.name, next_step, approved_by: by, verdict: verdict.summary, summary });
