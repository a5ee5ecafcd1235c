/** What scripts call: tools by mcp_*, lists of records by data_*. */
import { describe, expect, it } from "vitest";
import { data_dedupe, data_group_by, data_sum } from "../../primitives/data.ts";
import { mcp_call, mcp_fetch_all, mcp_try } from "../../primitives/mcp.ts";
import type { Change, Json, ToolAnswer, Tools, VerifiedWrite } from "../../runtime/kernel/ports.ts";
import { callPrimitive, type Primitive } from "../../runtime/kernel/primitive.ts";
import { memory } from "../primitives/memory-ports.ts";
import { tool } from "./reference.ts";

/** A run whose one server "s" answers as told; what it was sent and what the step changed are kept. */
function running(answer: Partial<ToolAnswer>, options: { mode?: "live" | "dry"; readBack?: boolean | null } = {}) {
  const { ctx, logs, reviews } = memory(options.mode === undefined ? {} : { mode: options.mode });
  const [sent, changes]: [Json[], Change[]] = [[], []];
  const tools: Tools = {
    ...ctx.ports.tools,
    get: async (name) => tool(name.slice(2)),
    call: async (call) => {
      sent.push({ ...call });
      return { result: { ok: true }, write: null, notes: [], ...answer };
    },
    readBack: async () => (options.readBack == null ? null : { happened: options.readBack, withinMs: 0 }),
  };
  return {
    ctx: { ...ctx, ports: { ...ctx.ports, tools }, changed: (change: Change) => void changes.push(change) },
    sent,
    changes,
    logs,
    reviews,
  };
}

const PAID: VerifiedWrite = {
  tool: "s/pay_invoice",
  params: { id: "I1" },
  status: "VERIFIED",
  read: null,
  expected: {},
  before: null,
  after: null,
  diff: {},
  answer: "ok",
};
const pay = { tool: "s/pay_invoice", params: { id: "I1" } };

describe("mcp_call", () => {
  it("is a read for a reading or computing tool, and an outside act for any other", async () => {
    const kind = (name: string) => mcp_call.classify?.({ tool: `s/${name}`, params: {} }, running({}).ctx);
    expect(await kind("get_invoice")).toEqual({ effect: "read", access: "read" });
    expect(await kind("calculate_fee")).toEqual({ effect: "read", access: "read" });
    expect(await kind("approve_expense_report")).toEqual({ effect: "external", access: "external" });
  });

  it("records what the read-back of a write showed, and tells the run what was repaired", async () => {
    const run = running({ result: { status: "paid" }, write: PAID, notes: ["schema_drift: x"] });
    expect(await callPrimitive(mcp_call, pay, run.ctx)).toEqual({ status: "paid" });
    expect(run.changes).toEqual([{ op: "verified", write: PAID }]);
    expect(run.logs).toEqual(["schema_drift: x"]);
  });

  it("fails with the tool's own message if the write failed, and records that too", async () => {
    const run = running({ result: { error: "account is frozen" }, write: { ...PAID, status: "WRITE_FAILED" } });
    await expect(callPrimitive(mcp_call, pay, run.ctx)).rejects.toMatchObject({
      code: "TOOL_FAILED",
      message: "s/pay_invoice: account is frozen. Nothing was written before it",
    });
    expect(run.changes).toHaveLength(1);
  });

  it("a failure after which the record has changed is not a refusal: the run ends, and a person is shown both", async () => {
    const diff = { status: { expected: "paid", actual: "pending" } };
    const run = running({ result: { error: "timeout" }, write: { ...PAID, status: "WRITE_FAILED", diff } });
    await expect(callPrimitive(mcp_try, pay, run.ctx)).rejects.toMatchObject({
      code: "TOOL_FAILED",
      message: expect.stringContaining("has changed nevertheless"),
    });
    expect(run.reviews).toEqual([expect.objectContaining({ title: "s/pay_invoice says it failed, but its record has changed" })]);
    const refused = running({ result: { error: "frozen" }, write: { ...PAID, status: "WRITE_FAILED" } });
    expect(await callPrimitive(mcp_try, pay, refused.ctx)).toMatchObject({ ok: false, message: "s/pay_invoice: frozen" });
  });

  it("reads in a dry run and simulates acts", async () => {
    const run = running({}, { mode: "dry" });
    expect(await callPrimitive(mcp_call, pay, run.ctx)).toEqual({ simulated: true, ...pay });
    expect(run.sent).toEqual([]);
    expect(await callPrimitive(mcp_call, { tool: "s/get_invoice" }, run.ctx)).toEqual({ ok: true });
    expect(run.sent).toEqual([{ tool: "s/get_invoice", params: {} }]);
  });

  it("names its call as an approval does", () => expect(mcp_call.call?.(pay)).toEqual(pay));

  it.each([
    [true, { happened: true, result: { read_back: true, tool: "s/pay_invoice" } }],
    [false, { happened: false, withinMs: 0 }],
    [null, null],
  ])("after a crash, a record that says %s settles it as %j", async (readBack, expected) => {
    const run = running({}, { readBack });
    expect(await mcp_call.readBack?.(pay, run.ctx)).toEqual(expected);
    expect(run.changes).toHaveLength(readBack === true ? 1 : 0);
  });

  it.each(["pay_invoice", "s/", "/x", "s/a b", ""])("refuses %j as a tool", async (name) => {
    await expect(callPrimitive(mcp_call, { tool: name }, running({}).ctx)).rejects.toMatchObject({ code: "PARAMS_INVALID" });
  });
});

