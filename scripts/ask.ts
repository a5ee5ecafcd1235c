/*
name: Ask
description: Gets a yes to exactly these calls where one is needed, and enters MUTATE
input:
  title: {type: string, required: true, describe: the question for whoever decides}
  calls: {type: list, required: true, describe: "{tool, params} each; amounts computed or read before"}
  ask: {type: boolean, required: true, describe: the verdict has not passed or the gate is fixed}
  fixed: {type: boolean, default: false, describe: the calls belong together and are approved as they are}
  details: {type: object, describe: facts for the card}
*/
// Answers {by, calls}: who said yes, and what may be called now. A no ends the run.
let { calls } = input;
let by = "policy";
if (input.ask) {
  fsm_enter("APPROVAL_GATE");
  const asked = approval_wait({ title: input.title, calls, fixed: input.fixed, details: input.details, expires: "14d" });
  calls = asked.calls;
  by = asked.by;
}
fsm_enter("MUTATE");
({ by, calls });
