/*
name: Carry out
description: Asks for a yes where one is needed, then makes the calls in their order, each verified; the first failure ends the run
input:
  title: {type: string, required: true}
  calls: {type: list, required: true}
  ask: {type: boolean, required: true}
  fixed: {type: boolean, default: false}
  details: {type: object}
*/
// Answers {by, calls, answers}: who said yes, the calls as approved, and what each answered. What is told afterwards comes from these calls.
const { by, calls } = script_run("ask", input);
const answers = [];
for (const call of calls) answers.push(mcp_call(call));
({ by, calls, answers });
