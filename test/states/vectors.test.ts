/**
 * The vectors of the machine. Its lists are those of 3.1 (R); where R adds a state, a walk is compared without it and everything else
 * must be equal. A walk here is a run whose policy passes and whose gates are answered with yes.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import type { Json, State } from "../../runtime/kernel/ports.ts";
import { parseHeader } from "../../runtime/scripts/header.ts";
import { entered, judged, machineProblems, move, type ProcessState, readOnlyMachine, startOf } from "../../runtime/kernel/states.ts";
import { complexityOf } from "../../runtime/rules/task-types.ts";
import { exceptions, type Vector, vectors, wrongRows } from "../vectors/load.ts";
import { TEMPLATES } from "./templates.ts";
import { verdictOf } from "./verdicts.ts";

const FILE = "fsm.json";
const templateOf = (process: Json | undefined) => TEMPLATES.get(String(process))!;

/** The next state a script would ask for: a conditional gate is skipped once the policy has passed. */
function nextOf({ machine, current, verdict }: ProcessState): State {
  const at = machine.states.findIndex((one) => one.state === current);
  const rest = machine.states.slice(at + 1).filter((one) => !(one.conditional && verdict?.passed === true));
  return rest[0]?.state ?? "COMPLETE";
}

function ask(process: ProcessState, to: State): void {
  const answer = move(process, to);
  if (answer instanceof ClearedError) throw answer;
  if (typeof answer === "object") return entered(process, "FAILED");
  entered(process, answer === "escalate" ? "ESCALATE" : to);
  if (process.current === "POLICY_CHECK") judged(process, verdictOf("pass"));
  if (process.current === "APPROVAL_GATE") process.answered = "approved";
}

function walk(args: Vector["args"]): { states: State[]; history: State[]; terminal: boolean; requires_hitl: boolean; refused: string[] } {
  const { machine, added } = templateOf(args["process_type"]);
  const process = startOf(complexityOf(String(args["task_text"])) === "readonly" ? readOnlyMachine(machine) : machine);
  const states: State[] = [process.current];
  const refused: string[] = [];
  const left: State[] = [];
  for (const op of args["ops"] as string[]) {
    const from = process.current;
    try {
      const to = op === "advance" ? nextOf(process) : op === "reopen" ? "APPROVAL_GATE" : op === "escalate" ? "ESCALATE" : "FAILED";
      ask(process, to);
      while (op === "advance" && added.has(process.current)) ask(process, nextOf(process));
    } catch (error) {
      // 2.3 (R): a move out of a final state is refused; the vectors have it as a step that stays.
      refused.push((error as ClearedError).code);
    }
    states.push(process.current);
    left.push(from);
  }
  const { current } = process;
  return {
    states,
    history: left,
    terminal: current === "COMPLETE" || current === "ESCALATE" || current === "FAILED",
    requires_hitl: current === "ESCALATE" || process.verdict?.requires_approval === true,
    refused,
  };
}

function applied(args: Vector["args"]): { state: State; requires_hitl: boolean } {
  const policy = args["policy"] as { passed: boolean; requiresApproval?: boolean; escalationRequired?: boolean; blocked?: boolean };
  const word = policy.blocked
    ? "block"
    : policy.escalationRequired
      ? "escalate"
      : policy.requiresApproval || !policy.passed
        ? "require_approval"
        : "pass";
  const process: ProcessState = startOf(templateOf(args["process_type"]).machine);
  while (process.current !== "POLICY_CHECK") entered(process, nextOf(process));
  judged(process, verdictOf(word));
  ask(process, nextOf(process));
  const state = process.current as State;
  return { state, requires_hitl: state === "ESCALATE" || process.verdict?.requires_approval === true };
}

