/*
name: Offboarding done
description: What became of an employee's access, of what they owned and of their final pay, told from the calls as approved
input: {employee: {type: object, required: true}, at_once: {type: boolean, required: true}, planned: {type: object, required: true, describe: "{systems, payout, revoke_on}"}, made: {type: object, required: true}, by: {type: string, required: true}}
*/
const { employee, at_once, planned, made, by } = input;
const { name } = employee;
const of = (tool: string) => made[`erp/${tool}`] ?? [];
// A last day that was moved with the approval moves the day access ends, where that day was the last one.
const last_day = of("update_employee_status")[0]?.last_day ?? employee.last_day;
const on = !at_once && planned.revoke_on === employee.last_day ? last_day : planned.revoke_on;
const revoked = at_once ? of("revoke_access").map((one: any) => one.system) : planned.systems;
const moved = of("transfer_ownership").map(({ item_id, owner_id }: any) => ({
  item: mcp_record({ tool: "erp/get_owned_item", params: { item_id } }).name,
  to: mcp_record({ tool: "erp/get_employee", params: { employee_id: owner_id } }).name,
}));
const handed_to = [...new Set(moved.map((one: any) => one.to))].join(", ");
const summary = at_once
  ? `${name}: access to ${revoked.join(", ") || "nothing"} revoked, ${moved.length} items handed to ${handed_to || "nobody"}, by ${by}`
  : `${name} leaves on ${last_day}: access is revoked on ${on}`;
const access = { status: at_once ? "revoked" : "scheduled", on, by };
const final_pay = of("record_final_pay")[0]?.amount ?? planned.payout;
({ access, systems: revoked, final_pay, handover: moved.map((one: any) => one.item), handed_to, summary });
