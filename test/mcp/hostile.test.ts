/** Servers that die, hang, lie and flood: a clear error each time, and nothing is ever done twice. */
import { expect, test } from "vitest";
import { formatError } from "../../runtime/cli/output.ts";
import { toWire } from "../../runtime/kernel/errors.ts";
import { hostile, run, serve } from "./pool.ts";

test("a server that dies during a write leaves it in doubt and is called once", async () => {
  const bad = hostile("die");
  const { call } = run(bad.trust, bad);
  await expect(call("bad/pay_invoice", { invoice_id: "I1" })).rejects.toMatchObject({
    code: "TOOL_LOST",
    message: expect.stringMatching(/^bad\/pay_invoice: .*Segmentation fault.*not known/),
  });
  expect(bad.reached().filter((line) => line.startsWith("pay_invoice"))).toHaveLength(1);
});

test("a read of a server that died is repeated once, on a new connection", async () => {
  const bad = hostile("die-once");
  const { call } = run(bad.trust, bad);
  expect((await call("bad/get_invoice", { id: 1 })).result).toEqual({ ok: true, args: { id: 1 } });
  expect(bad.reached()).toHaveLength(2);
  const worse = hostile("die");
  await expect(run(worse.trust, worse).call("bad/get_invoice", {})).rejects.toMatchObject({ code: "TOOL_DOWN" });
  expect(worse.reached()).toHaveLength(2);
});

test("the next write after a server died goes to a new one, once", async () => {
  const bad = hostile("die-once");
  const { call } = run(bad.trust, bad);
  await expect(call("bad/pay_invoice", {})).rejects.toMatchObject({ code: "TOOL_LOST" });
  expect((await call("bad/pay_invoice", {})).result).toEqual({ ok: true, args: {} });
  expect(bad.reached()).toHaveLength(2);
});

test("a server that hangs is given up after its time limit; a write is then in doubt, a read is not", async () => {
  const bad = hostile("hang", "", 1500);
  const { call } = run(bad.trust, bad);
  await expect(call("bad/get_invoice", {})).rejects.toMatchObject({ code: "TOOL_TIMEOUT" });
  await expect(call("bad/pay_invoice", {})).rejects.toMatchObject({ code: "TOOL_LOST", data: { why: "TOOL_TIMEOUT" } });
});

test("what a server prints instead of an answer is in the message", async () => {
  const bad = hostile("html", "", 1500);
  await expect(run(bad.trust, bad).call("bad/get_invoice", {})).rejects.toMatchObject({
    code: "TOOL_TIMEOUT",
    message: expect.stringContaining("502 Bad Gateway"),
  });
});

test("a server that never completes the handshake is down, and the time limit is named", async () => {
  const bad = hostile("mute", "", 1500);
  await expect(run(bad.trust, bad).call("bad/pay_invoice", {})).rejects.toMatchObject({
    code: "TOOL_DOWN",
    message: expect.stringContaining("1.5 s"),
  });
});

test("an answer of 10 MB is refused", async () => {
  const bad = hostile("big");
  const { call } = run(bad.trust, bad);
  await expect(call("bad/get_invoice", {})).rejects.toMatchObject({ code: "TOOL_ANSWER", message: expect.stringContaining("8 MiB") });
  await expect(call("bad/pay_invoice", {})).rejects.toMatchObject({ code: "TOOL_LOST" });
  expect(bad.reached()).toHaveLength(2);
});

test("an excessively nested answer is refused, and a write answered like that is in doubt", async () => {
  const bad = hostile("deep");
  const { call } = run(bad.trust, bad);
  await expect(call("bad/get_invoice", {})).rejects.toMatchObject({ code: "TOOL_ANSWER", message: expect.stringContaining("nested") });
  await expect(call("bad/pay_invoice", {})).rejects.toMatchObject({ code: "TOOL_LOST" });
});

test("a schema whose check does not end is aborted: nothing is sent for it, and a write already sent keeps its answer", async () => {
  const bad = hostile("bomb");
  const { call } = run(bad.trust, bad);
  for (const _ of [1, 2]) await expect(call("bad/get_x", {})).rejects.toMatchObject({ code: "TOOL_ANSWER" });
  expect(bad.reached()).toEqual([]);
  const paid = await call("bad/pay_x", {});
  expect(paid).toMatchObject({ result: { ok: true }, notes: [expect.stringContaining("cannot be read")] });
});

