/** The messages of MCP: requests, contents of answers, and the mapping of the SDK's errors to our codes. */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import {
  CallToolResultSchema,
  ErrorCode,
  ListToolsResultSchema,
  McpError,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { ClearedError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/ports.ts";
import { provesRefusal } from "../../rules/tools/refusal.ts";
import { fromText, isTooDeep, mustBeShallow } from "./answer.ts";
import { type ListedTool, clearedIn, statusError, toolFailed } from "./connection.ts";
import type { Stdio } from "./stdio.ts";

export const TOOLS_CHANGED = ToolListChangedNotificationSchema;
const TOOL_PAGES = 50;
/** What a gateway returns in place of the tool's own service. */
const ERROR_PAGE = /^\s*<(?:!doctype html|html)[\s\S]*?<(?:title|h1)[^>]*>\s*([45]\d\d\b[^<]*)/i;

/** How the SDK must wait for an answer. */
export interface Asking {
  signal: AbortSignal;
  timeout: number;
  onprogress(): void;
  onresumptiontoken(): void;
}

/** All pages of the list. The SDK's own listTools drops all tools if it cannot compile the schema of one. */
export async function askTools(client: Client, request: <T>(ask: (options: Asking) => Promise<T>) => Promise<T>): Promise<ListedTool[]> {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const tools: ListedTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < TOOL_PAGES; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await request((options) => client.request({ method: "tools/list", params }, ListToolsResultSchema, options));
    for (const { name, description = "", inputSchema, outputSchema, annotations = {} } of answer.tools) {
      const [input_schema, output_schema] = mustBeShallow([inputSchema as Json, (outputSchema ?? null) as Json] as const);
      tools.push({ name, description, input_schema, output_schema, annotations });
    }
    if (answer.nextCursor === undefined || answer.nextCursor === cursor) return tools;
    cursor = answer.nextCursor;
  }
  throw new ClearedError("TOOL_ANSWER", `Its list of tools does not end after ${TOOL_PAGES} pages.`);
}

/** @throws TOOL_FAILED */
export async function askTool(client: Client, name: string, args: Record<string, Json>, asking: Asking): Promise<Json> {
  return answerOf(await client.request({ method: "tools/call", params: { name, arguments: args } }, CallToolResultSchema, asking));
}

/** structuredContent, else the text parts. @throws TOOL_FAILED if the tool reports a failure, TOOL_ANSWER */
function answerOf(result: { content?: { type: string }[]; structuredContent?: unknown; isError?: boolean | undefined }): Json {
  const parts = result.content ?? [];
  const texts = parts.filter((part): part is { type: "text"; text: string } => part.type === "text").map((part) => part.text);
  if (result.isError === true)
    throw toolFailed(texts.join("\n") || "The tool failed without a message.", fieldsOf(result.structuredContent), false);
  const page = texts.length === 1 ? ERROR_PAGE.exec(texts[0]?.slice(0, 4000) ?? "") : null;
  if (page !== null) throw new ClearedError("TOOL_ANSWER", `It answered with an error page instead of a result: ${page[1]}`);
  if (result.structuredContent !== undefined) return mustBeShallow(result.structuredContent as Json);
  if (texts.length < parts.length) return mustBeShallow({ content: parts as unknown as Json });
  return texts.length === 1 ? fromText(texts[0] ?? "") : texts.length === 0 ? null : texts.map(fromText);
}

/** Data of a tool's failure besides its message; it may name the columns it does not know. */
const fieldsOf = (told: unknown) =>
  typeof told === "object" && told !== null && !Array.isArray(told) && !isTooDeep(told) ? { ...told } : {};

export function saidBy(stdio: Stdio | null): string {
  const said = stdio?.said() ?? "";
  return said === "" ? "" : ` It said: ${said}`;
}

/** True if an error was sent by the server, as opposed to a missing answer. */
export function isWord(error: unknown): boolean {
  return error instanceof McpError && error.code !== ErrorCode.RequestTimeout;
}

/** One of our codes for any error of the SDK. */
export function errorOf(error: unknown, { ended, stdio }: { ended: boolean; stdio: Stdio | null }): ClearedError {
  const known = stdio?.fault() ?? clearedIn(error);
  if (known !== null) return known;
  const text = error instanceof Error ? error.message : String(error);
  if (error instanceof McpError) {
    if (ended && error.code === ErrorCode.ConnectionClosed)
      return new ClearedError("TOOL_LOST", `The server ended before it answered.${saidBy(stdio)}`, { data: { ended: true } });
    if (error.code === ErrorCode.RequestTimeout) return new ClearedError("TOOL_TIMEOUT", text);
    return toolFailed(text.replace(/^MCP error -?\d+: /, ""), fieldsOf(error.data), provesRefusal(error.code, text));
  }
  const name = error instanceof Error ? error.constructor.name : "";
  // Recognized by name, because a copy of the SDK inside another package has its own classes.
  const status = name === "StreamableHTTPError" ? ((error as { code?: number }).code ?? -1) : 0;
  if (status > 0) return statusError(status, text.replace(/^Streamable HTTP error: (?:Error POSTing to endpoint: )?/, ""));
  if (status < 0 || error instanceof SyntaxError || /^\$?Zod/.test(name)) {
    return new ClearedError("TOOL_ANSWER", `Its answer is not one of MCP: ${text}`);
  }
  if (text === "Not connected") return new ClearedError("TOOL_DOWN", `The server has ended.${saidBy(stdio)}`);
  const kinds = [name, error instanceof Error ? Object.getPrototypeOf(error.constructor)?.name : ""];
  if (kinds.some((kind) => kind === "OAuthError" || kind === "UnauthorizedError") || text.startsWith("OAuth ")) {
    return new ClearedError("TOOL_DOWN", `It refused access: ${text}`);
  }
  return new ClearedError("TOOL_LOST", `The connection broke: ${text}.${saidBy(stdio)}`);
}
