/*
name: Carry out
description: Asks for approval where it is needed, then makes the calls in their order, each verified; the first failure ends the run
input:
  title: {type: string, required: true}
  calls: {type: list, required: true}
  ask: {type: boolean, required: true}
  otherwise: {type: list}
  fixed: {type: boolean, default: false}
  each: {type: boolean, default: false, describe: a call that a tool refuses does not stop the others}
  today: {type: date, describe: "the day on which these calls were planned, where no day of them may have passed when they are made"}
  again: {type: boolean, describe: "these are planned anew, because a day of the earlier ones has passed. Whoever gives it looks at `passed`"}
  details: {type: object}
  receivers: {type: object}
  same: {type: list}
*/
// Answers {by, no, calls, answers, made, changed}: who said yes, the calls as approved, what each answered, their params by tool, and what the
// approval changed in them, in words. What is told afterwards comes from these. `each`: an answer is {tool, params, ok, problem}.
// `passed`: a day has passed since they were planned, and nothing was called: the caller plans anew.
const { each, today, again, title, ...rest } = input;
const question = { ...rest, title: again ? `Planned anew, because a day has passed (today is ${today}): ${title}` : title };
const { by, no, calls } = script_run("ask", question);
const now = today === undefined || no !== null ? null : script_run("not_past", { approved: calls, today });
if (now?.why && again === undefined) throw new Error(`${now.why}. Nothing was done: start the run again.`);
if (now?.why) return { by, no, calls: [], answers: [], made: {}, changed: "", passed: true };
const trial = ({ tool, params }: any) => {
  const tried = mcp_try({ tool, params });
  return { tool, params, ok: tried.ok, problem: tried.ok ? null : tried.message };
};
const answers = [];
for (const call of calls) answers.push(each ? trial(call) : mcp_call(call));
const made = Object.fromEntries([...new Set(calls.map((call) => call.tool))].map((tool) => [tool, calls.filter((call) => call.tool === tool).map((call) => call.params)]));
const asked = question.calls.map(({ params }: any) => params);
const differs = ([key, value]: [string, any], i: number) =>
  no === null && asked[i]?.[key] !== "@approver" && JSON.stringify(value) !== JSON.stringify(asked[i]?.[key]);
const changed = calls.flatMap(({ params }, i) => Object.entries<any>(params).filter((one) => differs(one, i)).map(([key, value]) => `${key} ${value}`));
({ by, no, calls, answers, made, changed: changed.join(", "), passed: false });
