/*
name: HR Offboarding
description: Take an employee's access away in order, hand over what they own, pay what is owed
trigger: a2a
process: hr_offboarding
risk: high
uses: [fsm, mcp, compute, policy, approval, script, notify, schedule]
input:
  employee_id: {type: string, required: true}
  revoke: {type: string, enum: [now, last day], describe: "when access ends, in words"}
  revoke_on: {type: date, describe: "a termination: today; otherwise the last day; today given here revokes now, and asks"}
states:
  ASSESS: read the employee, their access in the order it is revoked, equipment, what they own
  POLICY_CHECK: termination now, resignation on the last day, agreements on file
  APPROVAL_GATE?: what is revoked at once or cannot be undone is approved
  MUTATE: revoke access in order, hand over, record the final pay
  SCHEDULE_NOTIFY: tell the manager; come again on the last day
examples: [{employee_id: E-2290}]
*/
fsm_enter("ASSESS");
const { employee_id } = input;
const today = mcp_call("erp/get_business_date");
const employee = mcp_record({ tool: "erp/get_employee", params: { employee_id } });
const { separation: reason, last_day, manager_id, name } = employee;
const manager = mcp_record({ tool: "erp/get_employee", params: { employee_id: manager_id } });
const grants = mcp_fetch_all({ tool: "erp/list_access_grants", params: { employee_id, status: "active" } }).records;
const equipment = mcp_fetch_all({ tool: "erp/list_equipment", params: { employee_id } }).records;
const owned = mcp_fetch_all({ tool: "erp/list_owned_items", params: { owner_id: employee_id } }).records;
const paid = mcp_call({ tool: "erp/get_final_pay", params: { employee_id } });
const systems = grants.sort((a, b) => a.revoke_order - b.revoke_order).map((grant) => grant.system);
const payout = script_run("hourly_share", { pay_type: employee.pay_type, pay_rate: employee.pay_rate, hours: employee.pto_hours });
const revoke_on = input.revoke_on ?? (reason === "termination" || input.revoke === "now" ? today : last_day);
fsm_enter("POLICY_CHECK");
const at_once = revoke_on <= today;
const gone = reason === "termination" || last_day <= today;
const calls = script_run("offboarding_calls", { employee, at_once, gone, systems, owned, payout, paid: paid.found !== false });
// No tool gives access back or takes a final pay back.
const final = calls.filter((call: any) => ["erp/revoke_access", "erp/record_final_pay"].includes(call.tool));
const returns = equipment.map((one) => `${one.name} ${one.serial}`);
const facts = { reason, revoke_on, last_day, irreversible: final.length > 0, agreements_on_file: employee.nda_on_file, final_pay: gone ? payout : "0.00", pto_hours: gone ? employee.pto_hours : "0" };
const about = { employee: name, systems, access: { status: "kept" }, equipment: { to_return: returns } };
const verdict = policy_evaluate({ facts, about });
const details = { cannot_be_undone: final.map(({ tool, params }: any) => `${tool} ${params.system ?? params.amount}`) };
const title = `Offboard ${name} (${reason}), ${calls.length} steps?`;
const { by, no, made } = script_run("carry_out", { title, calls, otherwise: [], ask: !verdict.passed, details });
if (no !== null) script_run("refused", { to: manager.email, subject: `${name} keeps access`, what: `Nothing is revoked, handed over or paid for ${name}.`, by, no });
fsm_enter("SCHEDULE_NOTIFY");
const done = script_run("offboarding_done", { employee, at_once, made, by, planned: { systems, payout, revoke_on } });
const { summary, ...told } = done;
const text = `${summary}. To be returned: ${returns.join(", ")}`;
notify_send({ to: manager.email, subject: `${name} leaves`, text, urgent: at_once, key: `${employee_id} ${at_once}` });
const survey = "Please tell us why you leave, and what we should have done better, by answering this mail.";
notify_send({ to: employee.email, subject: "Exit survey", text: survey, key: `survey ${employee_id}` });
const again = at_once ? last_day : told.access.on;
if (!gone) schedule_run({ agent: "hr_offboarding", at: again, input: { employee_id }, key: `${employee_id} ${again}` });
({ ...told, equipment: { to_return: returns }, summary });
