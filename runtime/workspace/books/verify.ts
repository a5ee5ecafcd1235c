/**
 * `cleared verify`: every invariant over the whole journal of a tree, collected as findings with file and line, and the balances.
 * It trusts no cache and nothing that wrote the books.
 */
import type { Finding, Tree } from "../../kernel/ports.ts";
import { addTo, type Balances, fromExact, minus, toBalances, toExact, totalOf, type Totals } from "./amounts.ts";
import { faultsOf } from "./invariants.ts";
import { type ParsedEntry, parseJournal } from "./journal-text.ts";
import { CONFIG, JOURNAL, MAIN_JOURNAL, monthFile } from "../layout.ts";
import { accountHint, type Chart, isMonthFile, parseMain } from "./main-journal.ts";
import { monthOfId, toMonth } from "./months.ts";
import { isMirror } from "./reversals.ts";

export interface Verified {
  findings: Finding[];
  balances: Balances;
  /** False when an entry cannot be read, so that the balances lack it. */
  whole: boolean;
  entries: number;
}

/** The accounts config.yaml names. */
export interface NamedAccounts {
  accounts?: { opening: string; suspense: string };
  statements?: readonly { account: string }[];
}

/** Checks the whole journal of a tree. Findings are in the order of files and lines, those about two entries last. */
export async function verifyBooks(tree: Tree, config: NamedAccounts = {}): Promise<Verified> {
  const main = await tree.read(MAIN_JOURNAL);
  if (main === null) {
    const missing: Finding = { code: "FILE_MISSING", at: { file: MAIN_JOURNAL }, message: "The workspace has no main.journal." };
    return { findings: [missing], balances: {}, whole: false, entries: 0 };
  }
  const chart = parseMain(main);
  const files = (await tree.list(JOURNAL)).map((entry) => entry.path).filter((path) => path.endsWith(".journal"));
  const findings = [...chart.findings, ...configFindings(config, chart), ...includeFindings(main, chart, files)];
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
      if (monthFile(entry.date) !== file)
        found.push({ code: "JOURNAL_DATE", at, message: `${entry.date} lies outside this file's month.` });
      if (entry.date < day)
        found.push({ code: "JOURNAL_FORM", at, message: `${entry.date} comes after ${day}; entries are sorted by day.` });
      day = entry.date;
      const twin = places.get(entry.id);
      if (twin !== undefined) found.push({ code: "JOURNAL_DUPLICATE", at, message: `The id ${entry.id} is used here and at ${twin}.` });
      else places.set(entry.id, `${file}:${entry.line}`);
      found.push(...assertionFindings(entry, totals, at));
    }
    findings.push(...found.sort((a, b) => (a.at.line ?? 0) - (b.at.line ?? 0)));
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

function configFindings({ accounts, statements = [] }: NamedAccounts, chart: Chart): Finding[] {
  const named = [
    ...Object.entries(accounts ?? {}).map(([key, word]) => [`accounts.${key}`, word] as const),
    ...statements.map(({ account }, i) => [`statements.${i}.account`, account] as const),
  ];
  return named.flatMap(([key, word]) => {
    const message = `${key} is ${word}, which ${MAIN_JOURNAL} does not have.${accountHint(chart, word)}`;
    return chart.byWord.has(word) ? [] : [{ code: "ACCOUNT_UNKNOWN", at: { file: CONFIG }, message }];
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
  // Ledger checks assertions in the order of the text: includes out of order make it fail on books that hold.
  if (chart.includes.some((path, i) => i > 0 && path < (chart.includes[i - 1] ?? "")))
    wrong(MAIN_JOURNAL, lineOf(chart.includes[0] ?? ""), "The includes are not in the order of dates.");
  return found;
}

/** Adds the entry to the totals; answers the assertions that fail. */
function assertionFindings(entry: ParsedEntry, totals: Totals, at: { file: string; line: number }): Finding[] {
  const found: Finding[] = [];
  for (const { account, amount, currency, assertion } of entry.postings) {
    addTo(totals, account, currency, toExact(amount));
    if (assertion === undefined) continue;
    const difference = minus(toExact(assertion), totalOf(totals, account, currency));
    if (difference.units === 0n) continue;
    const have = fromExact(totalOf(totals, account, currency), 2);
    const message = `${account} is stated as ${assertion} ${currency} but the books say ${have}: ${fromExact(difference, 2)} is missing.`;
    found.push({ code: "JOURNAL_ASSERTION", at, message });
  }
  return found;
}
