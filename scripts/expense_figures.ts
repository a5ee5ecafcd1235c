/*
name: Expense figures
description: What paying a claim comes to - the deductible part, the year with it, what is left of the budget
input: {paid: {type: money, required: true}, so_far: {type: string, required: true}, budget: {type: object, required: true},
  deductible_pct: {type: string, required: true}}
*/
const { paid, so_far, budget, deductible_pct } = input;
({
  deductible: compute_percent_of({ amount: paid, pct: deductible_pct }).result,
  year_to_date: script_run("total", { amounts: [paid, so_far] }),
  budget_left: script_run("total", { amounts: [budget.amount, `-${budget.committed}`, `-${budget.spent}`, `-${paid}`] }),
});
