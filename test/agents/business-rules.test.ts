/** What each process must heed of its business, on the demo business: a rule that is not met would move money or access wrongly. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { answer, approved, type Business, business, change, changes, finish, gateOf, rows, run, wait } from "./harness.ts";

let at: Business;
beforeAll(async () => {
  at = await business();
});
afterAll(finish);

const ended = async (agent: string, input: object): Promise<Record<string, unknown>> => (await approved(at, agent, input as never)).end.result as never;

test("payroll withholds FICA, and income tax and National Insurance by bands, and pays monthly", async () => {
  const us = await ended("payroll", { pay_group: "US-BIWEEKLY", period_start: "2024-10-07", period_end: "2024-10-20", pay_date: "2024-10-25" });
  // 6.2 and 1.45 % of 3,416.00, 1,960.00 and 3,123.00
  expect((us["slips"] as { contributions: string }[]).map((one) => one.contributions).sort()).toEqual(["149.94", "238.91", "261.32"]);
  expect(us).toMatchObject({ gross: "8499.00", deductions: "2439.97", net: "6059.03", next_run: "2024-11-03" });
  const uk = await ended("payroll", { pay_group: "UK-MONTHLY", period_start: "2024-10-01", period_end: "2024-10-31", pay_date: "2024-10-31" });
  // 49,200 a year: 20 % and 8 % of 36,630, a twelfth of it
  expect(uk).toMatchObject({ gross: "4100.00", deductions: "854.70", net: "3245.30", next_run: "2024-11-30" });
});

test("FICA stops at the annual wage base", async () => {
  change(at, "update payroll_profiles set ytd_gross = '170000.00' where employee_id = 'E-1042'; delete from pay_runs where period_end = '2024-10-20'");
  const waiting = await run(at, "payroll", { pay_group: "US-BIWEEKLY", period_start: "2024-10-07", period_end: "2024-10-20", pay_date: "2024-10-25" });
  const slips = (gateOf(at, waiting).body as { details?: unknown } | null) ?? {};
  expect(JSON.stringify(slips)).toContain('"deductions":"2228.18"');
  await at.host.engine.cancel(waiting.id, "the test has seen it");
});

test("an overtime question is answered, by the day in California", async () => {
  const end = await run(at, "overtime", { employee: "Sarah Chen", week_start: "2024-10-07" });
  expect(end).toMatchObject({ outcome: "completed", result: { pay: "1792.00", hours: "52", rule: "california" } });
  const flsa = await run(at, "overtime", { employee: "E-1043", week_start: "2024-10-07", hourly_rate: "28.00" });
  expect(flsa.result).toMatchObject({ pay: "1120.00", hours: "40", rule: "flsa" });
});

test("an expense above its category's limit, or in a forbidden category, is escalated", async () => {
  change(at, "update expenses set amount = '450.00' where expense_id = 'EXP-702'; update expense_policies set allowed = 0 where category = 'training'");
  change(at, "update employees set single_expense_limit = '900.00' where employee_id = 'E-1042'");
  for (const [expense_id, rule] of [
    ["EXP-702", "OVER_LIMIT"],
    ["EXP-703", "CATEGORY_NOT_ALLOWED"],
  ]) {
    const waiting = await run(at, "expense_approval", { expense_id: expense_id! });
    expect(JSON.stringify(gateOf(at, waiting).brief)).toContain(rule);
    await at.host.engine.cancel(waiting.id, "the test has seen it");
  }
});

test("nobody on a sanctions list is provisioned; politically exposed persons and listed countries are escalated", async () => {
  change(at, "update customers set sanctions_hit = 1 where customer_id = 'C-310'; update customers set country = 'IR' where customer_id = 'C-311'");
  expect(await run(at, "customer_onboarding", { customer_id: "C-310" })).toMatchObject({ outcome: "blocked", result: { reason: expect.stringContaining("SANCTIONS") } });
  expect(await run(at, "customer_onboarding", { customer_id: "C-311" })).toMatchObject({ status: "waiting", reason: "escalation" });
  change(at, "update customers set sanctions_hit = 0, pep = 1 where customer_id = 'C-310'");
  expect(await run(at, "customer_onboarding", { customer_id: "C-310" })).toMatchObject({ status: "waiting", reason: "escalation" });
  expect(changes(at)).not.toContain("provision_account");
});

test("access can end before the last day if a person says so; pay and status follow on the last day", async () => {
  const early = await run(at, "hr_offboarding", { employee_id: "E-2291", revoke_on: "2024-11-08" });
  expect(JSON.stringify(gateOf(at, early))).toMatch(/REVOKED_TOO_EARLY.*IRREVERSIBLE|cannot_be_undone/s);
  const end = await answer(at, early);
  expect([end.error, end.outcome]).toEqual([null, "completed"]);
  expect(end.result).toMatchObject({ access: { status: "revoked" }, systems: ["sso", "github", "slack", "jira", "aws"], final_pay: "2520.00" });
  expect(rows(at, "select status, last_day from employees where employee_id = 'E-2291'")).toEqual([{ status: "leaving", last_day: "2024-11-15" }]);
  expect(rows(at, "select * from final_pays where employee_id = 'E-2291'")).toEqual([]);
  const told = (await at.host.engine.steps(end.id)).filter((step) => step.name === "notify_send").map((step) => step.params);
  expect(told.join()).toMatch(/maya@cleared.example.*Exit survey/);
  change(at, "update company set business_date = '2024-11-15'");
  const last = await run(at, "hr_offboarding", { employee_id: "E-2291" });
  // The policy has judged the final pay: no card says that it has not.
  expect(JSON.stringify(gateOf(at, last))).not.toMatch(/has not judged/);
  expect((await answer(at, last)).outcome).toBe("completed");
  expect(rows(at, "select amount from final_pays where employee_id = 'E-2291'")).toEqual([{ amount: "2520.00" }]);
  change(at, "update company set business_date = '2024-11-08'");
});

test.each([[["C-303"]], [["C-310"]]])("collections from %j, who owe nothing yet, are complete", async (customers) => {
  expect(await run(at, "ar_collections", { customers })).toMatchObject({ outcome: "completed", result: { amount: "0.00", action: "none: nothing is overdue" } });
});

test("an invoice paid in the meantime is complete without a step", async () => {
  change(at, "update ar_invoices set status = 'paid', balance = '0.00' where customer_id = 'C-301'");
  expect(await run(at, "ar_collections", { customers: ["C-301"] })).toMatchObject({ outcome: "completed", result: { amount: "0.00", action: "none: nothing is overdue" } });
});

test("an upgrade enables what the plan adds", async () => {
  const end = await ended("subscription_migration", { subscription_id: "SUB-77", plan_id: "ENTERPRISE" });
  expect(end).toMatchObject({ plan: "Enterprise", features_added: ["sso", "data_lake"], features_lost: [] });
  const on = "select feature from features where subscription_id = 'SUB-77' and enabled = 1 order by feature";
  expect(rows(at, on).map((one) => one["feature"])).toEqual(["api", "audit_log", "data_lake", "reports", "sso"]);
});

test("breaches and incidents report possible liabilities under their contracts", async () => {
  expect(await ended("sla_breach", { contract_id: "CTR-441", period: "2024-09" })).toMatchObject({ breach: { exposure: "2520.00" } });
  const incident = await run(at, "incident_response", { incident_id: "INC-502" });
  // Half of 12,000, a quarter of 1,499 and of 2,600
  expect(JSON.stringify(gateOf(at, incident))).toContain('"sla_exposure":"7024.75"');
});

test("the third credited breach of a quarter is escalated, though earlier ones are listed nowhere else", async () => {
  const own = await business();
  await run(own, "sla_breach", { contract_id: "CTR-501", period: "2024-10" });
  for (const month of ["07", "08"])
    change(own, `insert into uptime select 'UP-${month}', service_id, '2024-${month}', days, total_minutes, uptime_pct, downtime_minutes from uptime where metric_id = 'UP-2'`);
  const credit = (month: string) => run(own, "sla_breach", { contract_id: "CTR-501", period: `2024-${month}` });
  expect((await credit("07")).result).toMatchObject({ quarter_total: "74.95", approved_by: "policy" });
  change(own, "insert into sla_breaches values ('BR-9', 'CTR-501', '2024-07', '74.95')");
  expect((await credit("08")).result).toMatchObject({ quarter_total: "149.90", approved_by: "policy" });
  const third = await credit("09");
  expect(gateOf(own, third)).toMatchObject({ kind: "escalation", level: "vp", title: expect.stringContaining("breaches_in_quarter 3 >= 3") });
  expect(JSON.stringify(gateOf(own, await answer(own, third, "approved", "Lee")))).toContain('"quarter_total":"224.85"');
});

test.each([
  ["amounts that cancel each other", { params: { invoice_id: "INV-2024-447", amount: "9000.00", credit: "-9000.00", pay_date: "2024-11-01" } }],
  ["a smaller amount given beside it", { amount: "0.01", params: { invoice_id: "INV-2024-447", amount: "9000.00", pay_date: "2024-11-01" } }],
  ["amounts in a list", { params: { invoice_id: "INV-2024-447", parts: ["9000.00", "1.00"], pay_date: "2024-11-01" } }],
])("an approver's required seniority is not lowered by %s", async (_, given) => {
  const waiting = await run(at, "general", { task: "pay it", tool: "erp/schedule_payment", irreversible: false, ...given });
  expect(gateOf(at, waiting)).toMatchObject({ level: "manager" });
  await at.host.engine.cancel(waiting.id, "the test has seen it");
});

test("general makes a call with an amount that a person gave and the policy has judged", async () => {
  const input = { task: "write off", tool: "erp/write_off_invoice", params: { ar_invoice_id: "AR-3008", amount: "990.00", reason: "bankrupt" } };
  const waiting = await run(at, "general", input);
  expect([waiting.error, JSON.stringify(gateOf(at, waiting))]).toEqual([null, expect.stringContaining("AMOUNT_GT_500")]);
  expect(await answer(at, waiting)).toMatchObject({ outcome: "completed", result: { decision_or_status: "done" } });
  // Whatever its field is called, and with cents or without.
  const decline = { dispute_id: "D-410", decided_credit: "0" };
  const closing = await run(at, "general", { task: "decline the dispute", tool: "erp/resolve_dispute", params: decline });
  expect([closing.error, (await answer(at, closing)).outcome]).toEqual([null, "completed"]);
});

/** Every process that asks, with something nobody has answered. */
const UNANSWERED: [string, object][] = [
  ["invoice_reconciliation", { invoice_id: "INV-2024-447" }],
  ["expense_approval", { expense_id: "EXP-704" }],
  ["procurement", { requisition_id: "REQ-34" }],
  ["hr_offboarding", { employee_id: "E-2290" }],
  ["incident_response", { incident_id: "INC-501" }],
  ["order_management", { order_id: "ORD-5592" }],
  ["sla_breach", { contract_id: "CTR-502", period: "2024-09" }],
  ["dispute_resolution", { dispute_id: "D-411" }],
  ["customer_onboarding", { customer_id: "C-311" }],
  ["month_end_close", { period: "2024-09" }],
  ["payroll", { pay_group: "US-BIWEEKLY", period_start: "2024-10-07", period_end: "2024-10-20", pay_date: "2024-10-25" }],
  ["compliance_audit", { audit_id: "AUD-24" }],
  ["ar_collections", { customers: ["C-302"] }],
  ["subscription_migration", { subscription_id: "SUB-78", plan_id: "BASIC" }],
  ["general", { task: "close it", tool: "erp/close_ticket", params: { ticket_id: "T-1002", resolution: "done" } }],
];

