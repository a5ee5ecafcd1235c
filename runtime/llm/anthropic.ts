/** The only door to @anthropic-ai/sdk: the Messages protocol, always streamed, so that a long answer does not idle the connection. */
import Anthropic, { APIError } from "@anthropic-ai/sdk";
import { z } from "zod";
import type { Json, LlmMessage, LlmStop } from "../kernel/ports.ts";
import { type Backend, type Door, Fault, count, faultOf, heldTo, keyless, shaped } from "./backend.ts";

const STOPS: Record<string, LlmStop> = {
  end_turn: "end",
  tool_use: "tools",
  max_tokens: "max_tokens",
  refusal: "refusal",
  model_context_window_exceeded: "context_exceeded",
  stop_sequence: "stop_sequence",
};

// A shorter prompt (1,024 tokens) is not cached by the server, so marking it is useless.
const CACHE_FROM = 3000;

const block = z.union([
  z.object({ type: z.literal("text"), text: z.string() }),
  z
    .object({ type: z.literal("tool_use"), id: z.string(), name: z.string(), input: z.json().nullish() })
    .transform(({ id, name, input }) => ({ type: "tool_call" as const, id, tool: name, params: input ?? {} })),
  z
    .looseObject({ type: z.string().regex(/^(?!(?:text|tool_use)$)/) })
    .transform((body) => ({ type: "opaque" as const, body: body as Json })),
]);
/** The parts of an answer that are used. Without `usage` the cost is unknown. */
const answerShape = z.object({
  content: z.array(block),
  stop_reason: z.string().nullish(),
  model: z.string(),
  usage: z
    .object({
      ...{ input_tokens: count, output_tokens: count },
      ...{ cache_read_input_tokens: count.nullish(), cache_creation_input_tokens: count.nullish() },
    })
    .catch({ input_tokens: 0, output_tokens: 0 }),
});

export function createAnthropic(door: Door): Backend {
  // Key and address are always passed; else the SDK takes them from the environment or a profile on disk.
  const client = new Anthropic({
    apiKey: door.key ?? "none",
    baseURL: door.url,
    webhookKey: null,
    maxRetries: 0,
    timeout: 3_600_000,
    fetch: heldTo(door, "x-api-key") as typeof fetch,
    openTelemetry: false,
    logLevel: "off",
  });
  return keyless(door, {
    async send({ id, facts, system, messages, tools, schema, must_call, brief, max_tokens, signal, onText }) {
      const config = { ...(schema === null ? {} : { format: { type: "json_schema" as const, schema } }) };
      const effort = brief && facts.effort ? { effort: "low" as const } : {};
      const cache = { cache_control: { type: "ephemeral" as const } };
      try {
        const stream = client.messages.stream(
          {
            model: id,
            max_tokens,
            ...(system === "" ? {} : { system: [{ type: "text", text: system, ...(system.length < CACHE_FROM ? {} : cache) }] }),
            messages: messages.map((one) => ({ role: one.role, content: contentOf(one, id) })),
            ...(messages.length > 1 ? cache : {}),
            ...(tools.length === 0
              ? {}
              : { tools: tools.map(({ name, description, schema: input }) => ({ name, description, input_schema: input as never })) }),
            ...(must_call && facts.forced_tools && tools.length > 0 ? { tool_choice: { type: "any" } } : {}),
            ...(Object.keys({ ...config, ...effort }).length === 0 ? {} : { output_config: { ...config, ...effort } }),
          },
          { signal },
        );
        if (onText !== null) stream.on("text", (delta) => onText(delta));
        const { content, stop_reason, usage, model } = shaped(answerShape, await stream.finalMessage());
        const stop = STOPS[stop_reason ?? ""];
        // The SDK reports a stream that breaks off as complete.
        if (stop === undefined) throw new Fault("lost", "the answer broke off in the middle", { billed: true });
        const { input_tokens, output_tokens, cache_read_input_tokens: read, cache_creation_input_tokens: written } = usage;
        const [cache_read, cache_write] = [read ?? 0, written ?? 0];
        const counted = { input: input_tokens + cache_read + cache_write, output: output_tokens, cache_read, cache_write };
        return { content: content.map((one) => (one.type === "opaque" ? { ...one, model: id } : one)), stop, usage: counted, model };
      } catch (error) {
        const known = error instanceof APIError ? error : null;
        const body = known?.error as { error?: { type?: string }; type?: string } | undefined;
        throw faultOf(error, {
          status: known?.status ?? null,
          headers: known?.headers ?? null,
          type: known?.type ?? body?.error?.type ?? null,
          aborted: signal.aborted,
        });
      }
    },
  });
}

type Block = Anthropic.Messages.ContentBlockParam;

function contentOf({ content }: LlmMessage, id: string): string | Block[] {
  if (typeof content === "string") return content;
  return content.flatMap((part): Block[] => {
    if (part.type === "text") return part.text === "" ? [] : [{ type: "text", text: part.text }];
    if (part.type === "tool_call") return [{ type: "tool_use", id: part.id, name: part.tool, input: part.params }];
    if (part.type === "tool_result")
      return [{ type: "tool_result", tool_use_id: part.id, content: part.text, ...(part.failed ? { is_error: true } : {}) }];
    // Thinking is valid only for the model that produced it.
    return part.model === id ? [part.body as unknown as Block] : [];
  });
}
