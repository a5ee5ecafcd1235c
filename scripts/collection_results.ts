/*
name: Collection results
description: What came of each customer's step; which calls were made and which the tool refused, with its words, and for whom
input: {planned: {type: list, required: true}, results: {type: list, required: true}, verdicts: {type: list, required: true}}
*/
const { planned, results, verdicts } = input;
// Results come in the order of the calls, whatever a person changed in them.
let next = 0;
const outcome = planned.map(({ customer_id, name, amount, days, action, calls }: any, i: number) => {
  const tried = results.slice(next, next + calls.length);
  next += calls.length;
  const said = [...new Set(tried.map(({ params }: any) => (params.agency === undefined ? `send ${params.tier}` : `hand over to ${params.agency}`)))];
  const problems = tried.filter((call: any) => !call.ok).map((call: any) => call.problem);
  return { customer_id, name, amount, days, action: said.join(", ") || action, verdict: verdicts[i], made: tried.length - problems.length, problems };
});
({ outcome, failed: outcome.filter((one: any) => one.problems.length > 0).map((one: any) => one.customer_id) });
