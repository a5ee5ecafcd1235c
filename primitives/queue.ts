/** Review items: what a person must look at. The run's commit opens their cards. */
import { z } from "zod";
import { ClearedError } from "../runtime/kernel/errors.ts";
import { definePrimitive, type StepContext } from "../runtime/kernel/primitive.ts";
import { ASKS, confidence, confidenceText, entryId, json, text } from "./_shapes.ts";

const item = z.strictObject({
  entry_id: z
    .union([entryId, z.literal("pending")], { error: 'is neither an entry\'s id nor "pending"' })
    .meta({ ts: "string" })
    .optional()
    .describe('an id that journal_add* returned, or "pending" for the entry added last'),
  description: text.describe("what the person reads"),
  confidence: confidence.optional().describe("how sure the classification is, 0 to 1"),
});

/** "pending" is the entry added last in this run. @throws JOURNAL_ENTRY_MISSING */
function resolve(id: string | undefined, ctx: StepContext): string | null {
  if (id !== "pending") return id ?? null;
  const last = ctx.ports.books.last();
  if (last === null)
    throw new ClearedError(
      "JOURNAL_ENTRY_MISSING",
      'This run has not added an entry yet, so entry_id "pending" names none. Call journal_add* first or pass an id.',
    );
  return last;
}

function add(one: z.output<typeof item>, ctx: StepContext): void {
  const entry = resolve(one.entry_id, ctx);
  const body = one.confidence === undefined ? {} : { confidence: confidenceText(one.confidence) };
  ctx.ports.review({ title: one.description, body, entry });
}

export const queue_add_review = definePrimitive({
  name: "queue_add_review",
  ...ASKS,
  summary: "Ask a person to look at an entry, or at anything.",
  params: item,
  returns: z.object({ queued: z.number() }),
  errors: ["JOURNAL_ENTRY_MISSING"],
  example: `queue_add_review({ description: "Unknown vendor: ACME 123", confidence: 0 })`,
  run: (p, ctx) => {
    add(p, ctx);
    return { queued: 1 };
  },
});

export const queue_add_many = definePrimitive({
  name: "queue_add_many",
  ...ASKS,
  summary: "Ask a person to look at many entries, in one call.",
  params: z.object({ items: z.array(item).max(50_000).describe("each has the shape of queue_add_review") }),
  returns: z.object({ queued: z.number() }),
  errors: ["JOURNAL_ENTRY_MISSING"],
  example: `queue_add_many({ items: [{ description: "Unknown vendor: ACME 123" }] })`,
  run: (p, ctx) => {
    for (const one of p.items) add(one, ctx);
    return { queued: p.items.length };
  },
});

export const queue_pending = definePrimitive({
  name: "queue_pending",
  effect: "read",
  summary: "Open cards, oldest first.",
  params: z.object({}),
  returns: z.array(z.object({ card: z.number(), kind: z.string(), title: z.string(), body: json, run: z.string().nullable() })),
  example: "queue_pending()",
  run: async (_, ctx) =>
    (await ctx.ports.pending()).map((card) => ({ card: card.id, kind: card.kind, title: card.title, body: card.body, run: card.run })),
});
