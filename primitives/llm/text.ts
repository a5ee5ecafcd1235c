/**
 * A model's judgement of a text. Reads that are recorded and never repeated for the same run; each has the check that makes its answer
 * usable. The text is only data to the model, and no part of the answer is an amount that may be written.
 */
import { z } from "zod";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import { digestOf } from "../../runtime/kernel/canonical.ts";
import type { Json, LlmRequest } from "../../runtime/kernel/ports.ts";
import { definePrimitive } from "../../runtime/kernel/primitive.ts";
import { textIn } from "../../runtime/kernel/text.ts";
import { earnedConfidence, groundOf, hasWords, readField, ungrounded } from "../../runtime/rules/grounding.ts";
import { json, text } from "../_shapes.ts";
import { ask, closed, DATA, ERRORS, fenced, given, instruction, MODEL, role } from "./ask.ts";

const NONE = "(none)";

export const llm_classify = definePrimitive({
  ...MODEL,
  name: "llm_classify",
  summary: "The class that a text belongs to, by a model; null when it names none of the given ones.",
  params: z.object({
    text: given,
    classes: z
      .array(z.object({ name: text, description: text.optional() }))
      .min(1)
      .max(200),
    instruction,
    examples: z
      .array(z.object({ text, class: text }))
      .max(50)
      .optional(),
    samples: z.int().min(1).max(7).default(1).describe("how many times to ask; the most frequent class is the answer"),
    role,
  }),
  returns: z.object({
    class: z.string().nullable(),
    agreement: z.number().describe("share of the samples that named it"),
    confidence: z.number().describe("earned: lower bound of how often people left this class unchanged; 0 before 20 decisions"),
  }),
  example: `llm_classify({ text: "AWS EMEA 84.00", classes: [{ name: "Software" }, { name: "Travel", description: "tickets, hotels" }] })`,
  dryRun: () => ({ class: null, agreement: 0, confidence: 0 }),
  async run(p, ctx) {
    const names = p.classes.map(({ name }) => name);
    const system = [
      "Say which class the text belongs to.",
      DATA,
      `Answer with the name of one class, exactly as it stands here, or with ${NONE} when none fits.`,
      ...(p.instruction === undefined ? [] : [p.instruction]),
      "Classes:",
      ...p.classes.map(({ name, description }) => `- ${name}${description === undefined ? "" : `: ${description}`}`),
      ...(p.examples ?? []).map((one) => `Example: ${JSON.stringify(one.text)} is ${one.class}.`),
    ].join("\n");
    const schema = closed({ class: { type: "string", enum: [...names, NONE] } });
    const model = await ctx.ports.llm.modelOf({ role: p.role });
    // Another wording or another model must earn its confidence from the start.
    const site = digestOf([ctx.run.agent, "llm_classify", model, system]);
    const votes: (string | null)[] = [];
    for (let i = 0; i < p.samples; i++) {
      const { value } = await ask(
        ctx,
        { role: p.role, system, messages: [{ role: "user", content: fenced("text", p.text) }], schema, brief: true, max_tokens: 2000 },
        { site },
      );
      const named = String((value as { class?: Json } | undefined)?.class);
      votes.push(names.includes(named) ? named : null);
    }
    const counts = [...Map.groupBy(votes, (one) => one)].sort(([, a], [, b]) => b.length - a.length);
    const [found = null, same = []] = counts[0] ?? [];
    const confidence = found === null ? 0 : earnedConfidence(await ctx.ports.llm.decided(site, found));
    return { class: found, agreement: Math.round((same.length / votes.length) * 100) / 100, confidence };
  },
});

const FIELD = z.object({
  type: z.enum(["string", "number", "integer", "boolean", "money", "date"]),
  describe: text.optional(),
  enum: z.array(text).min(1).max(100).optional().describe("one of these is chosen; it need not be in the text word for word"),
});

