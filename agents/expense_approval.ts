/*
name: Expense Approval
description: Check an expense claim against the policy, ask who may approve it, and pay it out
trigger: a2a
process: expense_approval
risk: medium
uses: [fsm, mcp, compute, data, policy, approval, script, notify]
input: {expense_id: {type: string, required: true}}
states:
  ASSESS: read the claim, who filed it, the category's limits, the budget, earlier claims
  COMPUTE: age, deductible part, claims of the year with this one
  POLICY_CHECK: limits, category, receipt, 30 days
  APPROVAL_GATE: a person approves; how senior, the total decides
  MUTATE: record the approval, pay the claim out
  SCHEDULE_NOTIFY: tell who filed it
examples: [{expense_id: EXP-703}]
*/
fsm_enter("ASSESS");
const { expense_id } = input;
const { today, expense, employee, rules, budget, so_far } = script_run("expense_records", { expense_id });
const { category, amount } = expense;
fsm_enter("COMPUTE");
const { days: age_days } = script_run("days", { from: expense.incurred_on, to: expense.submitted_on });
const figuresOf = (paid: string) => script_run("expense_figures", { paid, so_far, budget, deductible_pct: rules.deductible_pct });
const receipt_attached = expense.receipt || new Decimal(amount).lte(rules.receipt_above);
const limit = compute_sub_limit({ claimed: employee.single_expense_limit, sub_limit: rules.limit_single });
fsm_enter("POLICY_CHECK");
const judged = rules.allowed ? category : `${category}, which is not allowed`;
const { employee_id, status: claim_status } = expense;
const facts = { employee_id, claim_status, total: amount, limit, category: judged, receipt_attached, age_days };
const verdict = policy_evaluate({ facts, about: { expense_id, amount, requester: employee.name } });
const title = `Approve ${amount} for ${employee.name}: ${expense.description}?`;
const otherwise = [{ tool: "erp/reject_expense", params: { expense_id, reason: "@reason" } }];
let day = today;
let asked: any;
do {
  const pay_date = script_run("days", { from: day, add: 14 }).day;
  const calls = [
    { tool: "erp/record_expense_approval", params: { expense_id, approved_amount: amount, approved_by: "@approver" } },
    { tool: "erp/reimburse_expense", params: { expense_id, amount, pay_date } },
  ];
  asked = script_run("carry_out", { title, calls, otherwise, ask: true, today: day, again: day !== today, details: figuresOf(amount) });
  if (asked.passed) day = mcp_call("erp/get_business_date");
} while (asked.passed);
const { by, no, made } = asked;
const paid = made["erp/reimburse_expense"]?.[0] ?? { amount: expense.amount, pay_date: null };
fsm_enter("SCHEDULE_NOTIFY");
const decision = no === null ? "approved" : "rejected";
const { approved_amount } = made["erp/record_expense_approval"]?.[0] ?? { approved_amount: expense.amount };
const payment = paid.amount === approved_amount ? "paid out" : `${paid.amount} paid out`;
const summary = `${expense_id}: ${approved_amount} ${decision} by ${by}${no === null ? `, ${payment} on ${paid.pay_date}` : `: ${no}`}`;
notify_send({ to: employee.email, subject: `Your claim ${expense_id} is ${decision}`, text: summary, key: summary });
const told = { decision, amount: paid.amount, requester: employee.name, reason: no ?? verdict.summary, by, pay_date: paid.pay_date };
({ ...told, ...figuresOf(no === null ? paid.amount : "0.00"), summary });
