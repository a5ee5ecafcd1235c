/** What happens to a read that fails (spec/worker.md 11, 13), where amounts come from (15), and which tool a wish means. */
import { describe, expect, it } from "vitest";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import type { Call, Json } from "../../runtime/kernel/ports.ts";
import { columnsOf, matchColumn, schemaError } from "../../runtime/rules/tools/drift.ts";
import { findTools } from "../../runtime/rules/tools/find.ts";
import { mayRepeat, recoveredRead } from "../../runtime/rules/tools/recover.ts";
import { amountsIn, amountsOf, numbersOf, untraced } from "../../runtime/rules/tools/trace.ts";
import { tool } from "./reference.ts";

const SPEC = { tools: {}, aliases: {} };
const failed = (text: string, data?: Record<string, unknown>) => new ClearedError("TOOL_FAILED", text, { data });

describe("drift", () => {
  it.each<[string, string[]]>([
    ["no such column: t.amount", ["amount"]],
    ['column "orders"."CustName" does not exist', ["CustName"]],
    ["Unknown columns: `amt`, `st`", ["amt", "st"]],
    ["KeyError: 'amount'", ["amount"]],
    ["Invalid column name 'CustName'.", ["CustName"]],
    ["record not found", []],
    ["timeout", []],
    ["column width must be positive", []],
  ])("%s complains of %j", (text, expected) => expect(schemaError(text)).toEqual(expected));

  it("treats the text of an error as data only", () => expect(schemaError("bad request", { column: "orders.amt" })).toEqual(["amt"]));

  it.each<[string, string[], string | null]>([
    ["updated_at", ["created_at"], null],
    ["user_id", ["order_id", "vendor_id", "owner_id"], null],
    ["owner", ["owner_id", "owner_name"], null],
    ["cust_id", ["customer_id", "custom_id"], null],
    ["price", ["unit_price", "list_price", "total"], null],
    ["custmer_name", ["client_name", "id"], "client_name"],
    ["unit_pirce", ["unit_price", "quantity"], "unit_price"],
  ])("%s among %j means %s", (bad, candidates, expected) => expect(matchColumn(bad, candidates).match).toBe(expected));

  it("does not take a column of a type other than the value's", () => {
    const types = new Map([["status", "INTEGER"]]);
    expect(matchColumn("state", ["status"], { value: "open", types }).match).toBeNull();
    expect(matchColumn("state", ["status"], { value: 3, types }).match).toBe("status");
  });

  it("reads columns structurally", () => {
    expect([...columnsOf({ schema: { columns: [{ name: "id", type: "INT" }, { column_name: "amt" }] } })]).toEqual([
      ["id", "INT"],
      ["amt", ""],
    ]);
    expect([...columnsOf({ properties: { id: { type: "integer" } } }).keys()]).toEqual(["id"]);
  });

  const listed = [tool("query_orders"), tool("describe_table", { properties: { table: {} }, required: ["table"] }), tool("update_orders")];
  const asked = { tool: "s/query_orders", params: { table: "orders", where: { custmer_name: "custmer_name" } } };

  it("corrects whole identifiers in keys and values of a read, once, and says so", async () => {
    const calls: Call[] = [];
    const { answer, notes } = await recoveredRead({
      call: asked,
      listed,
      spec: SPEC,
      read: async (call) => {
        calls.push(call);
        if (call.tool === "s/describe_table") return { columns: [{ name: "customer_name", type: "TEXT" }] };
        if (JSON.stringify(call.params).includes("custmer")) throw failed("no such column: custmer_name");
        return [{ id: 1 }];
      },
    });
    expect(answer).toEqual([{ id: 1 }]);
    expect(notes).toEqual(['schema_drift: s/query_orders calls "custmer_name" now "customer_name"; correct the script.']);
    expect(calls.map((call) => call.params)).toEqual([
      asked.params,
      { table: "orders" },
      { table: "orders", where: { customer_name: "customer_name" } },
    ]);
  });

  it("stops with the candidates if it is not sure, and repairs nothing else", async () => {
    const read = async (call: Call): Promise<Json> => {
      if (call.tool === "s/describe_table") return { columns: ["owner_id", "owner_name"] };
      throw failed("unknown column: owner");
    };
    const call = { tool: "s/query_orders", params: { table: "t", owner: 1 } };
    await expect(recoveredRead({ call, listed, spec: SPEC, read })).rejects.toThrow("It could be owner_id or owner_name");
    let calls = 0;
    const down = async (): Promise<Json> => {
      calls++;
      throw failed("timeout");
    };
    await expect(recoveredRead({ call, listed, spec: SPEC, read: down })).rejects.toThrow("timeout");
    expect(calls).toBe(1);
  });

  it("never touches a write", async () => {
    const call = { tool: "s/update_orders", params: {} };
    await expect(recoveredRead({ call, listed, spec: SPEC, read: async () => null })).rejects.toMatchObject({ code: "INTERNAL" });
  });
});