function ours({ function: name, args }: Pick<Vector, "function" | "args">): unknown {
  if (name === "detect_task_complexity") return complexityOf(String(args["task_text"]));
  if (name === "apply_policy") return applied(args);
  if (name !== "template") return walk(args);
  const { machine, added } = templateOf(args["process_type"]);
  return machine.states.filter((one) => !one.conditional && !added.has(one.state)).map((one) => one.state);
}

describe(FILE, () => {
  it.each(vectors(FILE).map((one) => [one.function, JSON.stringify(one.args), one] as const))("%s %s", (name, _, vector) => {
    const found = ours(vector);
    if (name === "walk" || name === "apply_policy") expect(found).toMatchObject(vector.expected as object);
    else expect(found).toEqual(vector.expected);
  });

  it.runIf(process.env["VECTORS_DIR"] === undefined)("the exceptions are the vectors whose process has more states by rule R", () => {
    const listed = exceptions.filter((one) => one.file === FILE);
    const overruled = vectors(FILE).flatMap((one, index) =>
      (one.function === "template" || (one.function === "walk" && complexityOf(String(one.args["task_text"])) === "full")) &&
      templateOf(one.args["process_type"]).added.size > 0
        ? [index]
        : [],
    );
    expect(listed.map((one) => one.index)).toEqual(overruled);
    for (const { args, adds } of listed) expect(new Set(adds)).toEqual(templateOf(args?.["process_type"]).added);
  });

  it("a move out of COMPLETE is refused", () => {
    const ops = Array.from({ length: 9 }, () => "advance");
    expect(walk({ process_type: "compliance_audit", task_text: "process it", ops }).refused).toEqual(["FSM_EDGE", "FSM_EDGE"]);
  });
});

describe("where the original was wrong", () => {
  const rows = wrongRows(FILE);

  it.each(rows.filter((one) => one.function === "detect_task_complexity").map((one) => [String(one.args["task_text"]), one.recommended]))(
    "%s: %s",
    (text, recommended) => {
      expect(complexityOf(text)).toBe(recommended);
    },
  );

  it.runIf(process.env["VECTORS_DIR"] === undefined)("a reopened gate leads back to MUTATE, not past it", () => {
    const row = rows.find((one) => one.function === "walk")!;
    expect(walk(row.args).states.slice(-3)).toEqual(["MUTATE", "APPROVAL_GATE", "MUTATE"]);
  });

  it("a block ends the run and never reaches MUTATE; a required approval reaches the gate", () => {
    const policy = (given: Json) => applied({ process_type: "invoice_reconciliation", policy: given }).state;
    expect(policy({ passed: false, blocked: true })).toBe("FAILED");
    expect(policy({ passed: false, requiresApproval: true })).toBe("APPROVAL_GATE");
    expect(policy({ passed: false, escalationRequired: true })).toBe("ESCALATE");
    expect(policy({ passed: true })).toBe("MUTATE");
  });
});

it.each([
  ["Show me invoice 7. Do not modify or delete anything.", "readonly"],
  ["What is open? Credit the account.", "full"],
  ["List unpaid bills, then pay them", "full"],
  ["Where is the order and who can release it", "readonly"],
  ["Tell me the total and post the entry", "full"],
  ["Do not wait, show me the list and approve it", "full"],
  ["", "full"],
])("%s is %s", (text, expected) => {
  expect(complexityOf(text)).toBe(expected);
});

it("every list in 3.1 is a usable machine", () => {
  for (const [process, { machine }] of TEMPLATES) expect(machineProblems(machine.states, { gate: false }), process).toEqual([]);
});

it("an agent of a process in 3.1 has its states", () => {
  const folder = join(import.meta.dirname, "../../agents");
  for (const name of readdirSync(folder).filter((one) => one.endsWith(".ts"))) {
    const { process, machine } = parseHeader(readFileSync(join(folder, name), "utf8"), `agents/${name}`);
    const template = process === undefined ? undefined : TEMPLATES.get(process);
    if (template !== undefined) expect(machine?.hash, name).toBe(template.machine.hash);
  }
});
