/**
 * The demo business as a tool server: MCP over stdio, MCP over streamable HTTP (--http PORT) or the plain endpoint of older agents
 * (--plain PORT: GET /mcp/tools, POST /mcp {tool, params, session_id}). Listens on 127.0.0.1 only, keeps everything in --db FILE,
 * ends when stdin closes (stdio) and on SIGTERM.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import {
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
  type Tool as ListedTool,
} from "@modelcontextprotocol/sdk/types.js";
import { type Json, openBusiness, type Params, Refused } from "./business.ts";
import { callTool, TOOLS } from "./calls.ts";
import { printTools, printTrust } from "./listing.ts";
import { failsNow, parseModes } from "./modes.ts";
import { inputSchema, type Tool, type World } from "./tool.ts";

const LISTED = 50;
const BODY_LIMIT = 1_000_000;
const HTML = "<!doctype html><html><body><h1>502 Bad Gateway</h1></body></html>";
const DOWN = "service unavailable, try again";

const { values } = parseArgs({
  options: {
    db: { type: "string" },
    http: { type: "string" },
    plain: { type: "string" },
    mode: { type: "string", default: "" },
    list: { type: "boolean", default: false },
    trust: { type: "boolean", default: false },
  },
});
if (values.list) process.stdout.write(printTools());
else if (values.trust) process.stdout.write(printTrust());
else if (values.db === undefined) {
  console.error("Usage: node server.ts --db FILE [--http PORT] [--plain PORT] [--mode LIST] | --list | --trust");
  process.exit(64);
} else await serve({ db: openBusiness(values.db), modes: parseModes(values.mode) });

async function serve(world: World): Promise<void> {
  process.on("SIGTERM", () => process.exit(0));
  if (values.http !== undefined) listen(values.http, "", (request, response) => answerMcp(world, request, response));
  if (values.plain !== undefined) listen(values.plain, "plain ", (request, response) => answerPlain(world, request, response));
  if (values.http !== undefined || values.plain !== undefined) return;
  process.stdin.on("end", () => process.exit(0));
  process.stdin.on("close", () => process.exit(0));
  await mcpServer(world, "isError").connect(new StdioServerTransport());
}

/** One MCP server. Over HTTP the failing and html modes are the transport's, over stdio they are answers. */
function mcpServer(world: World, failures: "isError" | "http"): Server {
  const server = new Server({ name: "erp", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const from = /^\d{1,4}$/.test(params?.cursor ?? "0") ? Number(params?.cursor ?? "0") : 0;
    const tools = TOOLS.slice(from, from + LISTED).map(listed);
    return from + LISTED < TOOLS.length ? { tools, nextCursor: String(from + LISTED) } : { tools };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }): Promise<CallToolResult> => {
    const misbehaves = failures === "isError" && params.name !== "set_mode";
    if (misbehaves && world.modes.html) return { content: [{ type: "text", text: HTML }] };
    if (misbehaves && failsNow(world.modes)) return { isError: true, content: [{ type: "text", text: DOWN }] };
    try {
      const result = await answered(world, params.name, (params.arguments ?? {}) as Params);
      const content: CallToolResult["content"] = [{ type: "text", text: JSON.stringify(result) }];
      const structured = typeof result === "object" && result !== null && !Array.isArray(result);
      return structured ? { content, structuredContent: result } : { content };
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return { isError: true, content: [{ type: "text", text: error.message }] };
    }
  });
  return server;
}

/** The work is done at once; a slow server only answers late. @throws Refused */
async function answered(world: World, name: string, params: Params): Promise<Json> {
  const result = callTool(world, name, params);
  if (world.modes.slow > 0 && name !== "set_mode") await sleep(world.modes.slow);
  return result;
}

function listed(tool: Tool): ListedTool {
  const { name, description, effect } = tool;
  return {
    name,
    description,
    inputSchema: inputSchema(tool),
    annotations: { readOnlyHint: effect === "read", destructiveHint: effect === "change", openWorldHint: false },
  };
}

type Answer = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

function listen(port: string, kind: string, answer: Answer): void {
  const server = createServer((request, response) => {
    const host = (request.headers.host ?? "").replace(/:\d+$/, "");
    // A name that was pointed at this machine is some web page's, not a caller of ours.
    if (host !== "127.0.0.1" && host !== "localhost") return send(response, 403, { error: "only from this machine" });
    answer(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else send(response, error instanceof Refused ? 400 : 500, { error: error instanceof Error ? error.message : String(error) });
    });
  });
  server.listen(Number(port), "127.0.0.1", () => console.log(`erp: ${kind}http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`));
}

/** Streamable HTTP without sessions: each request stands alone. */
async function answerMcp(world: World, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (new URL(request.url ?? "/", "http://erp").pathname !== "/mcp") return send(response, 404, { error: "the endpoint is /mcp" });
  if (request.method !== "POST") return send(response, 405, { error: "POST only" });
  const body = await bodyOf(request);
  const { method, params } = body as { method?: Json; params?: Params };
  if (method === "tools/call" && params?.["name"] !== "set_mode" && broken(world, response)) return;
  const server = mcpServer(world, "http");
  const transport = new StreamableHTTPServerTransport({});
  response.on("close", () => void server.close());
  // The SDK's own class misses its interface by an undefined under exactOptionalPropertyTypes.
  await server.connect(transport as Parameters<Server["connect"]>[0]);
  await transport.handleRequest(request, response, body);
}

/** The seeds' endpoint: any JSON is an answer, a refusal is `{error}`. */
async function answerPlain(world: World, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? "/", "http://erp");
  if (request.method === "GET" && pathname === "/mcp/tools") {
    const tools = TOOLS.map((tool) => ({ name: tool.name, description: tool.description, input_schema: inputSchema(tool) }));
    return send(response, 200, tools as unknown as Json);
  }
  if (request.method !== "POST" || pathname !== "/mcp") return send(response, 404, { error: "GET /mcp/tools or POST /mcp" });
  const { tool, params } = (await bodyOf(request)) as { tool?: Json; params?: Json };
  if (typeof tool !== "string") return send(response, 400, { error: "tool is missing: {tool, params, session_id}" });
  if (tool !== "set_mode" && broken(world, response)) return;
  try {
    send(response, 200, await answered(world, tool, (params ?? {}) as Params));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    send(response, 200, { error: error.message });
  }
}

/** True when a mode has answered instead of us. */
function broken({ modes }: World, response: ServerResponse): boolean {
  if (modes.html) response.writeHead(200, { "content-type": "text/html" }).end(HTML);
  else if (failsNow(modes)) send(response, 500, { error: DOWN });
  else return false;
  return true;
}

/** @throws Refused when the body is too long or no JSON object */
async function bodyOf(request: IncomingMessage): Promise<{ [key: string]: Json }> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > BODY_LIMIT) throw new Refused("the body is over 1 MB");
    parts.push(part);
  }
  try {
    const body = JSON.parse(Buffer.concat(parts).toString()) as Json;
    if (typeof body === "object" && body !== null && !Array.isArray(body)) return body;
  } catch {
    // said below
  }
  throw new Refused("the body is no JSON object");
}

function send(response: ServerResponse, status: number, body: Json): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
