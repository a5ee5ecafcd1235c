/*
name: Not past
description: Whether a day of calls has passed now, not when they were planned; nothing is paid, shipped or due in the past
input: {approved: {type: list, required: true}, today: {type: date, required: true, describe: the day on which they were planned}}
*/
// Answers {today, why}: the day now, and which has passed since, in words; null if none has. One that a person set into the past ends the run.
const fields = input.approved.flatMap(({ tool, params }: any) => Object.entries(params).map(([field, value]) => ({ of: `${tool} ${field}`, day: String(value) })));
const days = fields.filter(({ day }: any) => /^\d{4}-\d\d-\d\d$/.test(day));
const today = days.length === 0 ? input.today : mcp_call("erp/get_business_date");
const gone = days.find(({ day }: any) => day < today);
const why = gone === undefined ? null : `${gone.of} ${gone.day} has passed; today is ${today}`;
if (why !== null && gone.day < input.today) throw new Error(`${why}.`);
({ today, why });
