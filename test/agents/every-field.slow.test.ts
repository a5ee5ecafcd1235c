/**
 * Every scalar field of every call that a person may change before the yes, one at a time: what was planned in its place is told nowhere
 * afterwards - not in the answer, a notice, a document or a later call - unless the run still has it from elsewhere.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inTransaction, openBusiness } from "../../examples/erp/business.ts";
import { TOOLS } from "../../examples/erp/calls.ts";
import { equalAmounts, scalarsOf } from "../../runtime/rules/edits.ts";
import type { Call, Json, RunRecord } from "../../runtime/kernel/ports.ts";
import { answer, type Business, business, finish, gateOf, rows, run } from "./harness.ts";
import { share } from "../share.ts";

const TODAY = "2024-11-08";
let at: Business;
beforeAll(async () => {
  at = await business();
  for (const file of ["erp.db", "first.db"]) openBusiness(join(at.dir, ".cleared", file)).close();
});
afterAll(finish);

/** The business as it was before the first run. */
function startOver(): void {
  const db = new DatabaseSync(join(at.dir, ".cleared/erp.db"), { timeout: 10_000 });
  db.exec(`attach '${join(at.dir, ".cleared/first.db")}' as first`);
  inTransaction(db, () => {
    for (const { name } of db.prepare("select name from main.sqlite_schema where type = 'table'").all())
      db.exec(`delete from main.${String(name)}; insert into main.${String(name)} select * from first.${String(name)}`);
  });
  db.close();
}

const RUNS: [string, Json][] = [
  ["invoice_reconciliation", { invoice_id: "INV-2024-450" }],
  ["expense_approval", { expense_id: "EXP-703" }],
  ["procurement", { requisition_id: "REQ-31" }],
  ["hr_offboarding", { employee_id: "E-2290" }],
  ["incident_response", { incident_id: "INC-501" }],
  ["order_management", { order_id: "ORD-5592" }],
  ["order_management", { order_id: "ORD-5593", changes: [{ sku: "CASE-S", by: 2 }] }],
  ["sla_breach", { contract_id: "CTR-441", period: "2024-09" }],
  ["dispute_resolution", { dispute_id: "D-411" }],
  ["customer_onboarding", { customer_id: "C-311" }],
  ["compliance_audit", { audit_id: "AUD-24" }],
  ["ar_collections", { customers: ["C-301", "C-302", "C-304"] }],
  ["subscription_migration", { subscription_id: "SUB-78", plan_id: "BASIC" }],
  ["subscription_migration", { subscription_id: "SUB-77", plan_id: "ENTERPRISE" }],
];

/** What was read and stays true whatever is changed in the calls: process and key of the field. */
const READ_FACTS = new Set([
  "invoice_reconciliation amount", // what was invoiced
  "expense_approval approved_amount", // the claim is told in its description and its budget; edited.slow.test.ts has its figures
  "procurement assignee", // who asked is told, whoever receives
  "dispute_resolution amount", // what the customer claimed is as much
  "dispute_resolution decided_credit",
  "dispute_resolution outcome", // told by what is credited
  "hr_offboarding owner_id", // whose employee it is, who is told; the answer has the new owner
  "order_management customer_id", // whose order it is, whoever pays
]);

