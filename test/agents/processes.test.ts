/** Each of the fifteen processes on the demo business: what comes out, what was written, and that nothing was written twice. Size: one table of the fifteen, on one database. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fromWire } from "../../runtime/kernel/errors.ts";
import { missingFields } from "../../runtime/rules/answers/required.ts";
import { findingsOf } from "../../runtime/app/check-api.ts";
import type { Json } from "../../runtime/kernel/ports.ts";
import { TEMPLATES } from "../states/templates.ts";
import { answer, approved, type Business, business, change, changes, finish, gateOf, rows, run, statusesOf, writesOf } from "./harness.ts";

let at: Business;
beforeAll(async () => {
  at = await business();
});
afterAll(finish);

/** Tools carried out since the last look, in order. */
let seen = 0;
function carriedOut(): string[] {
  const all = changes(at);
  return all.slice(seen, (seen = all.length));
}

test("every agent passes the checks made before a run, and its states are those of its process", async () => {
  const tree = at.host.git.tree(await at.host.git.head());
  const names = readdirSync(join(at.dir, "agents")).map((file) => file.slice(0, -3));
  for (const name of names) expect([name, await findingsOf(tree, `agents/${name}.ts`, at.host)]).toEqual([name, []]);
  const agents = await at.host.agents();
  for (const [name, { machine }] of TEMPLATES) {
    const found = agents.find((one) => one.name === name)?.header;
    expect([name, found?.machine?.states.map((one) => one.state + (one.conditional ? "?" : ""))]).toEqual([
      name,
      machine.states.map((one) => one.state + (one.conditional ? "?" : "")),
    ]);
    expect(found?.process).toBe(name);
    expect(Object.keys(found?.input ?? {}).length).toBeGreaterThan(0);
  }
});

interface Case {
  input: Json;
  gates: number;
  /** Tools that were carried out, in order. */
  does: string[];
  result: Json;
}

