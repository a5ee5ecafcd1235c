/** The doors from outside, byte by byte: the page's port and the owner's socket. Whatever comes in, they answer or close, and go on. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type Socket, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serveSocket, socketPath } from "../../runtime/app/socket.ts";
import { createShell, formOf, listen } from "../../runtime/outside/http.ts";

const dir = mkdtempSync(join(tmpdir(), "cleared-doors-"));
const { app, token } = createShell((context, error, status) => context.json(error, status as 400));
const acted: string[] = [];
app.get("/", (context) => context.text("page"));
app.post("/act", async (context) => {
  acted.push((await formOf(context))["what"] ?? "");
  return context.text("acted");
});
let site: Awaited<ReturnType<typeof listen>>;
let socket: Awaited<ReturnType<typeof serveSocket>>;
const asked: unknown[] = [];
const api: Record<string, (params: unknown) => unknown> = { echo: (params) => params };
beforeAll(async () => {
  site = await listen(app, 0);
  socket = await serveSocket(dir, async (method, params) => {
    asked.push(method);
    if (!Object.hasOwn(api, method)) throw new Error("unknown");
    return api[method]?.(params);
  });
});
afterAll(async () => {
  await Promise.all([site.close(), socket.close()]);
  rmSync(dir, { recursive: true, force: true });
});

/** Sends bytes; answers what came back until the other side closed, or had answered so many lines. */
function talk(to: { port: number } | { path: string }, bytes: string | Buffer, lines = Number.POSITIVE_INFINITY): Promise<string> {
  return new Promise((resolve) => {
    let said = "";
    const open: Socket = connect(to as { port: number; host?: string });
    const end = () => {
      open.destroy();
      resolve(said);
    };
    open.setTimeout(60_000, end);
    open.on("data", (chunk) => {
      said += chunk.toString("latin1");
      if (said.split("\n").length > lines) end();
    });
    open.on("error", end);
    open.on("close", end);
    open.write(bytes);
  });
}
const http = (head: string, body = "") => talk({ port: site.port }, `${head}\r\nConnection: close\r\n\r\n${body}`);
const host = () => `Host: 127.0.0.1:${site.port}`;
const form = () => `what=x&token=${token}`;
const post = (headers: string, body = form()) =>
  http(`POST /act HTTP/1.1\r\n${headers}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}`, body);

