/**
 * MCP servers over stdio and streamable HTTP: the one door to the MCP SDK, loaded when a run first needs a server.
 * A connection lives as long as its owner and is opened anew when the server went away. A read is repeated once after that; a write is
 * sent once, after a ping when nothing was heard for a while, so that a dead connection is found before it and not by it.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CallToolResultSchema,
  ErrorCode,
  ListToolsResultSchema,
  McpError,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { ClearedError } from "../errors.ts";
import type { Json } from "../ports.ts";
import type { ToolServer } from "../workspace/config.ts";
import type { Fetch } from "./addresses.ts";
import { ANSWER_BYTES, fromText } from "./answer.ts";
import {
  type CallOptions,
  type Connection,
  type ListedTool,
  clearedIn,
  createPatience,
  createSlots,
  meaningOf,
  statusError,
} from "./connection.ts";
import { createHttpTransport } from "./http-transport.ts";
import { type Stdio, createStdio } from "./stdio.ts";

export interface McpOptions {
  name: string;
  spec: Omit<ToolServer, "env" | "headers" | "oauth">;
  /** What may name secrets, with their values; asked for each connection. */
  filled(): Promise<Pick<ToolServer, "env" | "headers" | "oauth">>;
  /** The folder a command runs in. */
  dir: string;
  fetch: Fetch;
}

interface Session {
  client: Client;
  transport: Transport;
  stdio: Stdio | null;
  /** The transport has closed. */
  ended: boolean;
  /** No further call goes over it; it closes once those under way are answered. */
  stale: boolean;
  busy: number;
  /** Null: ask again. */
  tools: Promise<ListedTool[]> | null;
  listedAt: number;
  heardAt: number;
}

// Where a server does not announce changes of its tools, its list is believed for this long.
const LIST_MS = 60_000;
const QUIET_MS = 2_000;
const PING_MS = 5_000;
const TOOL_PAGES = 50;
// How long after the end of an unfinished answer its last event may still be on its way through the parser.
const TAIL_MS = 500;
const FOREVER_MS = 2_147_483_647;

