/**
 * Corrections: a confirmed entry is never edited. Another one moves its leg that is not the bank's to the right account, on the first open
 * day on which every stated balance holds. The bank's leg stays, so what the bank said stays true; the two are linked by `corrects:`.
 */
import { shifted } from "../../kernel/day.ts";
import { ClearedError } from "../../kernel/errors.ts";
import type { Entry, Files, Tree } from "../../kernel/ports.ts";
import { negated } from "./amounts.ts";
import { type DecisionRules, type EntryDecision, otherLegs, wouldCancel } from "./decisions.ts";
import { accountOf } from "./draft.ts";
import { dayOfId, entryId, isEntryId, ownKind } from "./entry-id.ts";
import { monthFile } from "../layout.ts";
import { applyEdits, noEdits } from "./ledger.ts";
import { findEntry, loadChart } from "./months.ts";
import { type Months, bare, monthsOf, reversalOf } from "./reversals.ts";

const numberOf = ({ tags }: Entry): number => Number(tags["key"]?.split(":")[2] ?? 0);

/** The corrections of an entry in the order in which they were made. They are of its day or later, and cannot be voided. */
export async function correctionsOf({ id, date }: Pick<Entry, "id" | "date">, books: Months): Promise<Entry[]> {
  const found: Entry[] = [];
  for (const file of await books.months()) {
    if (file < monthFile(date)) continue;
    for (const entry of await books.month(file)) if (entry.tags["corrects"] === id) found.push(entry);
  }
  return found.sort((a, b) => numberOf(a) - numberOf(b));
}

/** The entry as it reads with its corrections; itself when there are none. */
export function asCorrected(entry: Entry, corrections: readonly Entry[]): Entry {
  if (corrections.length === 0) return entry;
  const moved = (account: string): string =>
    corrections.reduce((at, { postings }) => (at === postings[0]?.account ? (postings.at(-1)?.account ?? at) : at), account);
  return { ...entry, status: "user-corrected", postings: entry.postings.map((one) => ({ ...one, account: moved(one.account) })) };
}

/** The entry that an id means for a correction: of a correction the one that it corrects. @throws JOURNAL_ENTRY_MISSING, JOURNAL_STATUS */
export async function correctable(head: Tree, id: string): Promise<Entry> {
  const found = isEntryId(id) ? await findEntry(head, id) : null;
  const of = found?.tags["corrects"];
  const entry = of === undefined ? found : await findEntry(head, of);
  if (entry === null) throw new ClearedError("JOURNAL_ENTRY_MISSING", `No entry has the id "${(of ?? id).slice(0, 40)}".`);
  const kind = ownKind(entry);
  const no = (why: string) => new ClearedError("JOURNAL_STATUS", `${entry.id} ${why}`);
  if (entry.status === "pending-review")
    throw no("waits to be confirmed. `cleared queue` has its card; `cleared approve N --account NUMBER` moves it there.");
  if (kind !== null) throw no(`is ${kind === "void" ? "a reversal" : "a stated balance"} and cannot be corrected.`);
  const reversal = await reversalOf(entry, monthsOf(head));
  if (reversal !== null) throw no(`has been voided by ${reversal}, so its account does not matter any more.`);
  return entry;
}

/**
 * Books the correction that moves an entry to `account`; no change when the same person has moved it there, so that it can be repeated after
 * a crash. @throws JOURNAL_*, ACCOUNT_UNKNOWN, USAGE without an account
 */
export async function correctEntry(head: Tree, id: string, decision: EntryDecision, rules: DecisionRules): Promise<Files> {
  const entry = await correctable(head, id);
  if (decision.account === undefined)
    throw new ClearedError("USAGE", `Say on which account ${entry.id} belongs: \`cleared correct ${entry.id} --account NUMBER\`.`);
  const chart = await loadChart(head);
  const { name: target } = accountOf(chart, decision.account);
  const corrections = await correctionsOf(entry, monthsOf(head));
  const places = otherLegs(entry, chart);
  const { postings } = asCorrected(entry, corrections);
  const legs = postings.filter((_, i) => places.includes(i));
  const [from, second] = new Set(legs.map(({ account }) => account));
  if (from === undefined || second !== undefined)
    throw new ClearedError("JOURNAL_STATUS", `${entry.id} has not exactly one account beside the bank's, so it is not clear what moves.`);
  if (from === target) {
    if (corrections.at(-1)?.tags["by"] === decision.by) return new Map();
    throw new ClearedError("JOURNAL_STATUS", `${entry.id} is on ${target} already.`);
  }
  if (postings.some(({ account }) => account === target)) throw wouldCancel(entry.id, target);
  const key = `correct:${entry.id}:${corrections.length + 1}`;
  const on = (date: string): Entry => ({
    ...{ id: entryId(date, key), date, status: "user-corrected" },
    ...{ counterparty: entry.counterparty, description: `Correct ${entry.description}` },
    tags: { by: decision.by, corrects: entry.id, key, ...(decision.reason === undefined ? {} : { note: decision.reason }) },
    postings: [
      ...legs.map((leg) => ({ ...bare(leg), account: from, amount: negated(leg.amount) })),
      ...legs.map((leg) => ({ ...bare(leg), account: target })),
    ],
  });
  const { closed_through } = rules;
  for (let date = closed_through !== undefined && entry.date <= closed_through ? shifted(closed_through, 1) : entry.date; ; ) {
    try {
      return await (await applyEdits(head, { ...noEdits(), add: [on(date)] }, rules)).files();
    } catch (error) {
      if (!(error instanceof ClearedError) || error.code !== "JOURNAL_ASSERTION") throw error;
      // Of an account of one's own that a bank states as well: its balances stay true, and what comes after them is corrected.
      date = shifted(dayOfId((error.data as { entry: string }).entry), 1);
    }
  }
}