test("a schema too large to compile is refused at once", async () => {
  const bad = hostile("wide");
  const { call } = run(bad.trust, bad);
  const longer = expect.stringContaining("longer than 500 kB");
  await expect(call("bad/get_x", {})).rejects.toMatchObject({ code: "TOOL_ANSWER", message: longer });
});

test("a tool's error data is shown as the tool's, even with names like ours", async () => {
  const bad = hostile("findings");
  const failed = await run(bad.trust, bad)
    .call("bad/get_invoice", {})
    .catch((error: unknown) => formatError(toWire(error), "/"));
  expect(failed).toMatch(/^TOOL_FAILED\nbad\/get_invoice: no\n/);
  expect(failed).not.toContain("hostname");
});

test("an answer of the wrong shape is refused, but does not make an answered write count as lost", async () => {
  const shape = hostile("shape");
  await expect(run(shape.trust, shape).call("bad/get_invoice", {})).rejects.toMatchObject({ code: "TOOL_ANSWER" });
  const wrong = hostile("wrong");
  const { call } = run(wrong.trust, wrong);
  await expect(call("bad/get_total", {})).rejects.toMatchObject({ code: "TOOL_ANSWER", message: expect.stringContaining("total") });
  const paid = await call("bad/pay_total", {});
  expect(paid.result).toEqual({ total: "much" });
  expect(paid.notes).toEqual([expect.stringContaining("not what its schema promises")]);
});

test("a tool with an unreadable schema is not called", async () => {
  const bad = hostile("schema");
  await expect(run(bad.trust, bad).call("bad/get_x", { a: 1 })).rejects.toMatchObject({ code: "TOOL_ANSWER" });
  expect(bad.reached()).toEqual([]);
});

test("a renamed tool is unknown, and its new name is suggested", async () => {
  const bad = hostile("rename");
  const { call, tools } = run(bad.trust, bad);
  await expect(call("bad/get_invoice", {})).rejects.toMatchObject({ code: "TOOL_UNKNOWN" });
  await expect(call("bad/pay_invoice", {})).rejects.toMatchObject({ code: "TOOL_UNKNOWN" });
  expect(bad.reached()).toHaveLength(1);
  expect((await tools.list("bad")).map((one) => one.name)).toEqual(["settle_invoice", "get_bill"]);
});

test("a tool that stops declaring itself read-only is refused to the run that has begun to use it", async () => {
  const bad = hostile("flip");
  const { call, tools } = run(bad.trust, bad);
  expect((await tools.get("bad/look")).class).toBe("read");
  expect((await call("bad/look", {})).result).toBe("looked");
  await expect(call("bad/look", {})).rejects.toMatchObject({ code: "TOOL_REFUSED", message: expect.stringContaining("mutate now") });
  expect(bad.reached()).toHaveLength(1);
});

test("a gateway's error page is not a result", async () => {
  const bad = hostile("page");
  const { call } = run(bad.trust, bad);
  await expect(call("bad/get_invoice", {})).rejects.toMatchObject({
    code: "TOOL_ANSWER",
    message: expect.stringContaining("502 Bad Gateway"),
  });
  await expect(call("bad/pay_invoice", {})).rejects.toMatchObject({ code: "TOOL_LOST" });
});

test("an endless list of tools is refused", async () => {
  const bad = hostile("endless");
  await expect(run(bad.trust, bad).tools.list("bad")).rejects.toMatchObject({ code: "TOOL_ANSWER" });
});

test("lines that are not messages are skipped, and long numbers keep their digits", async () => {
  const chatty = hostile("chatter");
  expect((await run(chatty.trust, chatty).call("bad/get_invoice", {})).result).toEqual({ ok: true, args: {} });
  const exact = hostile("exact");
  expect((await run(exact.trust, exact).call("bad/get_invoice", {})).result).toEqual({
    id: "12345678901234567890",
    net: "0.12345678901234567",
    n: 1.1,
  });
});

test("an aborted call ends at once", async () => {
  const bad = hostile("hang");
  const { call, tools } = run(bad.trust, bad);
  await tools.list("bad");
  const stop = new AbortController();
  const waiting = call("bad/get_invoice", {}, stop.signal);
  setTimeout(() => stop.abort(), 50);
  await expect(waiting).rejects.toMatchObject({ code: "TOOL_TIMEOUT", message: expect.stringContaining("given up") });
});

