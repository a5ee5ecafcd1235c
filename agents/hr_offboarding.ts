/*
name: HR Offboarding
description: Take an employee's access away in order, hand over what they own, pay what is owed
trigger: a2a
process: hr_offboarding
risk: high
uses: [fsm, mcp, compute, policy, approval, script, notify, schedule]
input: {employee_id: {type: string, required: true}, revoke: {type: string, enum: [now, last day], describe: "when access ends, in words"},
  revoke_on: {type: date, describe: "a termination: today; otherwise the last day; today given here revokes now, and asks"}}
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
const { today, employee, manager, equipment, owned, paid, systems, payout } = script_run("offboarding_records", { employee_id });
const { separation: reason, last_day, name, nda_on_file: agreements_on_file } = employee;
const revoke_on = input.revoke_on ?? (reason === "termination" || input.revoke === "now" ? today : last_day);
fsm_enter("POLICY_CHECK");
const at_once = revoke_on <= today;
const gone = reason === "termination" || last_day <= today;
const { calls, final } = script_run("offboarding_calls", { employee, at_once, gone, systems, owned, payout, paid });
const returns = equipment.map((one: any) => `${one.name} ${one.serial}`);
const pays = gone ? { final_pay: payout, pto_hours: employee.pto_hours } : { final_pay: "0.00", pto_hours: "0" };
const facts = { reason, revoke_on, last_day, ...pays, irreversible: final.length > 0, agreements_on_file };
const about = { employee: name, systems, access: { status: "kept" }, equipment: { to_return: returns } };
const verdict = policy_evaluate({ facts, about });
const title = `Offboard ${name} (${reason}), ${calls.length} steps?`;
const receivers = { tool: "erp/get_employee", key: "employee_id", of: ["owner_id"], not: "separation" };
const { by, no, made } = script_run("carry_out", { title, calls, otherwise: [], ask: !verdict.passed, details: { cannot_be_undone: final }, receivers });
const stays = { to: manager.email, subject: `${name} keeps access`, what: `Nothing is revoked, handed over or paid for ${name}.` };
if (no !== null) script_run("refused", { ...stays, by, no });
fsm_enter("SCHEDULE_NOTIFY");
const { summary, leaves, ends_on, ...told } = script_run("offboarding_done", { employee, at_once, made, by, planned: { systems, payout, revoke_on } });
const to_return = leaves ? returns : [];
const text = leaves ? `${summary}. To be returned: ${returns.join(", ")}` : summary;
// Where all was done before, they know.
if (calls.length > 0 || !at_once) notify_send({ to: manager.email, subject: `${name} ${leaves ? "leaves" : "stays"}`, text, urgent: at_once, key: text });
const survey = "Please tell us why you leave, and what we should have done better, by answering this mail.";
if (leaves) notify_send({ to: employee.email, subject: "Exit survey", text: survey, key: `survey ${employee_id}` });
const again = at_once ? ends_on : told.access.on;
if (!gone && leaves) schedule_run({ agent: "hr_offboarding", at: again, input: { employee_id }, key: `${employee_id} ${again}` });
({ ...told, equipment: { to_return }, summary });
