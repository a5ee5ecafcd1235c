/**
 * Balance assertions under a change of the books. An assertion at HEAD still holds if no change before it moved its account, so only the
 * movements are followed; a new assertion needs the full sum, which is stored per month.
 */
import type { Entry, Tree } from "../../kernel/ports.ts";
import { addTo, type Exact, fromExact, toExact, totalOf, type Totals } from "./amounts.ts";
import { assertWhole, digestOf, type Month, monthFiles, wholeMonth } from "./months.ts";

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
 * Assertions that the changes make false, oldest first. `added`: ids of new entries. An assertion that was false before and is not moved is
 * not reported (`cleared verify` does that), nor is one that the changes make true or less wrong, because a missing row came back.
 * @throws JOURNAL_FORM when an entry that counts for one cannot be read
 */
export async function checkAssertions(head: Tree, changes: readonly MonthChange[], added: ReadonlySet<string>): Promise<FailedAssertion[]> {
  const isNew = changes.some((change) => change.after.some((entry) => added.has(entry.id) && states(entry)));
  return (await failedIn(head, changes, added, isNew)) ?? (await failedIn(head, changes, added, true)) ?? [];
}

/** `wholeSum`: all postings are added up; without it, null is returned if they would be needed. */
async function failedIn(
  head: Tree,
  changes: readonly MonthChange[],
  added: ReadonlySet<string>,
  wholeSum: boolean,
): Promise<FailedAssertion[] | null> {
  const [first] = changes;
  if (first === undefined) return [];
  const failed: FailedAssertion[] = [];
  const byFile = new Map(changes.map((change) => [change.file, change]));
  /** All postings so far, when they are needed. */
  const sum: Totals = new Map();
  /** After minus before, all months so far. */
  const moved: Totals = new Map();
  for (const file of [...new Set([...(await monthFiles(head)), ...byFile.keys()])].sort()) {
    const change = byFile.get(file);
    if (change === undefined && !wholeSum && (file < first.file || !isMoved(moved))) continue;
    if (change === undefined && !isMoved(moved)) {
      // Nothing before this month has moved, so only its sums are needed.
      addTotals(sum, (await digestOf(head, file)).totals);
      continue;
    }
    const month = change?.before ?? (await wholeMonth(head, file));
    if (month === null) continue;
    const entries = change?.after ?? month.entries;
    const was = entries.some(states) ? sumsAtAssertions(month) : new Map<string, Exact>();
    const running: Totals = new Map();
    for (const entry of entries) {
      for (const [index, { account, currency, amount, assertion }] of entry.postings.entries()) {
        addTo(running, account, currency, toExact(amount));
        if (assertion === undefined) continue;
        const here = totalOf(moved, account, currency) + totalOf(running, account, currency);
        const old = added.has(entry.id) ? undefined : was.get(`${entry.id} ${index}`);
        const moves = old === undefined ? null : here - old;
        if (moves === 0n) continue;
        if (!wholeSum) return null;
        const difference = toExact(assertion) - totalOf(sum, account, currency) - totalOf(running, account, currency);
        if (difference === 0n || (moves !== null && isNearer(difference, difference + moves))) continue;
        failed.push({ id: entry.id, date: entry.date, account, currency, difference: fromExact(difference, 2) });
      }
    }
    addTotals(sum, change === undefined ? month.totals : running);
    if (change !== undefined) {
      addTotals(moved, running);
      for (const [account, row] of month.totals) for (const [currency, value] of row) addTo(moved, account, currency, -value);
    }
  }
  return failed;
}

/** True when the difference lies between zero and what it was. */
const isNearer = (now: Exact, was: Exact): boolean => (now > 0n ? was > now : was < now);

function states(entry: Entry): boolean {
  return entry.postings.some((posting) => posting.assertion !== undefined);
}

const isMoved = (moved: Totals): boolean => moved.values().some((row) => row.values().some((value) => value !== 0n));

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

/** The sums of all postings of a tree. @throws JOURNAL_FORM when not all can be read */
export async function totalsOf(tree: Tree): Promise<Totals> {
  await assertWhole(tree);
  const sum: Totals = new Map();
  for (const file of await monthFiles(tree)) addTotals(sum, (await digestOf(tree, file)).totals);
  return sum;
}
