/*
name: Offboarding records
description: An employee who leaves - their access in the order it is revoked, what they have and own, what they are owed
input: {employee_id: {type: string, required: true}}
*/
const { employee_id } = input;
const today = mcp_call("erp/get_business_date");
const employee = mcp_record({ tool: "erp/get_employee", params: { employee_id } });
const manager = mcp_record({ tool: "erp/get_employee", params: { employee_id: employee.manager_id } });
const grants = mcp_fetch_all({ tool: "erp/list_access_grants", params: { employee_id, status: "active" } }).records;
const equipment = mcp_fetch_all({ tool: "erp/list_equipment", params: { employee_id } }).records;
const owned = mcp_fetch_all({ tool: "erp/list_owned_items", params: { owner_id: employee_id } }).records;
const paid = mcp_call({ tool: "erp/get_final_pay", params: { employee_id } }).found !== false;
const systems = grants.sort((a, b) => a.revoke_order - b.revoke_order).map((grant) => grant.system);
const payout = script_run("hourly_share", { pay_type: employee.pay_type, pay_rate: employee.pay_rate, hours: employee.pto_hours });
({ today, employee, manager, equipment, owned, paid, systems, payout });
