/*
name: Pay slip
description: Gross, deductions and net of one employee for a period; overtime by the day where the state has it, else by the week
input: {employee: {type: object, required: true}, profile: {type: object, required: true}, hours: {type: list, required: true},
  period_start: {type: date, required: true, describe: first day of a workweek}, period_end: {type: date, required: true},
  pay_date: {type: date, required: true}}
*/
const { employee, profile, hours, period_start, period_end, pay_date } = input;
const weeks = [];
for (let from = period_start; employee.pay_type === "hourly" && from <= period_end; from = script_run("days", { from, add: 7 }).day) {
  const { rule, daily_hours } = script_run("week_hours", { employee, hours, week_start: from });
  weeks.push(compute_hr_overtime({ rule, hourly_rate: employee.pay_rate, daily_hours }).result);
}
const gross = employee.pay_type === "hourly" ? script_run("total", { amounts: ["0.00", ...weeks] }) : employee.pay_rate;
const length = script_run("days", { from: period_start, to: period_end }).days + 1;
const periods = length > 27 ? 12 : length > 7 ? 26 : 52;
const { federal, state, contributions } = script_run("pay_taxes", { country: employee.country, profile, gross, pay_date, periods });
const { benefits, garnishment } = profile;
const deductions = script_run("total", { amounts: [federal, state, contributions, benefits, garnishment] });
const net = script_run("total", { amounts: [gross, `-${deductions}`] });
const ytd_gross = script_run("total", { amounts: [profile.ytd_gross, gross] });
const ytd_net = script_run("total", { amounts: [profile.ytd_net, net] });
const { employee_id, name } = employee;
({ employee_id, name, weeks, gross, federal, state, contributions, benefits, garnishment, deductions, net, ytd_gross, ytd_net });