test("an unanswered question ends each process as expired, with its case and reason, and nothing is done", async () => {
  at = await business();
  const asked: [string, string][] = [];
  for (const [agent, input] of UNANSWERED) {
    let waiting = await run(at, agent, input as never);
    // An escalation has no end in time; the gate after it has.
    if (waiting.reason === "escalation") waiting = await answer(at, waiting);
    expect([agent, waiting.error, waiting.reason]).toEqual([agent, null, "approval"]);
    asked.push([agent, waiting.id]);
  }
  wait(15 * 86_400_000);
  for (const [agent, id] of asked) {
    const end = await at.host.engine.result(id, { ended: true, timeoutMs: 60_000 });
    expect([agent, end.outcome, end.result]).toEqual([
      agent,
      "expired",
      expect.objectContaining({ decision: "expired", by: "nobody", reason: expect.stringContaining("Nobody answered"), summary: expect.any(String) }),
    ]);
    expect([agent, end.result]).not.toEqual([agent, expect.objectContaining({ not_known: expect.anything() })]);
  }
  expect(changes(at)).toEqual([]);
});

test.each([
  ["customer_onboarding", { customer_id: "C-311" }, "update customers set pep = 1 where customer_id = 'C-311'", /@cleared\.example/],
  ["sla_breach", { contract_id: "CTR-502", period: "2024-09" }, "update contracts set strategic = 1 where contract_id = 'CTR-502'", /@cleared\.example/],
  ["procurement", { requisition_id: "REQ-34" }, "update budgets set amount = committed", /@cleared\.example/],
])("rejecting the escalation of %s %j ends it as rejected; whoever asked is told the reason, and nothing is done", async (agent, input, above, hears) => {
  change(at, above);
  const before = changes(at);
  const waiting = await run(at, agent, input);
  expect(waiting).toMatchObject({ status: "waiting", reason: "escalation" });
  const end = await answer(at, waiting, "rejected", "Mo", {}, "too dear");
  expect([end.error, end.outcome]).toEqual([null, "rejected"]);
  expect(end.result).toMatchObject({ decision: "rejected" });
  expect(JSON.stringify(end.result)).toMatch(/Mo.*too dear/);
  const told = (await at.host.engine.steps(end.id)).filter((step) => step.name === "notify_send").map((step) => step.params);
  expect(told).toEqual([expect.stringMatching(hears)]);
  expect(told[0]).toContain("too dear");
  expect(changes(at)).toEqual(before);
});

