/**
 * Everything that is checked about scripts before they run, beyond the language lint of the compile child: names, keys,
 * capabilities, triggers, types and money. Called where a person or a model waits for an answer (`cleared exec`, agents, proposals).
 */
import { primitiveTypes } from "../derive.ts";
import type { Finding } from "../ports.ts";
import type { Registry } from "../registry.ts";
import type { Header, InputField } from "../sandbox/header.ts";
import { type FoundCall, lintCalls, lintTrigger, lintUses } from "./lint.ts";
import { typecheck } from "./typecheck.ts";

export interface ScriptToCheck {
  /** agents/ingest.ts */
  file: string;
  source: string;
  /** Null for a sub-script, which has its caller's rights. */
  header: Header | null;
  /** From the compile child (Compiled.calls). */
  calls: readonly FoundCall[];
}

/** All findings, script by script in source order; empty when the scripts may run. */
export async function checkScripts(scripts: readonly ScriptToCheck[], registry: Registry): Promise<Finding[]> {
  const files = scripts.map(({ file, source, header }) => ({ file, source, input: header === null ? undefined : inputType(header.input) }));
  const types = await typecheck(files, primitiveTypes(registry.all()));
  return scripts.flatMap(({ file, header, calls }) => {
    const lint = lintCalls(calls, header, registry);
    // The compiler's words about a key or a name that lint has named already add nothing.
    const told = new Set(lint.map((one) => one.at.line));
    const rest = types.filter((one) => one.at.file === file && !(one.code === "SCRIPT_TYPES" && told.has(one.at.line)));
    const head = header === null ? [] : [...lintUses(header, file, registry), ...lintTrigger(header, file)];
    return [...head, ...[...lint, ...rest].sort((a, b) => (a.at.line ?? 0) - (b.at.line ?? 0) || (a.at.col ?? 0) - (b.at.col ?? 0))];
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