export function connectMcp({ name, spec, filled, dir, fetch }: McpOptions): Connection {
  let current: Promise<Session> | null = null;
  const slots = createSlots(spec.concurrency);
  const never = new AbortController().signal;
  /** Told when the HTTP answer to the request made in this context has ended. */
  const answering = new AsyncLocalStorage<(error?: unknown) => void>();

  const connect = async (): Promise<Session> => {
    const { env, headers, oauth } = await filled();
    const { command, args, url } = spec;
    const stdio = command === undefined ? null : createStdio({ command, args, env, cwd: dir, maxBytes: ANSWER_BYTES });
    const transport = stdio ?? createHttpTransport({ url, headers, oauth }, fetch, answering);
    const client = new Client({ name: "cleared", version: "1" }, { capabilities: {} });
    const session: Session = {
      client,
      transport,
      stdio,
      ended: false,
      stale: false,
      busy: 0,
      tools: null,
      listedAt: 0,
      heardAt: performance.now(),
    };
    client.onclose = () => {
      session.ended = true;
    };
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      session.tools = null;
    });
    const patience = createPatience(spec.timeout_ms, never);
    try {
      await client.connect(transport, { signal: patience.signal, timeout: FOREVER_MS });
      return session;
    } catch (error) {
      const fault = errorOf(error, session);
      await client.close().catch(() => undefined);
      if (patience.late())
        throw new ClearedError("TOOL_DOWN", `It did not answer within ${spec.timeout_ms / 1000} s of its start.${saidBy(stdio)}`);
      throw fault;
    } finally {
      patience.end();
    }
  };

  /** The open session, or a new one; who finds it gone first opens it for all. */
  const session = async (): Promise<Session> => {
    const seen = current;
    const known = await seen?.catch(() => null);
    if (known && !known.stale && !known.ended) return known;
    if (current === seen) current = connect();
    return current as Promise<Session>;
  };
  const drop = (gone: Session): void => {
    gone.stale = true;
    if (gone.busy === 0) void gone.client.close().catch(() => undefined);
  };

  const request = async <T>(on: Session, abort: AbortSignal, ask: (options: Asking) => Promise<T>): Promise<T> => {
    const patience = createPatience(spec.timeout_ms, abort);
    const broken = Promise.withResolvers<never>();
    broken.promise.catch(() => undefined);
    let resumable = false;
    const ended = (error?: unknown) => {
      const cut = clearedIn(error) ?? new ClearedError("TOOL_LOST", "The server broke off in the middle of its answer.");
      // A resumable answer goes on in another request.
      setTimeout(() => resumable || broken.reject(cut), TAIL_MS).unref();
    };
    on.busy++;
    try {
      const asking: Asking = {
        signal: patience.signal,
        timeout: FOREVER_MS,
        onprogress: () => patience.renew(),
        onresumptiontoken: () => void (resumable = true),
      };
      const answer = await answering.run(ended, () => Promise.race([ask(asking), broken.promise]));
      on.heardAt = performance.now();
      return answer;
    } catch (error) {
      if (patience.late())
        throw new ClearedError("TOOL_TIMEOUT", `It did not answer within ${spec.timeout_ms / 1000} s.${saidBy(on.stdio)}`);
      if (abort.aborted) throw new ClearedError("TOOL_TIMEOUT", "The call was given up.");
      throw errorOf(error, on);
    } finally {
      patience.end();
      on.busy--;
      if (on.stale) drop(on);
    }
  };

  const alive = async (on: Session): Promise<boolean> => {
    if (performance.now() - on.heardAt < QUIET_MS) return !on.ended;
    // An error is an answer too: not every server knows ping.
    return on.client.ping({ timeout: PING_MS }).then(
      () => true,
      (error) => error instanceof McpError && !on.ended && error.code !== ErrorCode.RequestTimeout,
    );
  };

  /** Runs on an open session; once more on a new one where the old has gone and the work may be repeated. */
  const onSession = async <T>(abort: AbortSignal, write: boolean, work: (on: Session) => Promise<T>): Promise<T> => {
    for (let attempt = 0; ; attempt++) {
      const on = await session().catch((error: ClearedError) => {
        throw error.code === "TOOL_REFUSED" || error.code === "SECRET_MISSING"
          ? error
          : new ClearedError("TOOL_DOWN", error.message, { data: error.data, cause: error });
      });
      if (write && attempt === 0 && !(await alive(on))) {
        drop(on);
        continue;
      }
      try {
        return await work(on);
      } catch (error) {
        const gone = on.ended || (error instanceof ClearedError && isGone(error));
        if (gone) drop(on);
        if (write || !gone || attempt > 0 || abort.aborted || on.stdio?.fault()) throw error;
      }
    }
  };

  const where = (tool?: string) => (tool === undefined ? name : `${name}/${tool}`);
  return {
    list: async ({ abort }) => {
      try {
        return await onSession(abort, false, (on) => {
          const announced = on.client.getServerCapabilities()?.tools?.listChanged === true;
          if (on.tools === null || (!announced && performance.now() - on.listedAt > LIST_MS)) {
            on.listedAt = performance.now();
            const asked = (on.tools = slots(() => listAll(on, (ask) => request(on, never, ask))));
            asked.catch(() => {
              if (on.tools === asked) on.tools = null;
            });
          }
          return on.tools;
        });
      } catch (error) {
        throw meaningOf(error as ClearedError, where(), false);
      }
    },
    forget: () =>
      void current?.then(
        (on) => (on.tools = null),
        () => undefined,
      ),
    call: (tool, args, { write, abort }: CallOptions) =>
      slots(async () => {
        try {
          return await onSession(abort, write, async (on) => {
            const params = { name: tool, arguments: args };
            const raw = await request(on, abort, (options) =>
              on.client.request({ method: "tools/call", params }, CallToolResultSchema, options),
            );
            return answerOf(raw);
          });
        } catch (error) {
          throw meaningOf(error as ClearedError, where(tool), write);
        }
      }),
    close: async () => {
      const on = await current?.catch(() => null);
      current = null;
      await on?.client.close().catch(() => undefined);
    },
  };
}

