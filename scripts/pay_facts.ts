/*
name: Pay facts
description: What the policy must know of a payroll
input: {gross: {type: money, required: true}, slips: {type: list, required: true}, people: {type: list, required: true}, budgets: {type: list, required: true}, paid: {type: boolean, required: true, describe: this period was paid before}}
*/
const { gross, slips, people, budgets, paid } = input;
const unapproved = people.flatMap((one: any) => one.hours.records.filter((line: any) => !line.approved));
const accounts = people.map(({ account }: any) => ({ key: account.iban ?? `${account.routing_number} ${account.account_number}` }));
({
  total: gross,
  budget: script_run("total", { amounts: budgets.flatMap((one: any) => [one.amount, `-${one.committed}`, `-${one.spent}`]) }),
  // Two employees with one account, or everybody once more.
  duplicates: data_dedupe({ records: accounts, key: "key" }).duplicates.length + (paid ? slips.length : 0),
  garnishments_applied: slips.every((one: any) => !new Decimal(one.net).isNegative()),
  unapproved_overtime_hours: data_sum({ records: unapproved, field: "hours" }).sum,
});