describe("recovery", () => {
  const listed = [tool("find_vendors"), tool("delete_vendors"), { ...tool("find_vendors"), server: "x", tool: "x/find_vendors" }];
  const read = async (call: Call): Promise<Json> => {
    if (call.tool !== "s/find_vendors") throw new ClearedError("TOOL_UNKNOWN", `no ${call.tool}`);
    return [];
  };
  const call = { tool: "s/list_vendors", params: {} };

  it("answers for a removed tool by a declared alias that reads, and says so; an empty answer is an answer", async () => {
    const found = await recoveredRead({
      call,
      listed,
      spec: { ...SPEC, aliases: { list_vendors: ["delete_vendors", "find_vendors"] } },
      read,
    });
    expect(found).toEqual({ answer: [], notes: ["s/list_vendors is not offered; via its alias s/find_vendors"] });
  });
  it("never by a name that only looks similar, nor by one that writes", async () => {
    for (const aliases of [{}, { list_vendors: ["delete_vendors"] }])
      await expect(recoveredRead({ call, listed, spec: { ...SPEC, aliases }, read })).rejects.toMatchObject({ code: "TOOL_UNKNOWN" });
  });
  it.each<[Error, boolean]>([
    [new ClearedError("TOOL_DOWN", "x"), true],
    [new ClearedError("TOOL_TIMEOUT", "x"), true],
    [failed("HTTP 503 Service Unavailable"), true],
    [failed("rate limit exceeded"), true],
    [failed("invoice 503-A is closed"), false],
    [failed("not found"), false],
    [new ClearedError("TOOL_LOST", "x"), false],
    [new Error("x"), false],
  ])("%s may be sent again: %s", (error, expected) => expect(mayRepeat(error)).toBe(expected));
});

describe("where amounts come from", () => {
  it("recognizes amounts by their key or their cents, and no id, date, count or rate of days", () => {
    const params = {
      invoice_id: "INV-2024-447",
      order_id: 1200,
      amount: "1,624.00",
      total: 1624,
      payment_method: 5,
      due_date: "2026-11-06",
      credit_days: 30,
      account_balance: 12,
      amount_on_hold: 13,
      quantity: 3,
      lines: [{ qty: 2, unitPrice: 5, note: "7" }, { weight: 2.5 }],
    };
    expect(amountsIn(params)).toEqual([
      { path: "amount", value: "1,624.00" },
      { path: "total", value: "1624" },
      { path: "account_balance", value: "12" },
      { path: "amount_on_hold", value: "13" },
      { path: "lines[0].unitPrice", value: "5" },
      { path: "lines[1].weight", value: "2.5" },
    ]);
  });
  it("names each amount in several calls of one tool, with the currency given in its call", () => {
    const pay = (to: string, amount: string) => ({ tool: "bank/pay", params: { to, amount, currency: "EUR" } });
    expect(amountsOf([pay("Bob", "7.00"), pay("Eve", "9.00"), { tool: "bank/fee", params: { fee: "1.00" } }])).toEqual({
      "bank/pay #1 amount": "7.00 EUR",
      "bank/pay #2 amount": "9.00 EUR",
      "bank/fee fee": "1.00",
    });
  });
  it("finds each in what was computed or read, whatever its sign, scale and spelling", () => {
    const sources = numbersOf({ result: "1624.0", rows: [{ fee: -12.5 }, "$1,792.00", "EUR 3", { big: 1e21 }] });
    expect(untraced({ amount: "1624.00", fee: 12.5, total: "-1792", price: "3.00", cost: "1000000000000000000000" }, sources)).toEqual([]);
    expect(untraced({ amount: "1624.01", lines: [{ total: 7 }] }, sources)).toEqual([
      { path: "amount", value: "1624.01" },
      { path: "lines[0].total", value: "7" },
    ]);
  });
  it("reads an answer nested a hundred thousand levels deep", () => {
    let deep: Json = "9.99";
    for (let i = 0; i < 100_000; i++) deep = i % 2 === 0 ? [deep] : { a: deep };
    expect([...numbersOf(deep).keys()]).toEqual(["9.99"]);
  });
});

it("ranks tools by the words their name, description and parameters share with a request", () => {
  const tools = [
    { ...tool("get_invoice"), description: "One invoice by its id." },
    { ...tool("list_invoices"), description: "All invoices, unpaid or paid." },
    { ...tool("pay_invoice"), description: "Pay an approved invoice." },
    { ...tool("create_ticket"), description: "Open a support ticket." },
  ];
  const names = (wish: string, limit = 5): string[] => findTools(tools, wish, limit).map(({ name }) => name);
  expect(names("open a ticket")).toEqual(["create_ticket"]);
  expect(names("list unpaid invoices", 1)).toEqual(["list_invoices"]);
  expect(names("paying an invoice")[0]).toBe("pay_invoice");
  expect(names("weather")).toEqual([]);
  // Words that every wish has are no reason: "all", "by" and "an" stand in the descriptions.
  expect(names("how do we stand as of now, all in all, by an hour")).toEqual([]);
  expect(names("")).toEqual([]);
});