const CASES: Record<string, Case> = {
  invoice_reconciliation: {
    input: { invoice_id: "INV-2024-447" },
    gates: 1,
    does: ["approve_invoice", "schedule_payment"],
    result: {
      decision: "approved",
      amount: "52340.00",
      variance: "1140.00",
      variance_pct: "2.2265625",
      pays: { amount: "51293.20", discount: "1046.80", pay_date: "2024-11-14" },
      by: "Mo",
    },
  },
  expense_approval: {
    input: { expense_id: "EXP-703" },
    gates: 1,
    does: ["record_expense_approval", "reimburse_expense"],
    result: { decision: "approved", amount: "2150.00", requester: "Ruth Adeyemi", budget_left: "56500.00" },
  },
  procurement: {
    input: { requisition_id: "REQ-31" },
    gates: 1,
    does: ["create_purchase_order", "create_ticket"],
    result: { vendor: "Acme Corp", amount: "4498.25", three_years: "4858.25", budget_left: "37101.75" },
  },
  hr_offboarding: {
    input: { employee_id: "E-2290" },
    gates: 1,
    does: ["update_employee_status", "revoke_access", "revoke_access", "transfer_ownership"],
    result: {
      access: { status: "revoked", on: "2024-11-08" },
      systems: ["sso", "crm"],
      equipment: { to_return: ["Laptop 16 inch SN-77A-212"] },
    },
  },
  incident_response: {
    input: { incident_id: "INC-501" },
    gates: 2,
    does: ["rollback_deployment", "update_incident", "create_ticket"],
    // 4 x 5 + 21 x 3 + 310 x 1
    result: { severity: "P1", resolution: "mitigated", impact: { customers: 335, weighted: "393.00", cardholder_data: true } },
  },
  order_management: {
    input: { order_id: "ORD-5592" },
    gates: 1,
    does: ["reserve_inventory", "reserve_inventory", "charge_customer", "create_shipment"],
    // 134.50 with 7.25 % tax, and 8.50 for 3.4 kg in the first zone
    result: { total: "152.75", tax: "9.75", shipping: "8.50", fulfillment: { status: "shipped" } },
  },
  sla_breach: {
    input: { contract_id: "CTR-441", period: "2024-09" },
    gates: 1,
    does: ["apply_credit"],
    result: { credit: "1260.00", breach: { downtime_minutes: "388.8", allowed_minutes: "43.2", credit_pct: "15" }, customer: "INFRA-9" },
  },
  dispute_resolution: {
    input: { dispute_id: "D-411" },
    gates: 1,
    does: ["issue_credit_memo", "resolve_dispute"],
    result: { decision: "credited", amount: "736.83" },
  },
  customer_onboarding: {
    input: { customer_id: "C-310" },
    gates: 0,
    does: ["provision_account", "assign_csm", "create_project"],
    result: { csm: "Lukas Braun", next_step: { kickoff: "2024-11-15", check_ins: [30, 60, 90] } },
  },
  month_end_close: {
    input: { period: "2024-09" },
    gates: 1,
    // Depreciation, two contracts, late charges, tax
    does: ["post_entry", "post_entry", "post_entry", "post_entry", "post_entry", "lock_period"],
    // 84,200 sold, 37,110 of goods, 6,500 rent, a sixtieth of 25,000, 1,000 and 333.34 earned, 9 % of what is late for its days, 21 % of it all
    result: {
      ...{ period: "2024-09", balance: "127810.00", depreciation: "416.67", recognized: "1333.34" },
      ...{ late_fees: "25.00", interest: "122.16", tax: "8747.30", result: "32906.53" },
      departments: [
        { department_id: "D-SALES", result: "84200.00" },
        { department_id: "D-OPS", result: "-43610.00" },
        { department_id: "none", result: "-7683.47" },
      ],
    },
  },
  payroll: {
    input: { pay_group: "US-BIWEEKLY", period_start: "2024-10-07", period_end: "2024-10-20", pay_date: "2024-10-25" },
    gates: 1,
    does: ["record_pay_run", "update_payroll_ytd", "update_payroll_ytd", "update_payroll_ytd", "post_entry"],
    result: { gross: "8499.00", net: "6059.03", deductions: "2439.97", headcount: 3, bank_file: { total: "6059.03", count: 3 } },
  },
  compliance_audit: {
    input: { audit_id: "AUD-24" },
    // The escalation, the sign-off by vice president and legal.
    gates: 2,
    does: [
      "create_remediation_task",
      "create_remediation_task",
      "initiate_edd_review",
      "initiate_edd_review",
      "initiate_edd_review",
      "publish_audit",
    ],
    result: { score: "50", by_severity: { critical: 0, high: 1, medium: 1 } },
  },
  ar_collections: {
    input: { customers: ["C-8821", "C-301"] },
    gates: 0,
    does: ["send_reminder"],
    result: {
      failed: [],
      action: [
        { customer_id: "C-8821", made: 0 },
        { customer_id: "C-301", days: 81, action: "send notice", made: 1 },
      ],
    },
  },
  subscription_migration: {
    input: { subscription_id: "SUB-78", plan_id: "BASIC" },
    gates: 5,
    does: ["update_subscription", "refund_customer", "provision_feature", "deprovision_feature"],
    result: { plan: "Basic", billing: { net: "-398.78", fee: "674.55", credit: "1149.23", cost: "75.90" }, effective: "2024-11-08" },
  },
  general: {
    input: { task: "close the ticket about Contoso", tool: "erp/close_ticket", params: { ticket_id: "T-1003", resolution: "withdrawn" } },
    gates: 1,
    does: ["close_ticket"],
    result: { decision_or_status: "done", key_entity: "T-1003" },
  },
};

test.each(Object.entries(CASES))(
  "%s completes, with each write made once and verified",
  async (agent, { input, gates, does, result }) => {
    carriedOut();
    const found = await approved(at, agent, input);
    expect(found.end.result).toMatchObject(result as object);
    expect(missingFields(agent, {}, found.end.result as Json)).toEqual([]);
    expect([found.end.outcome, found.gates]).toEqual(["completed", gates]);
    expect(carriedOut()).toEqual(does);
    expect(found.writes.map((one) => one.tool)).toEqual(does.map((tool) => `erp/${tool}`));
    expect(statusesOf(found.writes)).toEqual(["VERIFIED"]);
    expect((found.end.meta as { calls: Json }).calls).toMatchObject({ executed: does.map((tool) => `erp/${tool}`), declined: [] });
  },
);

