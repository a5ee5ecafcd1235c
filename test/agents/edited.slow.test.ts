/** Each process whose calls a person changed before the yes: what is told afterwards - answer, notices, documents - is what was approved. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openBusiness } from "../../examples/erp/business.ts";
import type { Json, RunRecord } from "../../runtime/kernel/ports.ts";
import { answer, type Business, business, change, changes, finish, gateOf, rows, run } from "./harness.ts";

let at: Business;
beforeAll(async () => {
  at = await business();
  openBusiness(join(at.dir, ".cleared/erp.db")).close();
});
afterAll(finish);

/** Agent, input, what is changed from what to what, and what the answer says then. */
const EDITED: [string, Json, Record<string, [string, string]>, object][] = [
  [
    "invoice_reconciliation",
    { invoice_id: "INV-2024-450" },
    { "calls.1.params.amount": ["3400.00", "3000.00"], "calls.1.params.pay_date": ["2024-11-28", "2024-11-20"] },
    { pays: { amount: "3000.00", pay_date: "2024-11-20" } },
  ],
  [
    "expense_approval",
    { expense_id: "EXP-703" },
    { "calls.0.params.approved_amount": ["2150.00", "2000.00"], "calls.1.params.amount": ["2150.00", "2000.00"] },
    { amount: "2000.00", budget_left: "56650.00" },
  ],
  ["procurement", { requisition_id: "REQ-31" }, { "calls.0.params.amount": ["4498.25", "4400.00"] }, { amount: "4400.00", budget_left: "37200.00" }],
  ["order_management", { order_id: "ORD-5592" }, { "calls.2.params.amount": ["152.75", "150.00"] }, { total: "150.00" }],
  ["sla_breach", { contract_id: "CTR-441", period: "2024-09" }, { "calls.0.params.amount": ["1260.00", "1200.00"] }, { credit: "1200.00" }],
  [
    "dispute_resolution",
    { dispute_id: "D-411" },
    { "calls.0.params.amount": ["credited: 736.83", "700.00"], "calls.1.params.decided_credit": [": 736.83 of 736.83 on", "700.00"] },
    { amount: "700.00", decision: "partial" },
  ],
  ["hr_offboarding", { employee_id: "E-2290" }, { "calls.0.params.status": ["Exit survey", "stays"] }, { equipment: { to_return: [] } }],
  [
    "subscription_migration",
    { subscription_id: "SUB-78", plan_id: "BASIC" },
    { "calls.1.params.amount": ["398.78", "390.00"] },
    { billing: { net: "-390.00" } },
  ],
  ["compliance_audit", { audit_id: "AUD-24" }, { "calls.5.params.score": ["50", "55"] }, { score: "55" }],
  [
    "general",
    { task: "close the ticket about Contoso", tool: "erp/close_ticket", params: { ticket_id: "T-1003", resolution: "withdrawn" } },
    { "calls.0.params.resolution": ["withdrawn", "solved"] },
    { action_taken: "erp/close_ticket called with resolution solved, approved by Mo" },
  ],
];

/** What is set where its words are others. */
const VALUES: Record<string, string> = { stays: "active" };

/** The run's card once its calls are asked about; where the policy escalates, somebody looks at the case first. */
async function asking(agent: string, input: Json): Promise<RunRecord> {
  let waiting = await run(at, agent, input);
  for (let gate = 0; gateOf(at, waiting).calls.length === 0; gate++) waiting = await answer(at, waiting, "approved", gate % 2 === 0 ? "Lee" : "Mo");
  return waiting;
}

/** Agent, input, and what would make the first call another case than the policy has judged and the answer tells of. */
const ANOTHER: [string, Json, string, string][] = [
  ["hr_offboarding", { employee_id: "E-2290" }, "calls.0.params.employee_id", "E-1001"],
  ["sla_breach", { contract_id: "CTR-441", period: "2024-09" }, "calls.0.params.contract_id", "CTR-500"],
  ["procurement", { requisition_id: "REQ-31" }, "calls.0.params.vendor_id", "V-101"],
  ["order_management", { order_id: "ORD-5592" }, "calls.2.params.customer_id", "C-300"],
  ["order_management", { order_id: "ORD-5592" }, "calls.2.params.reference", "ORD-5593"],
  ["incident_response", { incident_id: "INC-501" }, "calls.0.params.deployment_id", "DEP-90"],
  ["hr_offboarding", { employee_id: "E-2290" }, "calls.1.params.system", "erp"],
  ["hr_offboarding", { employee_id: "E-2290" }, "calls.3.params.item_id", "OI-1"],
  ["compliance_audit", { audit_id: "AUD-24" }, "calls.0.params.finding_id", "F-1"],
  ["ar_collections", { customers: ["C-301", "C-302", "C-304"] }, "calls.0.params.customer_id", "C-300"],
  ["general", { task: "Cancel ORD-5592", tool: "erp/cancel_order", params: { order_id: "ORD-5592" } }, "calls.0.params.order_id", "ORD-5593"],
];
test.each(ANOTHER)("%s with %j: an approval cannot be moved to another record", async (agent, input, path, to) => {
  const waiting = await asking(agent, input);
  const before = changes(at).length;
  await expect(answer(at, waiting, "approved", "Mo", { [path]: to })).rejects.toMatchObject({ code: "APPROVAL_EDIT", message: expect.stringContaining("start the run again for that one") });
  expect(changes(at)).toHaveLength(before);
});

