/** What variables of the environment do, and that `doctor` tells each with where it comes from. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Any, rpc, said, skill } from "../a2a/client.ts";
import { commit, shell, startWith, until, warmUp, workspace } from "./command-line.ts";

beforeAll(warmUp);

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

test("the tools of GREEN_AGENT_MCP_URL belong to a task where trust.yaml allows the address, with TOOL_TIMEOUT as time limit", async () => {
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

test("doctor lists each variable with its source, and a wrong one is reported before anything starts", async () => {
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
    ["TASK_TIMEOUT=soon", "TASK_TIMEOUT must be seconds"],
    ["GREEN_AGENT_MCP_URL=file:///etc", "GREEN_AGENT_MCP_URL must be an http"],
  ]) {
    const refused = await shell(dir, `${variable} cleared start --no-open`);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(words ?? "") });
    expect((await doctor(variable ?? "")).find((one) => !one.ok)).toMatchObject({ value: expect.stringContaining(words ?? "") });
  }
  expect((await shell(dir, "cleared start --no-open --card-url worker")).code).toBe(2);
  expect((await shell(dir, "cleared start --no-open --host 203.0.113.7")).stderr).toContain("cleared tokens add");
});

const BANK = `import { definePrimitive, z } from "cleared";
export const bank_wire = definePrimitive({
  name: "bank_wire", effect: "external", access: "external", summary: "Pay, slowly.", params: z.object({ to: z.string() }),
  returns: z.object({ paid: z.boolean() }), errors: [], example: 'bank_wire({ to: "ACME" })', idempotent: "key",
  run: async () => { await new Promise((done) => setTimeout(done, 18_000)); return { paid: true }; },
  dryRun: () => ({ paid: false }),
});
`;
const WIRE = `/*
name: Wire
trigger: a2a
uses: [approval, bank]
input:
  to: {type: string, required: true}
*/
approval_wait({ title: "Pay " + input.to + "?", calls: [{ tool: "bank_wire", params: { to: input.to } }] });
const { paid } = bank_wire({ to: input.to });
({ summary: input.to + " paid: " + paid });
`;

test("TASK_TIMEOUT ends a task that works for longer, not one that waits for a person or has begun to act outside", async () => {
  const url = await address;
  slow = 60_000;
  const dir = await workspace({ "agents/look.ts": LOOK, "agents/wire.ts": WIRE });
  const trust = readFileSync(join(dir, "trust.yaml"), "utf8")
    .replace("loopback: false", "loopback: true")
    .replace(/^plugins:.*/m, "plugins: [plugins/bank.ts]");
  await commit(dir, { "plugins/bank.ts": BANK, "trust.yaml": trust });
  const site = await startWith(dir, { GREEN_AGENT_MCP_URL: url, TOOL_TIMEOUT: "50", TASK_TIMEOUT: "12", PORT: "0" }, "--no-open");
  const served: Any = { dir, url: /http:\/\/127\.0\.0\.1:\d+/.exec(site.said())?.[0] ?? "", started: site };
  const wire = await rpc(served, "message/send", { message: said('{"to": "ACME"}', skill("wire")) });
  expect(wire.result.status.state).toBe("auth-required");
  const look = await rpc(served, "message/send", { message: said("the price", skill("look")) });
  expect(look.result).toMatchObject({
    status: { state: "canceled", message: { parts: [{ text: expect.stringContaining("TASK_TIMEOUT") }] } },
  });
  await shell(dir, `cleared approve ${wire.result.status.message.parts[1].data.reviewId}`);
  await until(async () =>
    /^(completed|failed|canceled)$/.test((await rpc(served, "tasks/get", { id: wire.result.id })).result.status.state),
  );
  expect((await rpc(served, "tasks/get", { id: wire.result.id })).result).toMatchObject({
    status: { state: "completed" },
    artifacts: [{ parts: [{ text: "ACME paid: true" }, {}] }],
  });
  await site.stop();
});
