/*
name: Collection results
description: What came of each customer's step; which calls were made and which the tool refused, with its words
input:
  steps: {type: list, required: true}
  results: {type: list, required: true}
  verdicts: {type: list, required: true}
*/
const { steps, results, verdicts } = input;
const nameOf = (call: any) => JSON.stringify([call.tool, Object.entries(call.params).sort()]);
steps.map(({ customer_id, name, amount, days, action, calls }: any, i: number) => {
  const mine = calls.map(nameOf);
  const tried = results.filter((call: any) => mine.includes(nameOf(call)));
  const problems = tried.filter((call: any) => !call.ok).map((call: any) => call.problem);
  return { customer_id, name, amount, days, action, verdict: verdicts[i], made: tried.length - problems.length, problems };
});
