/** What variables of the environment do, and that `doctor` tells each with where it comes from. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type Any, rpc, said, skill } from "../a2a/client.ts";
import { commit, shell, startWith, workspace } from "./command-line.ts";

const LOOK = `/*
name: Look
trigger: a2a
mutates: false
uses: [mcp]
*/
mcp_call({ tool: "given/get_price", params: {} });
`;

let slow = 0;
const tools = createServer((request, answer) => {
  let body = "";
  request.on("data", (chunk) => (body += chunk));
  request.on("end", () => {
    const { method, tool } = (body === "" ? {} : JSON.parse(body)) as Any;
    const send = (value: unknown) => answer.setHeader("content-type", "application/json").end(JSON.stringify(value));
    if (request.method === "GET" && request.url?.startsWith("/mcp/tools"))
      return send([{ name: "get_price", description: "A price.", inputSchema: { type: "object" } }]);
    if (tool === "get_price") return void setTimeout(() => send({ result: { price: "12.00" } }), slow);
    answer.statusCode = method === undefined ? 404 : 400;
    send({ error: "not here" });
  });
});
const address = new Promise<string>((done) =>
  tools.listen(0, "127.0.0.1", () => done(`http://127.0.0.1:${(tools.address() as AddressInfo).port}`)),
);
afterAll(() => void tools.close());

test("the tools of GREEN_AGENT_MCP_URL are a task's own where trust.yaml allows the address, for as long as TOOL_TIMEOUT lets them take", async () => {
  const url = await address;
  const dir = await workspace({ "agents/look.ts": LOOK });
  const site = await startWith(dir, { GREEN_AGENT_MCP_URL: url, TOOL_TIMEOUT: "1", PORT: "0" }, "--no-open");
  const served: Any = { dir, url: /http:\/\/127\.0\.0\.1:\d+/.exec(site.said())?.[0] ?? "", started: site };
  const look = async () => (await rpc(served, "message/send", { message: said("the price", skill("look")) })).result;
  expect(await look()).toMatchObject({
    status: { state: "failed", message: { parts: [{ text: expect.stringContaining("TOOL_REFUSED") }] } },
  });
  await site.stop();

  const trust = readFileSync(join(dir, "trust.yaml"), "utf8").replace("loopback: false", "loopback: true");
  await commit(dir, { "trust.yaml": trust });
  const second = await startWith(dir, { GREEN_AGENT_MCP_URL: url, TOOL_TIMEOUT: "1", PORT: "0" }, "--no-open");
  served.url = /http:\/\/127\.0\.0\.1:\d+/.exec(second.said())?.[0] ?? "";
  expect(await look()).toMatchObject({
    status: { state: "completed" },
    artifacts: [{ parts: [{ text: expect.stringContaining("12.00") }, {}] }],
  });
  slow = 3000;
  expect(await look()).toMatchObject({
    status: { state: "failed", message: { parts: [{ text: expect.stringContaining("within 1 s") }] } },
  });
  await second.stop();
});

test("doctor tells each with where it comes from, and what is wrong with one is told before anything starts", async () => {
  const dir = await workspace();
  const doctor = async (variables: string): Promise<Any[]> => JSON.parse((await shell(dir, `${variables} cleared doctor --json`)).stdout);
  const lineOf = (lines: Any[], what: string) => lines.find((one) => one.what === what);
  const plain = await doctor("");
  expect(lineOf(plain, "tool timeout")).toMatchObject({ value: expect.stringContaining("10 s"), from: "default" });
  expect(lineOf(plain, "port")).toMatchObject({ value: "0", from: "config.yaml" });
  const set = await doctor(
    "PORT=4999 TOOL_TIMEOUT=2.5 GREEN_AGENT_MCP_URL=http://green.example FALLBACK_MODEL=claude-x ANTHROPIC_API_KEY=sk-x",
  );
  expect(lineOf(set, "port")).toMatchObject({ value: "4999", from: "PORT" });
  expect(lineOf(set, "tool timeout")).toMatchObject({ value: expect.stringContaining("2.5 s"), from: "TOOL_TIMEOUT" });
  expect(lineOf(set, "tools of tasks")).toMatchObject({ value: "http://green.example", from: "GREEN_AGENT_MCP_URL" });
  expect(JSON.stringify(set)).toContain("FALLBACK_MODEL");
  expect(JSON.stringify(set)).toContain("ANTHROPIC_API_KEY");
  expect(JSON.stringify(set)).not.toContain("sk-x");
  for (const [variable, words] of [
    ["PORT=many", "PORT must be a port"],
    ["TOOL_TIMEOUT=0", "TOOL_TIMEOUT must be seconds"],
    ["GREEN_AGENT_MCP_URL=file:///etc", "GREEN_AGENT_MCP_URL must be an http"],
  ]) {
    const refused = await shell(dir, `${variable} cleared start --no-open`);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(words ?? "") });
    expect((await doctor(variable ?? "")).find((one) => !one.ok)).toMatchObject({ value: expect.stringContaining(words ?? "") });
  }
  expect((await shell(dir, "cleared start --no-open --card-url worker")).code).toBe(2);
  expect((await shell(dir, "cleared start --no-open --host 203.0.113.7")).stderr).toContain("cleared tokens add");
});