describe("the page", () => {
  test("acts for its own form", async () => {
    expect(await post(`${host()}\r\nOrigin: http://127.0.0.1:${site.port}`)).toContain("acted");
    expect(acted.splice(0)).toEqual(["x"]);
  });

  const refused: [string, () => Promise<string>][] = [
    ["a name that resolves to this machine", () => http("GET / HTTP/1.1\r\nHost: books.example.com")],
    ["a name that begins like this machine", () => http("GET / HTTP/1.1\r\nHost: 127.0.0.1.example.com")],
    ["a name that ends like this machine", () => http("GET / HTTP/1.1\r\nHost: example.com:80@localhost")],
    ["another name in the request line", () => http("GET http://books.example.com/ HTTP/1.1\r\nHost: books.example.com")],
    ["no name at all", () => http("GET / HTTP/1.0")],
    ["two names", () => http(`GET / HTTP/1.1\r\nHost: evil.example\r\n${host()}`)],
    ["a form of another port of this machine", () => post(`${host()}\r\nOrigin: http://127.0.0.1:1`)],
    ["a form of no origin", () => post(host())],
    ["a form of a hidden origin", () => post(`${host()}\r\nOrigin: null`)],
    ["a form of another spelling of this machine", () => post(`${host()}\r\nOrigin: http://localhost:${site.port}`)],
    ["a form with an empty token", () => post(`${host()}\r\nOrigin: http://127.0.0.1:${site.port}`, "what=x&token=")],
    ["a form with the token twice", () => post(`${host()}\r\nOrigin: http://127.0.0.1:${site.port}`, `token=y&${form()}`)],
    [
      "a read that says it is an act",
      () => http(`GET /act?${form()} HTTP/1.1\r\n${host()}\r\nX-HTTP-Method-Override: POST\r\nOrigin: http://127.0.0.1:${site.port}`),
    ],
    ["another method", () => http(`PUT /act HTTP/1.1\r\n${host()}\r\nOrigin: http://127.0.0.1:${site.port}`)],
    [
      "a body in another form",
      () =>
        http(
          `POST /act HTTP/1.1\r\n${host()}\r\nOrigin: http://127.0.0.1:${site.port}\r\nContent-Type: text/plain\r\nContent-Length: ${form().length}`,
          form(),
        ),
    ],
    ["a body over the limit", () => post(`${host()}\r\nOrigin: http://127.0.0.1:${site.port}`, `${form()}&pad=${"x".repeat(70_000)}`)],
    [
      "a body in pieces over the limit",
      () =>
        http(
          `POST /act HTTP/1.1\r\n${host()}\r\nOrigin: http://127.0.0.1:${site.port}\r\nContent-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked`,
          `11170\r\n${form()}&pad=${"x".repeat(70_000)}`,
        ),
    ],
    ["two lengths", () => http(`POST /act HTTP/1.1\r\n${host()}\r\nContent-Length: 3\r\nTransfer-Encoding: chunked`, "0\r\n\r\n")],
    ["headers without end", () => http(`GET / HTTP/1.1\r\n${host()}\r\nX: ${"x".repeat(100_000)}`)],
    ["what is not HTTP", () => talk({ port: site.port }, Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 0]))],
    ["an upgrade", () => http(`GET /act HTTP/1.1\r\n${host()}\r\nUpgrade: websocket`)],
    ["a tunnel", () => http(`CONNECT example.com:443 HTTP/1.1\r\n${host()}`)],
    ["a path out of the page", () => http(`GET /../../etc/passwd HTTP/1.1\r\n${host()}`)],
    ["a path with a zero", () => http(`GET /%00/..%2f..%2fetc/passwd HTTP/1.1\r\n${host()}`)],
    ["a path that cannot be decoded", () => http(`GET /%ff%fe%zz HTTP/1.1\r\n${host()}`)],
  ];
  for (const [what, ask] of refused) {
    test(`refuses ${what}, and goes on`, async () => {
      const said = await ask();
      expect(said).not.toMatch(/^HTTP\/1\.1 (?:2|3|500)/);
      expect(said).not.toMatch(/node_modules|node:internal|\/work\/|\/tmp\//);
      expect(acted).toEqual([]);
      expect(await http(`GET / HTTP/1.1\r\n${host()}`)).toContain("page");
    });
  }

  test("many silent connections do not block people for long", async () => {
    const idle = Array.from({ length: 300 }, () => connect({ port: site.port, host: "127.0.0.1" }).on("error", () => undefined));
    await new Promise((resolve) => setTimeout(resolve, 300));
    let answered = "";
    for (let i = 0; i < 40 && !answered.includes("page"); i++) {
      answered = await http(`GET / HTTP/1.1\r\n${host()}`);
      if (!answered.includes("page")) await new Promise((resolve) => setTimeout(resolve, 250));
    }
    for (const one of idle) one.destroy();
    expect(answered).toContain("page");
  });
});

describe("the owner's socket", () => {
  const say = (lines: string) => talk({ path: socketPath(dir) }, lines, lines.split("\n").length - 1);
  test("answers a whole line", async () => {
    expect(JSON.parse(await say('{"id":1,"method":"echo","params":{"a":1}}\n'))).toEqual({ id: 1, result: { a: 1 } });
  });
  for (const line of [
    "garbage",
    "null",
    "[]",
    "{}",
    '{"id":1,"method":"constructor"}',
    '{"id":1,"method":"__proto__","params":1}',
    '{"id":1,"method":["echo"]}',
    "\0\xff",
  ]) {
    test(`answers ${JSON.stringify(line)} with an error and goes on`, async () => {
      const said = (await say(`${line}\n{"id":2,"method":"echo","params":5}\n`))
        .trim()
        .split("\n")
        .map((one) => JSON.parse(one));
      expect(said.find((one) => one.id === 2)).toEqual({ id: 2, result: 5 });
      expect(said.find((one) => one.id !== 2)?.error ?? said.find((one) => one.id !== 2)).toBeDefined();
    });
  }
  test("a deeply nested document is answered without dying", async () => {
    const said = await say(`{"id":1,"method":"echo","params":${"[".repeat(200_000)}${"]".repeat(200_000)}}\n`);
    expect(said.length).toBeGreaterThan(0);
    expect(JSON.parse(await say('{"id":1,"method":"echo","params":1}\n'))).toEqual({ id: 1, result: 1 });
  });
  test("a line without end is cut off before it fills the process", async () => {
    const before = process.memoryUsage().rss;
    let closed = false;
    const open = connect(socketPath(dir));
    open.on("error", () => undefined).on("close", () => (closed = true));
    const over = new Promise((resolve) => open.on("close", resolve));
    const piece = Buffer.alloc(1 << 20, "x");
    for (let i = 0; i < 200 && !closed; i++) if (!open.write(piece)) await Promise.race([once(open, "drain").catch(() => over), over]);
    expect(closed).toBe(true);
    expect(process.memoryUsage().rss - before).toBeLessThan(600e6);
    expect(JSON.parse(await say('{"id":1,"method":"echo","params":1}\n'))).toEqual({ id: 1, result: 1 });
  });
});
