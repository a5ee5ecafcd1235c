/**
 * The state machine of a process: ten states, their legal order, and the one table of what each state allows. Pure.
 * Sources: spec/worker.md 2.1 and 2.4 for states and table, 5 (R) for the form of a machine.
 */
import { createHash } from "node:crypto";
import { ClearedError } from "./errors.ts";
import { type Access, ORDER, type State, type Verdict } from "./ports.ts";
import { STRICTNESS } from "./verdict.ts";

export const STATES: readonly State[] = [...ORDER, "ESCALATE", "FAILED"];

const TABLE: Record<Access, readonly State[]> = {
  context: STATES,
  pure: STATES,
  model: ["DECOMPOSE", "ASSESS", "APPROVAL_GATE", "SCHEDULE_NOTIFY", "COMPLETE"],
  model_task: ["ASSESS", "MUTATE", "SCHEDULE_NOTIFY"],
  read: ["ASSESS", "APPROVAL_GATE", "MUTATE", "SCHEDULE_NOTIFY"],
  decide: ["POLICY_CHECK"],
  ask: ["APPROVAL_GATE", "ESCALATE"],
  write: ["MUTATE"],
  external: ["MUTATE"],
  notify: ["SCHEDULE_NOTIFY", "ESCALATE", "FAILED"],
};

export const ACCESSES = Object.keys(TABLE) as readonly Access[];

/** What a state allows, for people and for lint. */
export const accessesOf = (state: State): Access[] => ACCESSES.filter((access) => TABLE[access].includes(state));

export const statesFor = (access: Access): readonly State[] => TABLE[access];

/** One state of an agent's `states:`. `conditional` (written `APPROVAL_GATE?`): it may be skipped when the verdict is pass. */
export interface MachineState {
  state: State;
  line: string;
  conditional: boolean;
}

export interface Machine {
  states: readonly MachineState[];
  /** Hash of names and conditions, without the lines: must be unchanged when a waiting run resumes. */
  hash: string;
  /** Reduced for a run that may only read. */
  readOnly?: true;
}

/** A machine from checked states. */
export function machineOf(states: readonly MachineState[]): Machine {
  const names = states.map((one) => `${one.state}${one.conditional ? "?" : ""}`).join(" ");
  return { states, hash: createHash("sha256").update(names).digest("hex").slice(0, 12) };
}

/** The machine reduced to the states of a run that may only read. */
export function readOnlyMachine(machine: Machine): Machine {
  const states = machine.states.filter((one) => one.state === "DECOMPOSE" || one.state === "ASSESS" || one.state === "COMPLETE");
  return { ...machineOf(states.map((one) => ({ ...one, conditional: false }))), readOnly: true };
}

/**
 * What is wrong with a list of states, in words; empty when it is valid. The caller adds bookends; nothing else is repaired.
 * @param demands what the process needs: high risk or a required person needs a gate right before MUTATE
 */
export function machineProblems(states: readonly MachineState[], demands: { gate: boolean }): string[] {
  const problems: string[] = [];
  const names = states.map((one) => one.state);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) problems.push(`${twice} is listed twice`);
  const stray = names.find((name) => name === "ESCALATE" || name === "FAILED");
  if (stray !== undefined) problems.push(`${stray} is not listed: every state may lead to it`);
  const places = names.map((name) => ORDER.indexOf(name as (typeof ORDER)[number]));
  if (stray === undefined && places.some((place, i) => i > 0 && place < (places[i - 1] ?? 0)))
    problems.push(`the states come in the order ${ORDER.join(", ")}`);
  if (names[0] !== "DECOMPOSE") problems.push("DECOMPOSE comes first");
  if (names.at(-1) !== "COMPLETE") problems.push("COMPLETE comes last");
  const optional = states.find((one) => one.conditional && one.state !== "APPROVAL_GATE");
  if (optional !== undefined) problems.push(`only APPROVAL_GATE may be conditional ("?"), not ${optional.state}`);
  const acts = names.indexOf("MUTATE");
  if (acts >= 0 && !names.slice(0, acts).includes("POLICY_CHECK")) problems.push("MUTATE needs POLICY_CHECK before it");
  if (acts >= 0 && demands.gate && names[acts - 1] !== "APPROVAL_GATE")
    problems.push("a process of high risk needs APPROVAL_GATE right before MUTATE");
  if (acts < 0 && names.includes("APPROVAL_GATE")) problems.push("APPROVAL_GATE without MUTATE approves nothing");
  return problems;
}

/** Who rejected at a gate, and a sentence that says so with the reason. */
export interface Refusal {
  by: string;
  why: string;
  reason?: string;
}

/** Position of a run's machine; rebuilt from the history, so it survives a kill. */
export interface ProcessState {
  machine: Machine;
  current: State;
  /** Earlier states, oldest first, without `current`. */
  before: State[];
  verdict: Verdict | null;
  /** Gates entered so far, and how the last one was answered; null: not yet. */
  gates: number;
  answered: "approved" | "rejected" | null;
  /** The rejection has calls of its own: the run continues with those only. */
  instead: boolean;
  refusal: Refusal | null;
  /** The script's reason for entering ESCALATE. */
  why: string | null;
  /** A person has resolved the escalation that the verdict demanded. */
  escalated: boolean;
}

