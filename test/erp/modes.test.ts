/** How the demo business misbehaves on request, and that a key makes a repeated write one write. */
import { describe, expect, test } from "vitest";
import type { Json } from "../../runtime/kernel/ports.ts";
import { freshDb, overHttp, overStdio, start } from "./harness.ts";

const CREDIT = { contract_id: "CTR-441", period: "2024-09", amount: "1260.00", reason: "uptime 99.1 %" };

describe("idempotency", () => {
  test("the same key twice acts once and returns the same", async () => {
    const { ok } = await overStdio();
    const once = await ok("apply_credit", { ...CREDIT, idempotency_key: "run_1/4" });
    expect(await ok("apply_credit", { ...CREDIT, idempotency_key: "run_1/4" })).toEqual(once);
    expect(await ok("list_changes", { tool: "apply_credit" })).toHaveLength(1);
  });

  test("without a key, or with another one, twice is twice", async () => {
    const { ok } = await overStdio();
    await ok("apply_credit", CREDIT);
    await ok("apply_credit", CREDIT);
    await ok("apply_credit", { ...CREDIT, idempotency_key: "a" });
    expect(await ok("list_changes", { tool: "apply_credit" })).toHaveLength(3);
  });

  test("a key is refused for another call", async () => {
    const { ok, call } = await overStdio();
    await ok("apply_credit", { ...CREDIT, idempotency_key: "a" });
    expect(await call("apply_credit", { ...CREDIT, amount: "9.00", idempotency_key: "a" })).toEqual({
      error: true,
      result: "idempotency key a was used for another call",
    });
  });

  test("a write that fails midway leaves nothing, and its key is free", async () => {
    const { ok, call } = await overStdio();
    const shipped = { order_id: "ORD-0", carrier: "Umbrella Freight", ship_on: "2024-11-11", idempotency_key: "s" };
    expect((await call("create_shipment", shipped)).error).toBe(true);
    expect(await ok("get_shipment", { order_id: "ORD-0" })).toMatchObject({ found: false });
    expect(await ok("create_shipment", { ...shipped, order_id: "ORD-5592" })).toMatchObject({ order_id: "ORD-5592" });
  });
});

describe("modes", () => {
  test("drifted: a column is unknown until its new name is used", async () => {
    const { call, ok } = await overStdio({ mode: "drifted" });
    const query = (columns: string[], where: Record<string, Json>) => call("query_records", { table: "invoices", columns, where });
    expect(await query(["amount"], {})).toEqual({ error: true, result: "column amount not found in invoices" });
    expect(await query(["total_amount"], { status: "received" })).toEqual({ error: true, result: "column status not found in invoices" });
    expect((await ok("describe_table", { table: "invoices" }))["columns"]).toContain("total_amount");
    expect((await query(["total_amount"], { invoice_id: "INV-2024-447", state: "received" })).result).toEqual({
      records: [{ total_amount: "52340.00" }],
    });
  });

  test("not drifted: the columns have their own names, and nothing else is requested of the database", async () => {
    const { call, ok } = await overStdio();
    const records = (table: string, where: Record<string, Json>) => call("query_records", { table, where });
    expect(await ok("query_records", { table: "invoices", columns: ["amount"], where: { invoice_id: "INV-2024-447" } })).toEqual({
      records: [{ amount: "52340.00" }],
    });
    expect((await records("invoices", { "1=1 or status": "x" })).error).toBe(true);
    expect((await records("change_log", {})).result).toBe("table change_log not found");
    expect((await records("__proto__", {})).error).toBe(true);
  });

  test("failing: every n-th call is an error over stdio and a 500 over HTTP, and does nothing", async () => {
    const { call, ok } = await overStdio({ mode: "failing=2" });
    await ok("apply_credit", CREDIT);
    expect(await call("apply_credit", CREDIT)).toEqual({ error: true, result: "service unavailable, try again" });
    expect(await ok("list_changes")).toHaveLength(1);
    const http = await overHttp({ mode: "failing=2" });
    await http.ok("get_business_date");
    await expect(http.call("get_business_date")).rejects.toMatchObject({ code: 500 });
    await http.ok("get_business_date");
  });

  test("lying: a write answers as if it had happened, and has not", async () => {
    const { ok } = await overStdio({ mode: "lying" });
    expect(await ok("approve_invoice", { invoice_id: "INV-2024-449", idempotency_key: "a" })).toMatchObject({ status: "approved" });
    expect(await ok("get_invoice", { invoice_id: "INV-2024-449" })).toMatchObject({ status: "received" });
    await ok("set_mode", { mode: "" });
    expect(await ok("approve_invoice", { invoice_id: "INV-2024-449", idempotency_key: "a" })).toMatchObject({ status: "approved" });
    expect(await ok("get_invoice", { invoice_id: "INV-2024-449" })).toMatchObject({ status: "approved" });
  });

  for (const [name, connect] of Object.entries({ stdio: overStdio, http: overHttp })) {
    test(`dying over ${name}: the write is there, the answer never comes, its key finds it`, async () => {
      const db = freshDb();
      const dying = await connect({ db, mode: "dying" });
      await dying.ok("get_contract", { contract_id: "CTR-441" });
      await expect(dying.call("apply_credit", { ...CREDIT, idempotency_key: "a" })).rejects.toThrow();
      const next = await connect({ db, mode: "dying" });
      expect(await next.ok("get_credit", { contract_id: "CTR-441", period: "2024-09" })).toMatchObject({ amount: "1260.00" });
      expect(await next.ok("apply_credit", { ...CREDIT, idempotency_key: "a" })).toMatchObject({ amount: "1260.00" });
      expect(await next.ok("list_changes")).toHaveLength(1);
    });
  }

  test("slow: the work is done although the caller has given up", async () => {
    const db = freshDb();
    const slow = await overStdio({ db, mode: "slow=60000" });
    const other = await overStdio({ db });
    const patience = new AbortController();
    const given = slow.client.callTool({ name: "apply_credit", arguments: CREDIT }, undefined, { signal: patience.signal });
    const outcome = expect(given).rejects.toThrow("enough");
    await expect.poll(() => other.ok("list_changes")).toHaveLength(1);
    patience.abort("enough");
    await outcome;
  });

  test("html: calls return a page, over stdio as text", async () => {
    const stdio = await overStdio({ mode: "html" });
    expect((await stdio.call("get_business_date")).result).toContain("<!doctype html>");
    const http = await overHttp({ mode: "html" });
    await expect(http.call("get_business_date")).rejects.toThrow("content type");
    const { url } = await start(["--plain", "0"], { mode: "html" });
    const page = await fetch(url, { method: "POST", body: JSON.stringify({ tool: "get_business_date", params: {} }) });
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html"]);
  });

  test("an unknown mode is refused", async () => {
    const { call } = await overStdio();
    expect((await call("set_mode", { mode: "quick" })).result).toContain("no mode quick");
  });
});

