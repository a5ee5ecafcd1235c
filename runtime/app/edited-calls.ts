/**
 * Validates calls that a person has edited at a gate before the approval counts, so that a mistake shows now and does not use up the approval:
 * against the parameters of their tools, and by trying the script on them. Terminal and page get here through decideGate.
 */
import { changesIn, keyOf } from "../rules/edits.ts";
import { ClearedError, onCode } from "../kernel/errors.ts";
import { schemaFault } from "../outside/mcp/schema.ts";
import type { Call, Card, Decision, Effect, RunRecord } from "../kernel/ports.ts";
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

const ACTS = new Set<Effect>(["external", "notify", "write"]);

/** Continues the run with this decision, as a trial, up to what it would change first. @throws APPROVAL_EDIT with the reason if it ends before that */
export async function assertTaken(host: Host, run: RunRecord, card: Card, decision: Decision): Promise<void> {
  const steps = (await host.engine.steps(run.id)).filter(({ state }) => state !== "intent");
  const tried = await (await import("./recheck.ts")).triedOn({ run, steps }, new Map(), host, decision);
  const { status, error } = tried.effects;
  const acts = tried.steps.slice(steps.length).some((step) => ACTS.has(step.effect) && step.error === null);
  if (tried.missing !== null || status !== "failed" || error === null || acts) return;
  throw new ClearedError(
    "APPROVAL_EDIT",
    `With these values the run would end, and nothing would be done: ${error.message} Card ${card.id} is still open: decide it again.`,
  );
}
