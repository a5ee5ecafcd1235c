/*
name: Procurement figures
description: What an order leaves of the budget, and what it costs over three years
input: {asked: {type: object, required: true}, budget_left: {type: money, required: true}, spent: {type: money, required: true}}
*/
const { asked, budget_left, spent } = input;
const { running_cost_year: running } = asked;
({
  three_years: script_run("total", { amounts: [spent, running, running, running] }),
  budget_left_after: script_run("total", { amounts: [budget_left, `-${spent}`] }),
});
