/**
 * What primitive calls and the header show about a script without running it: unknown names and keys, missing capabilities, incomplete
 * triggers. Pure functions; the calls come from the compile child. Findings are in source order.
 * Lint is for people and models; the host checks every call again.
 */
import { didYouMean, toWire } from "../../kernel/errors.ts";
import type { Access, Compiled, Finding, Json } from "../../kernel/ports.ts";
import type { Primitive } from "../../kernel/primitive.ts";
import type { Found } from "./findings.ts";
import type { Registry } from "../../kernel/registry.ts";
import type { Header } from "../../scripts/header.ts";
import { validateInput } from "../../scripts/fields.ts";
import { type StateScript, type ToolClassOf, accessOf, classByName, lintStateless, lintStates } from "./states.ts";

/** A call of a global function found in a script. */
export type FoundCall = Compiled["calls"][number];

/** The part of a header that lint reads. */
export type LintedHeader = Partial<Pick<Header, "uses" | "trigger" | "schedule" | "watch" | "on_event">>;

/** `calls` and `flow` come from the compile child. */
export interface ScriptToCheck extends StateScript {
  /** agents/ingest.ts */
  file: string;
  source: string;
  /** Null for a sub-script, which has its caller's rights and states. */
  header: Header | null;
  /** Its name for script_run; "" for the agent. */
  name: string;
  guards?: Compiled["guards"];
  planned?: Compiled["planned"];
}

/** Names, keys, capabilities, states and triggers, script by script. The first script is the agent. agents: those in the same commit. */
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

/** All findings about one script. A sub-script has no header: its caller's `uses:` counts. */
export function lintCalls(calls: readonly FoundCall[], header: LintedHeader | null, registry: Registry): Finding[] {
  return inOrder(calls.flatMap((call) => lintCall(call, header?.uses ?? null, registry)));
}

export function inOrder<F extends Finding>(findings: readonly F[]): F[] {
  return [...findings].sort((a, b) => (a.at.line ?? 0) - (b.at.line ?? 0) || (a.at.col ?? 0) - (b.at.col ?? 0));
}

const ACTS: ReadonlySet<Access> = new Set<Access>(["write", "external", "notify"]);

/** Calls that certainly do more than read, in an agent with `mutates: false`. */
export function lintReadOnly(calls: readonly FoundCall[], registry: Registry, toolClass: ToolClassOf = classByName): Finding[] {
  return calls.flatMap((call) => {
    if (!registry.has(call.name)) return [];
    const { rows, why } = accessOf(registry.get(call.name), call.given, toolClass);
    if (!rows.every((row) => ACTS.has(row))) return [];
    const what = why === "" ? call.name : `${call.name} (${why})`;
    const message = `The header says mutates: false, and ${what} does more than read. Drop the call, or the line of the header.`;
    return [{ code: "FSM_READ_ONLY", at: call.at, message }];
  });
}

function lintCall(call: FoundCall, uses: readonly string[] | null, registry: Registry): Finding[] {
  const { at } = call;
  if (!registry.has(call.name)) {
    const message = `There is no primitive "${call.name}".${didYouMean(call.name, registry.names())}`;
    return [{ code: "PRIMITIVE_UNKNOWN", at, message }];
  }
  const primitive = registry.get(call.name);
  const findings: Finding[] = [];
  const needed = capabilityOf(primitive, call.given);
  if (uses !== null && needed !== null && !uses.includes(needed)) {
    const has = uses.length === 0 ? "it has none" : `it has [${uses.join(", ")}]`;
    const message = `${call.name} needs "${needed}" in the header's uses:, and ${has}. Add it, or drop the call.`;
    findings.push({ code: "SCRIPT_CAPABILITY", at, message });
  }
  // With positional forms (script_run(name, params)) the literal is not the parameter object.
  if (call.keys === null || call.bare) return findings;
  const known = Object.keys(primitive.params.shape);
  const keys = known.length === 0 ? "It takes no parameters." : `It takes ${known.join(", ")}.`;
  for (const key of call.keys.filter((one) => !known.includes(one)))
    findings.push({ code: "SCRIPT_UNKNOWN_KEY", at, message: `${call.name} has no key "${key}".${didYouMean(key, known)} ${keys}` });
  return findings;
}

/** What `uses:` must name for a call; null if it depends on a computed parameter. */
function capabilityOf(primitive: Primitive, given: Record<string, string>): string | null {
  if (primitive.capability === undefined) return primitive.domain;
  let missing = false;
  const texts = primitive.bare === null ? given : { [primitive.bare]: given[""], ...given };
  const params = new Proxy(texts, {
    get(known, key) {
      missing ||= known[String(key)] === undefined;
      return known[String(key)] ?? "";
    },
  });
  const needed = primitive.capability(params);
  return missing ? null : needed;
}

/** Remarks about values used after a gate as planned, although a person may have edited them. */
export function lintPlanned(planned: NonNullable<Compiled["planned"]>): Found[] {
  return planned.map(({ name, key, at }) => {
    const field = key === "*" ? "calls[0].params" : `calls[0].params.${key}`;
    const found = `${name} is a planned value or made of one; whoever approved may have changed it. Take it from the calls that the gate returns (${field}), name both in one text, or put it under the key planned. After a rejection there are none, and the planned value may be told.`;
    const message = name === "" ? "The script is too long to find what it tells after this gate. Move a part of it into scripts/." : found;
    return { code: "SCRIPT_PLANNED", at, remark: true as const, message };
  });
}

/** Words in `uses:` that are no domain of a primitive: only domains can be granted. agents: names that agent_call accepts. */
export function lintUses(header: LintedHeader, file: string, registry: Registry, agents: readonly string[] = []): Finding[] {
  const known = [...registry.domains(), ...agents.map((name) => `agent:${name}`)];
  return (header.uses ?? [])
    .filter((one) => !known.includes(one))
    .map((one) => {
      const hint = registry.has(one) ? ` Write its domain, "${registry.get(one).domain}".` : didYouMean(one, known);
      const message = `uses: names "${one}", which is not a known domain.${hint} There are ${registry.domains().join(", ")}.`;
      return { code: "SCRIPT_CAPABILITY", at: { file }, message };
    });
}

/** Examples in a header that its own `input:` refuses. */
export function lintExamples(header: Header, file: string): Finding[] {
  return header.examples.flatMap((example, index) => {
    try {
      validateInput(header, example as Json);
      return [];
    } catch (error) {
      return [{ code: "SCRIPT_HEADER", at: { file }, message: `examples[${index}]: ${toWire(error).message}` }];
    }
  });
}

const TRIGGER_KEYS = { schedule: "schedule", watch: "file_watch", on_event: "event" } as const;

/** A trigger's key without the trigger, which would start nothing. What a trigger lacks is an error of the header itself. */
export function lintTrigger(header: LintedHeader, file: string): Finding[] {
  return (Object.keys(TRIGGER_KEYS) as (keyof typeof TRIGGER_KEYS)[])
    .filter((key) => header[key] !== undefined && header.trigger?.includes(TRIGGER_KEYS[key]) !== true)
    .map((key) => {
      const message = `The header has ${key}:, but trigger: does not name ${TRIGGER_KEYS[key]}, so it starts nothing. Add ${TRIGGER_KEYS[key]} to trigger:, or drop the key.`;
      return { code: "HEADER_TRIGGER", at: { file }, message };
    });
}
