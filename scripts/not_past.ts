/*
name: Not past
description: Ends the run before a call of which a day has passed - nothing is paid, shipped or due in the past, whatever a person has set
input: {approved: {type: list, required: true}, today: {type: date, required: true}}
*/
const { approved, today } = input;
const days = approved.flatMap(({ tool, params }: any) => Object.entries(params).map(([field, value]) => ({ of: `${tool} ${field}`, day: String(value) })));
const gone = days.find(({ day }: any) => /^\d{4}-\d\d-\d\d$/.test(day) && day < today);
if (gone !== undefined) throw new Error(`${gone.of} ${gone.day} has passed; today is ${today}. Nothing was done: start the run again.`);
({ today });
