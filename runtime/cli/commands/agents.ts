/**
 * `cleared agents`: the agents at HEAD of the branch, their next and last runs. `agents show NAME`: its fields, its machine drawn, what each
 * state allows and calls, the rules that judge it.
 */
import { NOBODY } from "../../kernel/text.ts";
import { type StateScript, lintStates, toolClassIn } from "../../change/checks/states.ts";
import { pauseWords } from "../../engine/store/pauses.ts";
import { loadScript } from "../../engine/script.ts";
import { withTools } from "../../engine/tool-scripts.ts";
import { ClearedError, didYouMean, toWire } from "../../kernel/errors.ts";
import type { Access, State } from "../../kernel/ports.ts";
import { type Machine, type MachineState, accessesOf } from "../../kernel/states.ts";
import type { Header } from "../../scripts/header.ts";
import type { InputField } from "../../scripts/fields.ts";
import { policyFile } from "../../workspace/layout.ts";
import { parsePack } from "../../workspace/settings/policies.ts";
import type { AgentAtHead } from "../../app/agents-at-head.ts";
import type { AgentFact } from "../../app/api.ts";
import { withLook } from "../../app/connect.ts";
import type { Host } from "../../app/host.ts";
import type { Command } from "../invocation.ts";
import type { Output } from "../output.ts";
import { markWords } from "../../app/marks.ts";
import { pasted } from "../../app/starts.ts";
import { runLine, when } from "../text.ts";
import { inWords } from "./policy.ts";

export const run: Command = async ({ output, dir }, [verb, name]) => {
  if (verb === "show") {
    if (name === undefined) throw new ClearedError("USAGE", "Name an agent: `cleared agents show NAME`; `cleared agents` lists them.");
    return show(output, dir, name);
  }
  const agents = await withLook(dir, (api) => api.agents());
  output.result(agents);
  const rows = agents.map((one) => [
    output.bold(one.name),
    one.header?.name ?? output.red(one.error?.message ?? ""),
    one.header?.trigger.join(", ") ?? "",
    one.paused !== null ? output.yellow(`paused by ${one.paused.by ?? NOBODY}`) : one.nextRun === null ? "" : `next ${when(one.nextRun)}`,
    one.lastRun === null ? "never ran" : `last ${one.lastRun.outcome ?? one.lastRun.status} ${when(one.lastRun.createdAt)}`,
    output.yellow(markWords(one.checked) ?? ""),
  ]);
  output.rows(rows);
};

async function show(output: Output, dir: string, name: string): Promise<number> {
  const { found, detail } = await withLook(dir, async (api, host) => {
    const agents = await api.agents();
    const one = agents.find((agent) => agent.name === name);
    if (one === undefined) {
      const names = agents.map((agent) => agent.name);
      throw new ClearedError("AGENT_UNKNOWN", `There is no agent "${name}".${didYouMean(name, names)} There are: ${names.join(", ")}.`);
    }
    return { found: one, detail: await detailOf(host, one) };
  });
  output.result({ ...found, detail });
  printAgent(output, found, detail);
  return 0;
}

function printAgent(output: Output, found: AgentFact, detail: Awaited<ReturnType<typeof detailOf>>): void {
  const { header } = found;
  output.line(`${output.bold(found.name)}  ${header?.name ?? ""}  ${output.dim(`${found.file}@${found.blob.slice(0, 12)}`)}`);
  if (found.error !== null) output.line(output.red(found.error.message));
  if (found.paused !== null) output.line(output.yellow(`${pauseWords(found.paused)}.`));
  for (const problem of detail.problems) output.line(output.red(problem));
  const mark = markWords(found.checked);
  if (mark !== null) output.line(output.yellow(`${mark}: \`cleared check --all\` shows more`));
  if (header !== null) {
    if (header.description !== "") output.line(header.description);
    const { schedule, watch, on_event, webhook, trigger, risk, mutates } = header;
    const when_ = [schedule, watch, on_event, webhook].filter((one) => one !== undefined);
    const rows = [
      ["  trigger", [trigger.join(", ") || "on demand", ...when_].join("; ")],
      ["  uses", header.uses.join(", ")],
      ...(risk === undefined ? [] : [["  risk", risk]]),
      ...(mutates === false ? [["  mutates", "no: it only reads"]] : []),
      ...(found.nextRun === null ? [] : [["  next run", when(found.nextRun)]]),
      ...(found.lastRun === null ? [] : [["  last run", runLine(output, found.lastRun).join("  ").trimEnd()]]),
    ];
    output.rows(rows);
    for (const [title, fields] of Object.entries({ Input: header.input, Output: header.output })) {
      if (Object.keys(fields).length > 0) output.line(output.bold(title));
      output.rows(fieldRows(fields));
    }
    output.line(`${output.bold("Example")}  ${pasted(`cleared run ${found.name}`, header)}`);
    if (header.machine !== null) {
      output.line(output.bold("States"));
      for (const line of drawMachine(header.machine)) output.line(`  ${line}`);
    }
  }
  for (const { state, conditional, line, allows, calls } of detail.states) {
    output.line(`  ${output.bold(`${state}${conditional ? "?" : ""}`)}${line === "" ? "" : `  ${line}`}`);
    output.line(`      may ${allows.length === 0 ? "compute and log only" : allows.join("; ")}`);
    if (calls.length > 0) output.line(`      calls ${calls.join(", ")}`);
  }
  if (detail.calls.length > 0) output.line(`${output.bold("Calls")}  ${detail.calls.join(", ")}`);
  if (detail.policy === null) return;
  output.line(`${output.bold("Policy")}  ${detail.policy.file}`);
  for (const { id, does, when: condition } of detail.policy.rules) output.line(`  ${id}: ${does} when ${condition}`);
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

/** Plugins are not loaded for display, so their calls are not listed. */
async function detailOf(host: Host, { name, file, header }: AgentAtHead) {
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
  // A state may ask a model only if the header allows it.
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
  let policy: { file: string; rules: ReturnType<typeof inWords> } | null = null;
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
    // All calls in the script's text.
    calls: machine === null ? [...new Set(all)] : [],
    policy,
    /** Why the script or the policy cannot be read. */
    problems,
  };
}

/** `  invoice_id  string, required  which invoice` */
function fieldRows(fields: Header["input"]): string[][] {
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

/** The machine as boxes and arrows, in several rows if it is long; a dotted box may be skipped. */
function drawMachine(machine: Machine): string[] {
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
