/**
 * What a machine owes the process it stands for, beyond its own order (runtime/kernel/states.ts): figures rest on what was read, what cannot be
 * taken back has a gate, and a process with a risk says what happens in each state. Source: spec/worker.md 5 (R).
 */
import type { Finding } from "../../kernel/ports.ts";
import type { Registry } from "../../kernel/registry.ts";
import type { Header } from "../../scripts/header.ts";
import type { Trust } from "../../workspace/settings/config.ts";
import type { StateScript } from "./states.ts";
import { toolClassIn } from "./tool-class.ts";

/** Findings FSM_MACHINE about an agent that its header alone does not show. */
export function lintMachine(
  header: Header,
  file: string,
  scripts: readonly StateScript[],
  registry: Registry,
  trust: Pick<Trust, "mcp">,
): Finding[] {
  if (header.machine === null) return [];
  const { machine, risk } = header;
  const names = machine.states.map(({ state }) => state);
  const problems: string[] = [];
  if (names.includes("COMPUTE") && !names.includes("ASSESS"))
    problems.push("COMPUTE needs ASSESS before it: figures rest on what was read. Add ASSESS");
  const silent = machine.states.filter(({ state, line }) => line === "" && state !== "DECOMPOSE" && state !== "COMPLETE");
  if (risk !== undefined && silent.length > 0)
    problems.push(
      `the header names a risk, so each state says what happens in it. Write a line for ${silent.map(({ state }) => state).join(", ")}`,
    );
  const final = names.includes("MUTATE") && !names.includes("APPROVAL_GATE") ? irreversible(scripts, registry, trust) : null;
  if (final !== null)
    problems.push(
      `${final} cannot be taken back or looked up, so a person is asked first. Add APPROVAL_GATE or APPROVAL_GATE? before MUTATE`,
    );
  return problems.map((problem) => ({ code: "FSM_MACHINE", at: { file }, message: `states: ${problem}.` }));
}

/** The first call outside that nobody could undo or read back by what is declared of it; null when there is none. */
function irreversible(scripts: readonly StateScript[], registry: Registry, trust: Pick<Trust, "mcp">): string | null {
  const toolClass = toolClassIn(trust);
  for (const { name, given } of scripts.flatMap(({ calls }) => calls)) {
    if (!registry.has(name)) continue;
    const primitive = registry.get(name);
    if (primitive.effect !== "external") continue;
    if (primitive.classify === undefined && primitive.idempotent === undefined && primitive.readBack === undefined) return name;
    const tool = given["tool"];
    if (tool === undefined || toolClass(tool)?.class !== "mutate") continue;
    const [server = "", ...rest] = tool.split("/");
    if (trust.mcp[server]?.tools[rest.join("/")]?.verify === undefined) return tool;
  }
  return null;
}
