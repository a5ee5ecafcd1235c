/**
 * A2A on the page's own listener. Every answer is JSON or a stream of it, never HTML. The agent card and /health are open; for everything else
 * the caller is identified before the body is read: by a bearer token, or because the kernel says that the program belongs to this user. A
 * browser is neither, so requests with an Origin are refused.
 */
import { createHash } from "node:crypto";
import { type Caller, createSeats } from "../app/callers.ts";
import type { Tasks } from "../app/tasks.ts";
import type { Figures } from "../app/facts.ts";
import { ClearedError, kindOf, toWire, type WireError } from "../kernel/errors.ts";
import type { Json } from "../kernel/ports.ts";
import { bearerOf, type Context, HTTP_STATUS, senderOf } from "../outside/http.ts";
import { type Body, readBody } from "./body.ts";
import { cardOf } from "./card.ts";
import { OPERATIONS } from "./operations.ts";
import type { Asked, Operation } from "./request.ts";
import { restError, routeOf } from "./rest.ts";
import { type RpcId, readCall, resolve, toRpc, versionOf } from "./rpc.ts";
import { wrong } from "./wire.ts";
import { type Fields, isObject } from "../rules/tools/shape.ts";

export interface TaskServer {
  serve(context: Context): Promise<Response>;
  /** Errors of the shell itself. */
  refuse(context: Context, error: WireError, status: number): Response;
}

type Wrap = (event: Json, error?: WireError) => Json;

const KEEP_ALIVE_MS = 15_000;
const CARDS = /^\/\.well-known\/agent(?:-card)?\.json$/;

/** `cardUrl`: the address for callers, if it differs from the one they used. */
export type TaskServing = { figures: () => Figures; cardUrl: string | undefined; onError: (error: unknown) => void };

