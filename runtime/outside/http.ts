/**
 * The server shell, and the only door to hono: loopback only, except for tasks with `--host`; no other user of the machine; Host and Origin checked;
 * only POST acts, and only with this process's token (or a signature below /hooks/, or a bearer token for tasks); limited bodies; strict headers.
 * Without the Host check a page elsewhere could rebind its name to 127.0.0.1 and read the books; without Origin and token it could approve a payment.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { ClearedError, type ErrorKind, toWire, type WireError } from "../kernel/errors.ts";
import { noteArrival, type Peer, peerOf } from "./peer.ts";

export type { Context };

/** Every form has a field `token`; a restart invalidates it. */
export type Shell = ReturnType<typeof createShell>;

export interface Listening {
  /** `http://127.0.0.1:4310` */
  url: string;
  port: number;
  /** Also ends open connections; repeatable. */
  close(): Promise<void>;
}

const incomingOf = ({ env }: Context) => (env as { incoming?: IncomingMessage } | undefined)?.incoming;
const socketOf = (context: Context): Socket | undefined => incomingOf(context)?.socket;

/** The sender of a request; "unknown" if the kernel does not tell. */
export function senderOf(context: Context): Peer {
  const socket = socketOf(context);
  return socket === undefined ? "unknown" : peerOf(socket);
}

/** HTTP status of each kind of error (STYLE.md section 8). */
export const HTTP_STATUS = {
  script: 422,
  input: 400,
  policy: 403,
  external: 502,
  divergence: 409,
  internal: 500,
} as const satisfies Record<ErrorKind, number>;

export const LOOPBACK = "127.0.0.1";
// A form has a reason of at most 500 characters; 64 KiB is ample and harmless.
const BODY_LIMIT = 64 * 1024;
/** Paths below it accept requests signed by other programs; everything else is this page's own forms. */
export const HOOKS = "/hooks/";
const HOOK_LIMIT = 1024 * 1024;
/** The path for chat clients (runtime/mcp-server/). */
export const MCP = "/mcp";
const MCP_PATHS = /^(?:\/\.well-known\/oauth-protected-resource)?\/mcp$/;
/** Paths for other agents besides `POST /` (runtime/a2a/): JSON in and out, with its own authentication. */
const TASKS =
  /^\/(?:message:(?:send|stream)|tasks(?:[/:].*)?|extendedAgentCard|health|metrics|rl\/status|\.well-known\/agent(?:-card)?\.json)$/;
const OPEN = /^\/(?:health|\.well-known\/.*)$/;
const TASK_LIMIT = 16 * 1024 * 1024;
// A browser opens six connections and sends at once; other agents hold streams open, which a2a/server.ts limits to fewer than these.
const PATIENCE = { headersTimeout: 5_000, requestTimeout: 15_000, keepAliveTimeout: 5_000, connectionsCheckingInterval: 1_000 };
const CONNECTIONS = 512;
/** What is read and dropped after the last answer of a connection: at most what a client sends before it reads, for at most the idle time. */
const REST = { bytes: 4 * TASK_LIMIT, ms: PATIENCE.keepAliveTimeout };
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  // Not no-referrer: with that, browsers send `Origin: null` for the page's own forms.
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
  "cache-control": "no-store",
};

/** `onError` renders a failure as a page; the shell has set the status. */
export function createShell(onError: (context: Context, error: WireError, status: number) => Response | Promise<Response>) {
  const app = new Hono();
  const token = randomBytes(32).toString("base64url");
  const refuse = (message: string): never => {
    throw new ClearedError("WEB_REFUSED", message);
  };
  app.use(async (context, next) => {
    await next();
    const { complete = true, readableLength = 0 } = incomingOf(context) ?? {};
    if (!complete || readableLength > 0) context.header("connection", "close"); // the rest of its body is not read
  });
  app.use(async (context, next) => {
    for (const [name, value] of Object.entries(HEADERS)) context.header(name, value);
    const { method } = context.req;
    const host = context.req.header("host") ?? "";
    const open = OPEN.test(context.req.path) || (isTask(context) && context.req.header("authorization") !== undefined);
    const far = isFar(context);
    if (far && (!isTask(context) || isMcp(context))) refuse("From other machines only tasks are taken (A2A). Decide on this one.");
    if (!far && !isHook(context) && !open && senderOf(context) === "other") refuse("This page is another user's of this machine.");
    if (!far && !isLoopback(host)) refuse("The address in the browser must be 127.0.0.1 or localhost.");
    const deletes = method === "DELETE" && isTask(context);
    if (method !== "GET" && method !== "HEAD" && method !== "POST" && !deletes)
      return context.text("Only GET, HEAD and POST are answered.", 405);
    if (method === "POST" && !isForeign(context) && context.req.header("origin") !== `http://${host}`)
      refuse("The request did not come from this page. Open the page and decide there.");
    return next();
  });
  const [forms, hooks, tasks] = [BODY_LIMIT, HOOK_LIMIT, TASK_LIMIT].map((maxSize) =>
    bodyLimit({
      maxSize,
      onError: (context) => {
        const how =
          isTask(context) && !isMcp(context) && maxSize < TASK_LIMIT
            ? " Say how large it is (Content-Length) and send it in one piece."
            : "";
        const message = `The request is larger than ${maxSize / 1024} KiB.${how}`;
        return isTask(context) ? onError(context, { code: "TASK_REQUEST", message }, 413) : context.text(message, 413);
      },
    }),
  ) as [MiddlewareHandler, MiddlewareHandler, MiddlewareHandler];
  // A body of unknown length is buffered before its sender is known.
  const isShort = ({ req }: Context) => req.header("content-length") === undefined || req.header("transfer-encoding") !== undefined;
  app.use((context, next) => {
    const task = isMcp(context) || isShort(context) ? hooks : tasks;
    return (isHook(context) ? hooks : isTask(context) ? task : forms)(context, next);
  });
  app.use(async (context, next) => {
    if (context.req.method === "POST" && !isForeign(context)) {
      const given = (await formOf(context))["token"] ?? "";
      if (!sameText(given, token)) refuse("The page is older than the running program. Load it again, then decide.");
    }
    return next();
  });
  app.onError((error, context) => {
    const status = error instanceof ClearedError ? HTTP_STATUS[error.kind] : HTTP_STATUS.internal;
    return onError(context, toWire(error), status);
  });
  return { app, token };
}

