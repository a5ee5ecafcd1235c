/**
 * Calls that a person has changed at a gate, checked by what their tools take before the yes counts: one that the tool would refuse later is
 * a slip of the finger now. Terminal and page come here through decideGate.
 */
import { changesIn, keyOf } from "../rules/edits.ts";
import { ClearedError, onCode } from "../kernel/errors.ts";
import { schemaFault } from "../outside/mcp/schema.ts";
import type { Call, RunRecord } from "../kernel/ports.ts";
import { parseParams } from "../kernel/primitive.ts";
import { brokenCallSums } from "../rules/answers/required.ts";
import { isObject, propertiesOf } from "../rules/tools/shape.ts";
import type { Host } from "./host.ts";

/** @throws USAGE with the field and what it takes; PARAMS_INVALID; TOOL_* when the tool's server cannot be asked */
export async function assertFits(host: Host, run: RunRecord, before: readonly Call[], after: readonly Call[]): Promise<void> {
  for (const [i, call] of after.entries()) {
    const changed = changesIn(before, after).filter(({ path }) => path.startsWith(`calls.${i}.`));
    if (changed.length === 0) continue;
    const [sum] = brokenCallSums(call.params);
    if (sum !== undefined) throw new ClearedError("USAGE", `${call.tool} does not add up: ${sum}. Nothing was decided; decide again.`);
    if (!call.tool.includes("/")) {
      // One that is not there has nothing to check by; the call itself says so.
      const primitive = await host.world.primitive(call.tool).catch(onCode("PRIMITIVE_UNKNOWN", () => null));
      if (primitive !== null) parseParams(primitive, call.params);
      continue;
    }
    const { server, input_schema: schema } = await host.toolsFor(run).get(call.tool);
    const fault = schemaFault(schema, call.params, host.trust.mcp[server]?.trusted === true);
    if (fault === null) continue;
    // As the validator names it: data/amount must match pattern ...
    const named = /\bdata\/([^\s/]+)/.exec(fault)?.[1] ?? changed.map(({ path }) => keyOf(path))[0] ?? "";
    const known = propertiesOf(schema);
    const one = known[named];
    const kind = Object.entries(isObject(one) ? one : {}).map(([word, value]) => `${word} ${String(value)}`);
    const takes = kind.length > 0 ? `${named} takes ${kind.join(", ").slice(0, 300)}` : `it takes ${Object.keys(known).join(", ")}`;
    throw new ClearedError("USAGE", `${call.tool}: ${fault.replaceAll("data/", "")}; ${takes}. Nothing was decided; decide again.`);
  }
}
