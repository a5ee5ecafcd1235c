/*
name: Pay records
description: What the pay of one employee follows from
input: {employee_id: {type: string, required: true}, period_start: {type: date, required: true}, period_end: {type: date, required: true}}
*/
const { employee_id, period_start, period_end } = input;
({
  profile: mcp_record({ tool: "erp/get_payroll_profile", params: { employee_id } }),
  account: mcp_record({ tool: "erp/get_bank_account", params: { employee_id } }),
  hours: mcp_fetch_all({ tool: "erp/list_hours", params: { employee_id, from: period_start, to: period_end } }),
});
