/** What a run goes by may change before it acts: while a person thinks, or while another run acts. */
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { openBusiness } from "../../examples/erp/business.ts";
import type { Json } from "../../runtime/kernel/ports.ts";
import { Database } from "../../runtime/engine/store/database.ts";
import { readSteps, type RunRow } from "../../runtime/engine/store/rows.ts";
import { createSeal } from "../../runtime/engine/store/seals.ts";
import { sealerOf } from "../../runtime/workspace/settings/confirmation.ts";
import { answer, type Business, business, change, changes, finish, gateOf, open, rows, run, shut, writesOf } from "./harness.ts";

let at: Business;
beforeEach(async () => {
  at = await business();
});
afterAll(finish);

const THREE = `insert into requisitions select 'REQ-35', department_id, requester_id, vendor_id, description, net_amount, tax, shipping, needed_on, running_cost_year, status from requisitions where requisition_id = 'REQ-34'`;

test("of two orders that together exceed a budget, the second needs a new approval even if both were approved", async () => {
  await run(at, "sla_breach", { contract_id: "CTR-501", period: "2024-10" });
  change(at, "update requisitions set vendor_id = 'V-101' where requisition_id = 'REQ-34'");
  change(at, THREE);
  change(at, "update budgets set committed = '0.00', spent = amount - 3000 where department_id = 'D-IT'");
  const waiting = [await run(at, "procurement", { requisition_id: "REQ-34" }), await run(at, "procurement", { requisition_id: "REQ-35" })];
  expect(waiting.map((one) => gateOf(at, one).level)).toEqual(["manager", "manager"]);
  expect(await answer(at, waiting[0]!)).toMatchObject({ outcome: "completed" });
  const done = changes(at).length;
  const second = await answer(at, waiting[1]!);
  expect(second).toMatchObject({ outcome: "blocked", result: { reason: expect.stringMatching(/OVER_BUDGET.*start the run again/), requisition_id: "REQ-35" } });
  expect(changes(at)).toHaveLength(done);
  const anew = await run(at, "procurement", { requisition_id: "REQ-35" });
  expect(gateOf(at, anew)).toMatchObject({ kind: "escalation", level: "cfo" });
});

test("two simultaneous runs do not both pass a policy with room for one", async () => {
  // Both have read before one acts.
  at = await business((trust) => trust.replace("--db, .cleared/erp.db]", `--db, .cleared/erp.db, --mode, "slow=100"]`));
  await run(at, "sla_breach", { contract_id: "CTR-501", period: "2024-10" });
  change(at, "insert into uptime select 'UP-9', service_id, '2024-08', days, total_minutes, uptime_pct, downtime_minutes from uptime where metric_id = 'UP-2'");
  change(at, "insert into sla_breaches values ('BR-8', 'CTR-501', '2024-07', '74.95')");
  const both = ["2024-08", "2024-09"].map((period) => run(at, "sla_breach", { contract_id: "CTR-501", period }));
  const ends = await Promise.all(both);
  // On a busy machine the second has read after the first's act, and asks.
  const [second] = ends.filter(({ outcome }) => outcome !== "completed");
  expect(second?.outcome === "blocked" ? JSON.stringify(second.result) : second?.waitsFor).toContain("THIRD_BREACH");
  expect(rows(at, "select count(*) as n from credits where contract_id = 'CTR-501'")).toEqual([{ n: 1 }]);
});

test("a change that does not affect the question leaves an approval valid", async () => {
  const waiting = await run(at, "invoice_reconciliation", { invoice_id: "INV-2024-447" });
  change(at, "update vendors set late_penalty_pct_month = '3' where vendor_id = 'V-100'");
  change(at, "update company set business_date = '2024-11-09'");
  expect(await answer(at, waiting)).toMatchObject({ outcome: "completed", result: { pays: { pay_date: "2024-11-14" } } });
});

test.each([3, 5])("a server that fails every %i. call has not changed its answer", async (n) => {
  at = await business((trust) => trust.replace("--db, .cleared/erp.db]", `--db, .cleared/erp.db, --mode, "failing=${n}"]`));
  const end = await answer(at, await run(at, "sla_breach", { contract_id: "CTR-441", period: "2024-09" }));
  expect([end.outcome, end.error?.code ?? null]).not.toContain("blocked");
});

test("an amount changed while a person was deciding is not paid", async () => {
  const waiting = await run(at, "invoice_reconciliation", { invoice_id: "INV-2024-447" });
  change(at, "update invoices set amount = '51200.00' where invoice_id = 'INV-2024-447'");
  const end = await answer(at, waiting);
  expect(end).toMatchObject({ outcome: "blocked", result: { reason: expect.stringContaining("the policy alone would decide") } });
  expect(changes(at)).toEqual([]);
});

test("a read dated just now, in the future, or before its owner started, is made again", async () => {
  const { id } = await run(at, "sla_breach", { contract_id: "CTR-501", period: "2024-09" });
  await shut(at.host);
  change(at, "delete from credits where contract_id = 'CTR-501'");
  change(at, "update contracts set monthly_fee = '1.00' where contract_id = 'CTR-501'");
  for (const ahead of [0, 3_600_000]) {
    const store = new Database(join(at.dir, ".cleared/store.db"));
    store.write(() => {
      const row = store.get<RunRow>("select * from runs where id = ?", id)!;
      const { rid } = row;
      const { db } = store;
      db.exec(`delete from steps where rid = ${rid} and seq >= (select min(seq) from steps where rid = ${rid} and effect = 'external')`);
      db.exec(`update steps set at = ${Date.now() + ahead} where rid = ${rid}`);
      db.exec(`update runs set status = 'queued', ended_at = null, outcome = null, result = null, meta = null where rid = ${rid}`);
      createSeal(store, { ...row, ended_at: null }, sealerOf(at.dir)).put(readSteps(store, rid));
    });
    store.db.close();
    at.host = await open(at.dir);
    expect(await at.host.engine.result(id, { timeoutMs: 100_000 })).toMatchObject({ outcome: "blocked" });
    await shut(at.host);
  }
  expect(rows(at, "select * from credits where contract_id = 'CTR-501'")).toEqual([]);
});

