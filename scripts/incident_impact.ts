/*
name: Incident impact
description: Customers that an incident reaches, by the weight of their tier, and what the contracts may come to owe
input: {incident: {type: object, required: true}, contracts: {type: list, required: true}}
*/
const { impact } = input.incident;
// For the month, each at most its cap.
const caps = input.contracts.map((one: any) => compute_percent_of({ amount: one.monthly_fee, pct: one.credit_cap_pct }).result);
const sla_exposure = script_run("total", { amounts: ["0.00", ...caps] });
const customers = Number(data_sum({ records: impact, field: "customers" }).sum);
const weights = impact.map((one: any) => ({ n: String(one.customers * Number(one.weight)) }));
({ customers, weighted: data_sum({ records: weights, field: "n" }).sum, sla_exposure });