const AGAIN = [
  "invoice_reconciliation",
  "expense_approval",
  "procurement",
  "order_management",
  "dispute_resolution",
  "customer_onboarding",
];
test.each([...AGAIN, "month_end_close", "payroll", "compliance_audit", "subscription_migration"])(
  "%s repeats nothing when run again",
  async (agent) => {
    carriedOut();
    const end = await run(at, agent, CASES[agent]!.input);
    expect(end).toMatchObject({ status: "done", outcome: "blocked", result: { decision: "blocked", by: "policy", reason: expect.any(String) } });
    expect(end.result).not.toHaveProperty("not_known");
    expect(carriedOut()).toEqual([]);
  },
);

const BLOCKED: [string, string, Json, object?][] = [
  ["an invoice that was entered before", "invoice_reconciliation", { invoice_id: "INV-2024-451" }, { vendor: expect.any(String), amount: expect.any(String) }],
  ["an invoice whose number was entered in another spelling", "invoice_reconciliation", { invoice_id: "INV-2024-457" }],
  ["an expense without its receipt", "expense_approval", { expense_id: "EXP-707" }, { amount: "500.00", requester: "Tomas Lind" }],
  ["a vendor the requester has an interest in", "procurement", { requisition_id: "REQ-32" }],
  ["a month that is not reconciled", "month_end_close", { period: "2024-10" }],
  ["a subscription with a balance due", "subscription_migration", { subscription_id: "SUB-79", plan_id: "ENTERPRISE" }],
];
test.each(BLOCKED)("%s is blocked, and nothing is written", async (_, agent, input, about = {}) => {
  carriedOut();
  const result = { decision: "blocked", by: "policy", reason: expect.stringMatching(/./), summary: expect.stringMatching(/^blocked by policy/) };
  const end = await run(at, agent, input);
  expect(end).toMatchObject({ status: "done", outcome: "blocked", result: { ...result, ...about } });
  expect(end.result).not.toHaveProperty("not_known");
  expect(carriedOut()).toEqual([]);
});

test.each(["AC-8801", "ac.8801", "\uff21\uff23 8801"])("an invoice with the number %s of one that is paid is blocked, although it is dated before it", async (number) => {
  // On another order of the vendor, which it fits.
  change(
    at,
    `CREATE TEMP TABLE copy AS SELECT * FROM invoices WHERE invoice_id = 'INV-2024-448';
     UPDATE copy SET invoice_id = 'INV-${number}', vendor_number = '${number}', invoice_date = '2024-07-01', status = 'received';
     INSERT INTO invoices SELECT * FROM copy`,
  );
  carriedOut();
  const end = await run(at, "invoice_reconciliation", { invoice_id: `INV-${number}` });
  expect(end).toMatchObject({ status: "done", outcome: "blocked", result: { reason: expect.stringContaining("DUPLICATE") } });
  expect(carriedOut()).toEqual([]);
  change(at, `DELETE FROM invoices WHERE invoice_id = 'INV-${number}'`);
});

test.each([
  ["names the order of another vendor", "INV-2024-454", "OTHER_VENDOR"],
  ["is in another currency than its order", "INV-2024-455", "OTHER_CURRENCY"],
  ["comes for an order that another invoice fills", "INV-2024-456", "variance 550.00 > 500"],
])("an invoice that %s is not paid by the policy", async (_, invoice_id, why) => {
  const waiting = await run(at, "invoice_reconciliation", { invoice_id });
  expect(waiting).toMatchObject({ status: "waiting", reason: "approval" });
  const steps = await at.host.engine.steps(waiting.id);
  const said = steps.flatMap((step) => step.changes.flatMap((change) => (change.op === "verdict" ? [change.verdict.summary] : [])));
  expect(said.join()).toContain(why);
  await at.host.engine.cancel(waiting.id, "the test has seen it");
});

