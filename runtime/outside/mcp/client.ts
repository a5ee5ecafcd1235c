/**
 * MCP servers over stdio and streamable HTTP: the only door to the MCP SDK client, loaded when a run first needs a server.
 * A connection lives as long as its owner and is reopened after the server went away. A read is then repeated once; a write is sent once, after
 * a ping if the connection was idle, so that a dead connection is found before the write and not by it.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ClearedError } from "../../kernel/errors.ts";
import { wayOfServer } from "../../sandbox/jail.ts";
import type { ToolServer } from "../../workspace/settings/config.ts";
import { createSlots } from "../../kernel/turns.ts";
import { placesOf } from "../../workspace/server-places.ts";
import type { Fetch } from "./addresses.ts";
import { ANSWER_BYTES } from "./answer.ts";
import { type CallOptions, type Connection, type ListedTool, clearedIn, createPatience, meaningOf } from "./connection.ts";
import { type RequestContext, createHttpTransport } from "./plain-http.ts";
import { type Asking, TOOLS_CHANGED, askTool, askTools, errorOf, isWord, saidBy } from "./messages.ts";
import { type Stdio, createStdio } from "./stdio.ts";

export interface McpOptions {
  name: string;
  spec: Omit<ToolServer, "env" | "headers" | "oauth">;
  /** Settings that may contain secrets, with values filled in; read for each connection. */
  filled(): Promise<Pick<ToolServer, "env" | "headers" | "oauth">>;
  /** The folder a command runs in. */
  dir: string;
  fetch: Fetch;
  /** Called with each token it obtains, before the token is used. */
  issued?(server: string, token: string): void;
}

interface Session {
  client: Client;
  transport: Transport;
  stdio: Stdio | null;
  /** The transport has closed. */
  ended: boolean;
  /** No further call uses it; it closes once current calls are answered. */
  stale: boolean;
  busy: number;
  /** Null: must be requested again. */
  tools: Promise<ListedTool[]> | null;
  listedAt: number;
  heardAt: number;
}

// For a server that does not announce changes, the list of its tools is cached this long.
const LIST_MS = 60_000;
const QUIET_MS = 2_000;
const PING_MS = 5_000;
// How long after the end of an incomplete answer its last event may still be in the parser.
const TAIL_MS = 500;
const FOREVER_MS = 2_147_483_647;

export function connectMcp({ name, spec, filled, dir, fetch, issued }: McpOptions): Connection {
  let current: Promise<Session> | null = null;
  const slots = createSlots(spec.concurrency);
  const closing = new AbortController();
  const context = new AsyncLocalStorage<RequestContext>();

  const connect = async (): Promise<Session> => {
    const { env, headers, oauth } = await filled();
    const { command, args, url } = spec;
    const way = () => (spec.trusted ? Promise.resolve(null) : wayOfServer(dir, placesOf(dir, spec)));
    const stdio = command === undefined ? null : createStdio({ command, args, env, cwd: dir, maxBytes: ANSWER_BYTES, way });
    const transport = stdio ?? createHttpTransport({ url, headers, oauth }, fetch, context, (token) => issued?.(name, token));
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
    client.setNotificationHandler(TOOLS_CHANGED, () => {
      session.tools = null;
    });
    const patience = createPatience(spec.timeout_ms, closing.signal);
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

  /** The open session, or a new one, opened by the first caller for all. */
  const session = async (): Promise<Session> => {
    const seen = current;
    const known = await seen?.catch(() => null);
    if (known && !known.stale && !isOver(known)) return known;
    if (current === seen) current = connect();
    return current as Promise<Session>;
  };
  const drop = (gone: Session): void => {
    gone.stale = true;
    if (gone.busy === 0) void gone.client.close().catch(() => undefined);
  };

  const request = async <T>(on: Session, abort: AbortSignal, ask: (options: Asking) => Promise<T>, leaving?: () => void): Promise<T> => {
    const patience = createPatience(spec.timeout_ms, abort);
    const broken = Promise.withResolvers<never>();
    broken.promise.catch(() => undefined);
    let resumable = false;
    const ended = (error?: unknown) => {
      const cut = clearedIn(error) ?? new ClearedError("TOOL_LOST", "The server broke off in the middle of its answer.");
      // A resumable answer continues in another request.
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
      leaving?.();
      const answer = await context.run({ ended, leaving }, () => Promise.race([ask(asking), broken.promise]));
      on.heardAt = performance.now();
      return answer;
    } catch (error) {
      throw patience.fault(saidBy(on.stdio)) ?? errorOf(error, on);
    } finally {
      patience.end();
      on.busy--;
      if (on.stale) drop(on);
    }
  };

  const alive = async (on: Session): Promise<boolean> => {
    if (isOver(on) || performance.now() - on.heardAt < QUIET_MS) return !isOver(on);
    // An error also counts as an answer: not every server supports ping.
    return on.client.ping({ timeout: PING_MS }).then(
      () => true,
      (error) => !isOver(on) && isWord(error),
    );
  };

  /** Runs work on an open session; once more on a new one if the old one is gone and the work may be repeated. */
  const onSession = async <T>(abort: AbortSignal, write: boolean, work: (on: Session) => Promise<T>): Promise<T> => {
    for (let attempt = 0; ; attempt++) {
      const on = await session().catch((error: ClearedError) => {
        throw ["TOOL_REFUSED", "SECRET_MISSING", "TRUST_CHANGED"].includes(error.code)
          ? error
          : new ClearedError("TOOL_DOWN", error.message, { data: { ...error.data, why: error.code } });
      });
      if (write && attempt === 0 && !(await alive(on))) {
        drop(on);
        continue;
      }
      try {
        return await work(on);
      } catch (error) {
        const gone = isOver(on) || (error instanceof ClearedError && isGone(error));
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
            const asked = (on.tools = slots(() => askTools(on.client, (ask) => request(on, closing.signal, ask))));
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
    call: (tool, args, { write, abort, leaving }: CallOptions) =>
      slots(async () => {
        try {
          return await onSession(abort, write, (on) => request(on, abort, (asking) => askTool(on.client, tool, args, asking), leaving));
        } catch (error) {
          throw meaningOf(error as ClearedError, where(tool), write);
        }
      }),
    close: async () => {
      closing.abort();
      const on = await current?.catch(() => null);
      current = null;
      await on?.client.close().catch(() => undefined);
    },
  };
}

const isOver = ({ ended, stdio }: Session): boolean => ended || stdio?.over() === true;

/** Broken, not connected, a session the server has forgotten (404), or a changed secret (401). */
function isGone({ code, data }: ClearedError): boolean {
  return (
    code === "TOOL_LOST" || data?.["status"] === 404 || data?.["status"] === 401 || (code === "TOOL_DOWN" && data?.["status"] === undefined)
  );
}
