/**
 * Everything that is checked about scripts before they run, beyond the language lint of the compile child: names, keys,
 * capabilities, states, triggers, types and money. Called where a person or a model waits for an answer (`cleared exec`, agents, proposals).
 */
import { primitiveTypes } from "../../kernel/derive.ts";
import type { Compiled, Finding } from "../../kernel/ports.ts";
import type { Registry } from "../../kernel/registry.ts";
import type { Header } from "../../scripts/header.ts";
import type { InputField } from "../../scripts/fields.ts";
import { lintCalls, lintExamples, lintReadOnly, lintTrigger, lintUses } from "./lint.ts";
import { type StateScript, type ToolClassOf, lintStateless, lintStates } from "./states.ts";
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
  guards?: Compiled["guards"];
  planned?: Compiled["planned"];
}

/** Names, keys, capabilities, states and triggers, script by script. The first script is the agent. agents: those of the same commit. */
export function lintScripts(
  scripts: readonly ScriptToCheck[],
  { registry, agents, toolClass }: { registry: Registry; agents: readonly string[]; toolClass: ToolClassOf },
): Finding[] {
  const machine = scripts[0]?.header?.machine ?? null;
  const looksOnly = scripts[0]?.header?.mutates === false;
  const byName = Object.fromEntries(scripts.map((script) => [script.name, script]));
  const states =
    machine === null ? scripts.flatMap((script) => lintStateless(script.calls)) : lintStates(byName, machine, registry, toolClass).findings;
  return scripts.flatMap(({ file, header, calls }) => [
    ...(header === null ? [] : [lintUses(header, file, registry, agents), lintTrigger(header, file), lintExamples(header, file)].flat()),
    ...lintCalls(calls, header, registry),
    ...states.filter((one) => one.at.file === file),
    ...(looksOnly ? lintReadOnly(calls, registry, toolClass) : []),
  ]);
}

/** Types and money, each script by itself. `told`: what lint has said; the compiler's words about the same line add nothing. */
export async function typeScripts(
  scripts: readonly Pick<ScriptToCheck, "file" | "source" | "header">[],
  registry: Registry,
  told: readonly Finding[],
): Promise<Finding[]> {
  const files = scripts.map(({ file, source, header }) => ({ file, source, input: header === null ? undefined : inputType(header.input) }));
  const lines = new Set(told.map(({ at }) => `${at.file}:${at.line}`));
  return (await typecheck(files, typesOf(registry))).filter(
    ({ code, at }) => !(code === "SCRIPT_TYPES" && lines.has(`${at.file}:${at.line}`)),
  );
}

const types = new WeakMap<Registry, string>();

/** The typings, written once for each registry: that takes longer than checking a script against them. */
export const typesOf = (registry: Registry): string => types.getOrInsertComputed(registry, () => primitiveTypes(registry.all()));

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
