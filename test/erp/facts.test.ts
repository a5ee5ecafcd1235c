/** The first rows of the demo business: what the examples and the agents' tests rely on. */
import { Decimal } from "decimal.js";
import { electronicFormatIBAN, isValidIBAN } from "ibantools";
import { describe, expect, test } from "vitest";
import type { Json } from "../../runtime/kernel/ports.ts";
import { type Erp, overStdio } from "./harness.ts";

type Record_ = Record<string, Json>;
const rows = async (erp: Erp, tool: string, field: string, params: Record_ = {}): Promise<Record_[]> =>
  (await erp.ok(tool, { limit: 25, ...params }))[field] as Record_[];
const decimal = (value: Json | undefined): Decimal => new Decimal(String(value));

describe("purchase to pay", () => {
  const variance = async (erp: Erp, invoice_id: string): Promise<string> => {
    const invoice = await erp.ok("get_invoice", { invoice_id });
    const order = await erp.ok("get_purchase_order", { po_id: invoice["po_id"] as Json });
    return decimal(invoice["amount"]).minus(decimal(order["amount"])).div(decimal(order["amount"])).times(100).toFixed();
  };

  test("447 is 2.2265625 % over its order, 448 exactly 2 %, 449 equal", async () => {
    const erp = await overStdio();
    expect(await variance(erp, "INV-2024-447")).toBe("2.2265625");
    expect(await variance(erp, "INV-2024-448")).toBe("2");
    expect(await variance(erp, "INV-2024-449")).toBe("0");
    expect(await variance(erp, "INV-2024-453")).toBe("3");
    expect(await erp.ok("get_invoice", { invoice_id: "INV-2024-447" })).toMatchObject({ amount: "52340.00", terms: "2/10 net 30" });
    expect(await erp.ok("get_purchase_order", { reference: "PO-8821" })).toMatchObject({ po_id: "PO-2024-118", amount: "51200.00" });
    expect(await erp.ok("get_goods_receipt", { po_id: "PO-2024-118" })).toMatchObject({ accepted: true, amount_received: "51200.00" });
    expect(await erp.ok("get_vendor", { vendor_id: "V-100" })).toMatchObject({
      approved: true,
      terms_days: 30,
      early_discount_pct: "2",
      early_discount_days: 10,
    });
  });

  test("450 has a vendor that is not approved, 451 repeats 449, 452 no receipt", async () => {
    const erp = await overStdio();
    const invoice = await erp.ok("get_invoice", { invoice_id: "INV-2024-450" });
    expect(await erp.ok("get_vendor", { vendor_id: invoice["vendor_id"] as Json })).toMatchObject({ approved: false });
    const twice = await rows(erp, "list_invoices", "records", { vendor_id: "V-101", vendor_number: "GX-2210" });
    expect(twice.map((each) => each["invoice_id"])).toEqual(["INV-2024-449", "INV-2024-451"]);
    expect(await erp.ok("get_goods_receipt", { po_id: "PO-2024-122" })).toEqual({ found: false, po_id: "PO-2024-122" });
  });

  test("paying an invoice involves approval, schedule and ledger", async () => {
    const { ok } = await overStdio();
    const owed = async (): Promise<unknown> => (await ok("get_ap_balance", { vendor_id: "V-101" }))["balance"];
    expect(await owed()).toBe("0.00");
    await ok("approve_invoice", { invoice_id: "INV-2024-449" });
    expect(await owed()).toBe("11880.00");
    await ok("schedule_payment", { invoice_id: "INV-2024-449", amount: "11880.00", pay_date: "2024-12-12" });
    expect(await owed()).toBe("0.00");
    expect(await ok("get_payment", { invoice_id: "INV-2024-449" })).toMatchObject({ status: "scheduled", vendor_id: "V-101" });
    expect(await ok("get_invoice", { invoice_id: "INV-2024-449" })).toMatchObject({ status: "scheduled" });
  });
});

