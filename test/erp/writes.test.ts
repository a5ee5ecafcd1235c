/**
 * Every writing tool changes what its reader answers, as mcp.yaml says it does, in a business that behaves and in one that lies.
 * README.md and mcp.yaml say what the server does.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import type { Call, Json, ToolInfo } from "../../runtime/kernel/ports.ts";
import { classify } from "../../runtime/rules/tools/classify.ts";
import { happened, verifiedWrite, verifySpec } from "../../runtime/rules/tools/verify.ts";
import { parseTrust } from "../../runtime/workspace/settings/config.ts";
import { type Erp, overStdio, SERVER } from "./harness.ts";

const text = (name: string): string => readFileSync(join(SERVER, "..", name), "utf8");
const TRUSTED = parseTrust(text("mcp.yaml")).mcp["erp"]!;

/** One call of every writing tool, in an order that a business allows. */
const WRITES: [tool: string, params: Record<string, Json>][] = [
  ["approve_invoice", { invoice_id: "INV-2024-449", approved_by: "E-1001" }],
  ["schedule_payment", { invoice_id: "INV-2024-449", amount: "11880.00", pay_date: "2024-12-12" }],
  ["pay_invoice", { invoice_id: "INV-2024-449", amount: "11880.00" }],
  ["reject_invoice", { invoice_id: "INV-2024-450", reason: "vendor not approved" }],
  [
    "create_purchase_order",
    { requisition_id: "REQ-31", vendor_id: "V-100", department_id: "D-OPS", description: "40 barcode scanners", amount: "4498.25" },
  ],
  ["update_budget", { department_id: "D-OPS", period: "2024", committed: "40000.00", spent: "187400.00" }],
  ["record_expense_approval", { expense_id: "EXP-703", approved_amount: "2150.00", approved_by: "E-1002" }],
  ["reimburse_expense", { expense_id: "EXP-703", amount: "2150.00", pay_date: "2024-11-15" }],
  ["reject_expense", { expense_id: "EXP-705", reason: "entertainment is not allowed" }],
  ["approve_expense_report", { report_id: "ER-70" }],
  [
    "record_pay_run",
    {
      pay_group: "US-BIWEEKLY",
      period_start: "2024-10-07",
      period_end: "2024-10-20",
      pay_date: "2024-10-25",
      gross: "8000.00",
      net: "6100.00",
      headcount: 3,
    },
  ],
  ["update_payroll_ytd", { employee_id: "E-1042", ytd_gross: "52000.00", ytd_net: "37400.00" }],
  ["update_employee_status", { employee_id: "E-2291", status: "leaving", last_day: "2024-11-15" }],
  ["revoke_access", { employee_id: "E-2291", system: "sso" }],
  ["transfer_ownership", { item_id: "OI-1", owner_id: "E-1006" }],
  ["record_final_pay", { employee_id: "E-2291", pto_hours: "42.0", amount: "2520.00", pay_date: "2024-11-15" }],
  ["check_in_equipment", { equipment_id: "EQ-210" }],
  ["check_out_equipment", { equipment_id: "EQ-210", employee_id: "E-1006" }],
  ["apply_credit", { contract_id: "CTR-441", period: "2024-09", amount: "1260.00", reason: "uptime 99.1 %" }],
  ["rollback_deployment", { deployment_id: "DEP-91" }],
  ["scale_service", { service_id: "SVC-PAY", replicas: 8 }],
  ["set_circuit_breaker", { service_id: "SVC-PAY", circuit_breaker: "open" }],
  ["update_incident", { incident_id: "INC-501", status: "resolved", root_cause: "deploy 2.7.1", duration_minutes: 95 }],
  ["create_ticket", { reference: "INC-501", subject: "Post-mortem", priority: "high" }],
  ["update_ticket", { ticket_id: "T-1002", status: "waiting" }],
  ["close_ticket", { ticket_id: "T-1003", resolution: "answered" }],
  ["provision_account", { customer_id: "C-310", plan_id: "BASIC", region: "us" }],
  ["assign_csm", { customer_id: "C-310", csm: "E-1045" }],
  ["create_project", { customer_id: "C-310", name: "Go-live", kickoff_on: "2024-11-18", lead_id: "E-1045" }],
  ["initiate_edd_review", { customer_id: "C-303", reason: "politically exposed" }],
  ["send_reminder", { customer_id: "C-8821", tier: "reminder", subject: "AR-3002", text: "Please pay 2,210.50." }],
  ["create_payment_plan", { customer_id: "C-301", amount: "5650.00", installments: 5, start_on: "2024-12-01" }],
  ["hand_over_to_agency", { ar_invoice_id: "AR-3007", agency: "Collect & Co" }],
  ["write_off_invoice", { ar_invoice_id: "AR-3009", amount: "3300.00", reason: "sanctioned, not collectable" }],
  ["issue_credit_memo", { dispute_id: "D-410", ar_invoice_id: "AR-3003", amount: "2496.00", reason: "8 units damaged" }],
  ["resolve_dispute", { dispute_id: "D-410", decided_credit: "2496.00" }],
  ["modify_order_items", { order_id: "ORD-5592", items: [{ sku: "WIDGET-B", quantity: 2 }] }],
  ["reserve_inventory", { order_id: "ORD-5592", sku: "WIDGET-B", quantity: 2 }],
  ["create_shipment", { order_id: "ORD-5592", carrier: "Umbrella Freight", ship_on: "2024-11-11" }],
  ["cancel_order", { order_id: "ORD-5593" }],
  ["charge_customer", { reference: "ORD-5592", customer_id: "C-8821", amount: "203.50" }],
  ["refund_customer", { reference: "ORD-5592", customer_id: "C-8821", amount: "19.90" }],
  ["update_subscription", { subscription_id: "SUB-77", plan_id: "BASIC", effective_on: "2024-12-01" }],
  ["deprovision_feature", { subscription_id: "SUB-77", feature: "audit_log" }],
  ["provision_feature", { subscription_id: "SUB-77", feature: "audit_log", enabled: true }],
  [
    "post_entry",
    {
      reference: "DEP-2024-09",
      period: "2024-09",
      entry_date: "2024-09-30",
      memo: "Depreciation of FA-14",
      lines: [
        { account: "6300", debit: "416.67", credit: "0.00" },
        { account: "1700", debit: "0.00", credit: "416.67" },
      ],
    },
  ],
  ["lock_period", { period: "2024-09", locked_by: "E-1003", trial_balance_hash: "9f0c" }],
  ["publish_audit", { audit_id: "AUD-24", score: "62" }],
  ["create_remediation_task", { finding_id: "FI-2", title: "Automate leavers", owner_id: "E-1006", due_on: "2024-12-31" }],
];

