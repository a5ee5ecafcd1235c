/*
name: Carry out
description: Asks for a yes to exactly these calls where one is needed, then makes them in their order, each verified
input:
  title: {type: string, required: true, describe: the question for whoever decides}
  calls: {type: list, required: true, describe: "{tool, params} each; amounts computed or read before"}
  ask: {type: boolean, required: true, describe: the verdict has not passed or the gate is fixed}
  details: {type: object, default: {}, describe: facts for the card}
*/
// Answers {by, answers}: who said yes, and what each call answered.
let calls = input.calls;
let by = "policy";
if (input.ask) {
  fsm_enter("APPROVAL_GATE");
  const asked = approval_wait({ title: input.title, calls, details: input.details, expires: "14d" });
  calls = asked.calls;
  by = asked.by;
}
fsm_enter("MUTATE");
const answers = [];
for (const call of calls) answers.push(mcp_call(call));
({ by, answers });