/** A copy of a row of the business with other values. */
const copied = (table: string, where: string, values: string): void =>
  change(at, `create temp table copy as select * from ${table} where ${where}; update copy set ${values}; insert into ${table} select * from copy`);
const ofOrder = (invoice_id: string, values: string): void =>
  copied("invoices", "invoice_id = 'INV-2024-448'", `invoice_id = '${invoice_id}', vendor_number = '${invoice_id}', status = 'received', ${values}`);
const waitsFor = async (invoice_id: string, why: string): Promise<void> => {
  const waiting = await run(at, "invoice_reconciliation", { invoice_id });
  expect([invoice_id, waiting.status, waiting.reason]).toEqual([invoice_id, "waiting", "approval"]);
  expect(JSON.stringify(gateOf(at, waiting).brief)).toContain(why);
  await at.host.engine.cancel(waiting.id, "the test has seen it");
};

test("a credit makes room for another invoice of its order only when it was settled, and is itself for a person", async () => {
  change(at, "update invoices set status = 'paid' where invoice_id = 'INV-2024-448'");
  ofOrder("CREDIT", "amount = '-52224.00', invoice_date = '2024-11-01'");
  ofOrder("INV-901", "invoice_date = '2024-11-05'");
  for (const status of ["received", "approved", "scheduled", "void"]) {
    change(at, `update invoices set status = '${status}' where invoice_id = 'CREDIT'`);
    await waitsFor("INV-901", "variance 53248.00 > 500");
  }
  // With it the order is invoiced as it was ordered, and yet it would be money that leaves in the other direction.
  ofOrder("LITTLE", "amount = '-100.00', invoice_date = '2024-11-04'");
  await waitsFor("LITTLE", "amount -100.00 <= 0");
  change(at, "update invoices set status = 'paid' where invoice_id = 'CREDIT'");
  expect(await run(at, "invoice_reconciliation", { invoice_id: "INV-901" })).toMatchObject({ outcome: "completed", result: { by: "policy" } });
});