describe("the other examples of the seeds", () => {
  test("Sarah Chen: 28.00 an hour in California, 52 hours in 4 days of 13, then in 5 of 10.4", async () => {
    const erp = await overStdio();
    expect(await erp.ok("get_employee", { employee_id: "E-1042" })).toMatchObject({ name: "Sarah Chen", pay_rate: "28.00", state: "CA" });
    const week = async (from: string, to: string): Promise<unknown[]> =>
      (await rows(erp, "list_hours", "results", { employee_id: "E-1042", from, to })).map((each) => each["hours"]);
    expect(await week("2024-10-07", "2024-10-13")).toEqual(["13.0", "13.0", "13.0", "13.0"]);
    expect(await week("2024-10-14", "2024-10-20")).toEqual(["10.4", "10.4", "10.4", "10.4", "10.4"]);
  });

  test("INFRA-9: 99.1 % of 30 days are 388.8 minutes down, 43.2 are allowed, the tier says 15 %", async () => {
    const { ok } = await overStdio();
    const contract = await ok("get_contract", { contract_id: "CTR-441" });
    const uptime = await ok("get_uptime", { service_id: contract["service_id"] as Json, period: "2024-09" });
    expect(uptime).toMatchObject({ uptime_pct: "99.1", days: 30, total_minutes: 43200, downtime_minutes: "388.8" });
    const missing = (pct: Json | undefined): string =>
      decimal(100)
        .minus(decimal(pct))
        .times(uptime["total_minutes"] as number)
        .div(100)
        .toFixed();
    expect([missing(uptime["uptime_pct"]), missing(contract["sla_target_pct"])]).toEqual(["388.8", "43.2"]);
    const below = (contract["tiers"] as Record_[]).filter((tier) => decimal(uptime["uptime_pct"]).lt(decimal(tier["uptime_below_pct"])));
    expect(below.at(-1)).toMatchObject({ credit_pct: "15" });
  });

  test("ORD-5592: three of Widget A off, two of Widget B on", async () => {
    const { ok } = await overStdio();
    expect(await ok("get_order", { order_id: "ORD-5592" })).toMatchObject({ customer_id: "C-8821", total: "134.50" });
    expect(await ok("get_inventory", { sku: "WIDGET-B" })).toMatchObject({ on_hand: 12 });
    const items = [
      { sku: "WIDGET-A", quantity: 2 },
      { sku: "WIDGET-B", quantity: 2 },
    ];
    await ok("modify_order_items", { order_id: "ORD-5592", items });
    // 2 x 19.90 + 7 x 5.00 + 2 x 34.50
    expect(await ok("get_order", { order_id: "ORD-5592" })).toMatchObject({ total: "143.80" });
  });

  test("E-2291 resigned for Friday in a week and has five ways in, SSO first", async () => {
    const erp = await overStdio();
    expect(await erp.ok("get_employee", { employee_id: "E-2291" })).toMatchObject({ separation: "resignation", last_day: "2024-11-15" });
    const grants = await rows(erp, "list_access_grants", "records", { employee_id: "E-2291", status: "active" });
    expect(grants.map((grant) => grant["system"])).toEqual(["sso", "github", "slack", "jira", "aws"]);
  });
});

describe("the rows agree with each other", () => {
  test("the total of an order is the sum of its lines, of a report the sum of its claims", async () => {
    const erp = await overStdio();
    for (const order_id of ["ORD-5590", "ORD-5591", "ORD-5592", "ORD-5593"]) {
      const order = await erp.ok("get_order", { order_id });
      const sum = (order["lines"] as Record_[]).reduce(
        (all, line) => all.plus(decimal(line["unit_price"]).times(decimal(line["quantity"]))),
        decimal(0),
      );
      expect(sum.toFixed(2)).toBe(order["total"]);
    }
    for (const report_id of ["ER-70", "ER-71", "ER-72", "ER-73", "ER-74", "ER-75", "ER-60"]) {
      const report = await erp.ok("get_expense_report", { report_id });
      const sum = (report["expenses"] as Record_[]).reduce((all, claim) => all.plus(decimal(claim["amount"])), decimal(0));
      expect(sum.toFixed(2)).toBe(report["total"]);
    }
  });

  test("both periods balance; only September has every reconciliation signed", async () => {
    const erp = await overStdio();
    for (const period of ["2024-09", "2024-10"]) {
      const balance = await erp.ok("get_trial_balance", { period });
      expect(balance["debit"]).toBe(balance["credit"]);
      expect((await rows(erp, "list_reconciliations", "items", { period, status: "unsigned" })).length).toBe(period === "2024-09" ? 0 : 1);
    }
  });

  test("receivables fall into every age bucket on the business date", async () => {
    const erp = await overStdio();
    const { result: date } = await erp.call("get_business_date");
    const open = (await rows(erp, "list_ar_invoices", "records")).filter((each) => each["balance"] !== "0.00");
    const days = open.map((each) => (Date.parse(String(date)) - Date.parse(String(each["due_on"]))) / 86_400_000);
    for (const [from, to] of [
      [-999, 0],
      [1, 30],
      [31, 60],
      [61, 90],
      [91, 999],
    ] as const) {
      expect(days.some((late) => late >= from && late <= to)).toBe(true);
    }
  });

  test("bank accounts are well formed, except those of the group that must fail", async () => {
    const erp = await overStdio();
    const weights = [3, 7, 1];
    const routes = (text: string): boolean =>
      [...text].reduce((sum, digit, at) => sum + Number(digit) * (weights[at % 3] ?? 0), 0) % 10 === 0;
    for (const profile of await rows(erp, "list_payroll_profiles", "items")) {
      const account = await erp.ok("get_bank_account", { employee_id: profile["employee_id"] as Json });
      const iban = account["iban"] as string | null;
      const routing = account["routing_number"] as string | null;
      const good = (iban === null || isValidIBAN(electronicFormatIBAN(iban) ?? "")) && (routing === null || routes(routing));
      expect(good).toBe(profile["pay_group"] !== "BAD-BANK");
    }
  });

  test("a fresh database is always the same", async () => {
    const [a, b] = [await overStdio(), await overStdio()];
    for (const table of ["invoices", "hours", "transactions", "kyc_documents"]) {
      expect(await a.ok("query_records", { table })).toEqual(await b.ok("query_records", { table }));
    }
  });
});
