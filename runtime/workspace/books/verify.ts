/**
 * `cleared verify`: every invariant over the whole journal of a tree, collected as findings with file and line, and the balances.
 * It trusts no cache and nothing that wrote the books. The second opinion: hledger and Ledger check the same files in their strict modes,
 * and all their balances are compared exactly with ours; a missing tool is reported, never counted as agreement.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Finding, Tree } from "../../kernel/ports.ts";
import { addTo, type Balances, fromExact, isPlainAmount, toBalances, toExact, totalOf, type Totals } from "./amounts.ts";
import { faultsOf, isMirror } from "./invariants.ts";
import { type ParsedEntry, parseJournal } from "./journal-text.ts";
import { CONFIG, JOURNAL, MAIN_JOURNAL, monthFile } from "../layout.ts";
import { accountHint, type Chart, isMonthFile, noStatements, parseMain } from "./main-journal.ts";
import { monthOfId, toMonth } from "./months.ts";
import { makeOwnFolder, userState } from "../own-folders.ts";
import { readRecords } from "../statements/records.ts";

export type Verified = Awaited<ReturnType<typeof verifyBooks>>;

/** The accounts config.yaml names. */
export interface NamedAccounts {
  accounts?: { opening: string; suspense: string };
  statements?: readonly { account: string }[];
}

/**
 * Checks the whole journal of a tree. Findings are in the order of files and lines, those about two entries last. `whole`: false when an
 * entry cannot be read and is missing from the balances.
 */
export async function verifyBooks(tree: Tree, config: NamedAccounts = {}) {
  const main = await tree.read(MAIN_JOURNAL);
  if (main === null) {
    const missing: Finding = { code: "FILE_MISSING", at: { file: MAIN_JOURNAL }, message: "The workspace has no main.journal." };
    return { findings: [missing], balances: {} as Balances, whole: false, entries: 0 };
  }
  const chart = parseMain(main);
  const configFindings = accountFaults(config, chart).map(({ code, path, says }): Finding => {
    return { code, at: { file: CONFIG }, message: `${path.join(".")} ${says}` };
  });
  const files = (await tree.list(JOURNAL)).map((entry) => entry.path).filter((path) => path.endsWith(".journal"));
  const findings = [...chart.findings, ...configFindings, ...includeFindings(main, chart, files)];
  const totals: Totals = new Map();
  const places = new Map<string, string>();
  const reversals: ParsedEntry[] = [];
  let entries = 0;
  let isWhole = chart.unread === null && chart.includes.every((path) => files.includes(path));
  for (const file of files.sort()) {
    const parsed = parseJournal((await tree.read(file)) ?? "", file);
    isWhole &&= parsed.unread === null;
    const found = [...parsed.findings];
    let day = "";
    for (const entry of parsed.entries) {
      entries++;
      const at = { file, line: entry.line };
      if (entry.tags["voids"] !== undefined) reversals.push(entry);
      for (const fault of faultsOf(entry, chart)) found.push({ ...fault, at });
      for (const name of ["status", ...Object.keys(entry.tags)]) {
        if (!chart.tags.has(name)) found.push({ code: "JOURNAL_FORM", at, message: `The tag "${name}" is not declared in main.journal.` });
      }
      for (const { currency, cost } of entry.postings) {
        for (const unit of cost === undefined ? [currency] : [currency, cost.currency]) {
          if (!chart.places.has(unit))
            found.push({ code: "JOURNAL_FORM", at, message: `The commodity ${unit} is not declared in main.journal.` });
        }
      }
      if (monthFile(entry.date) !== file) found.push({ code: "JOURNAL_DATE", at, message: `${entry.date} is outside this file's month.` });
      if (entry.date < day)
        found.push({ code: "JOURNAL_FORM", at, message: `${entry.date} comes after ${day}; entries are sorted by day.` });
      day = entry.date;
      const twin = places.get(entry.id);
      if (twin !== undefined) found.push({ code: "JOURNAL_DUPLICATE", at, message: `The id ${entry.id} is used here and at ${twin}.` });
      else places.set(entry.id, `${file}:${entry.line}`);
      found.push(...assertionFindings(entry, totals, at));
    }
    findings.push(...firstOf(found.sort((a, b) => (a.at.line ?? 0) - (b.at.line ?? 0))));
  }
  for (const [file, group] of Map.groupBy(reversals, ({ tags }) => monthOfId(tags["voids"] ?? ""))) {
    const { byId } = toMonth(file, (await tree.read(file)) ?? "");
    for (const reversal of group) {
      const id = reversal.tags["voids"] ?? "";
      const entry = byId.get(id);
      if (entry !== undefined && isMirror(entry, reversal)) continue;
      const why = entry === undefined ? "which is not in the books" : "whose legs it does not mirror";
      const message = `${reversal.id} voids ${id}, ${why}.`;
      findings.push({ code: "JOURNAL_STATUS", at: { file: monthFile(reversal.date), line: reversal.line }, message });
    }
  }
  return { findings, balances: toBalances(totals), whole: isWhole, entries };
}

// Of one file: more are one fault, such as another file in its place.
const MOST = 200;

/** The first findings; the last of them says how many are omitted. */
function firstOf(found: Finding[]): Finding[] {
  const last = found[MOST - 1];
  if (last === undefined || found.length === MOST) return found;
  const message = `${last.message} (${found.length - MOST} more findings in ${last.at.file} are not listed.)`;
  return [...found.slice(0, MOST - 1), { ...last, message }];
}