const SAID = { decision: "rejected", reason: "too dear", summary: expect.stringContaining("by Mo: too dear") };
const REFUSED: [string, Json, string[]?, object?][] = [
  ["invoice_reconciliation", { invoice_id: "INV-2024-450" }, ["reject_invoice"], { ...SAID, vendor: expect.any(String), by: "Mo" }],
  ["expense_approval", { expense_id: "EXP-704" }, ["reject_expense"], { ...SAID, amount: "5400.00", requester: "Priya Nair", by: "Mo" }],
  ["procurement", { requisition_id: "REQ-34" }, [], { decision: "rejected", approval: "rejected by Mo: too dear", po_number: null }],
  ["order_management", { order_id: "ORD-5590" }, [], { decision: "rejected", by: "Mo", customer: expect.any(String), total: expect.any(String) }],
  ["dispute_resolution", { dispute_id: "D-410" }, ["resolve_dispute"], { decision: "rejected", by: "Mo", reason: "Mo said no: too dear", amount: "0.00" }],
  ["customer_onboarding", { customer_id: "C-311" }],
  ["sla_breach", { contract_id: "CTR-502", period: "2024-09" }, [], { credit: "0.00" }],
  ["subscription_migration", { subscription_id: "SUB-77", plan_id: "ENTERPRISE" }, [], { plan: "Pro", billing: { net: "0.00" } }],
  ["ar_collections", { customers: ["C-302"] }],
  ["incident_response", { incident_id: "INC-502" }],
  ["hr_offboarding", { employee_id: "E-2291", revoke_on: "2024-11-08" }],
  ["general", { task: "close it", tool: "erp/close_ticket", params: { ticket_id: "T-1002", resolution: "done" } }],
  ["payroll", { pay_group: "UK-MONTHLY", period_start: "2024-10-01", period_end: "2024-10-31", pay_date: "2024-10-31" }],
];
/** Who is told of a no, with its reason: a customer, an employee's manager, whoever asked. */
const HEARS: Record<string, RegExp> = {
  expense_approval: /priya@/,
  procurement: /@cleared.example/,
  dispute_resolution: /"to":"[^"]*@(?!cleared)/,
  customer_onboarding: /@cleared.example/,
  sla_breach: /@cleared.example/,
  subscription_migration: /"to":"[^"]*@(?!cleared)/,
  hr_offboarding: /@cleared.example/,
};
test.each(REFUSED)("%s %j ends as rejected after a rejection, and only the rejection is written", async (agent, input, does = [], told = {}) => {
  carriedOut();
  const waiting = await run(at, agent, input);
  expect(gateOf(at, waiting).brief).toBeDefined();
  const end = await answer(at, waiting, "rejected", "Mo", {}, "too dear");
  expect([end.error, end.outcome]).toEqual([null, "rejected"]);
  expect(end.result).toMatchObject({ decision: "rejected", ...told });
  expect(end.result).not.toHaveProperty("not_known");
  expect(carriedOut()).toEqual(does);
  const told_to = (await at.host.engine.steps(end.id)).filter((step) => step.name === "notify_send").map((step) => step.params);
  if (agent in HEARS) expect(told_to).toEqual([expect.stringMatching(HEARS[agent]!)]);
  if (agent in HEARS) expect(told_to[0]).toContain("too dear");
  // What was asked for, made and refused stands beside the answer.
  const { planned = [], executed = [], declined = [] } = (end.meta as { calls?: Record<string, string[]> }).calls ?? {};
  expect([executed, declined]).toEqual([does.map((tool) => `erp/${tool}`), planned]);
  expect(statusesOf(await writesOf(at, end)).filter((status) => status !== "VERIFIED")).toEqual([]);
});

test("a rejection is written to the record with its reason, and reported to whoever asked", async () => {
  expect(rows(at, "select status, reason from expenses where expense_id = 'EXP-704'")).toEqual([{ status: "rejected", reason: "too dear" }]);
  expect(rows(at, "select status from invoices where invoice_id = 'INV-2024-450'")).toEqual([{ status: "rejected" }]);
  const list = await at.host.engine.list({ limit: 300 });
  const [end] = list.filter((one) => one.agent === "expense_approval" && one.outcome === "rejected");
  const notices = (await at.host.engine.steps(end!.id)).filter((step) => step.name === "notify_send").map((step) => step.params);
  expect(notices.join()).toMatch(/priya@cleared.example.*is rejected.*too dear/);
});

test("after a rejection, only the calls named for it are made", async () => {
  const call = `{ tool: "erp/close_ticket", params: { ticket_id: "T-1001", resolution: "done" } }`;
  const states = ["ASSESS", "COMPUTE", "POLICY_CHECK"].map((state) => `fsm_enter("${state}");`).join("\n");
  const header = readFileSync(join(at.dir, "agents/general.ts"), "utf8").split("*/")[0];
  const body = `policy_evaluate({ facts: { amount: "0", irreversible: true } });\nfsm_enter("APPROVAL_GATE");
approval_wait({ title: "Close it?", calls: [${call}], otherwise: [] });\nfsm_enter("MUTATE");\nmcp_call(${call});\n`;
  writeFileSync(join(at.dir, "agents/deaf.ts"), `${header}*/\n${states}\n${body}`);
  execFileSync("git", ["add", "agents/deaf.ts"], { cwd: at.dir });
  execFileSync("git", ["-c", "user.name=Pat", "-c", "user.email=pat@example.com", "commit", "-qm", "agents: deaf"], { cwd: at.dir });
  carriedOut();
  const end = await answer(at, await run(at, "deaf", { task: "close it" }), "rejected");
  expect(end).toMatchObject({ status: "failed", error: { code: "APPROVAL_REQUIRED", message: expect.stringContaining("Mo said no") } });
  expect(carriedOut()).toEqual([]);
});

