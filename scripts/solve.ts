/*
name: Solve
strategy: tool_loop
description: Works on a task step by step with a model that chooses tools; reads are made here, the first call that changes something is answered to be asked for
input: {goal: {type: string, required: true}, tools: {type: list, required: true, describe: as mcp_find and mcp_list answer them},
  output: {type: object, describe: "fields of the result, each with its type; else {answer}"}}
*/
// Answers {result, unsupported, call, done}: what came of it and which of its figures nothing gave, or the call that a person has to look at;
// neither when it was not done in time.
const { goal, tools, output } = input;
const done: { tool: string; params: any; answer: any; failed: boolean }[] = [];
let result: any = null;
let unsupported: string[] = [];
let call: { tool: string; params: any } | null = null;
// 20 rounds, 18 calls: a task that needs more is several.
for (let round = 0; round < 20 && done.length < 18 && result === null && call === null; round++) {
  const next: any = llm_next({ goal, tools, done, output });
  if (next.call === undefined) ({ result, unsupported } = next);
  else if (tools.find((one: any) => one.tool === next.call.tool)?.class === "mutate") call = next.call;
  else {
    const said: any = mcp_try(next.call);
    done.push({ ...next.call, answer: said.ok ? said.result : said.message, failed: !said.ok });
  }
}
({ result, unsupported, call, done });
