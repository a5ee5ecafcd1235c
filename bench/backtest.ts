/**
 * A backtest of 1,000 recorded invoice runs: a rewrite that makes the same calls, and one that differs at its third step, so that the rest
 * of each run is computed anew on the host. Also whether memory grows with the number of runs.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Host } from "../runtime/app/host.ts";
import { openHost } from "../runtime/app/open-host.ts";
import { backtest } from "../runtime/change/evidence/backtest.ts";
import { codeOver } from "../runtime/change/evidence/code.ts";
import { keepConfirmation, lookAtTrust } from "../runtime/workspace/settings/confirmation.ts";
import { initWorkspace } from "../runtime/workspace/init.ts";
import { family, median, memoryOf, spread } from "./measure.ts";

const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "cleared-bench-"));
const RUNS = 1000;

// Tools as a plugin in the process, so that trials are measured and not a network.
const TOOLS = `import { definePrimitive, z } from "cleared";
const base = { errors: [], access: "read", effect: "read", summary: "Read." } as const;
export const erp_invoice = definePrimitive({ ...base, name: "erp_invoice", params: z.object({ id: z.string() }), returns: z.object({ amount: z.string(), po: z.string() }), example: 'erp_invoice("1")', run: () => ({ amount: "51300.00", po: "PO-1" }) });
export const erp_order = definePrimitive({ ...base, name: "erp_order", params: z.object({ id: z.string() }), returns: z.object({ amount: z.string(), vendor_status: z.string() }), example: 'erp_order("1")', run: () => ({ amount: "51200.00", vendor_status: "approved" }) });
export const erp_pay = definePrimitive({ name: "erp_pay", effect: "external", access: "external", idempotent: "key", summary: "Pay.", errors: [], params: z.object({ id: z.string(), amount: z.string() }), returns: z.object({ paid: z.boolean() }), example: 'erp_pay({ id: "1", amount: "1.00" })', dryRun: () => ({ paid: false }), run: () => ({ paid: true }) });
`;
const AGENT = `/*
name: Reconcile
uses: [fsm, erp, compute, policy, approval, journal]
states: [ASSESS, COMPUTE, POLICY_CHECK, APPROVAL_GATE?, MUTATE]
input: {id: {type: string, required: true}, book: {type: boolean, default: false}}
*/
fsm_enter("ASSESS");
const invoice = erp_invoice(input.id);
const order = erp_order(invoice.po);
fsm_enter("COMPUTE");
const check = compute_variance_check({ invoiced: invoice.amount, po_amount: order.amount, threshold_pct: 2 });
fsm_enter("POLICY_CHECK");
const verdict = policy_evaluate({ policy: "reconcile", facts: { variance_pct: check.pct, vendor_status: order.vendor_status, amount: invoice.amount } });
fsm_enter("MUTATE");
if (input.book) journal_add_double({ date: "2026-11-06", description: "Invoice " + input.id, debit_account: 5030, credit_account: 2100, amount: invoice.amount, key: input.id, status: "auto-confirmed" });
const paid = erp_pay({ id: input.id, amount: invoice.amount }).paid;
({ paid, amount: invoice.amount, verdict: verdict.verdict })
`;
const POLICY = `process: reconcile
source: bench
facts: {variance_pct: decimal, vendor_status: text, amount: decimal}
thresholds: {variance: 2}
rules:
  - {id: OVER, when: "variance_pct > threshold.variance", action: require_approval, level: manager, description: over the tolerance}
  - {id: VENDOR, when: "vendor_status not in [approved]", action: block, description: vendor is not approved}
`;

async function workspace(): Promise<string> {
  const dir = join(folder, "cleared");
  await initWorkspace(dir, { name: "Bench", from: root, person: "Bench" });
  mkdirSync(join(dir, "plugins"), { recursive: true });
  writeFileSync(join(dir, "plugins/erp.ts"), TOOLS);
  writeFileSync(join(dir, "agents/reconcile.ts"), AGENT);
  writeFileSync(join(dir, "policies/reconcile.yaml"), POLICY);
  const trust = join(dir, "trust.yaml");
  writeFileSync(trust, readFileSync(trust, "utf8").replace(/^plugins: \[\].*$/m, "plugins: [plugins/erp.ts]"));
  spawnSync("git", ["-C", dir, "add", "."]);
  spawnSync("git", ["-C", dir, "-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-qm", "bench: agents"]);
  keepConfirmation(dir, lookAtTrust(dir));
  return dir;
}

async function record(host: Host): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < RUNS; n++) {
    const { id } = await host.start("reconcile", {
      cause: { kind: "command", key: `run-${n}` },
      input: { id: `INV-${n}`, book: n % 10 === 0 },
    });
    const end = await host.engine.result(id);
    if (end.outcome !== "completed") throw new Error(`${end.status} ${end.error?.message ?? ""}`);
    ids.push(id);
  }
  return ids;
}

async function measure(host: Host, ids: readonly string[], what: string, agent: string, expected: "same" | "changed"): Promise<void> {
  const head = host.git.tree(await host.git.head());
  const code = codeOver(head, new Map([["agents/reconcile.ts", agent]]));
  const of = async (runs: readonly string[]) => {
    const report = await backtest("reconcile", code, { tree: head, changed: [] }, { runs }, host, { name: "bench" });
    if (report.counts[expected] !== runs.length) throw new Error(`${what}: ${JSON.stringify([report.counts, report.differences[0]])}`);
  };
  await of(ids.slice(0, 50));
  await of(ids.slice(0, 200));
  const few = memoryOf(family(process.pid));
  const took: number[] = [];
  for (let round = 0; round < 5; round++) {
    const started = performance.now();
    await of(ids);
    took.push((performance.now() - started) / 1000);
  }
  const many = memoryOf(family(process.pid));
  console.log(
    `${ids.length} recorded runs, ${what}: ${median(took).toFixed(2)} s (${spread(took, 2)}; target ${expected === "same" ? 3 : 5}), ${few.toFixed(0)} MB after 200 runs and ${many.toFixed(0)} MB after ${5 * ids.length} more`,
  );
}

try {
  const host = await openHost(await workspace(), { mode: "owner" });
  try {
    const ids = await record(host);
    await measure(host, ids, "the same calls", `${AGENT}// reviewed\n`, "same");
    await measure(
      host,
      ids,
      "another tolerance, account and answer",
      AGENT.replace("threshold_pct: 2", "threshold_pct: 3").replace("5030", "5020").replace("({ paid,", "({ checked: check.pct, paid,"),
      "changed",
    );
  } finally {
    await host.close();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
