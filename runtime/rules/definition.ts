/**
 * A proposed state machine: read from a model's text, validated, and written as the header of a script. A text that breaks a
 * rule is refused with the problems and the nearest valid machine; only the bookends are added silently.
 * Source: spec/worker.md 5 (R). Everything in the text is untrusted.
 */
import { ORDER, type State } from "../kernel/ports.ts";
import { jsonOf } from "../kernel/text.ts";
import { type MachineState, machineProblems } from "../kernel/states.ts";

export const RISKS = ["low", "medium", "high"] as const;

export interface Definition {
  states: State[];
  risk_level: (typeof RISKS)[number];
  hitl_required: boolean;
  connector_hints: string[];
  state_instructions: Partial<Record<State, string>>;
}

/** 64 KiB: a definition has about 2 kB; a longer text is not one. */
const LONGEST = 65_536;
/** The header keeps a line of this length for each state (scripts/header.ts). */
const LONGEST_LINE = 300;
/** Characters that cannot be part of one header line: control characters, and those that reorder or hide text. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu;

/**
 * A definition from a model's text: JSON, in a code fence or in the first `{...}` of the text.
 * @param demands irreversible: a tool of the process cannot be undone, so it needs a gate whatever risk the text claims
 * @returns the definition, or its problems in words with the nearest valid list of states (null when there is no list at all)
 */
export function parseDefinition(
  text: string,
  demands: { irreversible: boolean } = { irreversible: false },
): { definition: Definition } | { problems: string[]; instead: State[] | null } {
  const found = objectIn(text);
  if (found === null) return { problems: ["the text contains no JSON object with states"], instead: null };
  const listed = Array.isArray(found["states"]) ? found["states"].filter(isListed) : [];
  if (listed.length === 0) return { problems: [`"states" names none of ${ORDER.join(", ")}`], instead: null };
  const states: State[] = [...listed];
  if (states[0] !== "DECOMPOSE") states.unshift("DECOMPOSE");
  if (states.at(-1) !== "COMPLETE") states.push("COMPLETE");
  const risk = RISKS.find((one) => one === found["risk_level"]) ?? "medium";
  const person = typeof found["hitl_required"] === "boolean" ? found["hitl_required"] : risk === "high";
  const gate = person || risk === "high" || demands.irreversible;
  const problems = machineProblems(states.map(stateOf), { gate });
  if (problems.length > 0) return { problems, instead: nearest(states, gate) };
  const hints = Array.isArray(found["connector_hints"]) ? found["connector_hints"] : [];
  return {
    definition: {
      states,
      risk_level: risk,
      hitl_required: person,
      connector_hints: hints.filter((one) => typeof one === "string").slice(0, 20),
      state_instructions: linesOf(found["state_instructions"]),
    },
  };
}

/** States without an instruction line: a definition with any is not ready to be proposed. */
export const statesWithoutLine = (definition: Definition): State[] =>
  definition.states.filter((state) => (definition.state_instructions[state] ?? "") === "");

/**
 * A definition as the lines of a script's header; `parseHeader` reads the same machine from them. When a person or an irreversible
 * tool is demanded, the risk is written as high, so that the header's own check requires the gate.
 * @param process a name from `processName`
 */
export function definitionHeader(definition: Definition, process: string): string {
  const risk = definition.hitl_required ? "high" : definition.risk_level;
  // JSON text is valid YAML; a "*/" in it would end the header's comment.
  const lines = definition.states.map(
    (state) => `  ${state}: ${JSON.stringify(definition.state_instructions[state] ?? "").replaceAll("*/", "*\\/")}`,
  );
  return [`process: ${process}`, `risk: ${risk}`, "states:", ...lines].join("\n");
}

/** A process's name from free text, `^[a-z][a-z0-9_]{2,40}$`; null when too little remains. */
export function processName(text: string): string | null {
  const plain = text.slice(0, 400).normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const name = plain
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^[^a-z]+/, "")
    .slice(0, 41)
    .replace(/_$/, "");
  return name.length >= 3 ? name : null;
}

const stateOf = (state: State): MachineState => ({ state, line: "", conditional: false });
const isListed = (name: unknown): name is State => (ORDER as readonly unknown[]).includes(name);

/** In order and once each; an act is preceded by reading, by the policy and, where demanded, by the gate. */
function nearest(states: readonly State[], gate: boolean): State[] {
  const wanted = new Set<State>([...states, "DECOMPOSE", "COMPLETE"]);
  if (wanted.has("MUTATE"))
    for (const state of ["ASSESS", "POLICY_CHECK", ...(gate ? (["APPROVAL_GATE"] as const) : [])] as const) wanted.add(state);
  else wanted.delete("APPROVAL_GATE");
  return ORDER.filter((state) => wanted.has(state));
}

function objectIn(text: string): Record<string, unknown> | null {
  if (text.length > LONGEST) return null;
  const spans = [text.trim(), text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1)];
  for (const span of spans) {
    // If the whole text is not JSON, the part in braces may be.
    const value: unknown = jsonOf(span);
    if (value === undefined) continue;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  }
  return null;
}

function linesOf(given: unknown): Definition["state_instructions"] {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return {};
  return Object.fromEntries(
    Object.entries(given).flatMap(([state, line]) =>
      isListed(state) && typeof line === "string" ? [[state, line.toWellFormed().replace(UNSEEN, " ").trim().slice(0, LONGEST_LINE)]] : [],
    ),
  );
}
