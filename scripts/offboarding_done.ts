/*
name: Offboarding done
description: What became of an employee's access, of what they owned and of their final pay, told from the calls as approved
input: {employee: {type: object, required: true}, at_once: {type: boolean, required: true}, planned: {type: object, required: true, describe: "{systems, payout, revoke_on}"}, made: {type: object, required: true}, by: {type: string, required: true}}
*/
const { employee, at_once, planned, made, by } = input;
const { name } = employee;
const of = (tool: string) => made[`erp/${tool}`] ?? [];
// A last day that was moved with the approval moves the day access ends, where that day was the last one.
const { last_day, status } = of("update_employee_status")[0] ?? employee;
const on = !at_once && planned.revoke_on === employee.last_day ? last_day : planned.revoke_on;
// Who stays after all, by the status that was approved, loses only what is taken with it.
const leaves = ["leaving", "left"].includes(status);
const revoked = at_once ? of("revoke_access").map((one: any) => one.system) : leaves ? planned.systems : [];
const moved = of("transfer_ownership").map(({ item_id, owner_id }: any) => ({
  item: mcp_record({ tool: "erp/get_owned_item", params: { item_id } }).name,
  to: mcp_record({ tool: "erp/get_employee", params: { employee_id: owner_id } }).name,
}));
const handed_to = [...new Set(moved.map((one: any) => one.to))].join(", ");
const done = `access to ${revoked.join(", ") || "nothing"} revoked, ${moved.length} items handed to ${handed_to || "nobody"}, by ${by}`;
const stays = `${name} stays, as ${status}${at_once ? "" : `, by ${by}`}`;
const later = leaves ? `${name} leaves on ${last_day}: access is revoked on ${on}` : stays;
const then = status === "leaving" ? `; leaves on ${last_day}` : "";
const summary = at_once ? `${leaves ? name : stays}: ${done}${then}` : later;
const access = at_once || leaves ? { status: at_once ? "revoked" : "scheduled", on, by } : { status: "kept", by };
const final_pay = of("record_final_pay")[0]?.amount ?? (leaves ? planned.payout : "0.00");
({ access, systems: revoked, final_pay, handover: moved.map((one: any) => one.item), handed_to, leaves, ends_on: last_day, summary });