test("the approver is recorded outside by their id there, else by name, whatever was edited", async () => {
  const other = await business((trust) => trust.replace("{erp: Mo}", "{erp: E-1002}"));
  await answer(other, await run(other, "expense_approval", { expense_id: "EXP-703" }), "approved", "Mo");
  const forged = { "calls.0.params.approved_by": "E-1003" };
  const second = await run(other, "expense_approval", { expense_id: "EXP-701" });
  await expect(answer(other, second, "approved", "Lee", forged)).rejects.toMatchObject({ code: "USAGE" });
  await answer(other, second, "approved", "Lee");
  await answer(other, await run(other, "month_end_close", { period: "2024-09" }), "approved", "Mo");
  expect(rows(other, "select expense_id, approved_by from expenses where expense_id in ('EXP-701', 'EXP-703') order by 1")).toEqual([
    { expense_id: "EXP-701", approved_by: "Lee" },
    { expense_id: "EXP-703", approved_by: "E-1002" },
  ]);
  expect(rows(other, "select locked_by from periods where period = '2024-09'")).toEqual([{ locked_by: "E-1002" }]);
});

test.each<[string, Json]>([
  ["expense_approval", { expense_id: "EXP-702" }],
  ["procurement", { requisition_id: "REQ-31" }],
])("%s is not approved by whoever requested it, whoever started the run", async (agent, input) => {
  const other = await business((trust) => trust.replace("{erp: Mo}", "{erp: E-1042}"));
  const asked = await run(other, agent, input);
  await expect(answer(other, asked, "approved", "Mo")).rejects.toMatchObject({ code: "APPROVAL_SELF" });
  expect((await answer(other, asked, "approved", "Lee")).status).toBe("done");
});

const FOREIGN: [string, Json, string, string][] = [
  ["invoice_reconciliation", { invoice_id: "INV-2024-453" }, "VARIANCE_GT_2PCT cannot be decided without variance in USD", "purchase_orders invoices"],
  ["sla_breach", { contract_id: "CTR-501", period: "2024-09" }, "cannot be decided without credit in USD", "contracts"],
];
test.each(FOREIGN)("an amount in another currency is not judged by the policy's figures: %s %j", async (agent, input, why, tables) => {
  carriedOut();
  for (const table of tables.split(" ")) change(at, `update ${table} set currency = 'KWD'`);
  const end = await run(at, agent, input);
  expect(end).toMatchObject({ status: "waiting", reason: "approval" });
  expect(JSON.stringify(gateOf(at, end).brief)).toContain(why);
  await at.host.engine.cancel(end.id, "test");
  for (const table of tables.split(" ")) change(at, `update ${table} set currency = 'USD'`);
  expect(carriedOut()).toEqual([]);
});

const PASSED: [string, Json, Json][] = [
  ["invoice_reconciliation", { invoice_id: "INV-2024-448" }, { variance_pct: "2" }],
  ["invoice_reconciliation", { invoice_id: "INV-2024-449" }, { variance: "0.00", by: "policy" }],
  ["invoice_reconciliation", { invoice_id: "INV-2024-453" }, { variance_pct: "3", variance: "150.00" }],
  ["sla_breach", { contract_id: "CTR-501", period: "2024-09" }, { credit: "74.95", approved_by: "policy" }],
  ["sla_breach", { contract_id: "CTR-501", period: "2024-10" }, { credit: "0.00" }],
];
test.each(PASSED)("%s %j needs no person, and two simultaneous runs write once", async (agent, input, result) => {
  carriedOut();
  const ends = await Promise.all([run(at, agent, input), run(at, agent, input)]);
  const made = carriedOut();
  expect(made).toEqual([...new Set(made)]);
  // The second finds nothing left to do, or is stopped by the first.
  const completed = ends.filter((one) => one.outcome === "completed");
  expect(completed.map((end) => end.result)).toContainEqual(expect.objectContaining(result as object));
  for (const end of completed) expect(statusesOf(await writesOf(at, end)).filter((status) => status !== "VERIFIED")).toEqual([]);
});

