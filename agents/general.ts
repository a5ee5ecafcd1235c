/*
name: General
description: Look something up for a task, or make one declared call that the policy and a person allow
trigger: a2a
process: general
risk: low
uses: [fsm, mcp, data, policy, approval, script, llm, ctx, privacy, compute, document, propose]
input: {task: {type: string, required: true}, tool: {type: string, describe: "SERVER/TOOL; else the tools that fit are named"},
  params: {type: object, default: {}}, irreversible: {type: boolean, default: true},
  amount: {type: money, describe: "money that moves, where it is more than params name"}}
states:
  ASSESS: find the tool, read what it says
  COMPUTE: take over the amounts that were given with the task
  POLICY_CHECK: what costs something or cannot be undone
  APPROVAL_GATE?: a person looks at the call
  MUTATE: make it
  SCHEDULE_NOTIFY: nothing unless the task needs it
examples: [{task: how is invoice INV-2024-447, tool: erp/get_invoice, params: {invoice_id: INV-2024-447}}]
*/
fsm_enter("ASSESS");
const { task, tool, params } = input;
const primed = script_run("prime", { task });
const found = mcp_find({ wish: task, limit: 20 });
const fitting = found.slice(0, 5).map((one) => one.tool);
const isRead = tool !== undefined && mcp_list({ server: tool.split("/")[0] }).find((one) => one.tool === tool)?.class !== "mutate";
// In words only: a model works on it where one is there, by reading; what it would change is asked for below.
const works = tool === undefined && found.length > 0 && llm_ready("large").ready;
const worked = works ? script_run("solve", { goal: primed.goal, tools: found }) : null;
const call = worked === null ? (tool === undefined || isRead ? null : { tool, params }) : worked.call;
const textIn = (given: object) => Object.values(given).find((value) => typeof value === "string");
let key_entity = textIn(call?.params ?? params) ?? tool ?? "none";
let done = { decision_or_status: "found", action_taken: `named tools that fit: ${fitting.join(", ")}`, result: null as unknown };
if (tool === undefined && call === null && (worked === null ? found.length === 0 : worked.result === null)) {
  // Nothing here is for it: a computation that is known is named, and a process is asked for.
  const words = task.slice(0, 2000);
  const computes = compute_find(words).filter((one) => one.score >= 3).map((one) => one.name);
  const wish = computes.length > 0 ? null : propose_process(words);
  const isAsked = wish !== null && (wish.request !== null || wish.agent !== null);
  const action_taken = wish?.says ?? `named what computes it: ${computes.join(", ")}`;
  done = { decision_or_status: isAsked ? "asked_for" : "none", action_taken, result: wish };
} else if (isRead) {
  // A tool that is not on offer is told as an error here.
  done = { decision_or_status: "read", action_taken: `read ${tool}`, result: mcp_record({ tool, params }) };
} else if (worked?.result != null) {
  const read = worked.done.map((one: any) => one.tool).join(", ") || "nothing";
  done = { ...done, action_taken: `read ${read}, and a model said what that comes to`, result: worked.result };
} else if (call !== null) {
  fsm_enter("COMPUTE");
  const amount = script_run("stated_amount", { params: call.params, given: input.amount, by_person: worked === null });
  fsm_enter("POLICY_CHECK");
  policy_evaluate({ facts: { amount, irreversible: input.irreversible }, about: { key_entity } });
  // A person, whatever the policy says: nobody has written down what this call is for.
  const { by, calls, answers, changed } = script_run("carry_out", { title: `${task}: call ${call.tool}?`, calls: [call], ask: true });
  key_entity = textIn(calls[0].params) ?? key_entity;
  done = { decision_or_status: "done", action_taken: `${call.tool} called${changed === "" ? "" : ` with ${changed}`}, approved by ${by}`, result: answers[0] };
}
const facts = primed.facts.length === 0 ? {} : { facts: primed.facts };
script_run("reflect", {
  answer: { ...done, key_entity, tools: fitting, ...facts, summary: `${task}: ${done.action_taken}` },
  unsupported: worked?.unsupported ?? [],
});
