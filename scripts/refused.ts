/*
name: Refused
description: After a no whose own calls are made - whoever it is about is told what does not happen, with the reason, and the run ends as rejected
input: {to: {type: string, required: true}, subject: {type: string, required: true}, what: {type: string, required: true}, by: {type: string, required: true}, no: {type: string, required: true}}
*/
const { to, subject, what, by, no } = input;
fsm_enter("SCHEDULE_NOTIFY");
notify_send({ to, subject, text: `${what} Decided by ${by}: ${no}` });
// After a no this is its end: nothing behind it is executed.
fsm_enter("FAILED");
