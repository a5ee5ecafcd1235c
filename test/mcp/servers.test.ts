/** Servers people really use, from npm, over stdio and streamable HTTP; the seeds' plain endpoint; an endpoint given with a run. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { Json } from "../../runtime/kernel/ports.ts";
import { folder, hostile, run, SERVERS, serve } from "./pool.ts";

const node = process.execPath;
const everything = join(SERVERS, "server-everything/dist/index.js");
const started: ReturnType<typeof spawn>[] = [];
afterEach(() => {
  for (const one of started.splice(0)) one.kill("SIGKILL");
});

test("server-everything over stdio: lists, calls, structured answers, progress, arguments validated before sending", async () => {
  const { call, tools } = run(`mcp: {every: {command: ${node}, args: [${everything}, stdio], trusted: true, timeout_ms: 15000}}`);
  expect((await tools.list()).find((one) => one.name === "echo")).toMatchObject({ tool: "every/echo", server: "every", class: "read" });
  expect((await call("every/echo", { message: "hi" })).result).toBe("Echo: hi");
  expect((await call("every/get-structured-content", { location: "New York" })).result).toMatchObject({ temperature: expect.any(Number) });
  expect((await call("every/trigger-long-running-operation", { duration: 0.2, steps: 2 })).result).toContain("completed");
  expect((await call("every/get-tiny-image", {})).result).toMatchObject({ content: expect.any(Array) });
  await expect(call("every/echo", { mesage: "hi" })).rejects.toMatchObject({
    code: "TOOL_ARGUMENTS",
    message: expect.stringContaining("'message'"),
  });
  await expect(call("every/echo", "hi")).rejects.toMatchObject({ code: "TOOL_ARGUMENTS" });
  await expect(call("every/ecko", {})).rejects.toMatchObject({ code: "TOOL_UNKNOWN", message: expect.stringContaining('"every/echo"') });
  await expect(call("echo", {})).rejects.toMatchObject({ code: "TOOL_UNKNOWN", message: expect.stringContaining('"every/echo"') });
  await expect(call("evry/echo", {})).rejects.toMatchObject({ code: "TOOL_UNKNOWN", message: expect.stringContaining('"every"') });
});

test("a server inherits no environment except PATH and HOME, and Python is kept from its caches", async () => {
  process.env["CLEARED_TEST_LEAK"] = "leaked";
  const { call } = run(`mcp: {every: {command: ${node}, args: [${everything}, stdio], env: {GIVEN: "yes"}, trusted: true}}`);
  const env = (await call("every/get-env", {})).result as Record<string, Json>;
  delete process.env["CLEARED_TEST_LEAK"];
  // PWD and _ are the shell's own.
  expect(
    Object.keys(env)
      .filter((name) => !["PWD", "_", "OLDPWD", "SHLVL"].includes(name))
      .sort(),
  ).toEqual(["GIVEN", "HOME", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"]);
});

test("server-filesystem and server-memory write and read back", async () => {
  const dir = folder();
  const { call, tools } = run(`mcp:
  files: {command: ${node}, args: [${join(SERVERS, "server-filesystem/dist/index.js")}, ${dir}], trusted: true,
    tools: {write_file: {verify: {read: read_text_file, key: {path: path}, expect: {content: $content}}}}}
  memory: {command: ${node}, args: [${join(SERVERS, "server-memory/dist/index.js")}], env: {MEMORY_FILE_PATH: ${join(dir, "memory.json")}}, trusted: true}`);
  const path = join(dir, "a.txt");
  const written = await call("files/write_file", { path, content: "hello" });
  expect(written.write?.read).toEqual({ tool: "files/read_text_file", params: { path } });
  expect(readFileSync(path, "utf8")).toBe("hello");
  await expect(call("files/read_text_file", { path: "/etc/passwd" })).rejects.toMatchObject({
    code: "TOOL_FAILED",
    message: expect.stringContaining("Access denied"),
  });
  const entities = [{ name: "ACME", entityType: "vendor", observations: ["net 30"] }];
  expect((await call("memory/create_entities", { entities })).write?.status).toBe("UNVERIFIABLE");
  expect((await call("memory/search_nodes", { query: "ACME" })).result).toMatchObject({ entities });
  expect((await tools.find("read a file as text", 3)).map((one) => one.tool)).toContain("files/read_text_file");
});

test("server-everything over streamable HTTP, through a restart of the server", async () => {
  const port = await freePort();
  const start = async () => {
    const child = spawn(node, [everything, "streamableHttp"], {
      env: { PATH: process.env["PATH"], PORT: String(port) },
      stdio: ["ignore", "ignore", "pipe"],
    });
    started.push(child);
    await new Promise<void>((ready) => child.stderr.on("data", (text) => String(text).includes("listening") && ready()));
    return child;
  };
  const first = await start();
  const { call } = run(
    `mcp: {every: {url: "http://127.0.0.1:${port}/mcp", trusted: true, tools: {toggle-simulated-logging: {class: mutate}}}}`,
  );
  expect((await call("every/echo", { message: "hi" })).result).toBe("Echo: hi");
  expect((await call("every/trigger-long-running-operation", { duration: 0.2, steps: 2 })).result).toContain("completed");
  first.kill("SIGKILL");
  await new Promise((ended) => first.on("exit", ended));
  await expect(call("every/toggle-simulated-logging", {})).rejects.toMatchObject({ code: "TOOL_DOWN" });
  await start();
  expect((await call("every/echo", { message: "again" })).result).toBe("Echo: again");
});

test("a bearer token and an OAuth client of trust.yaml go to their server only", async () => {
  const seen: string[] = [];
  const mcp = (authorized: (header: string) => boolean) =>
    serve((request, response, body) => {
      seen.push(`${request.headers.authorization}`);
      if (!authorized(request.headers.authorization ?? "")) return void response.writeHead(401).end();
      const { id, method, params } = body === "" ? { id: 0, method: "", params: {} } : JSON.parse(body);
      const results: Record<string, object> = {
        initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } },
        "tools/list": { tools: [{ name: "get_x", inputSchema: { type: "object" } }] },
        "tools/call": { content: [{ type: "text", text: JSON.stringify({ told: request.headers.authorization }) }] },
      };
      if (results[method] === undefined) return void response.writeHead(request.method === "GET" ? 405 : 202).end();
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] }));
    });
  const issued: string[] = [];
  const issuer = await serve((request, response, body) => {
    issued.push(`${request.url} ${request.headers.authorization} ${body}`);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ access_token: "token-of-the-issuer", token_type: "Bearer" }));
  });
  const [bearer, oauth] = [
    await mcp((header) => header === "Bearer hunter2hunter2"),
    await mcp((header) => header === "Bearer token-of-the-issuer"),
  ];
  const { call } = run(
    `mcp:
  one: {url: "${bearer}/mcp", headers: {Authorization: "Bearer secret:crm"}, tools: {get_x: {class: read}}}
  two: {url: "${oauth}/mcp", headers: {X-Extra: "secret:crm"}, oauth: {client_id: me, client_secret: "secret:client", token_url: "${issuer}/oauth/token"}, tools: {get_x: {class: read}}}
  bad: {url: "${bearer}/mcp", headers: {Authorization: "Bearer secret:client"}}`,
    { secrets: { crm: "hunter2hunter2", client: "s3cr3ts3cr3t" } },
  );
  expect((await call("one/get_x", {})).result).toEqual({ told: "Bearer [secret:crm]" });
  expect((await call("two/get_x", {})).result).toEqual({ told: "Bearer [secret:two]" });
  expect(seen).toContain("Bearer token-of-the-issuer");
  expect(issued).toEqual([`/oauth/token Basic ${btoa("me:s3cr3ts3cr3t")} grant_type=client_credentials`]);
  await expect(call("bad/get_x", {})).rejects.toMatchObject({ code: "TOOL_DOWN", message: expect.stringContaining("401") });
});

test("the plain endpoint of the seeds: any JSON is an answer, {error} is a failure, the session is the run", async () => {
  const answers: Record<string, string> = {
    get_list: "[1,2]",
    get_text: '"hi"',
    get_nothing: "null",
    get_number: "1.5",
    get_html: "<html>",
  };
  const seen: string[] = [];
  const url = await serve((request, response, body) => {
    seen.push(`${request.method} ${request.url}`);
    if (request.method === "GET") {
      const tools = [...Object.keys(answers), "get_error", "pay_x"].map((name) => ({
        name,
        description: "",
        input_schema: { type: "object", properties: {} },
      }));
      return void response.end(JSON.stringify(tools));
    }
    const { tool, params, session_id } = JSON.parse(body);
    if (tool === "pay_x") return void response.writeHead(500).end('{"error":"broke in the middle"}');
    if (tool === "get_error") return void response.end('{"error":"the invoice is on hold"}');
    return void response.end(answers[tool] ?? JSON.stringify({ params, session_id }));
  });
  const { call, tools } = run(
    `mcp: {old: {plain: "${url}/mcp", tools: {get_list: {class: read}, get_text: {class: read}, get_nothing: {class: read}, get_number: {class: read}, get_error: {class: read}, get_html: {class: read}, pay_x: {class: mutate}}}}`,
  );
  const results = [];
  for (const name of ["get_list", "get_text", "get_nothing", "get_number"]) results.push((await call(`old/${name}`, {})).result);
  expect(results).toEqual([[1, 2], "hi", null, 1.5]);
  await expect(call("old/get_error", {})).rejects.toMatchObject({ code: "TOOL_FAILED", message: "old/get_error: the invoice is on hold" });
  await expect(call("old/get_html", {})).rejects.toMatchObject({ code: "TOOL_ANSWER", message: expect.stringContaining("<html>") });
  await expect(call("old/pay_x", {})).rejects.toMatchObject({ code: "TOOL_LOST" });
  await expect(call("old/gone", {})).rejects.toMatchObject({ code: "TOOL_UNKNOWN" });
  expect(seen.filter((line) => line.startsWith("GET"))).toEqual(["GET /mcp/tools?session_id=run-1"]);
  expect((await tools.list("old")).find((one) => one.name === "pay_x")?.class).toBe("mutate");
});

test("an endpoint given with a run is MCP or plain, as its server `given`, and its claims to be harmless are not trusted", async () => {
  const plain = await serve((request, response, body) => {
    if (request.method === "GET" && request.url?.startsWith("/mcp/tools"))
      return void response.end(
        '{"tools":[{"name":"get_invoice","input_schema":{"type":"object","properties":{"id":{"type":"string","pattern":"(a+)+$"}}}},{"name":"vanish","annotations":{"readOnlyHint":true}}]}',
      );
    if (request.method === "POST" && request.url === "/mcp" && JSON.parse(body).tool)
      return void response.end(`{"id":"${JSON.parse(body).params.id}"}`);
    return void response.writeHead(404).end();
  });
  const { call, tools } = run("addresses: {loopback: true}", { given: plain });
  expect((await tools.list()).map((one) => [one.tool, one.class])).toEqual([
    ["given/get_invoice", "read"],
    ["given/vanish", "mutate"],
  ]);
  expect((await call("given/get_invoice", { id: `${"a".repeat(40)}!` })).result).toEqual({ id: `${"a".repeat(40)}!` });
  const port = await freePort();
  const child = spawn(node, [everything, "streamableHttp"], {
    env: { PATH: process.env["PATH"], PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  started.push(child);
  await new Promise<void>((ready) => child.stderr.on("data", (text) => String(text).includes("listening") && ready()));
  const mcp = run("addresses: {loopback: true}", { given: `http://127.0.0.1:${port}` });
  expect((await mcp.call("given/echo", { message: "hi" })).result).toBe("Echo: hi");
});

test("a server that is down does not hide the others", async () => {
  const { tools, notes } = run(`mcp:
  down: {command: /nonexistent/tool-server}
  every: {command: ${node}, args: [${everything}, stdio]}`);
  expect((await tools.list()).every((one) => one.server === "every")).toBe(true);
  expect(notes).toEqual([expect.stringContaining("down:")]);
  await expect(tools.list("down")).rejects.toMatchObject({ code: "TOOL_DOWN", message: expect.stringContaining("not found") });
});

test("at most `concurrency` calls are in progress, and each is answered", async () => {
  const slow = hostile("slow", ", concurrency: 2");
  const { call } = run(slow.trust, slow);
  const all = await Promise.all(Array.from({ length: 9 }, () => call("bad/get_invoice", {})));
  expect(all.map((one) => one.result)).toEqual(Array.from({ length: 9 }, () => "done"));
  expect(new Set(slow.reached().map((line) => line.split(" ")[1])).size).toBe(1);
});

test("a write carries the run's key where trust.yaml names the parameter, and the script's own key stays", async () => {
  const bad = hostile("good", ", tools: {pay_invoice: {idempotency_key: request_id}}");
  const { call } = run(bad.trust, bad);
  expect((await call("bad/pay_invoice", { id: 1 })).result).toEqual({ ok: true, args: { id: 1, request_id: "run-1/7" } });
  expect((await call("bad/pay_invoice", { request_id: "mine" })).result).toEqual({ ok: true, args: { request_id: "mine" } });
});

test("a server ends with its owner, even if it ignores its closed stdin or SIGTERM, or the owner was killed", async () => {
  const bad = hostile("stubborn");
  const { call, close } = run(bad.trust, bad);
  await call("bad/get_invoice", {});
  await close();
  const pid = () => Number(bad.reached().at(-1)?.split(" ")[1]);
  await gone(pid());
  const owner = spawn(
    node,
    [
      "--input-type=module",
      "-e",
      `
    import { createTools } from ${JSON.stringify(join(import.meta.dirname, "../../runtime/outside/mcp/tools.ts"))};
    import { parseTrust } from ${JSON.stringify(join(import.meta.dirname, "../../runtime/workspace/settings/config.ts"))};
    const pool = createTools({ trust: parseTrust(${JSON.stringify(bad.trust)}), dir: ".", secrets: async () => () => "" });
    await pool.forRun({ run: "r" }).call({ tool: "bad/get_invoice", params: {} }, { key: "", now: 0, abort: new AbortController().signal });
    console.log("called");`,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  started.push(owner);
  await new Promise((called) => owner.stdout.on("data", called));
  owner.kill("SIGKILL");
  await gone(pid());
});

async function gone(pid: number): Promise<void> {
  expect(pid).toBeGreaterThan(0);
  while (isAlive(pid)) await new Promise((later) => setTimeout(later, 50));
}

function isAlive(pid: number): boolean {
  if (existsSync("/proc/self/stat")) {
    // A zombie is dead; whoever should reap it may take its time.
    try {
      return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.[0] !== "Z";
    } catch {
      return false;
    }
  }
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((listening) => probe.listen(0, "127.0.0.1", listening));
  const { port } = probe.address() as AddressInfo;
  await new Promise((closed) => probe.close(closed));
  return port;
}