export function startOf(machine: Machine): ProcessState {
  const nothing = { before: [], verdict: null, gates: 0, answered: null, instead: false, refusal: null, why: null, escalated: false };
  return { machine, current: "DECOMPOSE", ...nothing };
}

export function entered(process: ProcessState, state: State, why: string | null = null): void {
  if (why !== null) process.why = why;
  process.before.push(process.current);
  const resolved = process.current === "ESCALATE" && state === "APPROVAL_GATE";
  if (resolved) process.escalated = true;
  process.current = state;
  if (state !== "APPROVAL_GATE") return;
  process.gates += 1;
  // A rejection of the escalation also answers its gate; an approval does not.
  if (!resolved || process.answered !== "rejected") process.answered = null;
}

/** A later verdict never softens an earlier one: the stricter one counts. */
export function judged(process: ProcessState, verdict: Verdict): void {
  if (process.verdict === null || strictness(verdict) >= strictness(process.verdict)) process.verdict = verdict;
}

const strictness = ({ verdict }: Verdict): number => STRICTNESS.indexOf(verdict);

/** True while an act outside needs a person's approval: the machine has a fixed gate, the policy demands one, or no policy was evaluated. */
export function gateDemanded(process: ProcessState): boolean {
  const gate = process.machine.states.find((one) => one.state === "APPROVAL_GATE");
  if (gate !== undefined && !gate.conditional) return true;
  if (process.gates > 1) return true;
  return process.verdict === null || !process.verdict.passed;
}

/** Result of entering a state: allowed, a person decides first, the run ends, or it is refused. */
export type Move = "enter" | "escalate" | { end: "blocked" | "rejected"; why: string; by?: string } | ClearedError;

/** @param to the state the script asks for */
export function move(process: ProcessState, to: State): Move {
  const { current, machine, verdict } = process;
  if (current === "COMPLETE" || current === "FAILED")
    return edge(`${current} is the end of this run's states; ${to} cannot follow it. End the script here.`, process, to);
  if (to === current) return edge(`The run is in ${to} already. Drop this call.`, process, to);
  if (to === "FAILED") return process.refusal === null ? "enter" : { end: "rejected", ...process.refusal };
  if (verdict?.blocked === true) return { end: "blocked", why: verdict.summary };
  if (to === "ESCALATE") return "enter";
  const list = machine.states.map((one) => one.state);
  if (current === "ESCALATE")
    return to === "APPROVAL_GATE" && list.includes("MUTATE")
      ? "escalate"
      : edge("Only a person's decision leaves ESCALATE: to APPROVAL_GATE, or to FAILED.", process, to);
  const back = current === "MUTATE" && to === "APPROVAL_GATE";
  const inserted = to === "APPROVAL_GATE" && list[list.indexOf(current) + 1] === "MUTATE";
  if (!back && !inserted && !follows(process, to)) {
    const next = list[nextPlace(process)];
    return edge(`From ${current} this agent goes to ${next ?? "its end"}, not to ${to}: its states are ${list.join(", ")}.`, process, to);
  }
  if (verdict?.escalation_required === true && !process.escalated) return "escalate";
  return to === "MUTATE" ? toMutate(process) : "enter";
}

function toMutate(process: ProcessState): Move {
  const { verdict } = process;
  if (verdict === null) return gateError("MUTATE needs the policy's verdict: call policy_evaluate(...) in POLICY_CHECK first.");
  // Checked first: a rejection counts even where no approval was demanded.
  if (process.current === "APPROVAL_GATE" && process.answered === "rejected")
    return process.instead ? "enter" : { end: "rejected", ...(process.refusal ?? { why: "A person rejected it at the gate." }) };
  if (!gateDemanded(process)) return "enter";
  if (process.current !== "APPROVAL_GATE") {
    const why = verdict.passed ? "This agent's gate is fixed" : verdict.summary;
    return gateError(`${why}: enter APPROVAL_GATE and ask with approval_wait before MUTATE.`);
  }
  return process.answered === "approved"
    ? "enter"
    : gateError("No approval has been requested at this gate: call approval_wait({ title, calls }) before MUTATE.");
}

/** Index of the next state in the list; an inserted gate comes right before MUTATE. */
function nextPlace(process: ProcessState): number {
  const names = process.machine.states.map((one) => one.state);
  return names.includes(process.current) ? names.indexOf(process.current) + 1 : names.indexOf("MUTATE");
}

function follows(process: ProcessState, to: State): boolean {
  const list = process.machine.states;
  const at = nextPlace(process);
  if (list[at]?.state === to) return true;
  return list[at]?.state === "APPROVAL_GATE" && list[at].conditional && list[at + 1]?.state === to;
}

function edge(message: string, process: ProcessState, to: State): ClearedError {
  if (process.machine.readOnly === true)
    return new ClearedError(
      "FSM_READ_ONLY",
      `This run may only read, so it ends before ${to}. Start it without --read-only, or state in the task what is to be done.`,
      { data: { from: process.current, to } },
    );
  return new ClearedError("FSM_EDGE", message, { data: { from: process.current, to } });
}

const gateError = (message: string): ClearedError => new ClearedError("FSM_GATE", message);
