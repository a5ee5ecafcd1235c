/**
 * What a backend is: one request to one server, answered or failed. Retries, budgets and privacy are the port's (models.ts); a backend
 * only translates. Its SDK never retries, never reads an environment and sends nothing but what stands here.
 */
import { z } from "zod";
import type { Json, LlmMessage, LlmPart, LlmStop, LlmTool, LlmUsage } from "../kernel/ports.ts";
import type { Fetch } from "../outside/mcp/addresses.ts";
import { createRedactor } from "../outside/mcp/answer.ts";
import type { ModelFacts } from "../workspace/settings/models.ts";

export interface Sent {
  /** The id as the server knows it. */
  id: string;
  facts: ModelFacts;
  system: string;
  messages: LlmMessage[];
  tools: LlmTool[];
  /** JSON Schema of the answer; null where it is free or the server cannot hold to one. */
  schema: Record<string, unknown> | null;
  /** The model has to call a tool, where it can be made to. */
  must_call: boolean;
  /** A short answer is wanted: think little. */
  brief: boolean;
  max_tokens: number;
  signal: AbortSignal;
  onText: ((delta: string) => void) | null;
}

export interface Got {
  content: LlmPart[];
  stop: LlmStop;
  usage: LlmUsage;
  /** As the server names itself. */
  model: string;
}

export interface Backend {
  /** @throws Fault */
  send(request: Sent): Promise<Got>;
}

/**
 * Why there is no answer. limited, busy, lost: it may be asked again. `billed`: it may have cost something all the same.
 * down: nobody answers; refused: the server does not want this request; answer: what came is no answer.
 */
export type FaultKind = "limited" | "busy" | "lost" | "down" | "refused" | "answer";

export class Fault extends Error {
  readonly kind: FaultKind;
  readonly billed: boolean;
  /** ms to wait, where the server says so. */
  readonly after: number | null;
  constructor(kind: FaultKind, message: string, { billed = false, after = null }: { billed?: boolean; after?: number | null } = {}) {
    super(message);
    this.kind = kind;
    this.billed = billed;
    this.after = after;
  }
}

export interface Door {
  url: string;
  /** Null for a server that wants none. */
  key: string | null;
  fetch: Fetch;
}

// What a request needs but its key. An SDK adds headers that tell of the machine, and takes others, keys too, from the environment.
const HEADERS = ["accept", "content-type", "anthropic-version"];

/** The fetch an SDK gets: no header but these leaves, and of those that authorize only the one of the door's own key. */
export function heldTo({ fetch, key }: Door, scheme: "x-api-key" | "bearer"): Fetch {
  return (target, init = {}) => {
    const given = new Headers(init.headers);
    const headers = new Headers(HEADERS.flatMap((name): [string, string][] => (given.has(name) ? [[name, given.get(name) ?? ""]] : [])));
    if (key !== null && scheme === "bearer") headers.set("authorization", `Bearer ${key}`);
    else if (key !== null) headers.set(scheme, key);
    return fetch(target, { ...init, headers });
  };
}

/** What comes back names no key: a server may echo the one it was sent, in an answer or in a refusal. A piece of a streamed text is as it came. */
export function keyless({ key }: Door, { send }: Backend): Backend {
  const redactor = createRedactor();
  if (key !== null) redactor.add("key", key);
  return {
    async send(request) {
      try {
        const { content, model, ...got } = await send(request);
        return { ...got, content: redactor.json(content as unknown as Json) as unknown as LlmPart[], model: redactor.text(model) };
      } catch (error) {
        throw error instanceof Fault ? new Fault(error.kind, redactor.words(error.message), error) : error;
      }
    },
  };
}

/** What a server counts, if it can be a count: a sum of them stays exact. */
export const count = z.int().min(0).max(1e12);

/** What came, in the shape that is read of it. @throws Fault */
export function shaped<T>(shape: z.ZodType<T>, value: unknown): T {
  const checked = shape.safeParse(value);
  if (checked.success) return checked.data;
  const words = z.prettifyError(checked.error).replace(/\s+/g, " ").slice(0, 200);
  throw new Fault("answer", `it answered in a shape that its protocol does not have: ${words}`, { billed: true });
}

/** What an SDK threw, by what is known of the answer. `status`: null where there was none. */
export function faultOf(
  error: unknown,
  { status, headers, type = null, aborted }: { status: number | null; headers: Headers | null; type?: string | null; aborted: boolean },
): Fault {
  if (error instanceof Fault) return error;
  const causes: Error[] = [];
  for (let one = error; one instanceof Error && causes.length < 5; one = one.cause) causes.push(one);
  const code = causes.map((one) => (one as { code?: unknown }).code).find((one) => typeof one === "string" && one.startsWith("TOOL_"));
  const says = (causes.find((one) => (one as { code?: unknown }).code === code) ?? causes[0])?.message ?? String(error);
  const words = says.replace(/\s+/g, " ").slice(0, 300);
  if (code === "TOOL_DOWN" || code === "TOOL_REFUSED") return new Fault("down", words);
  if (code === "TOOL_ANSWER") return new Fault("answer", words, { billed: true });
  if (aborted) return new Fault("lost", "it did not answer in time", { billed: true });
  if (status === 429 || type === "rate_limit_error") return new Fault("limited", words, { after: waitOf(headers) });
  if (status === 408 || status === 409 || (status ?? 0) >= 500 || type === "overloaded_error" || type === "api_error")
    return new Fault("busy", words, { after: waitOf(headers), billed: status === null });
  if (status !== null) return new Fault("refused", `HTTP ${status}: ${words}`);
  // The SDK says so of an answer that it could not read, and of a connection that broke.
  return /JSON|parse|unexpected token|chunks|event/i.test(words) && !/terminated|aborted|reset|hang up/i.test(words)
    ? new Fault("answer", words, { billed: true })
    : new Fault("lost", words, { billed: true });
}

/** `retry-after` in seconds or as a date, `retry-after-ms`; null where neither can be read. */
function waitOf(headers: Headers | null): number | null {
  const ms = Number(headers?.get("retry-after-ms") ?? Number.NaN);
  if (Number.isFinite(ms) && ms >= 0) return ms;
  const text = headers?.get("retry-after") ?? null;
  if (text === null) return null;
  const seconds = Number(text);
  const until = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(until) ? Math.max(0, until) : null;
}
