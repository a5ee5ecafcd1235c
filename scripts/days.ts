/*
name: Days
description: Calendar days from one day to another, or the day that many days later
input: {from: {type: date, required: true}, to: {type: date}, add: {type: integer}}
*/
// From an agent: script_run("days", { from, to }).days and script_run("days", { from, add: 30 }).day.
const DAY = 86400000;
const from = Date.parse(input.from);
const add = input.add ?? 0;
const day = new Date(from + add * DAY).toISOString().slice(0, 10);
({ day, days: input.to === undefined ? add : Math.round((Date.parse(input.to) - from) / DAY) });
