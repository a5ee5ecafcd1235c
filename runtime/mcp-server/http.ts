/**
 * MCP at `/mcp` of the page's listener. The caller is identified before anything is read, as for tasks: by a bearer token, or because the kernel
 * says that the program belongs to this user. A browser is neither: it names the site of its page, and is refused; so is any Origin other than
 * our own address, which clients other than browsers may send. A person issues tokens (`cleared tokens add`), and there is no authorization
 * server, which the metadata of RFC 9728 expresses by naming none.
 */
import type { McpApi } from "../app/mcp-api.ts";
import type { Tasks } from "../app/tasks.ts";
import { ClearedError, kindOf, toWire } from "../kernel/errors.ts";
import type { createHttpHandler } from "./server.ts";
import { bearerOf, type Context, HTTP_STATUS, MCP, senderOf } from "../outside/http.ts";

const urlOf = (context: Context): string => `http://${context.req.header("host") ?? ""}`;
const METADATA = `/.well-known/oauth-protected-resource${MCP}`;

/** Handles requests to `/mcp`, and the metadata about authentication. */
export function createMcpServer(tasks: Pick<Tasks, "caller" | "business" | "hold">, api: McpApi, onError: (error: unknown) => void) {
  // The SDK takes 10 MB, which a workspace without chat clients does not need.
  let loading: Promise<ReturnType<typeof createHttpHandler>> | undefined;
  const load = () => (loading ??= import("./server.ts").then((found) => found.createHttpHandler(api, onError)));
  const refuse = (context: Context, error: unknown): Response => {
    const { code, message, data } = toWire(error);
    const internal = kindOf(code) === "internal";
    if (internal) onError(error);
    if (code === "TASK_TOKEN")
      context.header("www-authenticate", `Bearer realm="cleared", resource_metadata="${urlOf(context)}${METADATA}"`);
    const full = code === "TASK_LIMIT";
    if (full) context.header("retry-after", String(data?.["retry_after"]));
    const told = { code: full ? Number(data?.["rpc"]) : -32600, message: internal ? "Something went wrong here." : message };
    const status = full ? 429 : code === "TASK_TOKEN" ? 401 : HTTP_STATUS[kindOf(code)];
    return context.json({ jsonrpc: "2.0", id: null, error: told }, status);
  };
  return async (context: Context): Promise<Response> => {
    const { req } = context;
    try {
      const isPage = req.header("sec-fetch-site") !== undefined || (req.header("origin") ?? urlOf(context)) !== urlOf(context);
      if (isPage) throw new ClearedError("WEB_REFUSED", "Tools are not called from a page in a browser.");
      if (req.path !== MCP) {
        const names = { resource: `${urlOf(context)}${MCP}`, resource_name: await tasks.business() };
        return context.json({ ...names, bearer_methods_supported: ["header"] });
      }
      const caller = tasks.caller(bearerOf(context), () => senderOf(context) === "own");
      const authInfo = { token: "", clientId: caller.owner, scopes: [], extra: { caller } };
      const handler = await load();
      const free = await tasks.hold(caller.owner, "requests", "Send it again later.");
      const answer = await handler.fetch(req.raw, { authInfo });
      // For a stream until it has ended, or nobody reads it any more.
      const through = new TransformStream({ flush: free, cancel: free });
      if (answer.headers.get("content-type")?.startsWith("text/event-stream"))
        return context.newResponse(answer.body?.pipeThrough(through) ?? null, answer);
      free();
      return context.newResponse(answer.body, answer);
    } catch (error) {
      return refuse(context, error);
    }
  };
}
