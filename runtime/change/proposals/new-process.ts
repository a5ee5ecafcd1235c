/**
 * A new process as files for a person to continue: the agent with its machine, a policy with cases. They pass every check as they are and do
 * nothing outside, so a proposal of them is safe to approve. Definitions by people and by models use the same path.
 */
import { type Definition, definitionHeader, parseDefinition, statesWithoutLine } from "../../rules/definition.ts";
import { ClearedError } from "../../kernel/errors.ts";
import type { State } from "../../kernel/ports.ts";
import { agentFile, policyFile } from "../../workspace/layout.ts";

/**
 * The files of a process, by path.
 * @param name as returned by processName
 * @param text the definition: JSON with states, risk_level, hitl_required, state_instructions
 * @throws FSM_MACHINE with all problems at once, and the nearest valid states
 */
export function newProcess(name: string, text: string, file: string): Record<string, string> {
  const read = parseDefinition(text);
  const silent =
    "definition" in read ? statesWithoutLine(read.definition).filter((state) => state !== "DECOMPOSE" && state !== "COMPLETE") : [];
  const problems =
    "problems" in read ? read.problems : silent.length === 0 ? [] : [`state_instructions has no line for ${silent.join(", ")}`];
  const states = "definition" in read ? read.definition.states : (read.instead ?? []);
  if (states.includes("COMPUTE") && !states.includes("ASSESS"))
    problems.push("COMPUTE needs ASSESS before it: figures are based on what was read");
  if ("problems" in read || problems.length > 0) {
    const instead = "problems" in read && read.instead !== null ? ` These states would do: ${read.instead.join(", ")}.` : "";
    throw new ClearedError("FSM_MACHINE", `${file}: ${problems.join("; ")}.${instead}`, { at: { file }, data: { problems } });
  }
  const { definition } = read;
  return {
    [agentFile(name)]: agentText(name, definition),
    ...(definition.states.includes("POLICY_CHECK")
      ? { [policyFile(name)]: policyText(name, definition.states.includes("APPROVAL_GATE")) }
      : {}),
  };
}

/** The code of a state until somebody writes what is meant. */
const SKELETON: Partial<Record<State, string>> = {
  ASSESS: "const { subject_id } = input;",
  POLICY_CHECK: "const verdict = policy_evaluate({ facts: { open_questions: 0, irreversible: false } });",
  APPROVAL_GATE: 'const yes = approval_wait({ title: "Go on with " + subject_id + "?", calls: [{ tool: "data_write", params: record }] });',
  MUTATE: "data_write(record);",
  SCHEDULE_NOTIFY: 'ctx_log(subject_id + " is done");',
};

function agentText(name: string, definition: Definition): string {
  const has = (state: State) => definition.states.includes(state);
  const uses = [
    "fsm",
    "ctx",
    ...(has("POLICY_CHECK") ? ["policy"] : []),
    ...(has("APPROVAL_GATE") ? ["approval"] : []),
    ...(has("MUTATE") ? ["data"] : []),
  ];
  const body = definition.states.flatMap((state) => {
    if (state === "DECOMPOSE" || state === "COMPLETE") return [];
    const code = state === "MUTATE" && has("APPROVAL_GATE") ? "data_write(yes.calls[0].params);" : SKELETON[state];
    return [`fsm_enter("${state}"); // ${definition.state_instructions[state] ?? ""}`, code ?? ""];
  });
  if (!has("ASSESS")) body.unshift(SKELETON.ASSESS ?? "");
  const first = body.indexOf(SKELETON.ASSESS ?? "");
  // What will be written is computed before a person is asked about it.
  if (has("MUTATE")) body.splice(first + 1, 0, `const record = { path: "${name}.json", text: JSON.stringify({ subject_id }) };`);
  const answer = [
    "key_entity: subject_id",
    'decision_or_status: "done"',
    `action_taken: "${has("MUTATE") ? "a record is written" : "none"}"`,
    ...(has("POLICY_CHECK") ? ["policy: verdict.summary"] : []),
    ...(has("APPROVAL_GATE") ? ["by: yes.by"] : []),
    'summary: subject_id + " is done"',
  ];
  const title = name.replaceAll("_", " ").replace(/^./, (letter) => letter.toUpperCase());
  return `/*
name: ${title}
description: "${title}: not written yet, it only goes through its states"
${definitionHeader(definition, name)}
uses: [${uses.join(", ")}]
input:
  subject_id: {type: string, required: true, describe: which case this run is about}
examples:
  - {subject_id: CASE-1}
*/
${body.filter((line) => line !== "").join("\n")}
({ ${answer.join(", ")} });
`;
}

function policyText(name: string, gate: boolean): string {
  const asks = gate ? "require_approval" : "escalate";
  return `# What may happen without a person. One rule to begin with: edit it, add others, and a case for each; \`cleared policy test ${name}\` tries them.
process: ${name}
source: template
facts:
  open_questions: decimal
  irreversible: boolean
rules:
  - {id: OPEN_QUESTIONS, when: "open_questions > 0 or irreversible", action: ${asks}, level: manager, description: something is not settled or cannot be undone}
usual: {open_questions: 0, irreversible: false}
cases:
  - {name: nothing open, verdict: pass}
  - {name: one question open, facts: {open_questions: 1}, verdict: ${asks}, rules: [OPEN_QUESTIONS]}
`;
}
