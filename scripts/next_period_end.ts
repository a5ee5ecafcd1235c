/*
name: Next period end
description: The last day of the period after this one - of the next month for whole months, else as many days later as this one has
input:
  period_start: {type: date, required: true}
  period_end: {type: date, required: true}
*/
const { period_start, period_end } = input;
const dayAfter = script_run("days", { from: period_end, add: 1 }).day;
const length = script_run("days", { from: period_start, to: dayAfter }).days;
const months = (day: string) => new Date(Date.UTC(Number(day.slice(0, 4)), Number(day.slice(5, 7)), 0)).toISOString().slice(0, 10);
period_start.endsWith("-01") && dayAfter.endsWith("-01") ? months(dayAfter) : script_run("days", { from: period_end, add: length }).day;