/** Agent, input, and the parameter that names who receives something. */
const RECEIVERS: [string, Json, string][] = [
  ["hr_offboarding", { employee_id: "E-2290" }, "calls.3.params.owner_id"],
  ["customer_onboarding", { customer_id: "C-311" }, "calls.1.params.csm"],
  ["customer_onboarding", { customer_id: "C-311" }, "calls.2.params.lead_id"],
  ["incident_response", { incident_id: "INC-501" }, "calls.2.params.assignee"],
  ["procurement", { requisition_id: "REQ-31" }, "calls.1.params.assignee"],
];
/** An edit the script cannot work with is refused with its reason, and the card stays open. */
async function isRefused(waiting: RunRecord, sets: Record<string, string>, reason: RegExp): Promise<void> {
  const [before, { id }] = [changes(at).length, gateOf(at, waiting)];
  await expect(answer(at, waiting, "approved", "Mo", sets)).rejects.toMatchObject({ code: "APPROVAL_EDIT", message: expect.stringMatching(reason) });
  expect(gateOf(at, waiting)).toMatchObject({ id, decision: null });
  expect(changes(at)).toHaveLength(before);
}

test.each(RECEIVERS)("%s with %j: an edit that names somebody who is not there is refused", async (agent, input, path) => {
  const waiting = await asking(agent, input);
  await isRefused(waiting, { [path]: "E-9999" }, /no record of employee_id E-9999.*still open/);
  await at.host.engine.cancel(waiting.id, "the test has seen it");
});

test("the ERP keeps the outcome that was credited; its two amounts are one, and nothing is no credit memo", async () => {
  const waiting = await run(at, "dispute_resolution", { dispute_id: "D-410" });
  const set = (amount: string, decided: string) => ({ "calls.0.params.amount": amount, "calls.1.params.decided_credit": decided });
  await isRefused(waiting, set("1000.00", "2000.00"), /amount and decided_credit are one amount, and differ here/);
  await expect(answer(at, waiting, "approved", "Mo", set("0.00", "0.00"))).rejects.toMatchObject({ code: "USAGE", message: expect.stringContaining("above 0.00") });
  expect(await answer(at, waiting, "approved", "Mo", set("1000.00", "1000.0"))).toMatchObject({ outcome: "completed", result: { decision: "partial" } });
  expect(rows(at, "select outcome, decided_credit from disputes where dispute_id = 'D-410'")).toEqual([{ outcome: "partial", decided_credit: "1000.00" }]);
});

test("what a leaver owned is not handed to the leaver, nor to somebody else who leaves", async () => {
  const waiting = await asking("hr_offboarding", { employee_id: "E-2290" });
  await isRefused(waiting, { "calls.3.params.owner_id": "E-2290" }, /E-2290 cannot receive it: separation termination/);
  await isRefused(waiting, { "calls.3.params.owner_id": "E-2291" }, /E-2291 cannot receive it: separation resignation/);
  await at.host.engine.cancel(waiting.id, "the test has seen it");
});

/** What is planned for today or later. */
const DATED: [string, Json, string][] = [
  ["invoice_reconciliation", { invoice_id: "INV-2024-453" }, "calls.1.params.pay_date"],
  ["expense_approval", { expense_id: "EXP-701" }, "calls.1.params.pay_date"],
  ["order_management", { order_id: "ORD-5592" }, "calls.3.params.ship_on"],
  ["subscription_migration", { subscription_id: "SUB-77", plan_id: "ENTERPRISE" }, "calls.0.params.effective_on"],
  ["compliance_audit", { audit_id: "AUD-24" }, "calls.0.params.due_on"],
];
test.each(DATED)("%s %j: an edit to a day that has passed is refused", async (agent, input, path) => {
  // Its discount has passed with its day, and a second invoice needs a person.
  change(at, "update invoices set invoice_date = '2024-10-06', due_date = '2024-12-20' where invoice_id = 'INV-2024-453'; update goods_receipts set accepted = 0 where po_id = 'PO-2024-123'");
  const waiting = await asking(agent, input);
  await isRefused(waiting, { [path]: "2024-11-07" }, /2024-11-07 has passed; today is 2024-11-08.*still open/);
  await at.host.engine.cancel(waiting.id, "the test has seen it");
});

