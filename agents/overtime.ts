/*
name: Overtime
description: What the hours of a week come to with overtime - by the day in California, else above 40 hours
trigger: a2a
mutates: false
uses: [mcp, compute, data, script]
input:
  employee: {type: string, required: true, describe: name or id}
  week_start: {type: date, required: true, describe: first day of the workweek}
  hourly_rate: {type: money, describe: the employee's if not given}
output:
  pay: {type: money}
  hours: {type: string}
  rule: {type: string}
  summary: {type: string}
examples: [{employee: E-1042, week_start: "2024-10-07"}]
*/
const { employee: asked, week_start } = input;
const team = mcp_fetch_all({ tool: "erp/list_employees", params: {} }).records;
const employee = data_first({ records: team, where: team.some((one) => one.employee_id === asked) ? { employee_id: asked } : { name: asked } });
const period_end = script_run("days", { from: week_start, add: 6 }).day;
const { hours } = script_run("pay_records", { employee_id: employee.employee_id, period_start: week_start, period_end });
const { rule, daily_hours } = script_run("week_hours", { employee, hours: hours.records, week_start });
const found = compute_hr_overtime({ rule, hourly_rate: input.hourly_rate ?? employee.pay_rate, daily_hours });
const worked = daily_hours.reduce((all: Decimal, one: string) => all.plus(one), new Decimal(0)).toString();
const summary = `${employee.name}, week of ${week_start}: ${worked} hours at ${input.hourly_rate ?? employee.pay_rate} come to ${found.result} (${rule})`;
({ pay: found.result, hours: worked, rule, daily_hours, figures: found, summary });
