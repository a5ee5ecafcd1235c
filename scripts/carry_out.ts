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
// `passed`: a day has passed since they were planned, and nothing was called: the caller plans anew. A later call may have waited for a card
// about an earlier one: if its own day has passed then, it is not made.
const { each, today, again, title, ...rest } = input;
const question = { ...rest, title: again ? `Planned anew, because a day has passed (today is ${today}): ${title}` : title };
const { by, no, calls } = script_run("ask", question);
const passed = (approved: any) => (today === undefined || no !== null ? null : script_run("not_past", { approved, today }).why);
const why = passed(calls);
if (why && again === undefined) throw new Error(`${why}. Nothing was done: start the run again.`);
if (why) return { by, no, calls: [], answers: [], made: {}, changed: "", passed: true };
const late = (call: any) => (call === calls[0] ? null : passed([call]));
const trial = (call: any) => {
  const { tool, params } = call;
  const problem = late(call);
  if (problem) return { tool, params, ok: false, problem };
  const tried = mcp_try({ tool, params });
  return { tool, params, ok: tried.ok, problem: tried.ok ? null : tried.message };
};
const in_time = (call: any) => {
  const problem = late(call);
  if (problem) throw new Error(`${problem}. It was not made, after ${calls.slice(0, calls.indexOf(call)).map(({ tool }) => tool).join(", ")}.`);
  return mcp_call(call);
};
const answers = [];
for (const call of calls) answers.push(each ? trial(call) : in_time(call));
const made = Object.fromEntries([...new Set(calls.map((call) => call.tool))].map((tool) => [tool, calls.filter((call) => call.tool === tool).map((call) => call.params)]));
const asked = question.calls.map(({ params }: any) => params);
const differs = ([key, value]: [string, any], i: number) =>
  no === null && asked[i]?.[key] !== "@approver" && JSON.stringify(value) !== JSON.stringify(asked[i]?.[key]);
const changed = calls.flatMap(({ params }, i) => Object.entries<any>(params).filter((one) => differs(one, i)).map(([key, value]) => `${key} ${value}`));
({ by, no, calls, answers, made, changed: changed.join(", "), passed: false });
