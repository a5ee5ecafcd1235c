/**
 * The seeds' endpoint: GET {base}/mcp/tools?session_id= -> [{name, description, input_schema}], POST {base}/mcp {tool, params, session_id}
 * -> bare JSON of any type, `{error}` if the tool failed. The session is the run's id.
 */
import { Kept } from "../../kernel/kept.ts";
import { ClearedError } from "../../kernel/errors.ts";
import { createSlots } from "../../kernel/turns.ts";
import type { Json } from "../../kernel/ports.ts";
import { provesRefusal } from "../../rules/tools/refusal.ts";
import { isObject } from "../../rules/tools/shape.ts";
import type { Fetch } from "./addresses.ts";
import { forPeople, isTooDeep, parseJson } from "./answer.ts";
import {
  type CallOptions,
  type Connection,
  type ListedTool,
  clearedIn,
  createPatience,
  meaningOf,
  statusError,
  toolFailed,
} from "./connection.ts";
import type { AsyncLocalStorage } from "node:async_hooks";
import { ClientCredentialsProvider } from "@modelcontextprotocol/sdk/client/auth-extensions.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { ToolServer } from "../../workspace/settings/config.ts";

export interface PlainOptions {
  name: string;
  /** With or without the endpoint's /mcp. */
  url: string;
  filled(): Promise<{ headers: Record<string, string> }>;
  timeout_ms: number;
  concurrency: number;
  fetch: Fetch;
}

const LIST_MS = 60_000;
const SESSIONS = 100;

export function connectPlain({ name, url, filled, timeout_ms, concurrency, fetch }: PlainOptions): Connection {
  const base = url.replace(/\/+$/, "").replace(/\/mcp$/, "");
  const slots = createSlots(concurrency);
  const lists = new Kept<string, { at: number; tools: Promise<ListedTool[]> }>(SESSIONS);

  const ask = async (
    path: string,
    init: RequestInit,
    options: Partial<CallOptions> & { abort: AbortSignal },
    where: string,
  ): Promise<Json> => {
    const { abort, write = false, leaving } = options;
    const patience = createPatience(timeout_ms, abort);
    try {
      const { headers } = await filled();
      leaving?.();
      const answer = await fetch(`${base}${path}`, {
        ...init,
        headers: { accept: "application/json", ...headers, "content-type": "application/json" },
        signal: patience.signal,
      });
      return bodyOf(await answer.text(), answer, write);
    } catch (error) {
      const known = patience.fault() ?? clearedIn(error);
      throw meaningOf(known ?? new ClearedError("TOOL_LOST", `The connection broke: ${(error as Error).message}.`), where, write);
    } finally {
      patience.end();
    }
  };

  return {
    list: async ({ run, abort }) => {
      const known = lists.get(run);
      if (known !== undefined && performance.now() - known.at < LIST_MS) return known.tools;
      const path = `/mcp/tools?session_id=${encodeURIComponent(run)}`;
      const tools = slots(() => ask(path, { method: "GET" }, { abort }, name)).then((value) => listedIn(value, name));
      lists.set(run, { at: performance.now(), tools });
      tools.catch(() => lists.delete(run));
      return tools;
    },
    forget: () => lists.clear(),
    call: (tool, params, options) =>
      slots(() =>
        ask("/mcp", { method: "POST", body: JSON.stringify({ tool, params, session_id: options.run }) }, options, `${name}/${tool}`),
      ),
    close: async () => undefined,
  };
}