describe("pages", () => {
  const all = async (step: (at: Record<string, Json>) => Promise<[Json[], Record<string, Json> | null]>): Promise<Json[]> => {
    const rows: Json[] = [];
    let at: Record<string, Json> | null = {};
    while (at !== null) {
      const [page, next]: [Json[], Record<string, Json> | null] = await step(at);
      rows.push(...page);
      at = next;
    }
    return rows;
  };
  const idsOf = (rows: Json[], id: string): unknown[] => rows.map((row) => (row as Record<string, Json>)[id]);

  test("each pagination style covers all rows once", async () => {
    const erp = await overStdio();
    const transactions = await all(async (at) => {
      const page = await erp.ok("list_transactions", { limit: 25, ...at });
      return [page["data"] as Json[], page["nextCursor"] === undefined ? null : { cursor: page["nextCursor"] }];
    });
    expect(new Set(idsOf(transactions, "transaction_id")).size).toBe(137);
    const employees = await all(async (at) => {
      const page = await erp.ok("list_employees", { limit: 5, ...at });
      return [page["items"] as Json[], page["has_more"] === true ? { page: Number(page["page"]) + 1 } : null];
    });
    expect(new Set(idsOf(employees, "employee_id")).size).toBe(12);
    const hours = await all(async (at) => {
      const page = await erp.ok("list_hours", at);
      const seen = Number(page["offset"]) + (page["results"] as Json[]).length;
      return [page["results"] as Json[], seen < Number(page["total_count"]) ? { offset: seen } : null];
    });
    expect(idsOf(hours, "line_id")).toEqual(Array.from({ length: 30 }, (_, at) => at + 1));
    const invoices = await all(async (at) => {
      const page = await erp.ok("list_invoices", { limit: 3, ...at });
      return [page["records"] as Json[], page["next_cursor"] === null ? null : { cursor: page["next_cursor"] as Json }];
    });
    expect(new Set(idsOf(invoices, "invoice_id")).size).toBe(12);
  });

  test("duplicating: a page starts with the last row of the previous one", async () => {
    const { ok } = await overStdio({ mode: "duplicating" });
    const first = await ok("list_transactions");
    const second = await ok("list_transactions", { cursor: first["nextCursor"] as Json });
    expect((second["data"] as Json[])[0]).toEqual((first["data"] as Json[]).at(-1));
    expect((second["data"] as Json[])[1]).not.toEqual((first["data"] as Json[]).at(-1));
  });

  test("a list has at most 25 rows, and another list's cursor is refused", async () => {
    const { ok, call } = await overStdio();
    expect((await ok("list_transactions", { limit: 1000 }))["data"]).toHaveLength(25);
    expect((await call("list_transactions", { cursor: "bm9uZQ" })).error).toBe(true);
  });
});
