/**
 * The gate: names the exact external calls it asks for and stops the run until a person has decided.
 * Expiry ends the run (outcome expired); the script never sees it.
 */
import { z } from "zod";
import { ClearedError } from "../runtime/errors.ts";
import { definePrimitive } from "../runtime/primitive.ts";
import { json, record, shown, text } from "./_shapes.ts";

const call = z.strictObject({
  tool: text.describe("the primitive's name, or SERVER/TOOL for mcp_call"),
  params: record.describe("exactly as they will be passed"),
});

const UNITS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** ms of an expiry: a duration from now, or an ISO date-time with its zone. @throws PARAMS_INVALID */
function expiryOf(expires: string | undefined, now: number): number | null {
  if (expires === undefined) return null;
  const duration = /^([1-9]\d{0,4})([mhdw])$/.exec(expires);
  const at =
    duration !== null
      ? now + Number(duration[1]) * (UNITS[duration[2] ?? ""] ?? 0)
      : /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/.test(expires)
        ? Date.parse(expires)
        : Number.NaN;
  if (Number.isNaN(at))
    throw new ClearedError(
      "PARAMS_INVALID",
      `approval_wait: expires: ${shown(expires)} is neither a duration ("30m", "12h", "3d", "2w") nor a date-time with its zone ("2026-11-30T18:00:00Z").`,
    );
  if (at <= now) throw new ClearedError("PARAMS_INVALID", `approval_wait: expires: ${shown(expires)} has passed already.`);
  return at;
}

export const approval_wait = definePrimitive({
  name: "approval_wait",
  effect: "control",
  access: "ask",
  summary: "Ask a person to approve exactly these calls, and wait for the decision, for days if need be.",
  params: z.object({
    title: text.describe("the question, in words"),
    calls: z.array(call).max(1000).describe("the external calls this covers"),
    level: text.optional().describe("approval profile of trust.yaml"),
    expires: text.optional().describe('"3d", "12h" or an ISO date-time; then the run ends as expired'),
    details: json.optional().describe("facts shown to the person"),
  }),
  returns: z.object({
    decision: z.enum(["approved", "rejected", "edited"]),
    by: z.string(),
    reason: z.string().optional(),
    calls: z.array(z.object({ tool: z.string(), params: json })).describe("the calls that are covered now"),
  }),
  errors: ["PARAMS_INVALID"],
  example: `approval_wait({ title: "Pay ACME 120.00 USD?", calls: [{ tool: "bank_pay", params: { to: "ACME", amount: "120.00" } }], expires: "3d" })`,
  // No dryRun: a dry run passes the gate too, or the calls it covers would be refused.
  run: async (p, ctx) => {
    const decided = await ctx.gate({
      reason: "approval",
      card: {
        kind: "approval",
        title: p.title,
        body: p.details ?? null,
        calls: p.calls,
        level: p.level ?? null,
        expires: expiryOf(p.expires, ctx.now),
      },
    });
    if (decided.decision === "expired")
      throw new ClearedError("INTERNAL", "An expired gate answered its script instead of ending the run.");
    const calls = decided.decision === "rejected" ? [] : (decided.calls ?? p.calls);
    return { decision: decided.decision, by: decided.by, ...(decided.reason === undefined ? {} : { reason: decided.reason }), calls };
  },
});
