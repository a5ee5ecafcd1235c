/**
 * The second opinion: hledger and Ledger, in their strict modes, on the same files, and all balances compared exactly with ours.
 * They are run without a shell and where they are installed; a tool that is missing is said, never counted as agreement.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Tree } from "../../kernel/ports.ts";
import { type Balances, fromExact, isPlainAmount, toExact } from "./amounts.ts";
import { JOURNAL, MAIN_JOURNAL } from "../layout.ts";
import { isMonthFile } from "./main-journal.ts";
import { makeOwnFolder, userState } from "../own-folders.ts";

export interface Opinion {
  tool: "hledger" | "ledger";
  status: "agrees" | "differs" | "refuses" | "not installed";
  /** The tool's own words, or the first differences. */
  message: string;
}

const TIMEOUT_MS = 120_000;
const MAX_OUTPUT = 64 * 1024 * 1024;

/**
 * What both tools say about the books of a tree that our own check has passed. They get a copy outside of the workspace: Ledger runs Python
 * that stands in a journal and hledger reads its options from the folder it runs in, and our check passes neither. `balances` are ours.
 */
export async function secondOpinion(tree: Tree, balances: Balances): Promise<Opinion[]> {
  const dir = await mkdtemp(join(makeOwnFolder(userState()), "books-"));
  try {
    for (const path of [MAIN_JOURNAL, ...(await tree.list(JOURNAL)).map((one) => one.path).filter(isMonthFile)]) {
      await mkdir(dirname(join(dir, path)), { recursive: true });
      await writeFile(join(dir, path), (await tree.read(path)) ?? "");
    }
    return await verifyIndependent(dir, balances);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** What both tools say about the journal in `dir`, whose text is trusted; `balances` are ours. */
export async function verifyIndependent(dir: string, balances: Balances): Promise<Opinion[]> {
  return Promise.all([hledger(dir, balances), ledger(dir, balances)]);
}

async function hledger(dir: string, ours: Balances): Promise<Opinion> {
  const check = await run("hledger", ["-f", MAIN_JOURNAL, "check", "-s"], dir);
  if (check.code !== 0) return refusal("hledger", check);
  const list = await run("hledger", ["-f", MAIN_JOURNAL, "bal", "--flat", "-N", "-E", "--layout=bare", "-O", "csv"], dir);
  if (list.code !== 0) return refusal("hledger", list);
  const theirs: Balances = {};
  for (const [account = "", currency = "", amount = ""] of csvRows(list.out).slice(1)) put(theirs, account, currency, amount);
  return compare("hledger", theirs, ours);
}

async function ledger(dir: string, ours: Balances): Promise<Opinion> {
  // `amount` is the account's own sum; each further commodity stands on a line of its own below.
  const format = "\u0001%(account)\u0002%(scrub(amount))\n";
  const strict = ["--args-only", "--no-pager", "-f", MAIN_JOURNAL, "--pedantic", "--strict"];
  const list = await run("ledger", [...strict, "bal", "--flat", "--no-total", "--empty", "--format", format], dir);
  if (list.code !== 0) return refusal("ledger", list);
  const theirs: Balances = {};
  for (const block of list.out.split("\u0001").slice(1)) {
    const [account = "", amounts = ""] = block.split("\u0002");
    for (const line of amounts.trim().split("\n")) {
      const [amount = "", currency = ""] = line.trim().split(" ");
      if (currency !== "") put(theirs, account, currency, amount.replaceAll(",", ""));
    }
  }
  return compare("ledger", theirs, ours);
}

function put(balances: Balances, account: string, currency: string, amount: string): void {
  const plain = isPlainAmount(amount) ? fromExact(toExact(amount), 2) : amount;
  if (plain === "0.00") return;
  const row = (balances[account] ??= {});
  row[currency] = plain;
}

function compare(tool: Opinion["tool"], theirs: Balances, ours: Balances): Opinion {
  const differences: string[] = [];
  for (const account of new Set([...Object.keys(ours), ...Object.keys(theirs)])) {
    for (const currency of new Set([...Object.keys(ours[account] ?? {}), ...Object.keys(theirs[account] ?? {})])) {
      const [mine, yours] = [ours[account]?.[currency] ?? "0.00", theirs[account]?.[currency] ?? "0.00"];
      if (mine !== yours) differences.push(`${account}: ${yours} ${currency} instead of ${mine}`);
    }
  }
  if (differences.length === 0) return { tool, status: "agrees", message: `${Object.keys(ours).length} accounts agree to the cent.` };
  return { tool, status: "differs", message: differences.slice(0, 5).join("; ") };
}

interface Ran {
  code: number | "missing";
  out: string;
  err: string;
}

function refusal(tool: Opinion["tool"], ran: Ran): Opinion {
  if (ran.code === "missing") return { tool, status: "not installed", message: `${tool} is not installed.` };
  return { tool, status: "refuses", message: ran.err.trim().slice(0, 2000) };
}

function run(command: string, args: string[], cwd: string): Promise<Ran> {
  return new Promise((resolve) => {
    // A UTF-8 locale: hledger refuses any non-ASCII text without one. Init files of the user are of no concern here.
    const env = { PATH: process.env["PATH"] ?? "", LC_ALL: "C.UTF-8", HOME: "/nonexistent" };
    const child = execFile(command, args, { cwd, env, timeout: TIMEOUT_MS, maxBuffer: MAX_OUTPUT }, (error, out, err) => {
      resolve({ code: error === null ? 0 : error.code === "ENOENT" ? "missing" : 1, out, err: err || (error?.message ?? "") });
    });
    child.stdin?.on("error", () => undefined).end();
  });
}

/** Rows of hledger's CSV: every field quoted, a quote doubled. */
function csvRows(text: string): string[][] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => [...line.matchAll(/"((?:[^"]|"")*)"/g)].map((match) => (match[1] ?? "").replaceAll('""', '"')));
}
