/**
 * A backend: one request to one server, answered or failed. Retries, budgets and privacy belong to the port (models.ts); a backend only
 * translates. Its SDK never retries, never reads the environment, and sends nothing else.
 */
import { z } from "zod";
import type { Json, LlmMessage, LlmPart, LlmStop, LlmTool, LlmUsage } from "../kernel/ports.ts";
import type { Fetch } from "../outside/mcp/addresses.ts";
import { createRedactor } from "../outside/mcp/answer.ts";
import type { ModelFacts } from "../workspace/settings/models.ts";

export interface Sent {
  /** The id that the server uses. */
  id: string;
  facts: ModelFacts;
  system: string;
  messages: LlmMessage[];
  tools: LlmTool[];
  /** JSON Schema of the answer; null if it is free or the server cannot enforce one. */
  schema: Record<string, unknown> | null;
  /** The model must call a tool, if the server can enforce that. */
  must_call: boolean;
  /** A short answer is enough: little thinking. */
  brief: boolean;
  max_tokens: number;
  signal: AbortSignal;
  onText: ((delta: string) => void) | null;
}

export interface Got {
  content: LlmPart[];
  stop: LlmStop;
  usage: LlmUsage;
  /** As named by the server. */
  model: string;
}

export interface Backend {
  /** @throws Fault */
  send(request: Sent): Promise<Got>;
}

/**
 * Why there is no answer. limited, busy, lost: the request may be repeated. `billed`: it may still have cost something.
 * down: no answer at all; refused: the server rejects this request; answer: what arrived is not an answer.
 */
export type FaultKind = "limited" | "busy" | "lost" | "down" | "refused" | "answer";

export class Fault extends Error {
  readonly kind: FaultKind;
  readonly billed: boolean;
  /** ms to wait, if the server says so. */
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
  /** Null for a server that needs none. */
  key: string | null;
  fetch: Fetch;
}

// Everything a request needs except its key. An SDK adds headers about the machine, and takes others, including keys, from the environment.
const HEADERS = ["accept", "content-type", "anthropic-version"];

/** The fetch given to an SDK: it passes only these headers, and of those that authorize only the one with the configured key. */
export function heldTo({ fetch, key }: Door, scheme: "x-api-key" | "bearer"): Fetch {
  return (target, init = {}) => {
    const given = new Headers(init.headers);
    const headers = new Headers(HEADERS.flatMap((name): [string, string][] => (given.has(name) ? [[name, given.get(name) ?? ""]] : [])));
    if (key !== null && scheme === "bearer") headers.set("authorization", `Bearer ${key}`);
    else if (key !== null) headers.set(scheme, key);
    return fetch(target, { ...init, headers });
  };
}

/** Removes the key from answers and errors, because a server may echo it. Pieces of a streamed text are passed as they are. */
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

/** A server's count, if plausible: sums of such counts stay exact. */
export const count = z.int().min(0).max(1e12);

/** The answer in the expected shape. @throws Fault */
export function shaped<T>(shape: z.ZodType<T>, value: unknown): T {
  const checked = shape.safeParse(value);
  if (checked.success) return checked.data;
  const words = z.prettifyError(checked.error).replace(/\s+/g, " ").slice(0, 200);
  throw new Fault("answer", `it answered in a shape that its protocol does not have: ${words}`, { billed: true });
}

/** Classifies an SDK's error by what is known of the answer. `status`: null without one. */
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
  // The SDK says this about an answer that it could not parse, and about a connection that broke.
  return /JSON|parse|unexpected token|chunks|event/i.test(words) && !/terminated|aborted|reset|hang up/i.test(words)
    ? new Fault("answer", words, { billed: true })
    : new Fault("lost", words, { billed: true });
}

/** `retry-after` in seconds or as a date, `retry-after-ms`; null if neither can be parsed. */
function waitOf(headers: Headers | null): number | null {
  const ms = Number(headers?.get("retry-after-ms") ?? Number.NaN);
  if (Number.isFinite(ms) && ms >= 0) return ms;
  const text = headers?.get("retry-after") ?? null;
  if (text === null) return null;
  const seconds = Number(text);
  const until = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(until) ? Math.max(0, until) : null;
}
