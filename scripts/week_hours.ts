/*
name: Week hours
description: The hours of each day of a workweek, and the rule that says what is overtime
input: {employee: {type: object, required: true}, hours: {type: list, required: true}, week_start: {type: date, required: true}}
*/
const { employee, hours, week_start } = input;
const days = [0, 1, 2, 3, 4, 5, 6].map((add) => script_run("days", { from: week_start, add }).day);
const hoursOn = (day: string) => hours.filter((one: any) => one.work_date === day).reduce((all: Decimal, one: any) => all.plus(one.hours), new Decimal(0));
({ rule: employee.country === "US" && employee.state === "CA" ? "california" : "flsa", daily_hours: days.map((day) => hoursOn(day).toString()) });
