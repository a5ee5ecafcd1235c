/*
name: General
description: Look something up for a task, or make one declared call that the policy and a person allow
trigger: a2a
process: general
risk: low
uses: [fsm, mcp, data, policy, approval, script, llm, compute, propose, ctx]
input:
  task: {type: string, required: true}
  tool: {type: string, describe: "SERVER/TOOL; without it the tools that fit the task are named"}
  params: {type: object, default: {}}
  amount: {type: money, describe: "money that moves; else the sum of the amounts in params"}
  irreversible: {type: boolean, default: true}
states:
  ASSESS: find the tool, read what it says
  COMPUTE: take over the amounts that were given with the task
  POLICY_CHECK: what costs something or cannot be undone
  APPROVAL_GATE?: a person looks at the call
  MUTATE: make it
  SCHEDULE_NOTIFY: nothing unless the task needs it
examples:
  - {task: how is invoice INV-2024-447, tool: erp/get_invoice, params: {invoice_id: INV-2024-447}}
*/
fsm_enter("ASSESS");
const { task, tool, params } = input;
const found = mcp_find({ wish: task, limit: 20 });
const fitting = found.slice(0, 5).map((one) => one.tool);
const meant = tool === undefined ? undefined : mcp_list({ server: tool.split("/")[0] }).find((one) => one.tool === tool);
// In words only: a model works on it where one is there, by reading; what it would change is asked for below.
const worked = tool === undefined && found.length > 0 && llm_ready("large").ready ? script_run("task", { goal: script_run("in_session", { task }).goal, tools: found }) : null;
const wanted = worked?.call ?? { tool, params };
let key_entity = Object.values(wanted.params).find((value) => typeof value === "string") ?? tool ?? "none";
let done = { decision_or_status: "found", action_taken: `named tools that fit: ${fitting.join(", ")}`, result: null as unknown };
if (tool === undefined && worked?.call == null && (worked === null ? found.length === 0 : worked.result === null)) {
  // Nothing here is for it: a computation that is known is named, and a process is asked for.
  const computes = compute_find(task).filter((one) => one.score >= 3).map((one) => one.name);
  const wish = computes.length > 0 ? null : propose_process(task);
  done = { decision_or_status: wish?.request == null && wish?.agent == null ? "none" : "asked_for", action_taken: wish?.says ?? `named what computes it: ${computes.join(", ")}`, result: wish };
} else if (worked !== null && worked.call === null) {
  const read = worked.done.map((one: any) => one.tool).join(", ");
  done = { decision_or_status: "found", action_taken: `read ${read === "" ? "nothing" : read}, and a model said what that comes to`, result: worked.result };
} else if (tool !== undefined && meant?.class !== "mutate") {
  // A tool that is not on offer is told as an error here.
  done = { decision_or_status: "read", action_taken: `read ${tool}`, result: mcp_record({ tool, params }) };
} else if (wanted.tool !== undefined) {
  fsm_enter("COMPUTE");
  const isMoney = (key: string, value: string) => value.includes(".") || /(?:amount|total|price|cost|fee|credit|debit|balance|pay|salary|rent|tax|net|gross)$/.test(key);
  const numbers = [...JSON.stringify(wanted.params).matchAll(/"(\w*)":"?(-?\d+(?:\.\d+)?)"?(?=[,}])/g)];
  const stated = numbers.filter(([, key, value]) => isMoney(key, value)).map(([, , value]) => value);
  // Given by whoever asks, and shown at the gate: this is where these amounts come from. A model's count for the policy, and have to stand in what was read.
  const given = worked === null ? stated.map((value) => script_run("total", { amounts: [value] })) : stated;
  const amount = input.amount ?? (worked === null ? script_run("total", { amounts: ["0.00", ...given] }) : given.reduce((sum, one) => sum.plus(one), new Decimal("0.00")));
  fsm_enter("POLICY_CHECK");
  policy_evaluate({ facts: { amount, irreversible: input.irreversible }, about: { key_entity } });
  // A person, whatever the policy says: nobody has written down what this call is for.
  const { by, calls, answers } = script_run("carry_out", { title: `${task}: call ${wanted.tool}?`, calls: [wanted], ask: true });
  key_entity = Object.values(calls[0].params).find((value) => typeof value === "string") ?? key_entity;
  done = { decision_or_status: "done", action_taken: `${wanted.tool} called, approved by ${by}`, result: answers[0] };
}
({ ...done, key_entity, tools: fitting, summary: `${task}: ${done.action_taken}` });