interface Asking {
  signal: AbortSignal;
  timeout: number;
  onprogress(): void;
  onresumptiontoken(): void;
}

async function listAll(on: Session, request: <T>(ask: (options: Asking) => Promise<T>) => Promise<T>): Promise<ListedTool[]> {
  if (on.client.getServerCapabilities()?.tools === undefined) return [];
  const tools: ListedTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < TOOL_PAGES; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await request((options) => on.client.request({ method: "tools/list", params }, ListToolsResultSchema, options));
    for (const { name, description = "", inputSchema, outputSchema, annotations = {} } of answer.tools) {
      const [input_schema, output_schema] = [inputSchema as Json, (outputSchema ?? null) as Json];
      tools.push({ name, description, input_schema, output_schema, annotations });
    }
    if (answer.nextCursor === undefined || answer.nextCursor === cursor) return tools;
    cursor = answer.nextCursor;
  }
  throw new ClearedError("TOOL_ANSWER", `Its list of tools does not end after ${TOOL_PAGES} pages.`);
}

/** @throws TOOL_FAILED when the tool says that it failed */
function answerOf(result: { content?: { type: string }[]; structuredContent?: unknown; isError?: boolean | undefined }): Json {
  const parts = result.content ?? [];
  const texts = parts.filter((part): part is { type: "text"; text: string } => part.type === "text").map((part) => part.text);
  if (result.isError === true)
    throw new ClearedError("TOOL_FAILED", texts.join("\n") || "The tool failed without a word.", {
      data: fieldsOf(result.structuredContent),
    });
  if (result.structuredContent !== undefined) return result.structuredContent as Json;
  if (texts.length < parts.length) return { content: parts as unknown as Json };
  return texts.length === 1 ? fromText(texts[0] ?? "") : texts.length === 0 ? null : texts.map(fromText);
}

/** What a tool tells of its failure beside its words; it may name the columns it does not know. */
const fieldsOf = (told: unknown) => (typeof told === "object" && told !== null && !Array.isArray(told) ? { ...told } : {});

/** Broken, not connected, a session the server has forgotten (404), or a secret that has changed (401). */
function isGone({ code, data }: ClearedError): boolean {
  return (
    code === "TOOL_LOST" || data?.["status"] === 404 || data?.["status"] === 401 || (code === "TOOL_DOWN" && data?.["status"] === undefined)
  );
}

function saidBy(stdio: Stdio | null): string {
  const said = stdio?.said() ?? "";
  return said === "" ? "" : ` It said: ${said}`;
}

/** One of our codes for whatever the SDK throws. */
function errorOf(error: unknown, { ended, stdio }: Session): ClearedError {
  const known = stdio?.fault() ?? clearedIn(error);
  if (known !== null) return known;
  const text = error instanceof Error ? error.message : String(error);
  if (error instanceof McpError) {
    if (ended && error.code === ErrorCode.ConnectionClosed)
      return new ClearedError("TOOL_LOST", `The server ended before it answered.${saidBy(stdio)}`);
    return new ClearedError("TOOL_FAILED", text.replace(/^MCP error -?\d+: /, ""), { data: fieldsOf(error.data) });
  }
  const name = error instanceof Error ? error.constructor.name : "";
  // Known by name, because a copy of the SDK inside another package has classes of its own.
  const status = name === "StreamableHTTPError" ? ((error as { code?: number }).code ?? -1) : 0;
  if (status > 0) return statusError(status, text.replace(/^Streamable HTTP error: (?:Error POSTing to endpoint: )?/, ""));
  if (status < 0 || error instanceof SyntaxError || /^\$?Zod/.test(name)) {
    return new ClearedError("TOOL_ANSWER", `Its answer is not one of MCP: ${text}`);
  }
  if (text === "Not connected") return new ClearedError("TOOL_DOWN", `The server has ended.${saidBy(stdio)}`);
  if (/^OAuth|authoriz|issuer|token/i.test(text)) return new ClearedError("TOOL_DOWN", `It did not let us in: ${text}`);
  return new ClearedError("TOOL_LOST", `The connection broke: ${text}.${saidBy(stdio)}`);
}
