/**
 * Processes on a business that lies: never "completed" with a write that is not verified unless a person said so; what is told names each
 * write that was made, and none as standing that was not; nothing is sent twice, also by the next run. `npm run test:long` tries every pair.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TOOLS } from "../../examples/erp/calls.ts";
import { canonicalJson } from "../../runtime/kernel/canonical.ts";
import type { Json, RunRecord } from "../../runtime/kernel/ports.ts";
import { share } from "../share.ts";
import { answer, type Business, business, finish, gateOf, run, writesOf } from "./harness.ts";
import { LIES, type Lie } from "./liar.ts";

const PROCESSES: Record<string, Json> = {
  invoice_reconciliation: { invoice_id: "INV-2024-447" },
  expense_approval: { expense_id: "EXP-703" },
  payroll: { pay_group: "US-BIWEEKLY", period_start: "2024-10-07", period_end: "2024-10-20", pay_date: "2024-10-25" },
  subscription_migration: { subscription_id: "SUB-78", plan_id: "BASIC" },
  order_management: { order_id: "ORD-5592" },
  hr_offboarding: { employee_id: "E-2290" },
  month_end_close: { period: "2024-09" },
  ar_collections: { customers: ["C-8821", "C-301"] },
  dispute_resolution: { dispute_id: "D-411" },
};

let at: Business;
let folder: string;
let databases = 0;
beforeAll(async () => {
  at = await business((trust) => {
    const args = `args: [${JSON.stringify(join(import.meta.dirname, "liar.ts"))}, erp-liar]`;
    const undo = `undo: {agent: general, input: {task: refund the order, tool: erp/refund_customer, params: {reference: $reference, customer_id: $customer_id, amount: $amount}}}, `;
    const declared = trust.replace("charge_customer: {class: mutate, ", (head) => head + undo);
    return declared.replace(/args: \[[^\]]*\]/, () => args).replace("timeout_ms: 20000", "timeout_ms: 4000");
  });
  folder = join(at.dir, "erp-liar");
  mkdirSync(folder);
});
afterAll(finish);

const behave = (lie: Lie, tool = ""): void => writeFileSync(join(folder, "now"), `${lie} ${databases}.db ${tool}`.trim());

/** What the business has really done, oldest first. */
function done(): { tool: string; params: Record<string, Json> }[] {
  const db = new DatabaseSync(join(folder, `${databases}.db`), { timeout: 10_000 });
  try {
    const rows = db.prepare("select tool, params from change_log order by seq").all();
    return rows.map((row) => ({ tool: String(row["tool"]), params: JSON.parse(String(row["params"])) as Record<string, Json> }));
  } finally {
    db.close();
  }
}

/** Gates are approved; a question about what stands outside gets this answer, or none while nobody knows whether a call was made. */
async function toEnd(agent: string, input: Json, looked: "approved" | "rejected"): Promise<RunRecord> {
  let end = await run(at, agent, input);
  for (let i = 0; end.status === "waiting" && ["approval", "escalation"].includes(String(end.reason)) && i < 12; i++) {
    const decision = end.reason === "escalation" ? looked : "approved";
    end = await answer(at, end, decision, i % 2 === 0 ? "Mo" : "Lee");
  }
  return end;
}

/** What a person is told of what was done: the answer, the error, the writes beside it, cards that are no request for a yes. */
function told(end: RunRecord): string {
  const cards = at.host.cards.list({ run: end.id }).filter((one) => one.kind !== "approval");
  return JSON.stringify([end.result, end.error, (end.meta as { writes?: Json } | null)?.writes ?? null, cards]);
}

const noticesOf = (id: string): string[] =>
  at.host.database.all<{ notice: string }>("SELECT payload AS notice FROM notices").map((one) => one.notice).filter((one) => one.includes(id));

const PAIRS = Object.keys(LIES).flatMap((lie) => Object.keys(PROCESSES).map((agent): [Lie, string] => [lie as Lie, agent]));
const TRIED = share(PAIRS, 24, String);

