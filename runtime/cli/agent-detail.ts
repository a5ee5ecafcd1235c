/** One agent as a person wants to see it: its fields, its machine drawn, what each state allows and calls, the rules it is judged by. */
import { type StateScript, lintStates, toolClassIn } from "../change/checks/states.ts";
import { loadScript } from "../engine/script.ts";
import { withTools } from "../engine/tool-scripts.ts";
import { toWire } from "../kernel/errors.ts";
import type { Access, State } from "../kernel/ports.ts";
import type { Header } from "../scripts/header.ts";
import type { InputField } from "../scripts/fields.ts";
import { type Machine, type MachineState, accessesOf } from "../kernel/states.ts";
import { policyFile } from "../workspace/layout.ts";
import { parsePack } from "../workspace/settings/policies.ts";
import type { AgentAtHead } from "../app/agents-at-head.ts";
import { inWords } from "./commands/policy.ts";
import type { Host } from "../app/host.ts";

export interface AgentDetail {
  states: { state: State; conditional: boolean; line: string; allows: string[]; calls: string[] }[];
  /** All calls the script writes out, where there are no states. */
  calls: string[];
  policy: { file: string; rules: ReturnType<typeof inWords> } | null;
  /** What keeps the script or the policy from being read. */
  problems: string[];
}

const WORDS: Record<Access, string> = {
  context: "",
  pure: "",
  model: "ask a model for text",
  model_task: "have a model propose a process",
  read: "read records, files and tools",
  decide: "be judged by the policy",
  ask: "ask a person",
  write: "write to the workspace",
  external: "act outside, as approved",
  notify: "tell people, plan later runs",
};

/** Plugins are not loaded for looking, so their calls are not listed. */
export async function agentDetail(host: Host, { name, file, header }: AgentAtHead): Promise<AgentDetail> {
  const tree = host.git.tree(await host.git.head());
  const problems: string[] = [];
  const said = (error: unknown): null => {
    problems.push(toWire(error).message);
    return null;
  };
  const machine = header?.machine ?? null;
  const builtin = await host.registry.whole();
  const primitives = builtin.names();
  const registry = await withTools(builtin, tree, host.sandbox);
  // A state may ask a model only where the header lets the script.
  const rows = new Set(
    registry.all().flatMap((one) => (!one.access.startsWith("model") || header?.uses.includes(one.domain) ? [one.access] : [])),
  );
  const script =
    header === null ? null : await loadScript(tree, file, host.sandbox, { lint: false, primitives, primitive: builtin.get }).catch(said);
  const scripts: Record<string, StateScript> = script === null ? {} : { ...script.scripts, "": script.main };
  const toolClass = toolClassIn(host.trust);
  const byState = machine === null ? null : lintStates(scripts, machine, registry, toolClass).calls;
  const all = Object.values(scripts).flatMap(({ calls }) => calls.map((call) => call.given["tool"] ?? call.name));
  const pack = policyFile(header?.process ?? name);
  const text = await tree.read(pack);
  const ladder = (await host.config(tree)).policy;
  let policy: AgentDetail["policy"] = null;
  try {
    policy = text === null ? null : { file: pack, rules: inWords(parsePack(text, pack, ladder).set) };
  } catch (error) {
    said(error);
  }
  return {
    states: (machine?.states ?? []).map(({ state, conditional, line }) => ({
      ...{ state, conditional, line },
      allows: accessesOf(state).flatMap((access) => (WORDS[access] !== "" && rows.has(access) ? [WORDS[access]] : [])),
      calls: [...(byState?.get(state) ?? [])].filter((call) => call !== "fsm_enter" && call !== "script_run"),
    })),
    calls: machine === null ? [...new Set(all)] : [],
    policy,
    problems,
  };
}

/** `  invoice_id  string, required  which invoice` */
export function fieldRows(fields: Header["input"]): string[][] {
  return Object.entries(fields).map(([name, one]) => [`  ${name}`, typeOf(one), one.describe ?? ""]);
}

function typeOf({ type, required, default: usual, enum: options }: InputField): string {
  return [
    options === undefined ? type : options.map((one) => JSON.stringify(one)).join(" | "),
    ...(required === true ? ["required"] : []),
    ...(usual === undefined ? [] : [`else ${JSON.stringify(usual)}`]),
  ].join(", ");
}

const WIDTH = 96;

/** The machine as boxes and arrows, several rows when it is long; a box of dots may be skipped. */
export function drawMachine(machine: Machine): string[] {
  const rows: [string, string, string][] = [];
  for (const state of machine.states) {
    const [top, middle, bottom] = box(state);
    const row = rows.at(-1);
    const first = rows.length === 0;
    if (row === undefined || row[1].length + middle.length + 3 > WIDTH)
      rows.push([`${first ? "" : "    "}${top}`, `${first ? "" : "--> "}${middle}`, `${first ? "" : "    "}${bottom}`]);
    else rows[rows.length - 1] = [`${row[0]}   ${top}`, `${row[1]}-->${middle}`, `${row[2]}   ${bottom}`];
  }
  const has = (state: State) => machine.states.some((one) => one.state === state);
  return [
    ...rows.flat(),
    ...(machine.states.some((one) => one.conditional) ? ["The box of dots is skipped when the policy passes."] : []),
    ...(has("MUTATE") ? ["MUTATE may go back to APPROVAL_GATE to ask again."] : []),
    `Any state may be followed by FAILED, or by ESCALATE: a person looks${has("MUTATE") ? " and sends it to the gate or ends it" : ""}.`,
  ];
}

function box({ state, conditional }: MachineState): [string, string, string] {
  const name = conditional ? `${state}?` : state;
  const line = conditional ? `:${".".repeat(name.length + 2)}:` : `+${"-".repeat(name.length + 2)}+`;
  return [line, conditional ? `: ${name} :` : `| ${name} |`, line];
}