test("a P1 needs two people, neither of whom started it", async () => {
  const waiting = await run(at, "incident_response", { incident_id: "INC-501" });
  // INC-501 is mitigated by now: a person would have to reopen it first.
  expect(waiting.outcome).toBe("blocked");
  const other = await business();
  const asked = await run(other, "incident_response", { incident_id: "INC-501" });
  await expect(answer(other, asked, "approved", "Pat")).rejects.toThrow(/Pat/);
  const once = await answer(other, asked, "approved", "Mo");
  expect([once.status, gateOf(other, once).approvals]).toEqual(["waiting", 2]);
  await answer(other, once, "approved", "Mo").catch(() => undefined);
  expect((await other.host.engine.get(asked.id))?.status).toBe("waiting");
  expect(changes(other)).toEqual([]);
  expect(await answer(other, once, "approved", "Lee")).toMatchObject({ status: "done", outcome: "completed" });
});

test("Sarah Chen's weeks are 1,792.00 and 1,624.00, and the bank's file is in the run's commit", async () => {
  const list = await at.host.engine.list({ limit: 200 });
  const paid = list.find((one) => one.agent === "payroll" && one.outcome === "completed");
  const { slips, bank_file } = paid?.result as { slips: { name: string; weeks: string[] }[]; bank_file: { path: string } };
  expect(slips.find((one) => one.name === "Sarah Chen")?.weeks).toEqual(["1792.00", "1624.00"]);
  const text = execFileSync("git", ["show", `HEAD:${bank_file.path}`], { cwd: at.dir, encoding: "utf8" });
  expect(text).toContain("Sarah Chen");
  expect(execFileSync("git", ["log", "-1", "--format=%B", "--", bank_file.path], { cwd: at.dir, encoding: "utf8" })).toContain(
    `Run: ${paid?.id}`,
  );
});

test("a group with an account of wrong check digits is not paid, and the account is named", async () => {
  const input = { pay_group: "BAD-BANK", period_start: "2024-10-01", period_end: "2024-10-31", pay_date: "2024-10-31" };
  expect(await run(at, "payroll", input)).toMatchObject({
    status: "failed",
    error: { code: "PAYROLL_ACCOUNT", message: expect.stringContaining("Nora Vance") },
  });
});

test("one refused customer of many does not stop the others", async () => {
  const no = "select raise(abort, 'AR-3007 is at another agency')";
  change(at, `create trigger taken before update on ar_invoices when new.ar_invoice_id = 'AR-3007' begin ${no}; end`);
  const { end } = await approved(at, "ar_collections", { customers: ["C-302", "C-304"] });
  change(at, "drop trigger taken");
  expect(end.result).toMatchObject({
    failed: ["C-302"],
    action: [
      { customer_id: "C-302", made: 0, problems: [expect.stringContaining("another agency")] },
      { customer_id: "C-304", made: 1, problems: [] },
    ],
  });
  expect(rows(at, "select status from ar_invoices where ar_invoice_id = 'AR-3009'")).toEqual([{ status: "agency" }]);
});

test("an order is changed as asked, after a stock check and an approval", async () => {
  const changes = [
    // Typed by somebody: a text counts as its number.
    { sku: "CASE-S", by: "2" },
    { sku: "GADGET-Y", by: -8 },
  ];
  const { end } = await approved(at, "order_management", { order_id: "ORD-5593", changes });
  expect(end.result).toMatchObject({ fulfillment: { status: "changed" } });
  expect(rows(at, "select sku, quantity from order_lines where order_id = 'ORD-5593' order by sku")).toEqual([
    { sku: "CASE-S", quantity: 2 },
    { sku: "GADGET-Y", quantity: 2 },
  ]);
});