test.each(EDITED)("%s reports what was approved, not what was planned", async (agent, input, changed, told) => {
  const sets = Object.fromEntries(Object.entries(changed).map(([path, [, to]]) => [path, VALUES[to] ?? to]));
  let end = await run(at, agent, input);
  let edited = -1;
  for (let gate = 0; end.status === "waiting" && gate < 10; gate++) {
    const edits = gateOf(at, end).calls.length > 0 && edited < 0;
    if (edits) edited = (await at.host.engine.steps(end.id)).length;
    end = await answer(at, end, "approved", gate % 2 === 0 ? "Mo" : "Lee", edits ? sets : {});
  }
  expect([end.error?.message ?? null, end.outcome]).toEqual([null, "completed"]);
  expect(end.result).toMatchObject(told);
  const after = (await at.host.engine.steps(end.id)).slice(edited + 1).filter((step) => !["read", "pure"].includes(step.effect) && step.name !== "script_run");
  const words = `${JSON.stringify(after.map((step) => [step.name, step.params]))} ${(end.result as { summary: string }).summary}`;
  for (const [from, to] of Object.values(changed)) {
    expect(words).toContain(to);
    if (from.length > 2) expect(words).not.toContain(from);
  }
});

test.each(["amount", "discount", "pay_date"])("an invoice paid with a discount is approved as it is: its %s depends on the other figures", async (field) => {
  const waiting = await run(at, "invoice_reconciliation", { invoice_id: "INV-2024-447" });
  const to = field === "pay_date" ? "2030-01-01" : "0.00";
  await expect(answer(at, waiting, "approved", "Mo", { [`calls.1.params.${field}`]: to })).rejects.toMatchObject({ code: "USAGE", message: expect.stringContaining("only be approved as it is") });
  await at.host.engine.cancel(waiting.id, "the test has seen it");
});

test("a feature that the approval switches off is not lost to a customer who never had it", async () => {
  let end = await run(at, "subscription_migration", { subscription_id: "SUB-77", plan_id: "ENTERPRISE" });
  for (let gate = 0; end.status === "waiting" && gate < 10; gate++) {
    const i = gateOf(at, end).calls.findIndex(({ params }) => (params as { feature?: string }).feature === "sso");
    end = await answer(at, end, "approved", gate % 2 === 0 ? "Mo" : "Lee", i < 0 ? {} : { [`calls.${i}.params.enabled`]: "false" });
  }
  expect(end.result).toMatchObject({ features_lost: [], features_added: ["data_lake"] });
});

test("a feature that the approval lets a customer keep is not new to them", async () => {
  // Earlier tests have moved it.
  change(at, "update subscriptions set plan_id = 'PRO' where subscription_id = 'SUB-77'; update features set enabled = 1 where feature_id = 'F-2'");
  let end = await run(at, "subscription_migration", { subscription_id: "SUB-77", plan_id: "BASIC" });
  for (let gate = 0; end.status === "waiting" && gate < 10; gate++) {
    const i = gateOf(at, end).calls.findIndex(({ params }) => (params as { feature?: string }).feature === "api");
    end = await answer(at, end, "approved", gate % 2 === 0 ? "Mo" : "Lee", i < 0 ? {} : { [`calls.${i}.params.enabled`]: "true" });
  }
  expect((end.result as { features_lost: string[] }).features_lost).not.toContain("api");
  expect(end.result).toMatchObject({ features_added: [] });
});

test("a last day that the approval moves is when the rest of a leaver whose access ended at once is done, and is told", async () => {
  let end = await run(at, "hr_offboarding", { employee_id: "E-2291", revoke: "now" });
  for (let gate = 0; end.status === "waiting" && gate < 10; gate++)
    end = await answer(at, end, "approved", gate % 2 === 0 ? "Mo" : "Lee", gate === 0 ? { "calls.0.params.last_day": "2024-11-12" } : {});
  expect(end).toMatchObject({ outcome: "completed", result: { summary: expect.stringContaining("2024-11-12") } });
  const later = (await at.host.engine.steps(end.id)).filter(({ name }) => name === "schedule_run");
  expect(later.map(({ params }) => JSON.parse(params))).toMatchObject([{ at: "2024-11-12", key: "E-2291 2024-11-12" }]);
});
