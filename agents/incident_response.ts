/*
name: Incident Response
description: Weigh an incident, undo the deployment behind it once those who must have approved it, and see to its post-mortem
trigger: a2a
process: incident_response
risk: high
uses: [fsm, mcp, compute, data, policy, approval, script, notify, schedule, document]
input: {incident_id: {type: string, required: true}, root_cause: {type: string, default: under investigation}}
states:
  ASSESS: read the incident, its service, deployments, customers, earlier incidents, who is on call
  COMPUTE: impact, revenue at risk
  POLICY_CHECK: severity, cardholder data, revenue at risk
  APPROVAL_GATE: a person decides; two in a P1 and where cardholder data is touched
  MUTATE: roll back, mark as mitigated, ticket, post-mortem
  SCHEDULE_NOTIFY: tell who is on call, post-mortem on the next day
examples: [{incident_id: INC-501}]
*/
fsm_enter("ASSESS");
const { incident_id, root_cause } = input;
const incident = mcp_record({ tool: "erp/get_incident", params: { incident_id } });
const { service_id, severity, cardholder_data, opened_at } = incident;
const service = mcp_record({ tool: "erp/get_service", params: { service_id } });
const live = mcp_fetch_all({ tool: "erp/list_deployments", params: { service_id, status: "live" } }).records;
const similar = mcp_fetch_all({ tool: "erp/list_incidents", params: { service_id, status: "resolved" } }).records;
const contracts = mcp_fetch_all({ tool: "erp/list_contracts", params: { service_id, side: "customer" } }).records;
fsm_enter("COMPUTE");
// What its contracts may come to owe for the month, each at most its cap.
const caps = contracts.map((one) => compute_percent_of({ amount: one.monthly_fee, pct: one.credit_cap_pct }).result);
const sla_exposure = script_run("total", { amounts: ["0.00", ...caps] });
const customers = Number(data_sum({ records: incident.impact, field: "customers" }).sum);
const weights = incident.impact.map((one: any) => ({ n: String(one.customers * Number(one.weight)) }));
const weighted = data_sum({ records: weights, field: "n" }).sum;
// What was deployed in the day before is suspected.
const suspects = live.filter((one) => Date.parse(opened_at) - Date.parse(one.deployed_at) < 86400000 && one.deployed_at < opened_at);
const impact = { customers, weighted, revenue_per_hour: service.revenue_per_hour, sla_exposure, cardholder_data };
fsm_enter("POLICY_CHECK");
const facts = { incident_status: incident.status, severity, cardholder_data, revenue_at_risk: service.revenue_per_hour };
const verdict = policy_evaluate({ facts, about: { incident_id, severity, impact } });
const undo = suspects.map(({ deployment_id }) => ({ tool: "erp/rollback_deployment", params: { deployment_id } }));
const update = { tool: "erp/update_incident", params: { incident_id, status: "mitigated", root_cause } };
const review_of = { reference: incident_id, subject: `Post-mortem: ${incident.summary}`, assignee: service.on_call, priority: "high" };
const calls = [...undo, ...(undo.length > 0 ? [update] : []), { tool: "erp/create_ticket", params: review_of }];
const title = `${severity} ${incident_id}, ${incident.summary}: roll back ${suspects.map((one) => one.version).join(", ") || "nothing"}?`;
const details = { impact, similar: similar.length, verdict: verdict.summary };
const { by, calls: steps, made } = script_run("carry_out", { title, calls, ask: true, details });
const [updated] = made["erp/update_incident"] ?? [];
const [ticket] = made["erp/create_ticket"];
const on_call = mcp_record({ tool: "erp/get_employee", params: { employee_id: ticket.assignee } });
const resolution = updated?.status ?? "open, to be investigated";
const cause = updated?.root_cause ?? root_cause;
const deployed = suspects.map((one) => ({ time: one.deployed_at, event: `${one.deployment_id} deployed` }));
const timeline = [...deployed, { time: opened_at, event: incident.summary }];
const action_items = [{ action: "Find the root cause", owner: on_call.name }];
const review = document_post_mortem({ incident_id, summary: incident.summary, timeline, root_cause: cause, impact, action_items });
data_write({ path: `incidents/${incident_id}.md`, text: document_format({ document: review }) });
fsm_enter("SCHEDULE_NOTIFY");
const summary = `${incident_id} (${severity}) ${resolution} by ${by}: ${customers} customers reached`;
notify_send({ to: on_call.email, subject: `${incident_id}: ${resolution}`, text: summary, urgent: true, key: incident_id });
const again = { task: `Post-mortem of ${incident_id}`, tool: "erp/get_incident", params: { incident_id } };
schedule_run({ agent: "general", at: "in 1d", input: again, key: incident_id });
({ severity, resolution, impact, root_cause: cause, steps: steps.map((one: any) => one.tool), approved_by: by, summary });