test("an order's lines are set as a whole: missing stock is reserved in addition, in one record", async () => {
  const own = await business();
  const asked = await run(own, "order_management", { order_id: "ORD-5593" });
  expect(gateOf(own, asked).title).toMatch(/^Reserve what is in stock for ORD-5593 of /);
  expect((await answer(own, asked)).result).toMatchObject({ fulfillment: { status: "reserved" }, items: [{ id: "GADGET-Y", quantity: 4 }] });
  change(own, "update inventory set on_hand = 50 where sku = 'GADGET-Y'");
  const all = await run(own, "order_management", { order_id: "ORD-5593" });
  expect(gateOf(own, all).title).toMatch(/^Fulfil ORD-5593 of /);
  expect((await answer(own, all)).result).toMatchObject({ fulfillment: { status: "shipped" }, items: [{ id: "GADGET-Y", quantity: 10 }] });
  expect(rows(own, "select quantity, status from reservations where order_id = 'ORD-5593'")).toEqual([{ quantity: 10, status: "shipped" }]);
  expect(rows(own, "select on_hand, reserved from inventory where sku = 'GADGET-Y'")).toEqual([{ on_hand: 40, reserved: 0 }]);
});

test("whoever was told of a rejection is told of a later approval, and of nothing twice", async () => {
  const own = await business();
  const told = () => own.host.database.all<{ key: string; subject: string }>("select json_extract(payload, '$.subject') as subject from notices order by rowid").map(({ subject }) => subject);
  const requisition = { requisition_id: "REQ-31" };
  await answer(own, await run(own, "procurement", requisition), "rejected");
  await answer(own, await run(own, "procurement", requisition));
  await run(own, "procurement", requisition);
  expect(told()).toEqual(["REQ-31 is rejected", "REQ-31 is ordered"]);
  // Measured anew, what was nothing is a breach; credited, it is told once.
  const period = { contract_id: "CTR-501", period: "2024-10" };
  expect((await run(own, "sla_breach", period)).result).toMatchObject({ credit: "0.00" });
  change(own, "update uptime set uptime_pct = '99.2', downtime_minutes = '357.12' where metric_id = 'UP-3'");
  expect((await run(own, "sla_breach", period)).result).toMatchObject({ credit: "74.95" });
  expect((await run(own, "sla_breach", period)).result).toMatchObject({ credit: "0.00", summary: expect.stringContaining("74.95 credited already on 2024-11-08") });
  expect(told().slice(2)).toEqual(Array(2).fill("Service credit CTR-501 2024-10"));
  await answer(own, await run(own, "hr_offboarding", { employee_id: "E-2290" }));
  expect(await answer(own, await run(own, "hr_offboarding", { employee_id: "E-2290" }))).toMatchObject({ outcome: "completed" });
  expect(told().slice(4)).toEqual(["Ivan Petrov leaves", "Exit survey"]);
});

test("an escalation names its case and the facts given to the policy", async () => {
  const waiting = await run(at, "procurement", { requisition_id: "REQ-33" });
  expect(gateOf(at, waiting)).toMatchObject({
    title: expect.stringMatching(/^REQ-33: escalated \(cfo\)/),
    body: { about: { requisition_id: "REQ-33", amount: "67149.00", vendor: "Globex Supply" } },
  });
});

test("an approved change is not made to a record that another run has changed meanwhile", async () => {
  change(at, "update inventory set on_hand = reserved + 4 where sku = 'GADGET-X'");
  change(at, "update order_lines set sku = 'GADGET-X', quantity = 10 where order_id = 'ORD-5593' and sku = 'GADGET-Y'");
  await approved(at, "order_management", { order_id: "ORD-5593" });
  change(at, "update inventory set on_hand = reserved + 50 where sku = 'GADGET-X'");
  carriedOut();
  const both = [await run(at, "order_management", { order_id: "ORD-5593" }), await run(at, "order_management", { order_id: "ORD-5593" })];
  const ends = [await answer(at, both[0]!), await answer(at, both[1]!)];
  expect(ends.map(({ outcome }) => outcome)).toEqual(["completed", "blocked"]);
  expect(carriedOut()).toEqual(["reserve_inventory", "charge_customer", "create_shipment"]);
});

test("an order change that is not fully understood changes nothing and ships nothing", async () => {
  const tasks = [
    ...["remove 3x Case S and 2x Gadget Y", "add 1 Case S, then 2 Gadget Y", "remove 1x Case S; reduce Gadget Y to 4"],
    ...["do not remove 2x Case S, check the stock", "cancel ORD-5593", "swap Case S for Gadget Y", "put ORD-5593 on hold"],
  ];
  for (const task of tasks) {
    const { status, error } = await run(at, "order_management", { order_id: "ORD-5593", task });
    expect([task, status, error?.message]).toEqual([task, "failed", expect.stringContaining("What is to be changed is not clear")]);
  }
});