/** What is wrong with the accounts that config.yaml names. */
export function accountFaults({ accounts, statements = [] }: NamedAccounts, chart: Chart) {
  const named = [
    ...Object.entries(accounts ?? {}).map(([key, word]) => ({ path: ["accounts", key], word })),
    ...statements.map(({ account }, n) => ({ path: ["statements", n, "account"], word: account })),
  ];
  return named.flatMap(({ path, word }) => {
    const account = chart.byWord.get(word);
    if (account === undefined)
      return [{ code: "ACCOUNT_UNKNOWN", path, says: `is ${word}, which ${MAIN_JOURNAL} does not have.${accountHint(chart, word)}` }];
    const why = path[0] === "statements" ? noStatements(account) : null;
    return why === null ? [] : [{ code: "CONFIG_INVALID", path, says: `is ${word}: ${why}` }];
  });
}

function includeFindings(main: string, chart: Chart, files: string[]): Finding[] {
  const found: Finding[] = [];
  const wrong = (file: string, line: number, message: string) => found.push({ code: "JOURNAL_FORM", at: { file, line }, message });
  const lineOf = (path: string): number => main.split("\n").indexOf(`include ${path}`) + 1;
  for (const path of chart.includes)
    if (!files.includes(path)) wrong(MAIN_JOURNAL, lineOf(path), `${path} is included but does not exist.`);
  for (const path of files) {
    if (!isMonthFile(path)) wrong(path, 1, "The file's path is not journal/YYYY/MM.journal.");
    else if (!chart.includes.includes(path)) wrong(path, 1, `The file is not included in ${MAIN_JOURNAL}, so other tools do not see it.`);
  }
  // Ledger checks assertions in the order of the text, so includes out of order make it fail on correct books.
  if (chart.includes.some((path, i) => i > 0 && path < (chart.includes[i - 1] ?? "")))
    wrong(MAIN_JOURNAL, lineOf(chart.includes[0] ?? ""), "The includes are not in the order of dates.");
  return found;
}

/** Adds the entry to the totals; returns its failing assertions. */
function assertionFindings(entry: ParsedEntry, totals: Totals, at: { file: string; line: number }): Finding[] {
  const found: Finding[] = [];
  for (const { account, amount, currency, assertion } of entry.postings) {
    addTo(totals, account, currency, toExact(amount));
    if (assertion === undefined) continue;
    const difference = toExact(assertion) - totalOf(totals, account, currency);
    if (difference === 0n) continue;
    const have = fromExact(totalOf(totals, account, currency), 2);
    const message = `${account} is stated as ${assertion} ${currency} but the books say ${have}: ${fromExact(difference, 2)} is missing.`;
    found.push({ code: "JOURNAL_ASSERTION", at, message });
  }
  return found;
}

export interface Opinion {
  tool: "hledger" | "ledger";
  status: "agrees" | "differs" | "refuses" | "not installed";
  /** The tool's message, or the first differences. */
  message: string;
}

const TIMEOUT_MS = 120_000;
const MAX_OUTPUT = 64 * 1024 * 1024;
const MAX_ACCOUNTS = 1_000_000;

/**
 * The opinions of both tools on the books of a tree that our own check has passed. They get a copy outside of the workspace: Ledger would run
 * Python in a journal and hledger reads options from its working directory, and our check passes neither. `balances` are ours.
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

/** The opinions of both tools on the journal in `dir`, whose text is trusted; `balances` are ours. */
export async function verifyIndependent(dir: string, balances: Balances): Promise<Opinion[]> {
  return Promise.all([hledger(dir, balances), ledger(dir, balances)]);
}

async function hledger(dir: string, ours: Balances): Promise<Opinion> {
  const check = await run("hledger", ["-f", MAIN_JOURNAL, "check", "-s"], dir);
  if (check.code !== 0) return refusal("hledger", check);
  const list = await run("hledger", ["-f", MAIN_JOURNAL, "bal", "--flat", "-N", "-E", "--layout=bare", "-O", "csv"], dir);
  if (list.code !== 0) return refusal("hledger", list);
  const theirs: Balances = {};
  const rows = (readRecords(list.out, ",", MAX_ACCOUNTS)?.records ?? []).map(({ cells }) => cells);
  for (const [account = "", currency = "", amount = ""] of rows.slice(1)) put(theirs, account, currency, amount);
  return compare("hledger", theirs, ours);
}

async function ledger(dir: string, ours: Balances): Promise<Opinion> {
  // `amount` is the account's own sum; each further commodity is on a separate line below.
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

type Ran = { code: number | "missing" } & Record<"out" | "err", string>;

function refusal(tool: Opinion["tool"], ran: Ran): Opinion {
  if (ran.code === "missing") return { tool, status: "not installed", message: `${tool} is not installed.` };
  return { tool, status: "refuses", message: ran.err.trim().slice(0, 2000) };
}

function run(command: string, args: string[], cwd: string): Promise<Ran> {
  return new Promise((resolve) => {
    // hledger refuses non-ASCII text without a UTF-8 locale. HOME hides init files of the user.
    const env = { PATH: process.env["PATH"] ?? "", LC_ALL: "C.UTF-8", HOME: "/nonexistent" };
    const child = execFile(command, args, { cwd, env, timeout: TIMEOUT_MS, maxBuffer: MAX_OUTPUT }, (error, out, err) => {
      resolve({ code: error === null ? 0 : error.code === "ENOENT" ? "missing" : 1, out, err: err || (error?.message ?? "") });
    });
    child.stdin?.on("error", () => undefined).end();
  });
}
