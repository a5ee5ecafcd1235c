/*
name: Expense records
description: A claim with who filed it, the rules of its category, the budget and the approved claims of the year
input: {expense_id: {type: string, required: true}}
*/
const today = mcp_call("erp/get_business_date");
const expense = mcp_record({ tool: "erp/get_expense", params: { expense_id: input.expense_id } });
const { employee_id, department_id, category } = expense;
const employee = mcp_record({ tool: "erp/get_employee", params: { employee_id } });
const rules = mcp_record({ tool: "erp/get_expense_policy", params: { category } });
const budget = mcp_record({ tool: "erp/get_budget", params: { department_id, period: today.slice(0, 4) } });
const from = `${today.slice(0, 4)}-01-01`;
const year = mcp_fetch_all({ tool: "erp/list_expenses", params: { employee_id, status: "approved", from } });
({ today, expense, employee, rules, budget, so_far: data_sum({ records: year, field: "amount" }).sum });
