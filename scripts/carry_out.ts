/*
name: Carry out
description: Asks for a yes where one is needed, then makes the calls in their order, each verified; the first failure ends the run
input:
  title: {type: string, required: true}
  calls: {type: list, required: true}
  ask: {type: boolean, required: true}
  otherwise: {type: list}
  fixed: {type: boolean, default: false}
  details: {type: object}
*/
// Answers {by, no, calls, answers, made}: who said yes, the calls as approved, what each answered, and their params by tool. What is told afterwards comes from these.
const { by, no, calls } = script_run("ask", input);
const answers = [];
for (const call of calls) answers.push(mcp_call(call));
const made = Object.fromEntries([...new Set(calls.map((call) => call.tool))].map((tool) => [tool, calls.filter((call) => call.tool === tool).map((call) => call.params)]));
({ by, no, calls, answers, made });