test.each(["canceled", "closed", null])("an invoice of an order that is %s is for a person", async (status) => {
  const set = (to: string | null) => change(at, `update purchase_orders set status = ${to === null ? "null" : `'${to}'`} where po_id = 'PO-2024-120'`);
  set(status);
  await waitsFor("INV-2024-449", "ORDER_NOT_OPEN");
  set("received");
});

test.each([
  ["invoice_reconciliation", { invoice_id: "INV-2024-449" }, "purchase_orders invoices"],
  ["sla_breach", { contract_id: "CTR-501", period: "2024-09" }, "contracts"],
])("amounts in another currency, or in none, are not approved by policy, however small a difference: %s", async (agent, input, tables) => {
  for (const currency of ["'KWD'", "null", "''"]) {
    for (const table of tables.split(" ")) change(at, `update ${table} set currency = ${currency}`);
    const waiting = await run(at, agent, input);
    expect([currency, waiting.status, waiting.error?.message]).toEqual([currency, "waiting", undefined]);
    expect(JSON.stringify(gateOf(at, waiting).brief)).toMatch(/cannot be decided without (?:variance|credit) in USD/);
    await at.host.engine.cancel(waiting.id, "the test has seen it");
  }
  for (const table of tables.split(" ")) change(at, `update ${table} set currency = 'USD'`);
});
