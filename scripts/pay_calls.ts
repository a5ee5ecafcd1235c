/*
name: Pay calls
description: What a payroll writes - the run, each employee's year to date, the entry
input: {pay_group: {type: string, required: true}, period_start: {type: date, required: true}, period_end: {type: date, required: true},
  pay_date: {type: date, required: true}, reference: {type: string, required: true}, gross: {type: money, required: true},
  net: {type: money, required: true}, deductions: {type: money, required: true}, slips: {type: list, required: true}}
*/
const { pay_group, period_start, period_end, pay_date, reference, gross, net, deductions, slips } = input;
const line = (account: string, debit: string, credit: string) => ({ account, debit, credit });
const lines = [line("6200", gross, "0.00"), line("1010", "0.00", net), line("2100", "0.00", deductions)];
const run = { pay_group, period_start, period_end, pay_date, gross, net, headcount: slips.length };
const entry = { reference, period: pay_date.slice(0, 7), entry_date: pay_date, memo: `Payroll ${pay_group}`, lines };
const years = slips.map(({ employee_id, ytd_gross, ytd_net }: any) => ({ employee_id, ytd_gross, ytd_net }));
[
  { tool: "erp/record_pay_run", params: run },
  ...years.map((params: object) => ({ tool: "erp/update_payroll_ytd", params })),
  { tool: "erp/post_entry", params: entry },
];
