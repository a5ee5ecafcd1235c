/**
 * A model's server on loopback that speaks both protocols, streamed or not, and answers what the test says. Every request is kept, so that
 * a test can say what was in it and what was not.
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished } from "vitest";

export interface Asked {
  path: string;
  headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: a body of either protocol.
  body: any;
  /** The whole request as it came: headers and body. */
  wire: string;
}

/** A text, a call of a tool, an HTTP answer, or what is done with the response by hand. */
export type Reply =
  | string
  | {
      text?: string;
      call?: { name: string; input: object };
      calls?: { name: string; input: object }[];
      stop?: string;
      model?: string;
      usage?: [input: number, output: number, cached?: number];
      thought?: string;
    }
  | { status: number; headers?: Record<string, string>; body?: string }
  | { by: (response: ServerResponse) => void };

export interface FakeModel {
  /** For anthropic; with /v1 behind it for openai. */
  url: string;
  asked: Asked[];
  /** Answers each request; the number of those before it is given too. */
  answer: (asked: Asked, before: number) => Reply | Promise<Reply>;
  /** Requests under way at the same time, at most. */
  most: number;
}

export async function fakeModel(answer: FakeModel["answer"] = () => "ready"): Promise<FakeModel> {
  let open = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString("utf8");
    const one: Asked = {
      path: request.url ?? "",
      headers: request.headers,
      body: JSON.parse(text || "{}"),
      wire: JSON.stringify(request.headers) + text,
    };
    fake.asked.push(one);
    fake.most = Math.max(fake.most, ++open);
    const reply = await fake.answer(one, fake.asked.length - 1);
    open -= 1;
    send(one, reply, response);
  });
  const fake: FakeModel = { url: "", asked: [], answer, most: 0 };
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  fake.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    // In every test: a key travels in its header alone, and what looks like a secret, a card or a person's number nowhere.
    for (const { body } of fake.asked)
      expect(JSON.stringify(body)).not.toMatch(/sk-(?:ant-)?[a-z0-9-]{12}|AGE-SECRET|\d{3}-\d\d-\d{4}|4111 1111/);
  });
  return fake;
}

function send({ path, body }: Asked, reply: Reply, response: ServerResponse): void {
  if (typeof reply !== "string" && "by" in reply) return reply.by(response);
  if (typeof reply !== "string" && "status" in reply) {
    response
      .writeHead(reply.status, { "content-type": "application/json", ...reply.headers })
      .end(reply.body ?? '{"error":{"message":"no"}}');
    return;
  }
  const said = typeof reply === "string" ? { text: reply } : reply;
  if (path.endsWith("/messages")) return anthropic(body, said, response);
  openai(body, said, response);
}

type Said = Extract<Reply, { text?: string; call?: object }>;

/** The events of a whole message, for tests that cut it. */
export function anthropicEvents(
  model: string,
  { text, call, calls = call === undefined ? [] : [call], stop, usage = [100, 20], thought, model: other }: Said,
): string[] {
  const blocks: object[] = [];
  const event = (type: string, data: object) => blocks.push({ type, ...data });
  event("message_start", {
    message: {
      ...{ id: "msg_1", type: "message", role: "assistant", model: other ?? model, content: [], stop_reason: null, stop_sequence: null },
      usage: {
        input_tokens: usage[0] - (usage[2] ?? 0),
        output_tokens: 1,
        cache_read_input_tokens: usage[2] ?? 0,
        cache_creation_input_tokens: 0,
      },
    },
  });
  let index = 0;
  if (thought !== undefined) {
    event("content_block_start", { index, content_block: { type: "thinking", thinking: "", signature: "" } });
    event("content_block_delta", { index, delta: { type: "signature_delta", signature: thought } });
    event("content_block_stop", { index: index++ });
  }
  if (text !== undefined) {
    event("content_block_start", { index, content_block: { type: "text", text: "" } });
    for (const part of pieces(text)) event("content_block_delta", { index, delta: { type: "text_delta", text: part } });
    event("content_block_stop", { index: index++ });
  }
  for (const { name, input } of calls) {
    event("content_block_start", { index, content_block: { type: "tool_use", id: `toolu_${index}`, name, input: {} } });
    event("content_block_delta", { index, delta: { type: "input_json_delta", partial_json: JSON.stringify(input) } });
    event("content_block_stop", { index: index++ });
  }
  event("message_delta", {
    delta: { stop_reason: stop ?? (calls.length === 0 ? "end_turn" : "tool_use"), stop_sequence: null },
    usage: { output_tokens: usage[1] },
  });
  event("message_stop", {});
  return blocks.map((one) => `event: ${(one as { type: string }).type}\ndata: ${JSON.stringify(one)}\n\n`);
}

function anthropic(body: { model: string }, said: Said, response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of anthropicEvents(body.model, said)) response.write(event);
  response.end();
}

function openai(body: { model: string; stream?: boolean }, said: Said, response: ServerResponse): void {
  const { text, call, calls = call === undefined ? [] : [call], stop, usage = [100, 20], thought, model } = said;
  const tool_calls = calls.map(({ name, input }, index) => ({
    ...{ index, id: `call_${index + 1}`, type: "function", function: { name, arguments: JSON.stringify(input) } },
  }));
  const message = { role: "assistant", content: text ?? null, ...(calls.length === 0 ? {} : { tool_calls }), reasoning_content: thought };
  const counted = {
    prompt_tokens: usage[0],
    completion_tokens: usage[1],
    total_tokens: usage[0] + usage[1],
    prompt_tokens_details: { cached_tokens: usage[2] ?? 0 },
  };
  const head = { id: "chat_1", created: 1, model: model ?? body.model };
  if (body.stream !== true) {
    const choices = [{ index: 0, message, finish_reason: stop ?? "stop" }];
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ ...head, object: "chat.completion", choices, usage: counted }));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const chunk = (more: object) =>
    response.write(`data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices: [], ...more })}\n\n`);
  for (const part of pieces(text ?? "")) chunk({ choices: [{ index: 0, delta: { content: part }, finish_reason: null }] });
  chunk({ choices: [{ index: 0, delta: calls.length === 0 ? {} : { tool_calls }, finish_reason: stop ?? "stop" }] });
  chunk({ usage: counted });
  response.end("data: [DONE]\n\n");
}

/** Some twenty deltas, however long the text is. */
function pieces(text: string): string[] {
  const size = Math.max(12, Math.ceil(text.length / 20));
  return Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size));
}
