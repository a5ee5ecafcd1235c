/** The only door to openai: chat completions, as Ollama, llama.cpp, vLLM, routers and OpenAI itself implement them. */
import OpenAI, { APIError } from "openai";
import { z } from "zod";
import type { Json, LlmMessage, LlmPart, LlmStop } from "../kernel/ports.ts";
import { jsonOf } from "../kernel/text.ts";
import { type Backend, type Door, Fault, type Got, type Sent, count, faultOf, heldTo, keyless, shaped } from "./backend.ts";

type Chat = OpenAI.Chat.Completions.ChatCompletionMessageParam;

export function createOpenai(door: Door): Backend {
  // Everything is passed explicitly, null for nothing: a key in the user's environment is not meant for a local server.
  const client = new OpenAI({
    apiKey: door.key ?? "none",
    baseURL: door.url,
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    maxRetries: 0,
    timeout: 3_600_000,
    fetch: heldTo(door, "bearer") as typeof fetch,
    logLevel: "off",
  });
  const own = new URL(door.url).hostname === "api.openai.com";
  return keyless(door, {
    async send(request) {
      const { signal, onText } = request;
      try {
        const body = bodyOf(request, own);
        const got =
          onText === null
            ? await client.chat.completions.create({ ...body, stream: false }, { signal })
            : await gathered(
                await client.chat.completions.create({ ...body, stream: true, stream_options: { include_usage: true } }, { signal }),
                onText,
              );
        return gotOf(got, request.id);
      } catch (error) {
        const known = error instanceof APIError ? error : null;
        throw faultOf(error, { status: known?.status ?? null, headers: known?.headers ?? null, aborted: signal.aborted });
      }
    },
  });
}

function bodyOf({ id, facts, system, messages, tools, schema, must_call, max_tokens }: Sent, own: boolean) {
  return {
    model: id,
    messages: [...(system === "" ? [] : [{ role: "system" as const, content: system }]), ...messages.flatMap(chatOf)],
    ...(own ? { max_completion_tokens: max_tokens } : { max_tokens }),
    // Local servers support either tools or a schema, not both.
    ...(tools.length > 0
      ? {
          tools: tools.map(({ name, description, schema: parameters }) => ({
            type: "function" as const,
            function: { name, description, parameters: parameters as Record<string, unknown> },
          })),
          ...(must_call && facts.forced_tools ? { tool_choice: "required" as const } : {}),
        }
      : schema === null
        ? {}
        : { response_format: { type: "json_schema" as const, json_schema: { name: "answer", schema, strict: true } } }),
  };
}

function chatOf({ role, content }: LlmMessage): Chat[] {
  if (typeof content === "string") return [{ role, content }];
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  const calls = content.flatMap((part) =>
    part.type === "tool_call"
      ? [{ id: part.id, type: "function" as const, function: { name: part.tool, arguments: JSON.stringify(part.params) } }]
      : [],
  );
  const results = content.flatMap((part): Chat[] =>
    part.type === "tool_result" ? [{ role: "tool", tool_call_id: part.id, content: part.failed ? `Error: ${part.text}` : part.text }] : [],
  );
  if (role === "assistant") return [{ role, content: texts === "" ? null : texts, ...(calls.length === 0 ? {} : { tool_calls: calls }) }];
  return [...results, ...(texts === "" ? [] : [{ role, content: texts }])];
}

const text = z.string().nullish();
const said = z.object({
  ...{ content: text, refusal: text, reasoning_content: text },
  tool_calls: z
    .array(z.object({ index: z.int().nullish(), id: text, function: z.object({ name: text, arguments: z.json().optional() }).nullish() }))
    .nullish(),
});
/** The parts of an answer, or of a piece of it, that are used; servers omit fields that the SDK's types promise. `usage` may be missing. */
const heardShape = z.object({
  model: text,
  error: z.unknown().optional(),
  choices: z.array(z.object({ finish_reason: text, message: said.nullish(), delta: said.nullish() })).nullish(),
  usage: z
    .object({
      prompt_tokens: count.default(0),
      completion_tokens: count.default(0),
      prompt_tokens_details: z.object({ cached_tokens: count.nullish() }).nullish(),
    })
    .nullish()
    .catch(null),
});
type Heard = z.output<typeof heardShape>;

/** Assembles a stream; its usage comes last, and a stream without a finish reason broke off. */
async function gathered(chunks: AsyncIterable<unknown>, onText: (delta: string) => void): Promise<unknown> {
  const message = { content: "", refusal: "", reasoning_content: "" };
  // By index, in the order in which they begin.
  const calls = new Map<number, { id?: string; function: { name: string; arguments: string } }>();
  const heard: Heard = {};
  let finish_reason: string | null = null;
  for await (const chunk of chunks) {
    const { model, choices, usage } = shaped(heardShape, chunk);
    if (model) heard.model = model;
    if (usage) heard.usage = usage;
    const [choice] = choices ?? [];
    finish_reason = choice?.finish_reason || finish_reason;
    const { content, refusal, reasoning_content: thought, tool_calls } = choice?.delta ?? {};
    if (content) onText(content);
    message.content += content ?? "";
    message.refusal += refusal ?? "";
    message.reasoning_content += thought ?? "";
    for (const { index, id, function: part } of tool_calls ?? []) {
      const call = calls.getOrInsert(index ?? 0, { function: { name: "", arguments: "" } });
      if (id) call.id = id;
      call.function.name += part?.name ?? "";
      call.function.arguments += part?.arguments ?? "";
    }
  }
  if (finish_reason === null) throw new Fault("lost", "the answer broke off in the middle", { billed: true });
  return { ...heard, choices: [{ message: { ...message, tool_calls: [...calls.values()] }, finish_reason }] };
}

function gotOf(answer: unknown, id: string): Got {
  const heard = shaped(heardShape, answer);
  const [choice] = heard.choices ?? [];
  const { message } = choice ?? {};
  if (message == null || heard.error != null)
    throw new Fault("answer", `it answered without an answer: ${JSON.stringify(heard.error ?? heard).slice(0, 200)}`, { billed: true });
  const calls = (message.tool_calls ?? []).map((call, i): LlmPart => {
    const params = parsed(call.function?.arguments ?? "");
    return { type: "tool_call", id: call.id ?? `call_${i}`, tool: call.function?.name ?? "", params };
  });
  const thought = message.reasoning_content ?? "";
  const content: LlmPart[] = [
    ...(thought === "" ? [] : [{ type: "opaque" as const, model: id, body: { reasoning_content: thought } }]),
    ...(message.content ? [{ type: "text" as const, text: message.content }] : []),
    ...calls,
  ];
  // The reason given by a local server is often wrong: the content decides.
  const reason = choice?.finish_reason;
  const stop: LlmStop =
    calls.length > 0
      ? "tools"
      : message.refusal || reason === "content_filter"
        ? "refusal"
        : reason === "length" || (thought !== "" && !message.content)
          ? "max_tokens"
          : "end";
  const { prompt_tokens: input = 0, completion_tokens: output = 0, prompt_tokens_details: details } = heard.usage ?? {};
  const usage = { input, output, cache_read: details?.cached_tokens ?? 0, cache_write: 0 };
  return { content, stop, usage, model: heard.model ?? "" };
}

/** The text itself if it is not JSON: validation of the parameters reports it. */
function parsed(text: Json): Json {
  const value = typeof text === "string" ? jsonOf(text || "{}") : text;
  return value === undefined ? text : value;
}
