/**
 * Calls that a person has changed at a gate, checked by what their tools take before the yes counts: one that the tool would refuse later is
 * a slip of the finger now. Terminal and page come here through decideGate.
 */
import { changesIn, keyOf } from "../engine/edits.ts";
import { ClearedError } from "../errors.ts";
import { schemaFault } from "../mcp/schema.ts";
import type { Call, Json, RunRecord } from "../ports.ts";
import { parseParams } from "../primitive.ts";
import { isObject, propertiesOf } from "../tools/shape.ts";
import type { Host } from "./host.ts";

/** @throws USAGE with the field and what it takes; PARAMS_INVALID; TOOL_* when the tool's server cannot be asked */
export async function assertFits(host: Host, run: RunRecord, before: readonly Call[], after: readonly Call[]): Promise<void> {
  for (const [i, call] of after.entries()) {
    const changed = changesIn(before, after).filter(({ path }) => path.startsWith(`calls.${i}.`));
    if (changed.length === 0) continue;
    if (!call.tool.includes("/")) {
      parseParams(await host.world.primitive(call.tool), call.params);
      continue;
    }
    const { server, input_schema: schema } = await host.toolsFor(run).get(call.tool);
    const fault = schemaFault(schema, call.params, host.trust.mcp[server]?.trusted === true);
    if (fault === null) continue;
    // As the validator names it: data/amount must match pattern ...
    const named = /\bdata\/([^\s/]+)/.exec(fault)?.[1] ?? changed.map(({ path }) => keyOf(path))[0] ?? "";
    const known = propertiesOf(schema);
    const takes = Object.hasOwn(known, named)
      ? `${named} takes ${kindOf(known[named] ?? null)}`
      : `it takes ${Object.keys(known).join(", ")}`;
    throw new ClearedError("USAGE", `${call.tool}: ${fault.replaceAll("data/", "")}; ${takes}. Nothing was decided; decide again.`);
  }
}

/** What a parameter takes, by its schema, in words. */
function kindOf(schema: Json): string {
  if (!isObject(schema)) return "any value";
  const { type, enum: options, pattern, minimum, maximum, description } = schema;
  const words = [
    typeof type === "string" ? type : null,
    Array.isArray(options) ? `one of ${options.join(", ")}` : null,
    typeof pattern === "string" ? `like ${pattern}` : null,
    minimum === undefined ? null : `from ${String(minimum)}`,
    maximum === undefined ? null : `up to ${String(maximum)}`,
    typeof description === "string" ? `(${description})` : null,
  ].filter((word) => word !== null);
  return words.length === 0 ? "any value" : words.join(" ").slice(0, 300);
}