export function createTaskServer(tasks: Tasks, { figures, cardUrl, onError }: TaskServing): TaskServer {
  /** Limits bodies in memory, per caller and in total: each may have 16 MB. */
  const large = createSeats(async () => 4, 16);
  const urlOf = (context: Context): string => cardUrl ?? `http://${context.req.header("host") ?? ""}`;

  const callerOf = (context: Context): Caller => tasks.caller(bearerOf(context), () => senderOf(context) === "own");

  const refuse: TaskServer["refuse"] = (context, error, status) => {
    const { code, data } = error;
    if (code === "TASK_TOKEN") context.header("www-authenticate", 'Bearer realm="cleared"');
    if (code === "TASK_LIMIT") context.header("retry-after", String(data?.["retry_after"] ?? 60));
    const http = code === "TASK_TOKEN" ? 401 : code === "TASK_LIMIT" ? 429 : status;
    if (context.req.path !== "/") {
      const told = restError(error);
      return context.json(told.body as object, (http === 200 ? told.status : http) as 400);
    }
    const id = (data?.["id"] as RpcId | undefined) ?? null;
    return context.json({ jsonrpc: "2.0", id, error: toRpc(error) }, http as 200);
  };

  const wireOf = (error: unknown): WireError => {
    const wire = toWire(error);
    if (kindOf(wire.code) === "internal") onError(error);
    return wire;
  };

  /** `wrap`: encodes an event, or the error that ended the stream, for this binding. */
  const streamed = (context: Context, events: AsyncIterable<Json>, stop: AbortController, wrap: Wrap): Response => {
    const encoder = new TextEncoder();
    const tell = (to: ReadableStreamDefaultController<Uint8Array>, event: Json) =>
      to.enqueue(encoder.encode(`data: ${JSON.stringify(event)}\n\n`));
    let timer: NodeJS.Timeout | undefined;
    const iterator = events[Symbol.asyncIterator]();
    const end = () => {
      if (timer === undefined) return;
      clearInterval(timer);
      timer = undefined;
      stop.abort();
    };
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        // One line without an empty one after it: older clients take that for an event and fail.
        timer = setInterval(() => controller.enqueue(encoder.encode(": keepalive\n")), KEEP_ALIVE_MS);
      },
      async pull(controller) {
        try {
          const { done, value } = await iterator.next();
          if (timer === undefined) return; // nobody reads any more
          if (done === true) {
            end();
            controller.close();
          } else tell(controller, wrap(value));
        } catch (error) {
          if (timer === undefined) return;
          end();
          tell(controller, wrap(null, wireOf(error)));
          controller.close();
        }
      },
      cancel: end,
    });
    context.header("x-accel-buffering", "no");
    return context.body(body, 200, { "content-type": "text/event-stream; charset=utf-8" });
  };

  type Work = Pick<Asked, "dialect" | "params" | "caller" | "large"> & { operation: Operation; streams: boolean };
  const carryOut = async (context: Context, { operation, streams: opens, ...work }: Work) => {
    const key = keyOf(context.req.header("idempotency-key"));
    // Both hold a connection: until the end of the task or the time limit.
    const holds = opens ? "streams" : operation === OPERATIONS.send ? "messages" : null;
    const free = holds === null ? null : await tasks.hold(work.caller.owner, holds, "Ask for the task instead (GetTask).");
    const stop = new AbortController();
    // Other requests end with their answer; aborting for that would cost an error each time.
    if (opens) stop.signal.addEventListener("abort", () => free?.(), { once: true });
    // A stream outlives its request's handler; a caller of anything else is gone with the connection.
    if (!opens) context.req.raw.signal.addEventListener("abort", () => stop.abort(), { once: true });
    const asked: Asked = { ...work, tasks, key, url: urlOf(context), abort: stop.signal };
    const failed = (error: unknown) => {
      stop.abort();
      throw error;
    };
    try {
      return { answer: await operation(asked).catch(failed), stop };
    } finally {
      if (!opens) free?.();
    }
  };

  /** Without a body in REST: an empty object. */
  const bodyOf = async (context: Context, { owner }: Caller): Promise<Body> => {
    const most = (await tasks.limits()).message_kb * 1024;
    const read = async (): Promise<Body> => {
      const bytes = await context.req.arrayBuffer();
      return bytes.byteLength === 0 && context.req.path !== "/" ? { value: {}, large: null } : readBody(bytes, most);
    };
    // A body without a declared length is a short one (outside/http.ts).
    if (!(Number(context.req.header("content-length")) > most)) return read();
    const free = await large(owner, "large messages", "Send it again later.");
    return read().finally(free);
  };

  const rpc = async (context: Context): Promise<Response> => {
    let id: RpcId | undefined = null;
    try {
      const caller = callerOf(context);
      const { value, large } = await bodyOf(context, caller);
      const call = readCall(value);
      id = call.id;
      const version = context.req.header("a2a-version") ?? context.req.query("A2A-Version");
      const isAlias = async (alias: string) => (await tasks.get(caller, alias, true).catch(() => null))?.alias === alias;
      const found = await resolve(call, version, isAlias);
      const { answer, stop } = await carryOut(context, { ...found, params: call.params, caller, large });
      const wrap: Wrap = (result, error) => ({ jsonrpc: "2.0", id: id ?? null, ...(error ? { error: toRpc(error) } : { result }) });
      if (id === undefined) {
        stop.abort();
        return context.body(null, 204);
      }
      return "events" in answer ? streamed(context, answer.events, stop, wrap) : context.json(wrap(answer.value) as object);
    } catch (error) {
      const wire = wireOf(error);
      if (id === undefined) return context.body(null, 204);
      return refuse(context, { ...wire, data: { ...(id === null ? {} : { id }), ...wire.data } }, 200);
    }
  };

  const rest = async (context: Context): Promise<Response> => {
    try {
      const { method, path } = context.req;
      const caller = callerOf(context);
      const version = context.req.header("a2a-version") ?? context.req.query("A2A-Version");
      if (version !== undefined && versionOf(version) !== "1.0")
        throw wrong(-32009, "These paths belong to A2A 1.0; 0.3 is spoken at POST /.");
      const { value, large } = method === "POST" ? await bodyOf(context, caller) : { value: context.req.query(), large: null };
      const route = routeOf(method, path, fieldsOfBody(value));
      if (route === null) throw wrong(-32601, `There is no ${method} ${path.slice(0, 80)}; the agent card names what is served.`);
      const { answer, stop } = await carryOut(context, { ...route, dialect: "1.0", caller, large });
      if ("events" in answer)
        return streamed(context, answer.events, stop, (event, error) => (error === undefined ? event : restError(error).body));
      return context.body(JSON.stringify(answer.value), 200, { "content-type": "application/a2a+json" });
    } catch (error) {
      return refuse(context, wireOf(error), 200);
    }
  };

  /** Open to everybody: how to connect, and for what; with a token, what it may be used for. */
  const card = async (context: Context): Promise<Response> => {
    const version = context.req.header("a2a-version") ?? context.req.query("A2A-Version");
    const caller = context.req.header("authorization") === undefined ? null : callerOf(context);
    const facts = { business: await tasks.business(), offers: await tasks.offers(caller), url: urlOf(context) };
    const body = JSON.stringify(cardOf(facts, versionOf(version)));
    const tag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
    const vary = "A2A-Version, Accept, Authorization";
    const headers = { etag: tag, "cache-control": "public, max-age=60", vary, "content-type": "application/json" };
    if (context.req.header("if-none-match") === tag) return context.body(null, 304, headers);
    return context.body(body, 200, headers);
  };

  return {
    refuse,
    async serve(context) {
      const { method, path } = context.req;
      try {
        // An image or link on another page sends no Origin, but says which site it is on.
        if (context.req.header("origin") !== undefined || /-site$/.test(context.req.header("sec-fetch-site") ?? ""))
          throw new ClearedError("WEB_REFUSED", "Tasks are not taken from a page in a browser.");
        if (method !== "POST" && (CARDS.test(path) || path === "/")) return await card(context);
        if (path === "/health") return context.json({ status: "ok", agent: await tasks.business() });
        if (path === "/metrics" || path === "/rl/status") {
          callerOf(context);
          return path === "/metrics" ? context.text(figures().metrics) : context.json(figures().status);
        }
      } catch (error) {
        const wire = wireOf(error);
        return refuse(context, wire, HTTP_STATUS[kindOf(wire.code)]);
      }
      return path === "/" ? rpc(context) : rest(context);
    },
  };
}

/** @throws TASK_REQUEST */
function fieldsOfBody(value: Json): Fields {
  if (!isObject(value)) throw wrong(-32602, "The body must be a JSON object.");
  return value;
}

/** @throws TASK_REQUEST */
function keyOf(header: string | undefined): string | undefined {
  if (header === undefined || header === "") return undefined;
  if (!/^[\x20-\x7e]{1,255}$/.test(header)) throw wrong(-32602, "Idempotency-Key has at most 255 plain characters.");
  return header;
}
