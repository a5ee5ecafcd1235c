/**
 * Everything that is checked about scripts before they run, beyond the language lint of the compile child: names, keys,
 * capabilities, states, triggers, types and money. Called where a person or a model waits for an answer (`cleared exec`, agents, proposals).
 */
import { primitiveTypes } from "../derive.ts";
import type { Finding } from "../ports.ts";
import type { Registry } from "../registry.ts";
import type { Header, InputField } from "../sandbox/header.ts";
import { inOrder, lintCalls, lintExamples, lintReadOnly, lintTrigger, lintUses } from "./lint.ts";
import { type StateScript, type ToolClassOf, classByName, lintStateless, lintStates } from "./states.ts";
import { typecheck } from "./typecheck.ts";

/** `calls` and `flow` come from the compile child. */
export interface ScriptToCheck extends StateScript {
  /** agents/ingest.ts */
  file: string;
  source: string;
  /** Null for a sub-script, which has its caller's rights and states. */
  header: Header | null;
  /** What script_run calls it by; "" for the agent. */
  name: string;
}

export interface Surroundings {
  registry: Registry;
  /** Agents of the same commit. */
  agents?: readonly string[];
  toolClass?: ToolClassOf;
}

/** All findings, script by script in source order; empty when the scripts may run. The first script is the agent. */
export async function checkScripts(scripts: readonly ScriptToCheck[], around: Surroundings): Promise<Finding[]> {
  const { registry, agents, toolClass = classByName } = around;
  const files = scripts.map(({ file, source, header }) => ({ file, source, input: header === null ? undefined : inputType(header.input) }));
  const types = await typecheck(files, primitiveTypes(registry.all()));
  const machine = scripts[0]?.header?.machine ?? null;
  const looksOnly = scripts[0]?.header?.mutates === false;
  const byName = Object.fromEntries(scripts.map((script) => [script.name, script]));
  const states =
    machine === null ? scripts.flatMap((script) => lintStateless(script.calls)) : lintStates(byName, machine, registry, toolClass).findings;
  return scripts.flatMap(({ file, header, calls }) => {
    const reads = looksOnly ? lintReadOnly(calls, registry, toolClass) : [];
    const lint = [...lintCalls(calls, header, registry), ...states.filter((one) => one.at.file === file), ...reads];
    // The compiler's words about a key or a name that lint has named already add nothing.
    const told = new Set(lint.map((one) => one.at.line));
    const rest = types.filter((one) => one.at.file === file && !(one.code === "SCRIPT_TYPES" && told.has(one.at.line)));
    const head = header === null ? [] : [lintUses(header, file, registry, agents), lintTrigger(header, file), lintExamples(header, file)];
    return [...head.flat(), ...inOrder([...lint, ...rest])];
  });
}

const FIELD_TYPES: Record<InputField["type"], string> = {
  string: "string",
  number: "number",
  integer: "number",
  boolean: "boolean",
  money: "Money",
  date: "string",
  list: "any[]",
  object: "Record<string, any>",
};

/** Type of the global `input` for a header's `input:`; undefined when the header declares none. */
export function inputType(fields: Record<string, InputField>): string | undefined {
  const entries = Object.entries(fields);
  if (entries.length === 0) return undefined;
  const types = entries.map(([key, one]) => {
    const type = one.enum === undefined ? FIELD_TYPES[one.type] : one.enum.map((value) => JSON.stringify(value)).join(" | ");
    return `${key}${one.required === true || one.default !== undefined ? "" : "?"}: ${type}`;
  });
  return `{ ${types.join("; ")} }`;
}
