/*
name: Carry out each
description: Asks for a yes where one is needed, then makes every call, each verified; what a tool refuses does not keep the others back
input:
  title: {type: string, required: true}
  calls: {type: list, required: true}
  ask: {type: boolean, required: true}
  details: {type: object}
*/
// Answers {by, results}: for each call {tool, params, ok, problem}.
const { by, calls } = script_run("ask", input);
const results = [];
for (const { tool, params } of calls) {
  const tried = mcp_try({ tool, params });
  results.push({ tool, params, ok: tried.ok, problem: tried.ok ? null : tried.message });
}
({ by, results });