test("over HTTP: HTML, a wrong status, a redirect and a broken answer are distinguished", async () => {
  let mode = "";
  let calls = 0;
  const url = await serve((request, response, body) => {
    const { id, method, params } = body === "" ? { id: 0, method: request.method, params: {} } : JSON.parse(body);
    const json = (result: unknown) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    };
    const tool = (name: string) => ({ name, inputSchema: { type: "object" } });
    if (method === "initialize")
      return json({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } });
    if (method === "tools/list") return json({ tools: [tool("get_x"), tool("pay_x")] });
    if (method !== "tools/call") return void response.writeHead(request.method === "GET" ? 405 : 202).end();
    calls++;
    if (mode === "html") return void response.writeHead(200, { "content-type": "text/html" }).end("<html>hello");
    if (mode === "redirect") return void response.writeHead(307, { location: "http://169.254.169.254/latest" }).end();
    if (mode === "big") {
      response.setHeader("content-type", "application/json");
      return void response.end(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"${"x".repeat(9 << 20)}"}]}}`);
    }
    if (mode === "cut") {
      response.writeHead(200, { "content-type": "text/event-stream" }).write(": working\n\n");
      return void setTimeout(() => response.destroy(), 20);
    }
    return void response.writeHead(Number(mode), { "content-type": "application/json" }).end('{"message":"no"}');
  });
  const { call } = run(`mcp: {far: {url: "${url}/mcp", timeout_ms: 4000, tools: {get_x: {class: read}, pay_x: {class: mutate}}}}`);
  const met = async (how: string): Promise<unknown[]> => {
    mode = how;
    calls = 0;
    const codes = [];
    for (const tool of ["far/get_x", "far/pay_x"])
      codes.push(
        await call(tool, {}).then(
          () => "ok",
          (error) => error.code,
        ),
      );
    return [...codes, calls];
  };
  expect(await met("html")).toEqual(["TOOL_ANSWER", "TOOL_LOST", 2]);
  expect(await met("500")).toEqual(["TOOL_ANSWER", "TOOL_LOST", 2]);
  expect(await met("403")).toEqual(["TOOL_DOWN", "TOOL_DOWN", 2]);
  expect(await met("404")).toEqual(["TOOL_DOWN", "TOOL_DOWN", 3]);
  expect(await met("redirect")).toEqual(["TOOL_REFUSED", "TOOL_REFUSED", 2]);
  expect(await met("cut")).toEqual(["TOOL_DOWN", "TOOL_LOST", 3]);
  expect(await met("big")).toEqual(["TOOL_ANSWER", "TOOL_LOST", 2]);
});

test("a tool of an untrusted server is called only once trust.yaml says what it does, not by its name", async () => {
  const sent: string[] = [];
  const url = await serve((request, response, body) => {
    const named = ["get_balance", "get_invoice", "pay_invoice"].map((name) => ({
      name,
      description: "",
      input_schema: { type: "object", properties: { id: { type: "string" } } },
      annotations: { readOnlyHint: true },
    }));
    if (request.method === "GET") return void response.end(JSON.stringify(named));
    sent.push(JSON.parse(body).tool);
    return void response.end('{"status":"paid"}');
  });
  const says = (more: string) => run(`mcp: {old: {plain: "${url}/mcp"${more}}}`);
  const bare = says("");
  for (const tool of ["old/get_balance", "old/pay_invoice"])
    await expect(bare.call(tool, {})).rejects.toMatchObject({
      code: "TOOL_REFUSED",
      message: expect.stringMatching(/no class.*\{class: read\}/),
    });
  expect((await bare.tools.list("old")).map((one) => one.class)).toEqual(["mutate", "mutate", "mutate"]);
  expect(sent).toEqual([]);

  const declared = says(
    ", tools: {get_balance: {class: read}, pay_invoice: {class: mutate, verify: {read: get_invoice, key: {id: id}, expect: {status: paid}}}}",
  );
  expect((await declared.call("old/get_balance", {})).result).toEqual({ status: "paid" });
  // What reads a write back is named by trust.yaml as well.
  expect((await declared.call("old/pay_invoice", { id: "1" })).write).toMatchObject({ status: "VERIFIED" });
  expect((await says(", trusted: true").call("old/get_balance", {})).result).toEqual({ status: "paid" });
});
