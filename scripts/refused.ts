/*
name: Refused
description: After a rejection with calls of its own - whoever it concerns is told what does not happen, with the reason, and the run ends as rejected
input: {to: {type: string, required: true}, subject: {type: string, required: true}, what: {type: string, required: true}, by: {type: string, required: true}, no: {type: string, required: true}}
*/
const { to, subject, what, by, no } = input;
fsm_enter("SCHEDULE_NOTIFY");
notify_send({ to, subject, text: `${what} Decided by ${by}: ${no}` });
// After a rejection this is the end: nothing after it is executed.
fsm_enter("FAILED");
