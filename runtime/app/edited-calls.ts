/**
 * Validates calls that a person has edited at a gate against the parameters of their tools before the approval counts, so that a mistake shows
 * now and not when the call is made. Terminal and page get here through decideGate.
 */
import { changesIn, keyOf } from "../rules/edits.ts";
import { ClearedError, onCode } from "../kernel/errors.ts";
import { schemaFault } from "../outside/mcp/schema.ts";
import type { Call, RunRecord } from "../kernel/ports.ts";
import { parseParams } from "../kernel/primitive.ts";
import { brokenCallSums } from "../rules/answers/required.ts";
import { isObject, propertiesOf } from "../rules/tools/shape.ts";
import type { Host } from "./host.ts";

/** @throws USAGE with the field and the accepted values; PARAMS_INVALID; TOOL_* if the tool's server cannot be asked */
export async function assertFits(host: Host, run: RunRecord, before: readonly Call[], after: readonly Call[]): Promise<void> {
  for (const [i, call] of after.entries()) {
    const changed = changesIn(before, after).filter(({ path }) => path.startsWith(`calls.${i}.`));
    if (changed.length === 0) continue;
    const [sum] = brokenCallSums(call.params);
    if (sum !== undefined) throw new ClearedError("USAGE", `${call.tool} does not add up: ${sum}. Nothing was decided; decide again.`);
    if (!call.tool.includes("/")) {
      // An unknown tool has no schema; the call itself reports that.
      const primitive = await host.world.primitive(call.tool).catch(onCode("PRIMITIVE_UNKNOWN", () => null));
      if (primitive !== null) parseParams(primitive, call.params);
      continue;
    }
    const { server, input_schema: schema } = await host.toolsFor(run).get(call.tool);
    const fault = schemaFault(schema, call.params, host.trust.mcp[server]?.trusted === true);
    if (fault === null) continue;
    // The validator's wording: data/amount must match pattern ...
    const named = /\bdata\/([^\s/]+)/.exec(fault)?.[1] ?? changed.map(({ path }) => keyOf(path))[0] ?? "";
    const known = propertiesOf(schema);
    const one = known[named];
    const kind = Object.entries(isObject(one) ? one : {}).map(([word, value]) => `${word} ${String(value)}`);
    const takes = kind.length > 0 ? `${named} takes ${kind.join(", ").slice(0, 300)}` : `it takes ${Object.keys(known).join(", ")}`;
    throw new ClearedError("USAGE", `${call.tool}: ${fault.replaceAll("data/", "")}; ${takes}. Nothing was decided; decide again.`);
  }
}