it("mcp_fetch_all refuses a tool that writes", async () => {
  const run = running({});
  await expect(callPrimitive(mcp_fetch_all, { tool: "s/cancel_orders" }, run.ctx)).rejects.toThrow(
    's/cancel_orders is not a reading tool (its name begins with "cancel")',
  );
  expect(await callPrimitive(mcp_fetch_all, { tool: "s/list_orders" }, run.ctx)).toMatchObject({ complete: true });
});

const run = (primitive: Primitive, params: Json): Promise<Json> => callPrimitive(primitive, params, memory().ctx);

describe("lists of records", () => {
  const rows = [{ v: "A", amount: "0.10" }, { v: "B", amount: 0.2 }, { v: "A", amount: "1200" }, { v: null }, {}];

  it("sums exactly, with the decimals as written", async () => {
    expect(await run(data_sum, { records: rows, field: "amount" })).toEqual({ sum: "1200.30", count: 3 });
    expect(await run(data_sum, { records: Array.from({ length: 10 }, () => ({ a: 0.1 })), field: "a" })).toEqual({
      sum: "1.00",
      count: 10,
    });
    expect(await run(data_sum, { records: [{ a: "-0.125" }, { a: "0.005" }], field: "a" })).toEqual({ sum: "-0.120", count: 2 });
    expect(await run(data_sum, { records: [], field: "a" })).toEqual({ sum: "0.00", count: 0 });
    const mixed = [
      { amount: "1.00", currency: "USD" },
      { amount: "1.00", currency: "KWD" },
    ];
    await expect(run(data_sum, { records: mixed, field: "amount" })).rejects.toMatchObject({
      message: expect.stringContaining('amount is in "USD", "KWD"'),
    });
    expect(await run(data_sum, { records: mixed.slice(1), field: "amount" })).toEqual({ sum: "1.00", count: 1 });
    const million = Array.from({ length: 200_000 }, () => ({ a: "99999999999999.99" }));
    expect(await run(data_sum, { records: million, field: "a" })).toMatchObject({ sum: "19999999999999998000.00" });
  });

  it("refuses invalid decimals and names the rows", async () => {
    const wrong = [{ a: "1" }, { a: "$1,200.00" }, { a: true }, { a: "" }];
    await expect(run(data_sum, { records: wrong, field: "a" })).rejects.toThrow(
      'data_sum: a is not a decimal in records[1] "$1,200.00", records[2] true, records[3] "".',
    );
  });

  it("groups in order, null and missing as unknown", async () => {
    const groups = (await run(data_group_by, { records: rows, by: "v" })) as { key: string; count: number }[];
    expect(groups.map(({ key, count }) => [key, count])).toEqual([
      ["A", 2],
      ["B", 1],
      ["unknown", 2],
    ]);
  });

  it("removes duplicates by a key, reports which, and keeps rows without a key", async () => {
    const records = [{ i: 1 }, { x: 9 }, { i: 1, late: true }, { i: "1" }, { i: null }];
    expect(await run(data_dedupe, { records, key: "i" })).toEqual({
      records: [{ i: 1 }, { x: 9 }, { i: "1" }, { i: null }],
      duplicates: [{ i: 1, late: true }],
    });
  });

  it.each([data_sum, data_group_by, data_dedupe])("$name accepts a complete fetch and refuses an incomplete one", async (primitive) => {
    const field = primitive === data_sum ? "field" : primitive === data_dedupe ? "key" : "by";
    const fetched = { records: [{ a: "1" }], pages: 1, reason: null };
    await run(primitive, { records: { ...fetched, complete: true }, [field]: "a" });
    await expect(run(primitive, { records: { ...fetched, complete: false, reason: "error on page 2" }, [field]: "a" })).rejects.toThrow(
      'is incomplete ("error on page 2")',
    );
    await expect(run(primitive, { records: fetched, [field]: "a" })).rejects.toThrow("is not a list of records");
  });
});
