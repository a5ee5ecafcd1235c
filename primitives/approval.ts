/**
 * The gate names the exact external calls to approve and stops the run until a person decides; the form asks for data instead.
 * Expiry ends the run (outcome expired); the script never sees it.
 */
import { z } from "zod";
import { ClearedError } from "../runtime/kernel/errors.ts";
import { momentOf } from "../runtime/rules/policy/values.ts";
import { End, definePrimitive } from "../runtime/kernel/primitive.ts";
import type { Json } from "../runtime/kernel/ports.ts";
import { ASKS, json, record, shown, text } from "./_shapes.ts";

const call = z.strictObject({
  tool: text.describe("the primitive's name, or SERVER/TOOL for mcp_call"),
  params: record.describe('exactly as they will be passed; "@approver" is replaced by who decides, "@reason" by why'),
});

const UNITS: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** ms of "30m", "12h", "3d", "2w", or null. */
function durationOf(words: string): number | null {
  const found = /^([1-9]\d{0,4})([mhdw])$/.exec(words);
  return found === null ? null : Number(found[1]) * (UNITS[found[2] ?? ""] ?? 0);
}

/** ms of an expiry: a duration from now, or an ISO date-time with its zone. @throws PARAMS_INVALID */
function expiryOf(expires: string | undefined, now: number): number | null {
  if (expires === undefined) return null;
  const duration = durationOf(expires);
  const at = duration === null ? momentOf(expires) : now + duration;
  if (at === null)
    throw new ClearedError(
      "PARAMS_INVALID",
      `expires: ${shown(expires)} is neither a duration ("30m", "12h", "3d", "2w") nor a date-time with its zone ("2026-11-30T18:00:00Z").`,
    );
  if (at <= now) throw new ClearedError("PARAMS_INVALID", `expires: ${shown(expires)} has passed already.`);
  return at;
}

/** @throws PARAMS_INVALID */
function reminderOf(remind: string | undefined): { remind?: number } {
  if (remind === undefined) return {};
  const every = durationOf(remind);
  if (every === null) throw new ClearedError("PARAMS_INVALID", `remind: ${shown(remind)} is not a duration; write "1d", "4h" or "30m".`);
  return { remind: every };
}

const waiting = {
  expires: text.optional().describe('"3d", "12h" or an ISO date-time; then the run ends as expired'),
  remind: text.optional().describe('"1d": until someone answers, those who may are reminded this often'),
};

export const approval_wait = definePrimitive({
  name: "approval_wait",
  ...ASKS,
  summary: "Ask a person to approve exactly these calls, and wait for the decision, for days if necessary.",
  params: z.object({
    title: text.describe("the question, in words"),
    calls: z.array(call).max(1000).describe("the external calls this covers"),
    otherwise: z.array(call).max(1000).optional().describe("what a rejection allows instead; the run continues with these only"),
    fixed: z.boolean().optional().describe("the calls belong together: none may be edited before approval"),
    level: text.optional().describe("rank or role of the ladder, in addition to what the policy demands"),
    ...waiting,
    details: json.optional().describe("facts shown to the person"),
  }),
  returns: z.object({
    decision: z.enum(["approved", "rejected", "edited"]),
    by: z.string(),
    reason: z.string().optional(),
    calls: z.array(z.object({ tool: z.string(), params: json })).describe("the calls that are now covered"),
  }),
  errors: ["PARAMS_INVALID"],
  example: `approval_wait({ title: "Pay ACME 120.00 USD?", calls: [{ tool: "bank_pay", params: { to: "ACME", amount: "120.00" } }], expires: "3d" })`,
  // No dryRun: a dry run must pass the gate too, or the calls it covers would be refused.
  run: async (p, ctx) => {
    // Rejected at the escalation: its card did not show the calls of `otherwise`, so none of them may be made.
    const rejection = ctx.process?.answered === "rejected" ? ctx.process.refusal : null;
    if (rejection !== null && p.otherwise?.length !== 0) throw new End("rejected", rejection.why, rejection);
    if (rejection !== null)
      return { decision: "rejected", by: rejection.by, ...(rejection.reason === undefined ? {} : { reason: rejection.reason }), calls: [] };
    const decided = await ctx.gate({
      reason: "approval",
      card: {
        kind: "approval",
        title: p.title,
        body: p.otherwise?.length ? { details: p.details ?? null, if_rejected: p.otherwise } : (p.details ?? null),
        calls: p.calls,
        ...(p.otherwise === undefined ? {} : { otherwise: p.otherwise }),
        level: p.level ?? null,
        ...(p.fixed === true ? { fixed: true } : {}),
        expires: expiryOf(p.expires, ctx.now),
        ...reminderOf(p.remind),
      },
    });
    if (decided.decision === "expired")
      throw new ClearedError("INTERNAL", "An expired gate returned to its script instead of ending the run.");
    const calls = decided.calls ?? (decided.decision === "rejected" ? [] : p.calls);
    return { decision: decided.decision, by: decided.by, ...(decided.reason === undefined ? {} : { reason: decided.reason }), calls };
  },
});

const field = z.strictObject({
  type: z.enum(["string", "number", "integer", "boolean", "money", "date", "list", "object"]),
  required: z.boolean().optional(),
  enum: z
    .array(z.union([z.string(), z.number(), z.boolean()]))
    .min(1)
    .optional(),
  describe: text.optional(),
});

// The values a dry run continues with.
const SAMPLES = { string: "", number: 0, integer: 0, boolean: false, money: "0.00", date: "2026-01-01", list: [], object: {} };

export const approval_form = definePrimitive({
  name: "approval_form",
  ...ASKS,
  summary: "Ask a person for missing data, and wait for it. Figures they enter count as read.",
  params: z.object({
    title: text.describe("the question, in words"),
    fields: z
      .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,59}$/), field)
      .refine((fields) => Object.keys(fields).length > 0 && Object.keys(fields).length <= 50, "has 1 to 50 fields")
      .describe("the requested fields, as in a header's input:"),
    ...waiting,
    details: json.optional().describe("facts shown to the person"),
  }),
  returns: z.object({ values: record, by: z.string() }),
  errors: ["PARAMS_INVALID"],
  example: `approval_form({ title: "What did the taxi cost?", fields: { amount: { type: "money", required: true }, note: { type: "string" } } })`,
  run: async (p, ctx) => {
    const { decision, by, reason, result } = await ctx.gate({
      reason: "input",
      card: {
        kind: "form",
        title: p.title,
        body: p.details ?? null,
        calls: [],
        fields: p.fields as Json,
        level: null,
        expires: expiryOf(p.expires, ctx.now),
        ...reminderOf(p.remind),
      },
    });
    if (decision === "rejected")
      throw new End("rejected", `${by} gave no answer to "${p.title}"${reason === undefined ? "" : `: ${reason}`}`, { by });
    const values = (result ?? sampleOf(p.fields)) as Record<string, Json>;
    ctx.changed({ op: "answered", by, values });
    return { values, by };
  },
});

function sampleOf(fields: Record<string, z.output<typeof field>>): Record<string, Json> {
  return Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, one.enum?.[0] ?? SAMPLES[one.type]]));
}
