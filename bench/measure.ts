/** What the benchmarks share: medians, a synthetic statement, processes' CPU and memory as /proc tells them. Prints nothing by itself. */
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const launcher = (await import(join(root, "bin", "launcher.js"))) as { NODE_FLAGS: string[]; NODE_ENV: Record<string, string> };

/** The command line as the launcher starts it: program and first arguments. */
export const CLEARED: readonly string[] = [
  process.execPath,
  ...launcher.NODE_FLAGS,
  "--import",
  join(root, "bin", "follow.js"),
  join(root, "runtime", "cli", "main.ts"),
];

/** Its environment. */
export const CLEARED_ENV: NodeJS.ProcessEnv = { ...launcher.NODE_ENV, ...process.env };

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

export function spread(values: readonly number[], digits = 1): string {
  return `${Math.min(...values).toFixed(digits)}-${Math.max(...values).toFixed(digits)}`;
}

export function hasTool(name: string): boolean {
  return spawnSync(name, ["--version"]).status === 0;
}

const VENDORS = [
  "GITHUB *PRO SUBSCRIPTION",
  "AWS *SERVICES",
  "STAPLES 00123 SEATTLE",
  "UBER *TRIP HELP.UBER.COM",
  "AMZN MKTP US*ABC123",
  "CORNER COFFEE 42",
  "CITY PARKING 7",
];

/** A Chase checking statement with a running balance, newest row last, some 70 rows a day. */
export function statement(rows: number): string {
  const lines = ["Details,Posting Date,Description,Amount,Type,Balance,Check or Slip #"];
  let cents = 100_000_000;
  for (let n = 0; n < rows; n++) {
    const out = n % 9 !== 0;
    const amount = 100 + ((n * 7919) % 20_000);
    cents += out ? -amount : amount;
    const day = new Date(Date.UTC(2025, 0, 1 + Math.floor(n / 70)));
    const date = `${String(day.getUTCMonth() + 1).padStart(2, "0")}/${String(day.getUTCDate()).padStart(2, "0")}/${day.getUTCFullYear()}`;
    const text = out ? `${VENDORS[n % VENDORS.length]} ${n}` : `CLIENT INVOICE ${n}`;
    lines.push(
      `${out ? "DEBIT" : "CREDIT"},${date},${text},${out ? "-" : ""}${toText(amount)},${out ? "DEBIT_CARD" : "ACH_CREDIT"},${toText(cents)},`,
    );
  }
  return `${lines.join("\n")}\n`;
}

function toText(cents: number): string {
  const size = Math.abs(cents);
  return `${cents < 0 ? "-" : ""}${Math.floor(size / 100)}.${String(size % 100).padStart(2, "0")}`;
}

/** A process and all its descendants. */
export function family(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = statOf(Number(name));
    if (stat !== null) parents.set(Number(name), Number(stat[1]));
  }
  const found = [pid];
  for (const one of found) for (const [child, parent] of parents) if (parent === one && !found.includes(child)) found.push(child);
  return found;
}

/** Proportional memory of processes in MB: pages that several share count once in all. */
export function memoryOf(pids: readonly number[]): number {
  let kB = 0;
  for (const pid of pids) kB += Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0);
  return kB / 1024;
}

// USER_HZ, which Linux keeps at 100 for every program.
const TICK_MS = 10;

/** ms of CPU that running processes have used so far, user and system. */
export function cpuOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const stat = statOf(pid);
    return sum + (stat === null ? 0 : (Number(stat[11]) + Number(stat[12])) * TICK_MS);
  }, 0);
}

/** ms of CPU of all processes that this one has started and that have ended, with those they had waited for. */
export function cpuOfEnded(): number {
  const stat = statOf(process.pid);
  return stat === null ? Number.NaN : (Number(stat[13]) + Number(stat[14])) * TICK_MS;
}

function statOf(pid: number): string[] | null {
  const stat = read(`/proc/${pid}/stat`);
  return stat === "" ? null : stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // the process ended while we looked
  }
}