/** @throws TOOL_FAILED, TOOL_ANSWER, TOOL_DOWN, TOOL_REFUSED */
function bodyOf(text: string, { status }: Response, write: boolean): Json {
  let value: Json | undefined;
  try {
    const read = parseJson(text);
    if (!isTooDeep(read)) value = read;
  } catch {
    // Not JSON, or nested too deeply: reported below, with the status if that is a failure.
  }
  const fault = isObject(value) ? value["error"] : undefined;
  const ok = status >= 200 && status < 300;
  const refused = provesRefusal(status, text);
  // A write answered with any other status may have been carried out, whatever its body says.
  if (fault && (ok || refused || !write))
    throw toolFailed(typeof fault === "string" ? fault : JSON.stringify(fault), value as Record<string, Json>, refused);
  if (!ok) throw statusError(status, text);
  if (value === undefined)
    throw new ClearedError("TOOL_ANSWER", `Its answer is not JSON that can be read; it begins: ${forPeople(text.slice(0, 120))}`);
  return value;
}

function listedIn(value: Json, name: string): ListedTool[] {
  const list = isObject(value) ? value["tools"] : value;
  if (!Array.isArray(list)) throw new ClearedError("TOOL_ANSWER", `${name}: Its answer to GET /mcp/tools is not a list of tools.`);
  return list.flatMap((one) => {
    if (!isObject(one) || typeof one["name"] !== "string") return [];
    const { name: tool, description, input_schema, inputSchema } = one;
    return [
      {
        name: tool,
        description: typeof description === "string" ? description : "",
        input_schema: input_schema ?? inputSchema ?? {},
        output_schema: null,
        annotations: {},
      },
    ];
  });
}

/** What a request made in this context is told. */
export interface RequestContext {
  /** The HTTP answer has ended, with the error that broke it, if any. */
  ended(error?: unknown): void;
  /** Called when it is about to be sent, which may have waited for credentials; may throw. */
  leaving: (() => void) | undefined;
}

/** MCP over streamable HTTP: headers, client credentials, and notification of an answer that broke off, which the SDK hides. */
export function createHttpTransport(
  spec: Pick<ToolServer, "url" | "headers" | "oauth">,
  fetch: Fetch,
  context: AsyncLocalStorage<RequestContext>,
  issued?: (token: string) => void,
): Transport {
  const url = new URL(spec.url ?? "");
  const transport = new StreamableHTTPClientTransport(url, {
    ...(spec.oauth === undefined ? {} : { authProvider: credentials(url, spec.oauth, issued) }),
    fetch: async (target, init) => {
      const headers = new Headers(init?.headers);
      // Never to the server that issues tokens, which may belong to somebody else.
      if (new URL(target).origin === url.origin) for (const [name, value] of Object.entries(spec.headers)) headers.set(name, value);
      const told = init?.method === "POST" ? context.getStore() : undefined;
      told?.leaving?.();
      const answer = await fetch(target, { ...init, headers });
      const ended = told?.ended;
      if (ended === undefined || answer.body === null || !answer.headers.get("content-type")?.includes("text/event-stream")) return answer;
      const [body, watched] = [new TransformStream<Uint8Array, Uint8Array>(), answer.body];
      watched.pipeTo(body.writable).then(() => ended(), ended);
      return new Response(body.readable, { status: answer.status, headers: answer.headers });
    },
  });
  return transport as Transport;
}

/** Client credentials are presented only to the configured issuer: the server cannot redirect them. `issued` is called with each token. */
function credentials(url: URL, oauth: NonNullable<ToolServer["oauth"]>, issued?: (token: string) => void): ClientCredentialsProvider {
  const { client_id: clientId, client_secret: clientSecret, scope, token_url } = oauth;
  const issuer = oauth.issuer ?? new URL(token_url ?? url).origin;
  const scoped = scope === undefined ? {} : { scope };
  const provider = new ClientCredentialsProvider({ clientId, clientSecret, expectedIssuer: issuer, ...scoped });
  const save = provider.saveTokens.bind(provider);
  provider.saveTokens = (tokens) => {
    issued?.(tokens.access_token);
    save(tokens);
  };
  if (token_url === undefined) return provider;
  const server = { issuer, token_endpoint: token_url, authorization_endpoint: token_url, response_types_supported: [] };
  return Object.assign(provider, { discoveryState: () => ({ authorizationServerUrl: issuer, authorizationServerMetadata: server }) });
}
