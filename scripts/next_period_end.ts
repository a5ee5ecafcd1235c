/*
name: Next period end
description: The last day of the period after this one - of the next month for whole months, else as many days later as this one has
input: {period_start: {type: date, required: true}, period_end: {type: date, required: true}}
*/
const dayAfter = script_run("days", { from: input.period_end, add: 1 }).day;
const length = script_run("days", { from: input.period_start, to: dayAfter }).days;
const monthEnd = new Date(Date.UTC(Number(dayAfter.slice(0, 4)), Number(dayAfter.slice(5, 7)), 0)).toISOString().slice(0, 10);
[input.period_start, dayAfter].every((day) => day.endsWith("-01")) ? monthEnd : script_run("days", { from: input.period_end, add: length }).day;
