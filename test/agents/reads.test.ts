/** Reads that fail (spec/worker.md 11 R, 13 R), as a run meets them: what is repaired and said, what is not, and that no write ever is. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { Json } from "../../runtime/kernel/ports.ts";
import { type Business, business, changes, finish, run } from "./harness.ts";

afterAll(finish);

const AGENT = `/*
name: Reads
description: Make one call of a tool
uses: [fsm, mcp, policy]
input:
  how: {type: string, required: true}
  tool: {type: string, required: true}
  params: {type: object, default: {}}
states: [ASSESS, POLICY_CHECK, MUTATE]
*/
fsm_enter("ASSESS");
const { how, tool, params } = input;
const read = (one: string) => (how === "record" ? mcp_record({ tool, params }) : how === "all" ? mcp_fetch_all({ tool, params }) : mcp_call({ tool, params }));
let answer = how === "write" ? null : read(how);
fsm_enter("POLICY_CHECK");
policy_evaluate({ policy: "general", facts: { amount: "0.00", irreversible: false } });
fsm_enter("MUTATE");
if (how === "write") answer = mcp_call({ tool, params });
({ answer });`;
const ALIASES = `aliases: {find_invoice: [get_invoice], show_everything: [list_invoices], settle_invoice: [get_invoice], look_up: [get_invoice], get_paid: [approve_invoice]}`;

async function reading(mode = ""): Promise<Business> {
  const at = await business((trust) => {
    const given = trust.replace("--db, .cleared/erp.db]", `--db, .cleared/erp.db${mode === "" ? "" : `, --mode, "${mode}"`}]`);
    return given.replace("    trusted: true", `    ${ALIASES}\n    trusted: true`);
  });
  writeFileSync(join(at.dir, "agents/reads.ts"), AGENT);
  execFileSync("git", ["add", "agents/reads.ts"], { cwd: at.dir });
  execFileSync("git", ["-c", "user.name=Pat", "-c", "user.email=pat@example.com", "commit", "-qm", "agents: reads"], { cwd: at.dir });
  return at;
}

async function told(at: Business, how: string, tool: string, params: Json = {}) {
  const end = await run(at, "reads", { how, tool: `erp/${tool}`, params });
  let log = "";
  for await (const event of at.host.engine.events(end.id, 1)) if (event.type === "log") log += `${(event.body as { message: string }).message}\n`;
  const { answer } = (end.result ?? {}) as { answer?: Json };
  return { code: end.error?.code ?? null, message: end.error?.message ?? "", answer, log };
}

const INV = { invoice_id: "INV-2024-447" };

test("a removed tool is answered by its declared alias, in each way of reading, and the run's log says so", async () => {
  const at = await reading();
  for (const how of ["call", "record"]) {
    const { code, answer, log } = await told(at, how, "find_invoice", INV);
    expect([code, answer]).toEqual([null, expect.objectContaining({ amount: "52340.00" })]);
    expect(log).toContain("erp/find_invoice is not offered; via its alias erp/get_invoice");
  }
  const all = await told(at, "all", "show_everything", { vendor_id: "V-100" });
  expect([all.code, all.answer]).toEqual([null, expect.objectContaining({ complete: true })]);
  expect(all.log).toContain("via its alias erp/list_invoices");
  // A read never becomes a write, nor a write a read; a name that only looks alike answers for nothing.
  for (const [how, tool] of [["call", "get_paid"], ["write", "settle_invoice"], ["call", "settle_invoice"], ["call", "get_invoic"]] as const)
    expect(await told(at, how, tool, INV)).toMatchObject({ code: "TOOL_UNKNOWN", message: expect.stringContaining("There is no tool") });
  expect((await told(at, "call", "get_invoic", INV)).message).toContain('"erp/get_invoice"');
  // Nothing found is an answer.
  expect((await told(at, "call", "query_records", { table: "invoices", where: { vendor_id: "V-0" } })).answer).toEqual({ records: [] });
  expect((await told(at, "all", "list_invoices", { vendor_id: "V-0" })).answer).toMatchObject({ records: [], complete: true });
  expect(changes(at)).toEqual([]);
});

test("a renamed column is corrected once, completely, in keys and values; an uncertain one is asked of a person", async () => {
  const at = await reading("drifted");
  const query = (columns: string[], where: Json) => told(at, "call", "query_records", { table: "invoices", columns, where });
  const found = await query(["invoice_id", "status"], { status: "received", ...INV });
  expect([found.code, found.answer]).toEqual([null, { records: [{ ...INV, state: "received" }] }]);
  expect(found.log).toContain('schema_drift: erp/query_records calls "status" now "state"');
  const odd = await query(["amount"], INV);
  expect([odd.code, odd.message]).toEqual(["TOOL_FAILED", expect.stringMatching(/has no column "amount". It has invoice_id, .*total_amount.*: correct the script/)]);
});

test("a read that fails briefly is repeated, a write where its key makes it once", async () => {
  const at = await reading("failing=3");
  expect(await told(at, "call", "get_invoice", INV)).toMatchObject({ code: null, answer: { amount: "52340.00" } });
  for (const _ of [2, 3]) expect(await told(at, "call", "get_invoice", INV)).toMatchObject({ code: null });
  const write = await told(at, "write", "approve_invoice", INV);
  expect([write.code, changes(at).length]).toEqual([null, 1]);
});
