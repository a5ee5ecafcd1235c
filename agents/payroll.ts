/*
name: Payroll
description: Pay a group for a period - hours to net, year to date, the entry, and a checked file for the bank, which a person sends
trigger: a2a
process: payroll
risk: high
uses: [fsm, mcp, compute, data, policy, approval, script, notify, payroll]
input: {pay_group: {type: string, required: true}, period_start: {type: date, required: true},
  period_end: {type: date, required: true}, pay_date: {type: date, required: true}}
states:
  ASSESS: read employees, hours, withholding, bank accounts, budgets, earlier runs
  COMPUTE: overtime, gross, deductions, net, the bank file with its totals
  POLICY_CHECK: budget, nobody twice, garnishments, overtime approved
  APPROVAL_GATE: the payroll director
  MUTATE: pay run, year to date, entry, bank file
  SCHEDULE_NOTIFY: tell the payroll director where the file lies
examples: [{pay_group: US-BIWEEKLY, period_start: "2024-10-07", period_end: "2024-10-20", pay_date: "2024-10-25"}]
*/
fsm_enter("ASSESS");
const { pay_group, period_start, period_end, pay_date } = input;
const { today, company, before, people, budgets, whole } = script_run("payroll_records", input);
fsm_enter("COMPUTE");
const slips = people.map(({ employee, profile, hours }: any) =>
  script_run("pay_slip", { employee, profile, hours: hours.records, period_start, period_end, pay_date }),
);
const [gross, net, deductions] = ["gross", "net", "deductions"].map((field) => data_sum({ records: slips, field }).sum);
fsm_enter("POLICY_CHECK");
const facts = script_run("pay_facts", { gross, slips, people, budgets, paid: before.found !== false });
const verdict = policy_evaluate({ facts: whole ? facts : {}, about: { pay_group, gross, net, deductions, headcount: slips.length } });
const reference = `PAY-${pay_group}-${period_end}`;
const file = verdict.blocked ? null : script_run("pay_file", { reference, pay_date, today, company, people, slips });
const calls = script_run("pay_calls", { ...input, reference, gross, net, deductions, slips });
const details = { gross, deductions, net, slips: slips.map(({ name, gross, net, weeks }: any) => ({ name, gross, net, weeks })) };
const title = `Pay ${net} to ${slips.length} of ${pay_group} on ${pay_date}?`;
const { by } = script_run("carry_out", { title, calls, ask: true, fixed: true, details });
const path = `payroll/${reference}.${file?.extension}`;
data_write({ path, text: file?.text });
fsm_enter("SCHEDULE_NOTIFY");
const next_run = script_run("next_period_end", { period_start, period_end });
const paid = `${pay_group}: ${net} net of ${gross} to ${slips.length} employees, approved by ${by}`;
const summary = `${paid}; data/${path} waits to be sent to the bank`;
notify_send({ to: "payroll director", subject: `Payroll ${reference}`, text: summary, key: summary });
const bank_file = { path: `data/${path}`, total: file?.total, count: file?.count, entry_hash: file?.entry_hash };
({ gross, net, deductions, headcount: slips.length, slips, bank_file, next_run, summary });