/** Another value of the same kind, and the words that would tell the old one. */
function other(call: Call, key: string, value: Json): { to: string; words: string[] } | null {
  if (typeof value === "boolean") return { to: String(!value), words: [] };
  if (typeof value === "number") return { to: String(Math.max(0, value - 1)), words: [] };
  if (typeof value !== "string") return null;
  const words = value.length > 2 ? [value] : [];
  const options = TOOLS.find((tool) => call.tool === `erp/${tool.name}`)?.fields[key]?.["enum"] as string[] | undefined;
  if (options !== undefined) return { to: options.find((one) => one !== value) ?? value, words };
  if (/^-?\d+\.\d\d$/.test(value)) return { to: value === "0.00" ? "5.55" : (Number(value) - 1.11).toFixed(2), words };
  if (/^\d{4}-\d\d-\d\d$/.test(value)) return { to: "2024-12-03", words };
  for (const { name } of rows(at, "select name from sqlite_schema where type = 'table'")) {
    const [first] = rows(at, `select * from "${String(name)}" limit 1`);
    const column = Object.keys(first ?? {})[0];
    if (column === undefined) continue;
    const all = rows(at, `select * from "${String(name)}"`);
    const row = all.find((one) => one[column] === value);
    const next = all.find((one) => one[column] !== value && one["plan_id"] === undefined) ?? all.find((one) => one[column] !== value);
    if (row === undefined || next === undefined) continue;
    return { to: String(next[column]), words: [...words, ...[row["name"], row["email"]].filter((one) => typeof one === "string")] };
  }
  return { to: "Edited 7", words };
}

async function toGate(agent: string, input: Json) {
  startOver();
  let end = await run(at, agent, input);
  for (let gate = 0; end.status === "waiting" && gate < 10; gate++) {
    const card = gateOf(at, end);
    if (card.calls.length > 0) return { end, card };
    end = await answer(at, end, "approved", gate % 2 === 0 ? "Mo" : "Lee");
  }
  throw new Error(`${agent} came to no gate with calls: ${end.error?.message ?? end.outcome}`);
}

/** What was said and done after a gate, but for what the policy had said before it. */
async function toldAfter({ id, result }: RunRecord, seq: number): Promise<string> {
  const steps = await at.host.engine.steps(id);
  const acts = steps.slice(seq + 1).filter((step) => !["read", "pure"].includes(step.effect) && step.name !== "script_run");
  const judged = steps.flatMap((step) => step.changes.flatMap((change) => (change.op === "verdict" ? [change.verdict.summary] : [])));
  const words = JSON.stringify([result, acts.map((step) => [step.name, step.params])]);
  return judged.reduce((left, one) => left.replaceAll(JSON.stringify(one).slice(1, -1), ""), words);
}

test.each(share(RUNS, 3, (one) => JSON.stringify(one)))(
  "%s %j reports no value that was changed before the approval",
  async (agent, input) => {
    const first = await toGate(agent, input);
    const wrong: object[] = [];
    let tried = 0;
    for (const [path, value] of scalarsOf(first.card.calls)) {
      const [, place = "0", key = ""] = /^calls\.(\d+)\.params\.(\w+)/.exec(path) ?? [];
      const found = other(first.card.calls[Number(place)] as Call, key, value);
      const equal = equalAmounts(first.card.calls)
          .map((each) => each.map((one) => one.path))
          .find((paths) => paths.includes(path)) ?? [path];
      const elsewhere = [...scalarsOf(first.card.calls)].filter(([one]) => !equal.includes(one));
      if (found === null || READ_FACTS.has(`${agent} ${key}`) || JSON.stringify([input, elsewhere, TODAY]).includes(String(value))) continue;
      const { end: waiting } = tried++ === 0 ? first : await toGate(agent, input);
      const gate = (await at.host.engine.steps(waiting.id)).length;
      let end: RunRecord;
      try {
        end = await answer(at, waiting, "approved", "Mo", Object.fromEntries(equal.map((one) => [one, found.to])));
      } catch (error) {
        // A figure beyond what was judged is no edit.
        expect((error as Error).message).toMatch(/judged|lower one|becomes whoever approves|what ".*" was judged by/);
        continue;
      }
      for (let more = 0; end.status === "waiting" && more < 10; more++) end = await answer(at, end, "approved", more % 2 === 0 ? "Lee" : "Mo");
      const words = await toldAfter(end, gate);
      const stale = found.words.filter((word) => words.includes(word));
      const error = end.error?.code === "TOOL_FAILED" ? null : (end.error?.message ?? null);
      if (stale.length > 0 || error !== null) wrong.push({ path, to: found.to, stale, error, words: stale.length > 0 ? words : "" });
    }
    expect(tried).toBeGreaterThan(0);
    expect(wrong).toEqual([]);
  },
  240_000,
);