const UNTOUCHED: [string, Json][] = [
  ["subscription_migration", { subscription_id: "SUB-77", plan_id: "ENTERPRISE" }],
  ["ar_collections", { customers: ["C-302", "C-304"] }],
  ["incident_response", { incident_id: "INC-501" }],
  ["payroll", { pay_group: "US-BIWEEKLY", period_start: "2024-10-07", period_end: "2024-10-20", pay_date: "2024-10-25" }],
];
test.each(UNTOUCHED)("%s with %j passes all its gates, whatever else changes and whatever days pass", async (agent, input) => {
  let end = await run(at, agent, input);
  for (let gate = 0; end.status === "waiting"; gate++) {
    change(at, `update company set business_date = '2024-11-${10 + Math.min(gate, 4)}'`);
    change(at, "update vendors set tax_id = tax_id || 'x'");
    end = await answer(at, end, "approved", gate % 2 === 0 ? "Mo" : "Lee");
  }
  expect([end.error?.message ?? null, end.outcome]).toEqual([null, "completed"]);
});

test("the day holds for each call: none is made after its day because a card about an earlier one waited", async () => {
  at = await business((trust) => trust.replace("--db, .cleared/erp.db]", "--db, .cleared/erp.db, --mode, lying]"));
  const asked = await answer(at, await run(at, "invoice_reconciliation", { invoice_id: "INV-2024-447" }));
  expect(gateOf(at, asked).title).toMatch(/^MISMATCH: erp\/approve_invoice/);
  change(at, "update invoices set status = 'approved' where invoice_id = 'INV-2024-447'");
  change(at, "update company set business_date = '2024-11-20'");
  const end = await answer(at, asked);
  expect(end).toMatchObject({ status: "failed", error: { message: expect.stringMatching(/schedule_payment pay_date 2024-11-14 has passed; today is 2024-11-20.*approve_invoice/) } });
  expect((await writesOf(at, end)).map(({ tool }) => tool)).toEqual(["erp/approve_invoice"]);
});

/** Agent, input, the day on which its card is approved, and what is then planned anew. */
const WAITED: [string, Json, string, object][] = [
  ["invoice_reconciliation", { invoice_id: "INV-2024-447" }, "2024-12-20", { tool: "erp/schedule_payment", params: { amount: "52340.00", discount: "0.00", pay_date: "2024-12-20" } }],
  ["expense_approval", { expense_id: "EXP-703" }, "2024-12-20", { params: { pay_date: "2025-01-03" } }],
  ["order_management", { order_id: "ORD-5592" }, "2024-11-09", { params: { ship_on: "2024-11-09" } }],
  ["procurement", { requisition_id: "REQ-34" }, "2024-12-20", { params: { delivery_on: "2024-12-20" } }],
  ["customer_onboarding", { customer_id: "C-311" }, "2024-11-18", { params: { kickoff_on: "2024-11-25" } }],
  ["subscription_migration", { subscription_id: "SUB-77", plan_id: "ENTERPRISE" }, "2024-11-09", { params: { effective_on: "2024-11-09" } }],
  ["compliance_audit", { audit_id: "AUD-24" }, "2024-12-20", { params: { due_on: "2025-01-19" } }],
];
test.each(WAITED)("%s with %j: a card approved after a day of its calls has passed is asked anew, with what holds then", async (agent, input, day, planned) => {
  let end = await run(at, agent, input);
  const people = ["Lee", "Mo"] as const;
  let gate = 0;
  while (gateOf(at, end).calls.length === 0) end = await answer(at, end, "approved", people[gate++ % 2]);
  change(at, `update company set business_date = '${day}'`);
  while (!/Planned anew/.test(end.waitsFor ?? "") && gate < 10) end = await answer(at, end, "approved", people[gate++ % 2]);
  expect(changes(at)).toEqual([]);
  expect(gateOf(at, end).title).toContain(`Planned anew, because a day has passed (today is ${day}): `);
  expect(gateOf(at, end).calls).toContainEqual(expect.objectContaining({ ...planned, params: expect.objectContaining((planned as { params: object }).params) }));
  while (end.status === "waiting" && gate < 15) end = await answer(at, end, "approved", people[gate++ % 2]);
  expect([end.error?.message ?? null, end.outcome]).toEqual([null, "completed"]);
});

test("an order whose requisition was needed earlier is due today, and an earlier day is refused", async () => {
  openBusiness(join(at.dir, ".cleared/erp.db")).close();
  change(at, "update requisitions set needed_on = '2024-11-01' where requisition_id = 'REQ-34'");
  const waiting = await run(at, "procurement", { requisition_id: "REQ-34" });
  expect(gateOf(at, waiting)).toMatchObject({ calls: [{ params: { delivery_on: "2024-11-08" } }, {}] });
  const early = answer(at, waiting, "approved", "Mo", { "calls.0.params.delivery_on": "2024-11-01" });
  await expect(early).rejects.toMatchObject({ code: "APPROVAL_EDIT", message: expect.stringContaining("2024-11-01 has passed; today is 2024-11-08. Card") });
});