/** Authenticated by a signature, not by this page's token and origin. */
export function isHook(context: Context): boolean {
  return context.req.path.startsWith(HOOKS);
}

export const isMcp = ({ req }: Context): boolean => MCP_PATHS.test(req.path);

/** True for requests of other agents and chat clients, including a reader of `/` that wants JSON and no page. */
export function isTask({ req }: Context): boolean {
  if (req.path !== "/") return TASKS.test(req.path) || MCP_PATHS.test(req.path);
  const accept = req.header("accept") ?? "";
  return req.method === "POST" || (accept.includes("application/json") && !accept.includes("text/html"));
}

/** Not a form of this page. */
function isForeign(context: Context): boolean {
  return isHook(context) || isTask(context);
}

/** The token of a request; "" for a header without one, null without a header. */
export function bearerOf({ req }: Context): string | null {
  const header = req.header("authorization");
  return header === undefined ? null : (/^Bearer +(\S+)$/i.exec(header)?.[1] ?? "");
}

/** Text fields of a form post; files and repeated fields are ignored. */
export async function formOf(context: Context): Promise<Record<string, string>> {
  const type = context.req.header("content-type") ?? "";
  if (!type.startsWith("application/x-www-form-urlencoded")) throw new ClearedError("WEB_REFUSED", "Only forms of this page are accepted.");
  const body = await context.req.parseBody({ all: true });
  return Object.fromEntries(Object.entries(body).filter((field): field is [string, string] => typeof field[1] === "string"));
}

/**
 * Ends our side first, then reads the other side to its end and drops it (RFC 9112, 9.6): if a connection is closed with unread data, the kernel
 * resets it, and a client that is still sending never sees its answer. No request in that data is carried out: nobody could be told.
 */
function closeInTurn(socket: Socket): void {
  let left = REST.bytes;
  socket.destroySoon = () => {
    if (socket.destroyed || socket.writableEnded) return;
    socket.end();
    setTimeout(() => socket.destroy(), REST.ms).unref();
    const drop = ({ length }: Buffer) => (left -= length) < 0 && socket.destroy();
    socket.removeAllListeners("data").on("data", drop);
    socket.once("end", () => socket.destroy()).resume();
  };
}

/** The connection arrived at a non-loopback address of this machine, which only `--host` allows. */
function isFar(context: Context): boolean {
  const here = socketOf(context)?.localAddress?.replace(/^::ffff:/, "");
  return here !== undefined && here !== "::1" && !isLoopback(here);
}

/**
 * Port 0 takes any free one. `url` is the address on this machine.
 * @throws PORT_BUSY, USAGE for an address that does not belong to this machine
 */
export function listen(app: Hono, port: number, host = LOOPBACK): Promise<Listening> {
  // The default clean-up would end a kept connection half a second after such an answer, in the middle of the next request.
  const options = { fetch: app.fetch, hostname: host, serverOptions: PATIENCE, autoCleanupIncoming: false };
  const server = createAdaptorServer(options) as Server;
  server.maxConnections = CONNECTIONS;
  server.on("connection", noteArrival).on("connection", closeInTurn);
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const busy = error.code === "EADDRINUSE" || error.code === "EACCES";
      const words = `Port ${port} is ${error.code === "EACCES" ? "not allowed for this user" : "in use by another program"}.`;
      const nowhere = error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND";
      if (nowhere) reject(new ClearedError("USAGE", `--host ${host} is not an address of this machine.`, { cause: error }));
      else reject(busy ? new ClearedError("PORT_BUSY", words, { cause: error }) : error);
    });
    server.listen(port, host, () => {
      const address = server.address();
      const bound = typeof address === "object" && address !== null ? address.port : port;
      const near = isLoopback(host) || host === "0.0.0.0" || host === "::" ? LOOPBACK : host.includes(":") ? `[${host}]` : host;
      resolve({ url: `http://${near}:${bound}`, port: bound, close });
    });
    const close = (): Promise<void> =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      });
  });
}

/** True for `localhost`, 127.0.0.0/8 and `[::1]`, with or without a port. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(?::\d{1,5})?$/i.test(host);
}

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