async function listed(erp: Erp): Promise<ToolInfo[]> {
  const infos: ToolInfo[] = [];
  for (let cursor: string | undefined = "0"; cursor !== undefined; ) {
    const page: Awaited<ReturnType<Erp["client"]["listTools"]>> = await erp.client.listTools({ cursor });
    for (const { name, description = "", inputSchema, annotations } of page.tools) {
      const { class: kind, why } = classify(name, { declared: TRUSTED.tools[name]?.class, annotations, trusted: TRUSTED.trusted });
      infos.push({ tool: `erp/${name}`, server: "erp", name, description, input_schema: inputSchema as Json, class: kind, why });
    }
    cursor = page.nextCursor;
  }
  return infos;
}

const send =
  (erp: Erp) =>
  async ({ tool, params }: Call): Promise<Json> => {
    const { error, result } = await erp.call(tool.replace("erp/", ""), params as Record<string, Json>);
    if (error) throw new ClearedError("TOOL_FAILED", String(result));
    return result;
  };

const specOf = (tools: ToolInfo[], name: string) =>
  verifySpec(tools.find((tool) => tool.name === name)!, TRUSTED.tools[name]?.verify as Parameters<typeof verifySpec>[1], tools);

describe("writes", () => {
  test("are all tried here, and all are in mcp.yaml as writes", async () => {
    const tools = await listed(await overStdio());
    const writes = tools.filter((tool) => tool.class === "mutate").map((tool) => tool.name);
    expect(WRITES.map(([name]) => name).sort()).toEqual(writes.sort());
    expect(Object.keys(TRUSTED.tools).sort()).toEqual(writes);
    for (const settings of Object.values(TRUSTED.tools)) {
      expect(settings).toMatchObject({ class: "mutate", idempotency_key: "idempotency_key", verify: { read: expect.any(String) } });
    }
  });

  test("names alone classify them as the server does: nothing that writes looks like a read", async () => {
    for (const tool of await listed(await overStdio())) {
      const { class: byName } = classify(tool.name, { trusted: false });
      if (tool.class === "mutate") expect([tool.name, byName]).toEqual([tool.name, "mutate"]);
    }
  });

  test("each is VERIFIED by its read-back", async () => {
    const erp = await overStdio();
    const tools = await listed(erp);
    for (const [name, params] of WRITES) {
      const call = { tool: `erp/${name}`, params };
      const { write } = await verifiedWrite({ call, spec: specOf(tools, name), read: send(erp), write: () => send(erp)(call) });
      expect({ name, status: write.status, diff: write.diff }).toEqual({ name, status: "VERIFIED", diff: {} });
    }
    expect(await erp.ok("list_changes")).toHaveLength(WRITES.length);
  });

  test("a lying server is detected: none of its writes is VERIFIED", async () => {
    const erp = await overStdio();
    const tools = await listed(erp);
    for (const [name, params] of WRITES) {
      const call = { tool: `erp/${name}`, params };
      await erp.ok("set_mode", { mode: "lying" });
      const { write } = await verifiedWrite({ call, spec: specOf(tools, name), read: send(erp), write: () => send(erp)(call) });
      expect([name, write.status]).toEqual([name, "MISMATCH"]);
      await erp.ok("set_mode", { mode: "" });
      await erp.ok(name, params);
    }
  });

  test("after a crash, the record shows whether the write had a new effect", async () => {
    const erp = await overStdio();
    const tools = await listed(erp);
    const call = { tool: "erp/apply_credit", params: { contract_id: "CTR-441", period: "2024-09", amount: "1260.00", reason: "uptime" } };
    expect(await happened(call, specOf(tools, "apply_credit"), send(erp))).toBe(false);
    await erp.ok("apply_credit", call.params);
    expect(await happened(call, specOf(tools, "apply_credit"), send(erp))).toBe(true);
  });

  test("stock, books and states prevent a write where they should", async () => {
    const { call, ok } = await overStdio();
    const refused = async (tool: string, params: Record<string, Json>): Promise<Json> => (await call(tool, params)).result;
    expect(await refused("reserve_inventory", { order_id: "ORD-5593", sku: "GADGET-Y", quantity: 10 })).toBe("only 4 of GADGET-Y are free");
    const entry = { reference: "X", period: "2024-08", entry_date: "2024-08-31", memo: "late" };
    const line = (debit: string, credit: string): Json => ({ account: "6100", debit, credit });
    expect(await refused("post_entry", { ...entry, lines: [line("1.00", "0"), line("0", "1.00")] })).toBe("period 2024-08 is locked");
    const open = { ...entry, period: "2024-09", lines: [line("1.00", "0"), line("0", "0.99")] };
    expect(await refused("post_entry", open)).toBe("the entry is not balanced: debit minus credit is 0.01");
    expect(await ok("get_entry", { reference: "X" })).toMatchObject({ found: false });
    expect(await refused("check_out_equipment", { equipment_id: "EQ-210", employee_id: "E-1006" })).toContain("not in_stock");
  });
});

describe("documents", () => {
  const printed = (flag: string): string => execFileSync(process.execPath, [SERVER, flag], { encoding: "utf8" });

  test("README.md has the table of tools as the server prints it", () => {
    expect(text("README.md").endsWith(printed("--list"))).toBe(true);
  });

  test("mcp.yaml is what the server prints", () => {
    expect(text("mcp.yaml")).toBe(printed("--trust"));
  });
});
