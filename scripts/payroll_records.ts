/*
name: Payroll records
description: What paying a group for a period follows from; `whole` where everybody's hours are known
input: {pay_group: {type: string, required: true}, period_start: {type: date, required: true},
  period_end: {type: date, required: true}, pay_date: {type: date, required: true}}
*/
const { pay_group, period_start, period_end, pay_date } = input;
const today = mcp_call("erp/get_business_date");
const company = mcp_call("erp/get_company");
const before = mcp_call({ tool: "erp/get_pay_run", params: { pay_group, period_end } });
const everyone = mcp_fetch_all({ tool: "erp/list_employees", params: { status: "active" } });
data_first({ records: everyone.records, where: { pay_group } });
const people = everyone.records
  .filter((one) => one.pay_group === pay_group)
  .map((employee) => ({ employee, ...script_run("pay_records", { employee_id: employee.employee_id, period_start, period_end }) }));
const departments = [...new Set(people.map(({ employee }) => employee.department_id))];
const budgets = departments.map((department_id) =>
  mcp_record({ tool: "erp/get_budget", params: { department_id, period: pay_date.slice(0, 4) } }),
);
({ today, company, before, people, budgets, whole: everyone.complete && people.every((one) => one.hours.complete) });