test("an employee who resigned keeps access until the last day, on which a run is scheduled", async () => {
  const end = await run(at, "hr_offboarding", { employee_id: "E-2291" });
  expect(end.result).toMatchObject({ access: { status: "scheduled", on: "2024-11-15" }, final_pay: "2520.00" });
  const later = (await at.host.engine.list({ limit: 300 })).filter((one) => one.agent === "hr_offboarding" && one.cause.kind !== "command");
  expect(later.length).toBe(1);
});

test("general only reads what it is told, and only names tools for what it is told in words", async () => {
  carriedOut();
  expect(await run(at, "general", { task: "how is it", tool: "erp/get_invoice", params: { invoice_id: "INV-2024-447" } })).toMatchObject({
    outcome: "completed",
    result: { decision_or_status: "read", key_entity: "INV-2024-447" },
  });
  expect(await run(at, "general", { task: "find an invoice" })).toMatchObject({
    outcome: "completed",
    result: { decision_or_status: "found" },
  });
  expect(carriedOut()).toEqual([]);
});

/** Each input of each agent with an id nobody has, and what the message names as near it. */
const UNKNOWN: [string, Json, string][] = [
  ["invoice_reconciliation", { invoice_id: "INV-2024-474" }, "INV-2024-4"],
  ["expense_approval", { expense_id: "EXP-730" }, "EXP-70"],
  ["procurement", { requisition_id: "REQ-13" }, "REQ-3"],
  ["hr_offboarding", { employee_id: "E-2299" }, "E-229"],
  ["incident_response", { incident_id: "INC-511" }, "INC-50"],
  ["order_management", { order_id: "ORD-5529" }, "ORD-559"],
  ["order_management", { order_id: "ORD-5593", changes: [{ sku: "WIDGET-C", by: 1 }] }, "WIDGET-"],
  ["sla_breach", { contract_id: "CTR-414", period: "2024-09" }, "CTR-441"],
  ["sla_breach", { contract_id: "CTR-441", period: "2024-90" }, "2024-"],
  ["dispute_resolution", { dispute_id: "D-499" }, "D-4"],
  ["customer_onboarding", { customer_id: "C-319" }, "C-31"],
  ["customer_onboarding", { customer_id: "C-310", plan_id: "PROO" }, "PRO"],
  ["customer_onboarding", { customer_id: "C-310", csm: "E-1054" }, "E-10"],
  ["month_end_close", { period: "2024-90" }, "2024-"],
  ["payroll", { pay_group: "US-BIWEEKLI", period_start: "2024-10-07", period_end: "2024-10-20", pay_date: "2024-10-25" }, "US-BIWEEKLY"],
  ["compliance_audit", { audit_id: "AUD-42" }, "AUD-2"],
  ["compliance_audit", { audit_id: "AUD-24", customers: ["C-8812"] }, "C-8821"],
  ["ar_collections", { customers: ["C-8812"] }, "C-8821"],
  ["subscription_migration", { subscription_id: "SUB-87", plan_id: "BASIC" }, "SUB-7"],
  ["subscription_migration", { subscription_id: "SUB-78", plan_id: "BASICS" }, "BASIC"],
  ["general", { task: "how is it", tool: "erp/get_invoice", params: { invoice_id: "INV-2024-474" } }, "INV-2024-4"],
];
test.each(UNKNOWN)("%s %j is an input error that suggests near values", async (agent, input, near) => {
  const { status, error } = await run(at, agent, input);
  expect([status, error?.code, error === null ? null : fromWire(error).kind]).toEqual(["failed", "RECORD_UNKNOWN", "input"]);
  expect(error?.message).toContain(`Did you mean "${near}`);
});

test("an order without a matching shipping rate or a known tax is reported in plain words", async () => {
  change(at, "update orders set ship_zone = 'Z9' where order_id = 'ORD-5591'");
  const unrated = await run(at, "order_management", { order_id: "ORD-5591" });
  expect(unrated.error).toMatchObject({ code: "RECORD_UNKNOWN", message: expect.stringContaining("no shipping rate of zone Z9") });
  change(at, "update orders set tax_jurisdiction = 'US-CB' where order_id = 'ORD-5591'");
  expect((await run(at, "order_management", { order_id: "ORD-5591" })).error?.message).toContain('has no record of jurisdiction US-CB. Did you mean "US-CA"?');
});