test.each(TRIED)("%s, %s: what is reported is what happened, and nothing is sent twice", async (lie, agent) => {
  const input = PROCESSES[agent] ?? {};
  for (const looked of ["rejected", "approved"] as const) {
    databases++;
    behave(lie);
    const end = await toEnd(agent, input, looked);
    const [made, words, writes] = [done(), told(end), await writesOf(at, end)];
    const verified = writes.filter((one) => one.status === "VERIFIED");
    const says = `${looked}: ${words}`;
    expect(words, says).not.toMatch(/TypeError|undefined|\[object/);
    // Each write that was made is named, unless it is one of those that a complete run has verified.
    if (end.outcome === "completed") expect(writes.length, says).toBeGreaterThanOrEqual(made.length);
    // One of many that a tool refused is told as failed.
    const refused = agent === "ar_collections" ? writes.filter((one) => one.status === "WRITE_FAILED").length : 0;
    if (end.outcome === "completed" && looked === "rejected") expect(verified.length + refused, says).toBe(writes.length);
    const plain = end.outcome === "completed" ? verified.map((one) => one.tool).join() : "";
    for (const { tool } of made) expect(words + plain, says).toContain(`erp/${tool}`);
    for (const { tool } of writes.filter((one) => one.status !== "VERIFIED")) expect(words, says).toContain(tool);
    // What counts as verified was made, exactly so.
    const really = made.map((one) => canonicalJson([`erp/${one.tool}`, one.params]));
    for (const one of verified) expect(really, says).toContain(canonicalJson([one.tool, one.params]));
    if (verified.length < writes.length)
      for (const one of noticesOf(end.id)) expect([looked === "approved" || refused > 0, one]).toEqual([true, expect.stringContaining("Not verified")]);
    if (end.status === "waiting") await at.host.engine.cancel(end.id, "the test has seen it");
    behave("honest");
    const next = await toEnd(agent, input, "rejected");
    expect(next.error?.message ?? "", says).not.toMatch(/TypeError/);
    const twice = done().map(({ tool, params }) => {
      const { effect, verify } = TOOLS.find((one) => one.name === tool) ?? {};
      const key = effect === "add" ? Object.values(verify?.key ?? {}).map((name) => params[name] ?? null) : params;
      return canonicalJson([tool, key as Json]);
    });
    expect(twice.filter((one, i) => twice.indexOf(one) !== i), says).toEqual([]);
    if (next.status === "waiting") await at.host.engine.cancel(next.id, "the test has seen it");
  }
});

test.each(share(Object.keys(PROCESSES), 4, String))("%s: a record listed twice counts once", async (agent) => {
  const results: Json[] = [];
  for (const lie of ["honest", "repeating"] as const) {
    databases++;
    behave(lie);
    results.push((await toEnd(agent, PROCESSES[agent] ?? {}, "approved")).result);
  }
  expect(results[1]).toEqual(results[0]);
});

const UNDOING = { params: { reference: "ORD-5592", customer_id: expect.any(String), amount: "152.75" }, tool: "erp/refund_customer" };

/** The run that takes a write back, by how the run that made it names it. */
async function undoing(words: string): Promise<RunRecord> {
  const [id = ""] = /run_\w+(?= \(general\) asks to take back erp\/charge_customer)/.exec(words) ?? [];
  return at.host.engine.result(id, { timeoutMs: 100_000 });
}

test("acts before a mismatch are undone where trust.yaml says how, after approval of exactly that, and verified like any write", async () => {
  databases++;
  behave("nothing", "create_shipment");
  const waiting = await answer(at, await run(at, "order_management", PROCESSES["order_management"] ?? {}));
  expect(gateOf(at, waiting)).toMatchObject({ title: expect.stringMatching(/^MISMATCH: erp\/create_shipment/), body: { take_back: [{ tool: "erp/charge_customer", agent: "general", input: UNDOING }] } });
  const end = await answer(at, waiting, "rejected", "Mo", {}, "it is not shipped");
  expect(end.result).toMatchObject({ decision: "rejected", stands: expect.arrayContaining([expect.stringMatching(/^VERIFIED erp\/charge_customer/)]) });
  const undo = await undoing(JSON.stringify((end.result as { take_back: string[] }).take_back));
  expect([undo.status, undo.by, gateOf(at, undo).calls]).toEqual(["waiting", "Pat", [UNDOING]]);
  expect(done().map((one) => one.tool)).not.toContain("refund_customer");
  expect(await answer(at, undo)).toMatchObject({ outcome: "completed", meta: { writes: { n: 1, verified: 1 } } });
  expect(done().filter((one) => one.tool === "refund_customer")).toEqual([{ tool: "refund_customer", params: UNDOING.params }]);
});

test("a month whose close stopped halfway is closed by the next run with the same figures, without posting twice", async () => {
  const [agent, input] = ["month_end_close", PROCESSES["month_end_close"] ?? {}];
  const figures = ({ result }: RunRecord) => {
    const { tax, recognized, depreciation, result: net } = result as Record<string, Json>;
    return { tax, recognized, depreciation, net };
  };
  databases++;
  behave("honest");
  const whole = await toEnd(agent, input, "rejected");
  databases++;
  behave("drifted");
  expect((await toEnd(agent, input, "approved")).status).toBe("failed");
  behave("honest");
  const next = await toEnd(agent, input, "rejected");
  expect([next.error, whole.error]).toEqual([null, null]);
  expect(figures(next)).toEqual(figures(whole));
  expect(new Set(done().map((one) => one.params["reference"])).size).toBe(done().length);
});

test("a write that was never made is not undone; one of another amount is, with that amount", async () => {
  for (const [lie, back] of [["nothing", undefined], ["other", "1527.00"]] as const) {
    databases++;
    behave(lie, "charge_customer");
    const waiting = await answer(at, await run(at, "order_management", PROCESSES["order_management"] ?? {}));
    const end = (await answer(at, waiting, "rejected")).result as { take_back?: string[] };
    if (back === undefined) expect(end.take_back).toBeUndefined();
    else expect(gateOf(at, await undoing(JSON.stringify(end.take_back))).calls).toMatchObject([{ params: { amount: back } }]);
  }
});

test("the same after a write that fails halfway; a rejection leaves what was written", async () => {
  databases++;
  behave("refusing", "create_shipment");
  const end = await answer(at, await run(at, "order_management", PROCESSES["order_management"] ?? {}));
  expect([end.status, end.error?.message]).toEqual(["failed", expect.stringContaining("Written before it, and not undone")]);
  const undo = await undoing(end.error?.message ?? "");
  expect(at.host.cards.list({ open: true, run: end.id })).toEqual([expect.objectContaining({ body: { about: expect.objectContaining({ take_back: [expect.stringContaining(undo.id)] }) } })]);
  const refused = { code: "RUN_STATUS", message: expect.stringContaining(`${undo.id} (general, waiting) takes back what it wrote`) };
  await expect(at.host.engine.retry(end.id)).rejects.toMatchObject(refused);
  expect(await answer(at, undo, "rejected")).toMatchObject({ outcome: "rejected" });
  await at.host.engine.retry(end.id);
  const { error } = await at.host.engine.result(end.id, { timeoutMs: 100_000 });
  expect(error?.message).toContain(`${undo.id} (general) was asked before to take back`);
  expect(done().map((one) => one.tool)).not.toContain("refund_customer");
});

test("a write proved by its record after its answer was lost is undone as well; then the run that made it cannot continue", async () => {
  databases++;
  writeFileSync(join(folder, "now"), `dying ${databases}.db charge_customer\nrefusing ${databases}.db create_shipment`);
  const end = await answer(at, await run(at, "order_management", PROCESSES["order_management"] ?? {}));
  const undo = await undoing(end.error?.message ?? "");
  expect(gateOf(at, undo).calls).toEqual([UNDOING]);
  expect(await answer(at, undo)).toMatchObject({ outcome: "completed" });
  await expect(at.host.engine.retry(end.id)).rejects.toMatchObject({ code: "RUN_STATUS", message: expect.stringContaining("start a new run") });
});

const ALL: Record<string, Json> = {
  ...PROCESSES,
  procurement: { requisition_id: "REQ-31" },
  incident_response: { incident_id: "INC-501" },
  sla_breach: { contract_id: "CTR-441", period: "2024-09" },
  customer_onboarding: { customer_id: "C-310" },
  compliance_audit: { audit_id: "AUD-24" },
  general: { task: "close the ticket about Contoso", tool: "erp/close_ticket", params: { ticket_id: "T-1003", resolution: "withdrawn" } },
  overtime: { employee: "Sarah Chen", week_start: "2024-10-07" },
};

/** Nothing of what a tool is told is a hole in the text, nor anything of the crash of a script; a report to our own people may say null. */
const HOLE = /undefined|\bNaN\b|\[object|Invalid Date|null/;
const CRASH = /TypeError|RangeError|undefined|\bNaN\b|\[object|Invalid Date/;

async function withHoles(lie: Lie, agent: string): Promise<RunRecord> {
  databases++;
  behave(lie);
  const end = await toEnd(agent, ALL[agent] ?? {}, "approved");
  const { summary = "" } = (end.result ?? {}) as { summary?: string };
  expect(`${end.error?.code} ${end.error?.message}`).not.toMatch(end.error === null ? /^$/ : CRASH);
  expect(summary).not.toMatch(CRASH);
  expect(end.error?.code).not.toBe("INTERNAL");
  for (const step of await at.host.engine.steps(end.id)) if (step.name === "notify_send") expect(step.params).not.toMatch(CRASH);
  for (const { tool, params } of done()) expect(JSON.stringify([tool, params])).not.toMatch(HOLE);
  if (end.status === "waiting") await at.host.engine.cancel(end.id, "the test has seen it");
  return end;
}

const BLANKS = Object.keys(ALL).flatMap((agent) => (["empty", "nulls"] as const).map((lie): [Lie, string] => [lie, agent]));
test.each(share(BLANKS, 6, String))("records that are %s are reported %s in plain words, and nothing is done", async (lie, agent) => {
  const end = await withHoles(lie, agent);
  // General makes one write, which nobody can look up then.
  if (end.outcome === "completed") expect([agent, end.result]).toEqual(["general", expect.objectContaining({ not_verified: [expect.any(String)] })]);
  if (end.outcome !== "completed") expect(done()).toEqual([]);
});

test.each(share(Object.keys(ALL), 8, String))("%s: whichever field of a record is empty, nobody is sent a text with a gap", async (agent) => {
  databases++;
  behave("honest");
  const { id } = await toEnd(agent, ALL[agent] ?? {}, "approved");
  const fields = new Set<string>();
  for (const step of await at.host.engine.steps(id))
    if (step.effect === "read" && step.name !== "mcp_find" && step.name !== "mcp_list") for (const [, name = ""] of (step.result ?? "").matchAll(/"(\w+)":/g)) fields.add(name);
  for (const field of ["found", "records", "complete", "pages", "duplicates", "reason"]) fields.delete(field);
  const wrong: string[] = [];
  for (const field of share([...fields], 8, String)) await withHoles(`null:${field}`, agent).catch((error: Error) => void wrong.push(`${field}: ${error.message.slice(0, 600)}`));
  expect(wrong).toEqual([]);
});

const plain = (value: Json): Json => JSON.parse(JSON.stringify(value), (_, one: Json) => (typeof one === "number" ? String(one) : one)) as Json;
test.each(share(Object.keys(ALL), 6, (agent) => `${agent} texts`))("%s: a number sent as text counts as the number", async (agent) => {
  const results: Json[] = [];
  for (const lie of ["honest", "texts"] as const) {
    databases++;
    behave(lie);
    const end = await toEnd(agent, ALL[agent] ?? {}, "approved");
    results.push([end.error?.message ?? null, end.outcome, plain(end.result)]);
  }
  expect(results[1]).toEqual(results[0]);
});
