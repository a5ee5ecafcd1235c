/** The one door to openai: chat completions, as Ollama, llama.cpp, vLLM, routers and OpenAI itself speak them. */
import OpenAI, { APIError } from "openai";
import type { Json, LlmMessage, LlmPart, LlmStop } from "../kernel/ports.ts";
import { type Backend, type Door, Fault, type Got, type Sent, faultOf, heldTo } from "./backend.ts";

type Chat = OpenAI.Chat.Completions.ChatCompletionMessageParam;

export function createOpenai(door: Door): Backend {
  // Everything explicitly, null where there is nothing: a key of the user's environment is not for a server on this machine.
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
  return {
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
  };
}

function bodyOf({ id, facts, system, messages, tools, schema, must_call, max_tokens }: Sent, own: boolean) {
  return {
    model: id,
    messages: [...(system === "" ? [] : [{ role: "system" as const, content: system }]), ...messages.flatMap(chatOf)],
    ...(own ? { max_completion_tokens: max_tokens } : { max_tokens }),
    // Local servers answer one of them: tools, or a schema.
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

/** What is used of an answer; servers leave out what the SDK's types promise. */
interface Heard {
  model?: string;
  error?: unknown;
  choices?: {
    finish_reason?: string | null;
    message?: {
      content?: string | null;
      refusal?: string | null;
      reasoning_content?: string | null;
      tool_calls?: { id?: string; function?: { name?: string; arguments?: string } }[];
    };
  }[];
  usage?: { prompt_tokens?: number; completion_tokens?: number; prompt_tokens_details?: { cached_tokens?: number } | null } | null;
}

/** A stream put together again; its usage comes last, and one without a reason to end broke off. */
async function gathered(
  chunks: AsyncIterable<OpenAI.Chat.Completions.ChatCompletionChunk>,
  onText: (delta: string) => void,
): Promise<Heard> {
  const message: NonNullable<NonNullable<Heard["choices"]>[0]["message"]> & { content: string } = { content: "" };
  const calls: { id?: string; function: { name: string; arguments: string } }[] = [];
  const heard: Heard = { choices: [{ message, finish_reason: null }] };
  for await (const { model, choices, usage } of chunks) {
    if (model) heard.model = model;
    if (usage) heard.usage = usage as NonNullable<Heard["usage"]>;
    const [choice] = choices ?? [];
    if (choice === undefined) continue;
    if (choice.finish_reason && heard.choices?.[0]) heard.choices[0].finish_reason = choice.finish_reason;
    const { content, refusal, tool_calls = [], ...more } = choice.delta;
    if (content) {
      message.content += content;
      onText(content);
    }
    if (refusal) message.refusal = (message.refusal ?? "") + refusal;
    const { reasoning_content: thought } = more as { reasoning_content?: string };
    if (thought) message.reasoning_content = (message.reasoning_content ?? "") + thought;
    for (const { index, id, function: part } of tool_calls) {
      const call = (calls[index] ??= { function: { name: "", arguments: "" } });
      if (id) call.id = id;
      call.function.name += part?.name ?? "";
      call.function.arguments += part?.arguments ?? "";
    }
  }
  if (calls.length > 0) message.tool_calls = calls;
  if (heard.choices?.[0]?.finish_reason === null) throw new Fault("lost", "the answer broke off in the middle", { billed: true });
  return heard;
}

function gotOf(heard: Heard, id: string): Got {
  const [choice] = heard.choices ?? [];
  const { message } = choice ?? {};
  if (message === undefined || heard.error != null)
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
  // The reason a local server gives is often wrong: what is there decides.
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

/** The text itself where it is no JSON: whoever checks the parameters says so. */
function parsed(text: string): Json {
  try {
    return text === "" ? {} : (JSON.parse(text) as Json);
  } catch {
    return text;
  }
}
