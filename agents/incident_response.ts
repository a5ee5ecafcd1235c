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
const { incident, service, suspects, similar, contracts } = script_run("incident_records", { incident_id });
const { severity, cardholder_data, opened_at } = incident;
fsm_enter("COMPUTE");
const reached = script_run("incident_impact", { incident, contracts });
const impact = { ...reached, revenue_per_hour: service.revenue_per_hour, cardholder_data };
fsm_enter("POLICY_CHECK");
const facts = { incident_status: incident.status, severity, cardholder_data, revenue_at_risk: service.revenue_per_hour };
const verdict = policy_evaluate({ facts, about: { incident_id, severity, impact } });
const calls = script_run("incident_calls", { incident, suspects, root_cause, on_call: service.on_call });
const versions = suspects.map((one: any) => one.version).join(", ") || "nothing";
const title = `${severity} ${incident_id}, ${incident.summary}: roll back ${versions}?`;
const details = { impact, similar: similar.length, verdict: verdict.summary };
const receivers = { tool: "erp/get_employee", key: "employee_id", of: ["assignee"] };
const { by, calls: steps, made } = script_run("carry_out", { title, calls, ask: true, details, receivers });
const [updated] = made["erp/update_incident"] ?? [];
const [ticket] = made["erp/create_ticket"];
const on_call = mcp_record({ tool: "erp/get_employee", params: { employee_id: ticket.assignee } });
const resolution = updated?.status ?? "open, to be investigated";
const cause = updated?.root_cause ?? root_cause;
script_run("incident_review", { incident, suspects, impact, root_cause: cause, owner: on_call.name });
fsm_enter("SCHEDULE_NOTIFY");
const summary = `${incident_id} (${severity}) ${resolution} by ${by}: ${reached.customers} customers reached`;
notify_send({ to: on_call.email, subject: `${incident_id}: ${resolution}`, text: summary, urgent: true, key: summary });
const again = { task: `Post-mortem of ${incident_id}`, tool: "erp/get_incident", params: { incident_id } };
schedule_run({ agent: "general", at: "in 1d", input: again, key: incident_id });
({ severity, resolution, impact, root_cause: cause, steps: steps.map((one: any) => one.tool), approved_by: by, summary });
