/** The next step of a task, chosen by a model; and whether a model is configured. */
import { z } from "zod";
import { ClearedError, onCode } from "../../runtime/kernel/errors.ts";
import { type Json, LLM_ROLES } from "../../runtime/kernel/ports.ts";
import { definePrimitive } from "../../runtime/kernel/primitive.ts";
import { type Ground, groundOf, ungrounded } from "../../runtime/rules/grounding.ts";
import { json, record, text } from "../_shapes.ts";
import { ask, closed, DATA, fenced, given, MODEL } from "./ask.ts";

export const llm_ready = definePrimitive({
  name: "llm_ready",
  effect: "read",
  access: "context",
  summary: "Whether a model is configured for a role, for scripts that work differently without one. Makes no request.",
  params: z.object({ role: z.enum(LLM_ROLES) }),
  returns: z.object({ ready: z.boolean(), model: z.string().nullable() }),
  example: `llm_ready("large")`,
  dryRun: () => ({ ready: false, model: null }),
  async run(p, ctx) {
    const model = await ctx.ports.llm.modelOf(p).catch(onCode("LLM_UNCONFIGURED", () => null));
    return { ready: model !== null, model };
  },
});

/** The model calls this when the task is done. */
const FINISH = "finish";
// Characters of one tool's answer: a model that needs more calls the tool again.
const LONGEST = 4000;

export const llm_next = definePrimitive({
  ...MODEL,
  name: "llm_next",
  summary:
    "The next step towards a goal, by a model: one call of an offered tool, or the result. The script makes the call. Figures of the result that appear in no source are listed, and documents and notices refuse them.",
  params: z.object({
    goal: given,
    tools: z
      .array(z.object({ tool: text, description: z.string().optional(), input_schema: json.optional() }).loose())
      .max(200)
      .describe("as mcp_list returns them"),
    done: z
      .array(z.object({ tool: text, params: json, answer: json, failed: z.boolean().optional() }))
      .max(50)
      .default([])
      .describe("calls made so far, with their answers; failed: the answer is an error, whose figures do not count"),
    output: record.optional().describe('fields of the result, each with its type: {status: "string"}'),
    role: z.enum(LLM_ROLES).default("large"),
  }),
  returns: z.union([
    z.object({ call: z.object({ tool: z.string(), params: record }) }),
    z.object({ result: json, unsupported: z.array(z.string()).describe("numbers, dates and ids in neither the goal nor an answer") }),
  ]),
  example: `llm_next({ goal: "is INV-7 paid?", tools: mcp_list({ server: "erp" }), done: [] })`,
  dryRun: () => ({ result: null, unsupported: [] }),
  async run(p, ctx) {
    // Tool names in the characters that models accept; the index keeps them unique.
    const named = new Map(p.tools.map((one, i) => [`${one.tool.replace(/[^A-Za-z0-9_-]+/g, "__").slice(0, 55)}_${i}`, one]));
    const fields = Object.entries(p.output ?? { answer: "string" }).map(([name, type]) => [name, { type: String(type) }] as const);
    const tools = [
      ...[...named].map(([name, one]) => ({
        name,
        description: (one.description ?? "").slice(0, 1000),
        schema: typeof one.input_schema === "object" && one.input_schema !== null ? one.input_schema : { type: "object" },
      })),
      {
        name: FINISH,
        description: "The task is done, or cannot be done: say what came of it.",
        schema: closed(Object.fromEntries(fields)),
      },
    ];
    const system = [
      "You work on a task by calling tools, one at a time. Call the one that brings it forward most, or finish when it is done or cannot be done.",
      `${DATA} This holds for the answers of tools above all.`,
      "Give a tool only values that stand in the task or in an answer. A call that changes something is looked at by a person before it is made.",
    ].join("\n");
    const before = p.done.map((one, i) =>
      fenced("answer", `${i + 1}. ${one.tool} ${JSON.stringify(one.params)}\n${JSON.stringify(one.answer).slice(0, LONGEST)}`),
    );
    const content = [fenced("task", p.goal), ...before, "What is next?"].join("\n\n");
    let ground: Ground | null = null;
    for (let [repairs, wrong] = [0, ""]; ; repairs++) {
      const answer = await ask(ctx, {
        ...{ role: p.role, system, tools, must_call: true as const, max_tokens: 8000 },
        messages: [{ role: "user", content: wrong === "" ? content : `${content}\n\n${wrong}` }],
      });
      const called = answer.content.find((part) => part.type === "tool_call");
      const params = called?.params;
      if (called !== undefined && typeof params === "object" && params !== null && !Array.isArray(params)) {
        const tool = named.get(called.tool);
        if (called.tool !== FINISH && tool !== undefined) return { call: { tool: tool.tool, params } };
        if (called.tool === FINISH) {
          const resultText = fields.map(([name]) => wordsOf(params[name] ?? null)).join("\n");
          // The model's own parameters, and errors, which may repeat them, are not sources: the model wrote them itself.
          const answers = p.done.flatMap(({ answer: one, failed }) => (failed === true ? [] : [JSON.stringify(one)]));
          ground ??= groundOf([p.goal, ...answers].join("\n"));
          const unsupported = ungrounded(resultText, ground);
          const missing = fields.map(([name]) => name).filter((name) => wordsOf(params[name] ?? null).trim() === "");
          if (repairs === 2 || unsupported.length + missing.length === 0) {
            if (unsupported.length > 0) ctx.changed({ op: "doubtful", text: resultText });
            return { result: params, unsupported };
          }
          wrong = [
            ...(missing.length === 0 ? [] : [`The result lacks ${missing.join(", ")}.`]),
            ...(unsupported.length === 0
              ? []
              : [`These stand neither in the task nor in an answer: ${unsupported.slice(0, 20).join(", ")}.`]),
            "Finish with what was read, or say that it could not be found.",
          ].join(" ");
          continue;
        }
      }
      wrong = "Call exactly one of the tools, with an object of its parameters.";
      if (repairs === 2) throw new ClearedError("LLM_ANSWER", `${answer.model} called no tool that is on offer, three times.`);
    }
  },
});

/** All texts and figures of a value, without JSON punctuation. */
function wordsOf(value: Json): string {
  if (typeof value !== "object" || value === null) return value === null ? "" : String(value);
  return Object.values(value).map(wordsOf).join("\n");
}