export const llm_extract = definePrimitive({
  ...MODEL,
  name: "llm_extract",
  summary: "Fields of a text, by a model. What is not in the text is null and listed under unsupported.",
  params: z.object({
    text: given,
    schema: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,59}$/, "a field's name has letters, digits and _"), FIELD),
    instruction,
    role,
  }),
  returns: z.object({
    value: z.record(z.string(), json).describe("each field; null where the text does not say it. Amounts are text"),
    quotes: z.record(z.string(), z.string()).describe("the words of the text that say it"),
    missing: z.array(z.string()),
    unsupported: z.array(z.string()).describe("fields with a value that is not in the text"),
  }),
  example: `llm_extract({ text: "Invoice INV-7 of 12 May 2026 over 1,200.00", schema: { invoice_id: { type: "string" }, total: { type: "money" } } })`,
  dryRun: (p) => ({
    value: Object.fromEntries(Object.keys(p.schema).map((name) => [name, null])),
    quotes: {},
    missing: Object.keys(p.schema),
    unsupported: [],
  }),
  async run(p, ctx) {
    const names = Object.keys(p.schema);
    const system = [
      "Read fields out of the text.",
      DATA,
      "List each field that the text says, with its value and the words of the text that say it. Leave out what it does not say; compute and guess nothing.",
      "Write dates as YYYY-MM-DD and amounts as plain digits with a point, without a currency.",
      ...(p.instruction === undefined ? [] : [p.instruction]),
      "Fields:",
      ...Object.entries(p.schema).map(
        ([name, one]) => `- ${name} (${one.enum?.join(" | ") ?? one.type})${one.describe === undefined ? "" : `: ${one.describe}`}`,
      ),
    ].join("\n");
    const item = closed({ name: { type: "string", enum: names }, value: { type: "string" }, quote: { type: "string" } });
    const schema = closed({ fields: { type: "array", items: item } });
    const { value } = await ask(ctx, {
      ...{ role: p.role, system, schema, messages: [{ role: "user" as const, content: fenced("text", p.text) }] },
      ...{ brief: true as const, max_tokens: 4000 },
    });
    const { fields } = value as { fields: { name: string; value: string; quote: string }[] };
    const ground = groundOf(p.text);
    const found: Record<string, Json> = {};
    const [quotes, unsupported]: [Record<string, string>, string[]] = [{}, []];
    for (const name of names) {
      const stated = fields.find((one) => one.name === name && one.value.trim() !== "");
      const read = stated === undefined ? null : readField(stated, p.schema[name] ?? { type: "string" }, ground);
      found[name] = read;
      if (stated !== undefined && read === null) unsupported.push(name);
      if (stated !== undefined && read !== null && hasWords(ground, stated.quote)) quotes[name] = stated.quote;
    }
    return { value: found, quotes, missing: names.filter((name) => found[name] === null && !unsupported.includes(name)), unsupported };
  },
});

export const llm_summarize = definePrimitive({
  ...MODEL,
  name: "llm_summarize",
  summary:
    "A text or records in few words, by a model. Figures that were not given are listed, and documents and notices refuse such a text.",
  params: z.object({
    text: given.optional(),
    records: z.array(json).max(2000).optional().describe("instead of text"),
    words: z.int().min(5).max(1000).default(120),
    audience: text.optional().describe("who reads it"),
    role,
  }),
  returns: z.object({ text: z.string(), unsupported: z.array(z.string()).describe("numbers, dates and ids that were not given") }),
  errors: [...ERRORS, "PARAMS_INVALID"],
  example: `llm_summarize({ records: [{ invoice: "INV-7", total: "84.00" }], words: 30, audience: "the owner" })`,
  dryRun: () => ({ text: "", unsupported: [] }),
  async run(p, ctx) {
    if ((p.text === undefined) === (p.records === undefined))
      throw new ClearedError("PARAMS_INVALID", "llm_summarize: give text or records, one of them.");
    const source = p.text ?? p.records?.map((one) => JSON.stringify(one)).join("\n") ?? "";
    const ground = groundOf(source);
    const system = [
      `Summarize what is given in at most ${p.words} words${p.audience === undefined ? "" : `, for ${p.audience}`}.`,
      DATA,
      "Name numbers, dates and ids only as they stand there; compute and add nothing. Answer with the summary alone.",
    ].join("\n");
    const asked: LlmRequest["messages"] = [{ role: "user", content: fenced("given", source) }];
    const request = { role: p.role, system, max_tokens: 2000 + p.words * 4 };
    const say = async (messages: LlmRequest["messages"]) => textIn((await ask(ctx, { ...request, messages })).content).trim();
    let summary = await say(asked);
    let unsupported = ungrounded(summary, ground);
    if (unsupported.length > 0) {
      const words = `These do not stand in what was given: ${unsupported.slice(0, 20).join(", ")}. Write it again without them.`;
      summary = await say([...asked, { role: "assistant", content: summary }, { role: "user", content: words }]);
      unsupported = ungrounded(summary, ground);
    }
    if (unsupported.length > 0) ctx.changed({ op: "doubtful", text: summary });
    return { text: summary, unsupported };
  },
});
