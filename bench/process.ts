/**
 * The process worker: a reconciliation without approval (two reads, a computation, the policy, one write outside), one run at a time,
 * durable; an approval resumed in a fresh process; and the same job on LangGraph.js with its SQLite checkpointer beside it.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { openHost } from "../runtime/app/open-host.ts";
import { keepConfirmation, lookAtTrust } from "../runtime/workspace/settings/confirmation.ts";
import { initWorkspace } from "../runtime/workspace/init.ts";
import { CLEARED, cpuOf, family, median, spread } from "./measure.ts";

const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "cleared-bench-"));
const RUNS = 500;
const PEER_RUNS = 200;

// Tools as a plugin in the process, so that the engine is measured and not a network.
const TOOLS = `import { definePrimitive, z } from "cleared";
const base = { errors: [], access: "read", effect: "read", summary: "Read." } as const;
export const erp_invoice = definePrimitive({ ...base, name: "erp_invoice", params: z.object({ id: z.string() }), returns: z.object({ amount: z.string(), po: z.string() }), example: 'erp_invoice("1")', run: () => ({ amount: "51300.00", po: "PO-1" }) });
export const erp_order = definePrimitive({ ...base, name: "erp_order", params: z.object({ id: z.string() }), returns: z.object({ amount: z.string(), vendor_status: z.string() }), example: 'erp_order("1")', run: () => ({ amount: "51200.00", vendor_status: "approved" }) });
export const erp_pay = definePrimitive({ name: "erp_pay", effect: "external", access: "external", idempotent: "key", summary: "Pay.", errors: [], params: z.object({ id: z.string(), amount: z.string() }), returns: z.object({ paid: z.boolean() }), example: 'erp_pay({ id: "1", amount: "1.00" })', dryRun: () => ({ paid: false }), run: () => ({ paid: true }) });
`;
const agent = (approval: boolean): string => `/*
name: Reconcile
uses: [fsm, erp, compute, policy, approval]
states: [ASSESS, COMPUTE, POLICY_CHECK, ${approval ? "APPROVAL_GATE" : "APPROVAL_GATE?"}, MUTATE]
input: {id: {type: string, required: true}}
*/
fsm_enter("ASSESS");
const invoice = erp_invoice(input.id);
const order = erp_order(invoice.po);
fsm_enter("COMPUTE");
const check = compute_variance_check({ invoiced: invoice.amount, po_amount: order.amount, threshold_pct: 2 });
fsm_enter("POLICY_CHECK");
const verdict = policy_evaluate({ policy: "reconcile", facts: { variance_pct: check.pct, vendor_status: order.vendor_status, amount: invoice.amount } });
const pay = { id: input.id, amount: invoice.amount };
${approval ? 'fsm_enter("APPROVAL_GATE");\napproval_wait({ title: "Pay?", calls: [{ tool: "erp_pay", params: pay }] });\n' : ""}fsm_enter("MUTATE");
const paid = erp_pay(pay).paid;
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
  writeFileSync(join(dir, "agents/reconcile.ts"), agent(false));
  writeFileSync(join(dir, "agents/gated.ts"), agent(true));
  writeFileSync(join(dir, "policies/reconcile.yaml"), POLICY);
  const trust = join(dir, "trust.yaml");
  writeFileSync(trust, readFileSync(trust, "utf8").replace(/^plugins: \[\].*$/m, "plugins: [plugins/erp.ts]"));
  spawnSync("git", ["-C", dir, "add", "."]);
  spawnSync("git", ["-C", dir, "-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-qm", "bench: agents"]);
  keepConfirmation(dir, lookAtTrust(dir));
  return dir;
}

interface Figures {
  rate: number;
  cpu: number;
  kept: number;
}

