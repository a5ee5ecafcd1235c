/** The demo business over stdio, streamable HTTP and the plain endpoint: one database, the same answers, and a clean end. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Tool as ListedTool } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, test } from "vitest";
import type { Json } from "../../runtime/kernel/ports.ts";
import { freshDb, overHttp, overStdio, SERVER, start } from "./harness.ts";

const APPROVED = { invoice_id: "INV-2024-449", status: "approved" };

describe("MCP", () => {
  for (const [name, connect] of Object.entries({ stdio: overStdio, http: overHttp })) {
    test(`${name}: lists its tools in pages, with what each may do`, async () => {
      const { client } = await connect();
      const tools: ListedTool[] = [];
      let cursor: string | undefined;
      let pages = 0;
      do {
        const page = await client.listTools(cursor === undefined ? {} : { cursor });
        tools.push(...page.tools);
        cursor = page.nextCursor;
        pages++;
      } while (cursor !== undefined);
      expect(pages).toBeGreaterThan(1);
      expect(new Set(tools.map((tool) => tool.name)).size).toBe(tools.length);
      expect(tools.some((tool) => tool.name === "set_mode")).toBe(false);
      const hints = (tool: string): unknown => tools.find((each) => each.name === tool)?.annotations;
      expect(hints("get_approval_chain")).toMatchObject({ readOnlyHint: true, destructiveHint: false });
      expect(hints("approve_expense_report")).toMatchObject({ readOnlyHint: false, destructiveHint: true });
      expect(hints("check_out_equipment")).toMatchObject({ readOnlyHint: false, destructiveHint: true });
      expect(hints("create_ticket")).toMatchObject({ readOnlyHint: false, destructiveHint: false });
    });

    test(`${name}: a write is there for the next reader, and after a restart`, async () => {
      const db = freshDb();
      const first = await connect({ db });
      expect(await first.ok("approve_invoice", { invoice_id: "INV-2024-449" })).toMatchObject(APPROVED);
      const second = await connect({ db });
      expect(await second.ok("get_invoice", { invoice_id: "INV-2024-449" })).toMatchObject(APPROVED);
    });

    test(`${name}: what it refuses is an error with its reason, and changes nothing`, async () => {
      const { call, ok } = await connect();
      expect(await call("approve_invoice", { invoice_id: "INV-0" })).toEqual({ error: true, result: "supplier invoice INV-0 not found" });
      expect((await call("approve_invoice", { id: "INV-2024-449" })).result).toContain("invoice_id");
      expect((await call("pay_invoice", { invoice_id: "INV-2024-449", amount: 11880 })).error).toBe(true);
      expect((await call("pay_invoice", { invoice_id: "INV-2024-449", amount: "11880.00" })).result).toContain("not approved");
      expect((await call("no_such_tool")).result).toBe("tool no_such_tool not found");
      expect(await ok("get_invoice", { invoice_id: "INV-0" })).toEqual({ found: false, invoice_id: "INV-0" });
      expect(await ok("list_changes")).toEqual([]);
    });
  }

  test("two servers on one new file are one business", async () => {
    const db = freshDb();
    const [a, b] = await Promise.all([overStdio({ db }), overStdio({ db })]);
    await Promise.all([a.ok("apply_credit", credit("k1")), b.ok("apply_credit", credit("k1")), a.ok("apply_credit", credit("k2"))]);
    expect(await b.ok("list_changes")).toHaveLength(2);
  });
});

const credit = (idempotency_key: string): Record<string, Json> => ({
  contract_id: "CTR-441",
  period: "2024-09",
  amount: "1260.00",
  reason: "uptime 99.1 %",
  idempotency_key,
});

describe("plain endpoint", () => {
  test("lists tools as an array and returns bare JSON of any type", async () => {
    const { url } = await start(["--plain", "0"]);
    const tools = (await (await fetch(`${url}/tools?session_id=s1`)).json()) as { name: string; input_schema: { type: string } }[];
    expect(tools.find((tool) => tool.name === "get_invoice")).toMatchObject({ input_schema: { type: "object", required: ["invoice_id"] } });
    const post = async (body: unknown): Promise<{ status: number; body: Json }> => {
      const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
      return { status: response.status, body: (await response.json()) as Json };
    };
    const call = (tool: string, params: object) => post({ tool, params, session_id: "s1" });
    expect((await call("get_invoice", { invoice_id: "INV-2024-449" })).body).toMatchObject({ amount: "11880.00" });
    expect((await call("list_plans_of_nobody", {})).body).toEqual({ error: "tool list_plans_of_nobody not found" });
    expect((await call("get_business_date", {})).body).toBe("2024-11-08");
    expect((await call("list_departments", {})).body).toHaveLength(4);
    expect((await call("approve_invoice", { invoice_id: "INV-2024-449" })).body).toMatchObject(APPROVED);
    expect((await call("get_invoice", { invoice_id: "INV-2024-449" })).body).toMatchObject(APPROVED);
    expect(await post({ jsonrpc: "2.0", id: 1, method: "tools/list" })).toMatchObject({ status: 400 });
  });

  test("answers only callers that address this machine", async () => {
    const { url } = await start(["--plain", "0"]);
    const { request } = await import("node:http");
    const asked = request(`${url}/tools`, { headers: { host: "evil.example" } });
    asked.end();
    const [response] = await once(asked, "response");
    response.resume();
    expect(response.statusCode).toBe(403);
  });
});

describe("the end", () => {
  test("stdio: closing stdin ends the server", async () => {
    const child = spawn(process.execPath, [SERVER, "--db", freshDb()], { stdio: ["pipe", "ignore", "inherit"] });
    child.stdin.end();
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  test("http: SIGTERM ends the server", async () => {
    const { child } = await start(["--http", "0", "--plain", "0"]);
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
  });

  test("without a database it says how to start it", async () => {
    const child = spawn(process.execPath, [SERVER], { stdio: ["ignore", "ignore", "pipe"] });
    const said: Buffer[] = [];
    child.stderr.on("data", (part: Buffer) => said.push(part));
    expect(await once(child, "close")).toEqual([64, null]);
    expect(Buffer.concat(said).toString()).toContain("--db FILE");
  });
});
