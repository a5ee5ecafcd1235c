/** What an answer proves about a write: it was refused, or nobody knows. The same for MCP and the plain endpoint. */
import { expect, test } from "vitest";
import type { Json } from "../../runtime/kernel/ports.ts";
import { run, serve } from "./pool.ts";

const NAMES = ["pay", "look", "get_payment"];
const TOOLS = `timeout_ms: 4000, tools: {pay: {class: mutate}, look: {class: mutate, verify: {read: get_payment, key: {id: id}, expect: {status: paid}, before: {found: false}}}, get_payment: {class: read}}`;

/** Writes answer what is asked of them; the record never shows one. `fallen`: the list of tools cannot be had after a write. */
async function bank(says: { status: number; body: string }, fallen = false) {
  let wrote = 0;
  const url = await serve((request, response, body) => {
    if (request.method === "GET" && !request.url?.startsWith("/mcp/tools")) return void response.writeHead(405).end();
    if (request.method === "GET" && fallen && wrote > 0) return void response.writeHead(503).end("down");
    const listed = NAMES.map((name) => ({ name, input_schema: { type: "object" }, inputSchema: { type: "object" } }));
    if (request.method === "GET") return void response.end(JSON.stringify(listed));
    const { id, method, tool, params } = JSON.parse(body);
    const json = (result: Json, status = 200) =>
      response
        .writeHead(status, { "content-type": "application/json" })
        .end(JSON.stringify(method === undefined ? result : { jsonrpc: "2.0", id, result }));
    if (method === "initialize")
      return json({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } });
    if (method === "tools/list") return json({ tools: listed });
    if (method !== undefined && method !== "tools/call") return void response.writeHead(202).end();
    const none = { found: false };
    if ((tool ?? params.name) === "get_payment") return json(method === undefined ? none : { content: [], structuredContent: none });
    wrote++;
    response.writeHead(says.status, { "content-type": "application/json" }).end(says.body.replace("ID", id));
  });
  const { call } = run(`mcp: {plain: {plain: "${url}", ${TOOLS}}, mcp: {url: "${url}/mcp", ${TOOLS}}}`);
  const met = (tool: string): Promise<string> =>
    call(tool, { id: "1" }).then(
      ({ write }) => write?.status ?? "",
      ({ code, data }) => (data?.why === "TOOL_TIMEOUT" ? "late" : code),
    );
  return { met, wrote: () => wrote };
}

test.each<[status: number, body: string, pay: string, look: string]>([
  [200, '{"error":"insufficient funds"}', "TOOL_LOST", "WRITE_FAILED"],
  [422, '{"error":"insufficient funds"}', "WRITE_FAILED", "WRITE_FAILED"],
  [422, "insufficient funds", "TOOL_DOWN", "TOOL_DOWN"],
  [200, '{"error":"exceeds 500.00","refused":true}', "TOOL_LOST", "WRITE_FAILED"],
  [200, '{"error":"upstream timed out after 30 s"}', "late", "late"],
  [200, '{"error":"it failed","detail":{"code":504}}', "late", "late"],
  [200, '{"success":false,"message":"socket hang up"}', "late", "late"],
  [400, '{"error":"request timed out upstream"}', "late", "late"],
  [400, '{"error":"sometimes outside of the limits"}', "WRITE_FAILED", "WRITE_FAILED"],
  [401, '{"error":"session_timeout"}', "WRITE_FAILED", "WRITE_FAILED"],
  [408, '{"error":"took too long"}', "late", "late"],
  [409, '{"error":"conflict"}', "TOOL_LOST", "TOOL_LOST"],
  [303, '{"error":"see there"}', "TOOL_LOST", "TOOL_LOST"],
  [500, '{"error":"broke"}', "TOOL_LOST", "TOOL_LOST"],
])("plain: HTTP %s %s is %s, and %s where a record is read back", async (status, body, pay, look) => {
  const { met, wrote } = await bank({ status, body });
  expect([await met("plain/pay"), await met("plain/look"), wrote()]).toEqual([pay, look, 2]);
});

const failed = (code: number, message: string) => `{"jsonrpc":"2.0","id":ID,"error":{"code":${code},"message":"${message}"}}`;
const says = (text: string) => `{"jsonrpc":"2.0","id":ID,"result":{"isError":true,"content":[{"type":"text","text":"${text}"}]}}`;
test.each<[status: number, body: string, pay: string, look: string]>([
  [200, failed(-32601, "no such tool"), "WRITE_FAILED", "WRITE_FAILED"],
  // Some SDKs say so of what a tool answered after its act.
  [200, failed(-32602, "invalid structured content"), "TOOL_LOST", "WRITE_FAILED"],
  [200, failed(-32603, "internal error"), "TOOL_LOST", "WRITE_FAILED"],
  [200, failed(-32602, "timed out"), "late", "late"],
  [200, failed(-32001, "no answer"), "late", "late"],
  [200, says("insufficient funds"), "TOOL_LOST", "WRITE_FAILED"],
  [200, says("ETIMEDOUT"), "late", "late"],
  [408, "", "late", "late"],
  [409, "", "TOOL_LOST", "TOOL_LOST"],
  [429, "", "TOOL_DOWN", "TOOL_DOWN"],
])("MCP: HTTP %s %s is %s, and %s where a record is read back", async (status, body, pay, look) => {
  const { met, wrote } = await bank({ status, body });
  expect([await met("mcp/pay"), await met("mcp/look"), wrote()]).toEqual([pay, look, 2]);
});

test("a write keeps its own outcome if the server falls over in the act, whatever its list of tools says then", async () => {
  const says = { status: 200, body: '{"error":"method failed: unknown state"}' };
  const met = async (tool: string) => (await bank(says, true)).met(tool);
  expect([await met("plain/pay"), await met("plain/look")]).toEqual(["TOOL_LOST", "TOOL_LOST"]);
});
