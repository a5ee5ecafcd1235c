/**
 * Balance assertions under a change of the books. An assertion that stands at HEAD still holds when nothing before it moved its account,
 * so only the movement is followed; a new one needs the whole sum, which is kept per month.
 */
import type { Entry, Tree } from "../ports.ts";
import { addTo, type Exact, fromExact, minus, plus, toExact, totalOf, type Totals, ZERO } from "./amounts.ts";
import { loadMonth, type Month, monthFiles } from "./months.ts";

export interface MonthChange {
  file: string;
  before: Month;
  /** The entries afterwards, in file order. */
  after: readonly Entry[];
}

export interface FailedAssertion {
  id: string;
  date: string;
  account: string;
  currency: string;
  /** What the assertion says minus what the books say. */
  difference: string;
}

/**
 * Assertions that do not hold after the changes, oldest first. `added`: ids of new entries. An assertion that was wrong
 * before and is not moved is not reported: that is for `cleared verify`.
 */
export async function checkAssertions(head: Tree, changes: readonly MonthChange[], added: ReadonlySet<string>): Promise<FailedAssertion[]> {
  const [first] = changes;
  if (first === undefined) return [];
  const failed: FailedAssertion[] = [];
  const wholeSum = changes.some((change) => change.after.some((entry) => added.has(entry.id) && states(entry)));
  const byFile = new Map(changes.map((change) => [change.file, change]));
  /** All postings so far, when a new assertion needs them. */
  const sum: Totals = new Map();
  /** After minus before, all months so far. */
  const moved: Totals = new Map();
  for (const file of [...new Set([...(await monthFiles(head)), ...byFile.keys()])].sort()) {
    const change = byFile.get(file);
    if (change === undefined && !wholeSum && (file < first.file || !isMoved(moved))) continue;
    const month = change?.before ?? (await loadMonth(head, file));
    if (month === null) continue;
    const was = change === undefined ? new Map<string, Exact>() : sumsAtAssertions(month);
    const running: Totals = new Map();
    const entries = change?.after ?? (isMoved(moved) ? month.entries : []);
    for (const entry of entries) {
      for (const [index, { account, currency, amount, assertion }] of entry.postings.entries()) {
        if (change !== undefined) addTo(running, account, currency, toExact(amount));
        if (assertion === undefined) continue;
        const old = was.get(`${entry.id} ${index}`);
        const shift = totalOf(moved, account, currency);
        const here = totalOf(running, account, currency);
        let difference = minus(ZERO, old === undefined ? shift : minus(plus(shift, here), old));
        if (added.has(entry.id)) difference = minus(toExact(assertion), plus(totalOf(sum, account, currency), here));
        if (difference.units !== 0n)
          failed.push({ id: entry.id, date: entry.date, account, currency, difference: fromExact(difference, 2) });
      }
    }
    addTotals(sum, change === undefined ? month.totals : running);
    if (change !== undefined) {
      addTotals(moved, running);
      for (const [account, row] of month.totals)
        for (const [currency, { units, scale }] of row) addTo(moved, account, currency, { units: -units, scale });
    }
  }
  return failed;
}

function states(entry: Entry): boolean {
  return entry.postings.some((posting) => posting.assertion !== undefined);
}

function isMoved(moved: Totals): boolean {
  for (const row of moved.values()) for (const { units } of row.values()) if (units !== 0n) return true;
  return false;
}

/** Sum of the month's postings up to each assertion, by entry and place. */
function sumsAtAssertions(month: Month): Map<string, Exact> {
  const sums = new Map<string, Exact>();
  const running: Totals = new Map();
  for (const entry of month.entries) {
    for (const [index, { account, currency, amount, assertion }] of entry.postings.entries()) {
      addTo(running, account, currency, toExact(amount));
      if (assertion !== undefined) sums.set(`${entry.id} ${index}`, totalOf(running, account, currency));
    }
  }
  return sums;
}

function addTotals(into: Totals, totals: Totals): void {
  for (const [account, row] of totals) for (const [currency, value] of row) addTo(into, account, currency, value);
}

/** All postings of a tree. */
export async function totalsOf(tree: Tree): Promise<Totals> {
  const sum: Totals = new Map();
  for (const file of await monthFiles(tree)) addTotals(sum, (await loadMonth(tree, file))?.totals ?? new Map());
  return sum;
}
