/**
 * What can be said about a script from its primitive calls and its header, without running it: unknown names and keys, missing
 * capabilities, incomplete triggers. Pure functions; the calls come from the compile child. Findings are in source order.
 * Lint is for people and models; the host checks every call again.
 */
import { didYouMean } from "../errors.ts";
import type { Compiled, Finding } from "../ports.ts";
import type { Registry } from "../registry.ts";
import type { Header } from "../sandbox/header.ts";

/** A call of a global function found in a script. */
export type FoundCall = Compiled["calls"][number];

/** The part of a header the lint looks at. */
export type LintedHeader = Partial<Pick<Header, "uses" | "trigger" | "schedule" | "watch" | "on_event">>;

/** All findings about one script. A sub-script has no header: its caller's `uses:` counts. */
export function lintCalls(calls: readonly FoundCall[], header: LintedHeader | null, registry: Registry): Finding[] {
  const findings = calls.flatMap((call) => lintCall(call, header?.uses ?? null, registry));
  return findings.sort((a, b) => (a.at.line ?? 0) - (b.at.line ?? 0) || (a.at.col ?? 0) - (b.at.col ?? 0));
}

function lintCall(call: FoundCall, uses: readonly string[] | null, registry: Registry): Finding[] {
  if (!registry.has(call.name)) {
    return [
      {
        code: "PRIMITIVE_UNKNOWN",
        at: call.at,
        message: `There is no primitive "${call.name}".${didYouMean(call.name, registry.names())}`,
      },
    ];
  }
  const primitive = registry.get(call.name);
  const findings: Finding[] = [];
  if (uses !== null && !uses.includes(primitive.domain)) {
    const has = uses.length === 0 ? "it has none" : `it has [${uses.join(", ")}]`;
    findings.push({
      code: "SCRIPT_CAPABILITY",
      at: call.at,
      message: `${call.name} needs "${primitive.domain}" in the header's uses:, and ${has}. Add it, or drop the call.`,
    });
  }
  // With positional forms (script_run(name, params)) the literal is not the parameter object.
  if (call.keys === null || call.bare) return findings;
  const known = Object.keys(primitive.params.shape);
  for (const key of call.keys) {
    if (known.includes(key)) continue;
    const keys = known.length === 0 ? "It takes no parameters." : `It takes ${known.join(", ")}.`;
    findings.push({
      code: "SCRIPT_UNKNOWN_KEY",
      at: call.at,
      message: `${call.name} has no key "${key}".${didYouMean(key, known)} ${keys}`,
    });
  }
  return findings;
}

/** Words in `uses:` that are no domain of a primitive: the host grants domains only. */
export function lintUses(header: LintedHeader, file: string, registry: Registry): Finding[] {
  const known = registry.domains();
  return (header.uses ?? [])
    .filter((one) => !known.includes(one))
    .map((one) => {
      const hint = registry.has(one) ? ` Write its domain, "${registry.get(one).domain}".` : didYouMean(one, known);
      return {
        code: "SCRIPT_CAPABILITY",
        at: { file },
        message: `uses: names "${one}", which is no domain.${hint} There are ${known.join(", ")}.`,
      };
    });
}

const TRIGGER_KEYS = { schedule: "schedule", watch: "file_watch", on_event: "event" } as const;

/** A key whose trigger is not named: it would start nothing, without a word. What a trigger lacks is the header's own error. */
export function lintTrigger(header: LintedHeader, file: string): Finding[] {
  return (Object.keys(TRIGGER_KEYS) as (keyof typeof TRIGGER_KEYS)[])
    .filter((key) => header[key] !== undefined && header.trigger?.includes(TRIGGER_KEYS[key]) !== true)
    .map((key) => ({
      code: "HEADER_TRIGGER",
      at: { file },
      message: `The header has ${key}:, but trigger: does not name ${TRIGGER_KEYS[key]}, so it starts nothing. Add ${TRIGGER_KEYS[key]} to trigger:, or drop the key.`,
    }));
}
