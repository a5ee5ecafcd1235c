/*
name: Pay slip
description: Gross, deductions and net of one employee for a period; overtime by the day where the state has it, else by the week
input:
  employee: {type: object, required: true}
  profile: {type: object, required: true}
  hours: {type: list, required: true}
  period_start: {type: date, required: true, describe: first day of a workweek}
  period_end: {type: date, required: true}
*/
const { employee, profile, hours, period_start, period_end } = input;
const weeks = [];
for (let from = period_start; employee.pay_type === "hourly" && from <= period_end; from = script_run("days", { from, add: 7 }).day) {
  const days = [0, 1, 2, 3, 4, 5, 6].map((add) => new Date(Date.parse(from) + add * 86400000).toISOString().slice(0, 10));
  const daily_hours = days.map((day) =>
    hours
      .filter((one: any) => one.work_date === day)
      .reduce((all: Decimal, one: any) => all.plus(one.hours), new Decimal(0))
      .toString(),
  );
  const rule = employee.country === "US" && employee.state === "CA" ? "california" : "flsa";
  weeks.push(compute_hr_overtime({ rule, hourly_rate: employee.pay_rate, daily_hours }).result);
}
const gross = employee.pay_type === "hourly" ? script_run("total", { amounts: ["0.00", ...weeks] }) : employee.pay_rate;
const federal = compute_tax_withholding({ amount: gross, withholding_rate: profile.federal_pct }).tax_withheld;
const state = compute_tax_withholding({ amount: gross, withholding_rate: profile.state_pct }).tax_withheld;
const { benefits, garnishment } = profile;
const deductions = script_run("total", { amounts: [federal, state, benefits, garnishment] });
const net = script_run("total", { amounts: [gross, `-${deductions}`] });
const ytd_gross = script_run("total", { amounts: [profile.ytd_gross, gross] });
const ytd_net = script_run("total", { amounts: [profile.ytd_net, net] });
const { employee_id, name } = employee;
({ employee_id, name, weeks, gross, federal, state, benefits, garnishment, deductions, net, ytd_gross, ytd_net });