/** One of ours, one of theirs as it ships, one of theirs as durable as ours, by turns: a disk's syncs take 0.3 to 10 ms as it pleases. */
async function oneAtATime(dir: string, theirs: (synced: boolean) => Figures | null): Promise<void> {
  const host = await openHost(dir, { mode: "owner" });
  const store = join(dir, ".cleared/store.db");
  const once = async (key: string) => {
    const { id } = await host.start("reconcile", { cause: { kind: "command", key }, input: { id: `RUN${key}` } });
    const end = await host.engine.result(id);
    if (end.outcome !== "completed") throw new Error(`${end.status} ${end.error?.message ?? ""}`);
  };
  try {
    for (let n = 0; n < 100; n++) await once(`warm-${n}`);
    host.database.db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const before = statSync(store).size;
    const rates: number[] = [];
    const cpu: number[] = [];
    const peers: [Figures[], Figures[]] = [[], []];
    for (let round = 0; round < 5; round++) {
      const used = cpuOf(family(process.pid));
      const started = performance.now();
      for (let n = 0; n < RUNS; n++) await once(`${round}-${n}`);
      rates.push(RUNS / ((performance.now() - started) / 1000));
      cpu.push((cpuOf(family(process.pid)) - used) / RUNS);
      for (const [i, found] of peers.entries()) {
        const figures = theirs(i === 1);
        if (figures !== null) found.push(figures);
      }
    }
    host.database.db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const kept = (statSync(store).size - before) / (5 * RUNS) / 1000;
    console.log(
      `reconcile without approval, one at a time: ${median(rates).toFixed(0)}/s (${spread(rates, 0)}; target 250), ${median(cpu).toFixed(1)} ms CPU in all processes (target 5), ${kept.toFixed(2)} kB kept (target 3)`,
    );
    for (const [i, found] of peers.entries()) {
      if (found.length === 0) continue;
      const of = (what: keyof Figures) => median(found.map((one) => one[what]));
      const how = i === 1 ? "synced as ours" : "as it ships, which syncs nothing before a run is told as ended";
      console.log(
        `LangGraph.js, same job, ${how}: ${of("rate").toFixed(0)}/s, ${of("cpu").toFixed(1)} ms CPU, ${of("kept").toFixed(2)} kB kept; we are ${(median(rates) / of("rate")).toFixed(1)} x as fast (target 2.5), with ${(median(cpu) / of("cpu")).toFixed(2)} of its CPU (target 0.4), and we keep ${(kept / of("kept")).toFixed(2)}`,
      );
    }
  } finally {
    await host.close();
  }
}

/**
 * ms of CPU of a command and of all processes below it, looked at every 5 ms: a sandbox is killed at the end with nobody left to wait for it, so
 * neither GNU time nor resourceUsage() counts it.
 */
async function cpuOfCommand(command: readonly string[]): Promise<{ cpu: number; stdout: string }> {
  const [program = "", ...args] = command;
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  const stdout = text(child.stdout);
  const used = new Map<number, number>();
  while (child.exitCode === null && child.signalCode === null) {
    for (const pid of family(child.pid ?? 0)) used.set(pid, Math.max(used.get(pid) ?? 0, cpuOf([pid])));
    await sleep(5);
  }
  if (child.exitCode !== 0) throw new Error(`${command.join(" ")} ended with ${child.exitCode ?? child.signalCode}`);
  return { cpu: used.values().reduce((sum, ms) => sum + ms, 0), stdout: await stdout };
}

async function resume(dir: string): Promise<number> {
  const used: number[] = [];
  for (let round = 0; round < 7; round++) {
    await cpuOfCommand([...CLEARED, "run", "gated", "--input", JSON.stringify({ id: `${round}` }), "--json", "--dir", dir]);
    const [card] = JSON.parse((await cpuOfCommand([...CLEARED, "queue", "--json", "--dir", dir])).stdout) as { id: number }[];
    const { cpu } = await cpuOfCommand([...CLEARED, "approve", String(card?.id), "--json", "--dir", dir]);
    if (round > 0) used.push(cpu);
  }
  console.log(
    `approval resumed in a fresh process: ${median(used).toFixed(0)} ms CPU of host and sandbox (${spread(used, 0)}; target 0.25 of the peer's)`,
  );
  return median(used);
}

/** The peer is installed on first use, outside the project: it is no dependency of ours. */
function peer(): string | null {
  const place = join(root, "bench/peers/langgraph");
  if (existsSync(join(place, "node_modules/@langchain/langgraph"))) return place;
  console.log("installing LangGraph.js once, beside the benchmark ...");
  const done = spawnSync("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock", "--prefix", place], { encoding: "utf8" });
  if (done.status === 0) return place;
  console.log(`LangGraph.js could not be installed, so there is no comparison: ${done.stderr.trim().split("\n").at(-1)}`);
  return null;
}

try {
  const dir = await workspace();
  const place = peer();
  const data = join(folder, "langgraph");
  // Its database driver is built for the Node that npm ran on.
  const node = process.env["npm_node_execpath"] ?? "node";
  const base = [node, join(place ?? "", "reconcile.js")];
  mkdirSync(data);
  let files = 0;
  const theirs = (synced: boolean): Figures | null => {
    if (place === null) return null;
    const rest = ["rate", join(data, `${++files}.db`), String(PEER_RUNS), ...(synced ? ["FULL"] : [])];
    return JSON.parse(spawnSync(node, [...base.slice(1), ...rest], { encoding: "utf8" }).stdout) as Figures;
  };
  await oneAtATime(dir, theirs);
  const resumed = await resume(dir);
  if (place !== null) {
    const used: number[] = [];
    for (let round = 0; round < 5; round++) {
      await cpuOfCommand([...base, "ask", join(data, "resume.db"), String(round)]);
      used.push((await cpuOfCommand([...base, "approve", join(data, "resume.db"), String(round)])).cpu);
    }
    console.log(
      `LangGraph.js, approval resumed in a fresh process: ${median(used).toFixed(0)} ms CPU (${spread(used, 0)}), ${(median(used) / resumed).toFixed(1)} x ours`,
    );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
