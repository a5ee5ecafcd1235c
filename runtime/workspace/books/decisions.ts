/**
 * How a person's decision on a card changes the books, as new file content on the tree at HEAD: an entry is confirmed, moved to another
 * account or put in suspense; a refused row is closed. A confirmed entry is never edited: a correction, linked by `corrects:`, moves the leg
 * that is not the bank's, on the first open day on which every stated balance holds. The bank's leg stays, so the bank's balances hold.
 */
import { ClearedError, didYouMean } from "../../kernel/errors.ts";
import type { Entry, Files, Tree } from "../../kernel/ports.ts";
import { accountOf, bare, type BookRules, type Months, monthsOf, reversalOf, unfit } from "./invariants.ts";
import { dayOfId, entryId, isEntryId, ownKind } from "./entry-id.ts";
import { CONFIG, IMPORTERS, monthFile, receiptFile, RECEIPTS } from "../layout.ts";
import { applyEdits, noEdits, plain } from "./ledger.ts";
import type { Chart } from "./main-journal.ts";
import { findEntry, loadChart } from "./months.ts";
import { factsOfKey } from "../statements/identity.ts";
import { isOfCard, receiptAt, receiptToYaml } from "../statements/receipt.ts";
import { shifted } from "../../kernel/day.ts";
import { negated } from "./amounts.ts";

export interface EntryDecision {
  approve: boolean;
  /** The person who decided, for the tag `by`. */
  by: string;
  /** Number or name of the account to which the leg that is not the bank's moves. */
  account?: string;
  reason?: string;
}

export interface DecisionRules extends BookRules {
  accounts: { suspense: string };
}

/**
 * Approve: user-confirmed; approve with another account: user-corrected, the leg moves there; reject: user-corrected, the legs that are not
 * the bank's move to suspense. Legs of a voided entry stay, because it and its reversal must cancel out. If the entry already has the
 * result, nothing changes, so a decision can be repeated after a crash.
 * @throws JOURNAL_ENTRY_MISSING, JOURNAL_STATUS, ACCOUNT_UNKNOWN, JOURNAL_*
 */
export async function confirmEntry(head: Tree, id: string, decision: EntryDecision, rules: DecisionRules): Promise<Files> {
  const entry = isEntryId(id) ? await findEntry(head, id) : null;
  if (entry === null) throw new ClearedError("JOURNAL_ENTRY_MISSING", `No entry has the id "${id.slice(0, 40)}".`);
  const chart = await loadChart(head);
  const reversal = await reversalOf(entry, monthsOf(head));
  if (reversal !== null && decision.account !== undefined)
    throw unfit(id, `has been voided by ${reversal}, so its account no longer matters. Approve it without an account, or reject it.`);
  const to = reversal !== null ? undefined : decision.approve ? decision.account : rules.accounts.suspense;
  const target = to === undefined ? null : accountOf(chart, to).name;
  if (entry.status !== "pending-review") {
    const isSame =
      entry.tags["by"] === decision.by &&
      (target === null ? entry.status === "user-confirmed" : entry.postings.some(({ account }) => account === target));
    if (isSame) return new Map();
    throw unfit(id, `is already ${entry.status}. \`cleared correct ${id} --account NUMBER\` moves a confirmed entry.`);
  }
  const decided = decide(plain(entry), decision, target, chart);
  return (await applyEdits(head, { ...noEdits(), replace: new Map([[id, decided]]) }, rules)).files();
}

function decide(entry: Entry, { approve, by, reason }: EntryDecision, target: string | null, chart: Chart): Entry {
  const note = reason ?? (approve ? undefined : "rejected");
  const tags = { ...entry.tags, by, ...(note === undefined ? {} : { note }) };
  if (target === null) return { ...entry, status: "user-confirmed", tags };
  const legs = otherLegs(entry, chart);
  const unclear = "does not have exactly one leg beside the bank's, so it is not clear which one moves. Void it and write a new entry.";
  if (legs.length === 0 || (approve && legs.length > 1)) throw unfit(entry.id, unclear);
  if (approve && entry.postings.some(({ account }, i) => account === target && !legs.includes(i))) throw wouldCancel(entry.id, target);
  const isThere = approve && entry.postings[legs[0] ?? 0]?.account === target;
  const postings = entry.postings.map((posting, i) => (legs.includes(i) ? { ...posting, account: target } : posting));
  return { ...entry, status: isThere ? "user-confirmed" : "user-corrected", tags, postings };
}

/** Indexes of the legs on income and expense, else of those on equity, else of the leg of two that is not the bank's. */
export function otherLegs(entry: Entry, chart: Chart): number[] {
  const types = entry.postings.map(({ account }) => chart.byWord.get(account)?.type);
  const places = (wanted: readonly (string | undefined)[]): number[] => types.flatMap((type, i) => (wanted.includes(type) ? [i] : []));
  for (const found of [places(["income", "expense"]), places(["equity"])]) if (found.length > 0) return found;
  if (entry.postings.length !== 2 || places(["asset", "liability"]).length !== 2) return [];
  // A transfer between two own accounts: the key names the bank's account, so the other leg moves.
  const bank = chart.byWord.get(factsOfKey(entry.tags["key"] ?? "")?.account ?? "")?.name;
  const leg = entry.postings.findIndex(({ account }) => account !== bank);
  return bank === undefined || leg < 0 ? [] : [leg];
}

/**
 * Removes a refused row (or all of them, for ALL_ROWS) from the receipt; no change if it is already removed. That a fault of config.yaml is
 * dealt with, the next import says (`approve`). @throws FILE_MISSING, FILE_INVALID, USAGE
 */
export async function closeRow(head: Tree, hash: string, line: number, approve: boolean): Promise<Files> {
  const path = receiptFile(hash);
  const receipt = await receiptAt(head, hash);
  if (receipt === null) {
    const paths = (await head.list(RECEIPTS)).map((entry) => entry.path);
    throw new ClearedError("FILE_MISSING", `There is no receipt ${path.slice(0, 120)}.${didYouMean(path, paths)}`);
  }
  const isClosed = isOfCard(line);
  const refused = receipt.refused.filter((row) => !isClosed(row));
  if (refused.length === receipt.refused.length) return new Map();
  if (approve && receipt.refused.some((row) => isClosed(row) && row.code === "CONFIG_INVALID")) {
    const next = `the next \`cleared import\` books the file and closes this card. \`cleared reject\` leaves it out.`;
    throw new ClearedError("USAGE", `By ${CONFIG} this cannot be booked. Correct it and commit that: ${next}`);
  }
  return new Map([[path, receiptToYaml({ ...receipt, refused })]]);
}

/** Adds the dialect that was guessed for a statement, under an unused name; no change if it exists. @throws CONFIG_INVALID */
export async function addDialect(head: Tree, text: string): Promise<Files> {
  const { parseDialects } = await import("../statements/dialect.ts");
  for (let n = 1; ; n++) {
    const numbered = n === 1 ? text : text.replace(/^name: .*$/m, (line) => `${line}-${n}`);
    const [dialect] = parseDialects([{ path: IMPORTERS, text: numbered }]);
    const path = `${IMPORTERS}${dialect?.name}.yaml`;
    const there = await head.read(path);
    if (there === numbered) return new Map();
    if (there === null) return new Map([[path, numbered]]);
  }
}

export const wouldCancel = (id: string, target: string): ClearedError =>
  new ClearedError("JOURNAL_LEG", `${id} has a leg on ${target} already; moved there, the two would cancel out. Choose another account.`);

const numberOf = ({ tags }: Entry): number => Number(tags["key"]?.split(":")[2] ?? 0);

/** The corrections of an entry in the order in which they were made. They are dated its day or later, and cannot be voided. */
export async function correctionsOf({ id, date }: Pick<Entry, "id" | "date">, books: Months): Promise<Entry[]> {
  const found: Entry[] = [];
  for (const file of await books.months()) {
    if (file < monthFile(date)) continue;
    for (const entry of await books.month(file)) if (entry.tags["corrects"] === id) found.push(entry);
  }
  return found.sort((a, b) => numberOf(a) - numberOf(b));
}

/** The entry with its corrections applied; the same object when there are none. */
export function asCorrected(entry: Entry, corrections: readonly Entry[]): Entry {
  if (corrections.length === 0) return entry;
  const moved = (account: string): string =>
    corrections.reduce((at, { postings }) => (at === postings[0]?.account ? (postings.at(-1)?.account ?? at) : at), account);
  return { ...entry, status: "user-corrected", postings: entry.postings.map((one) => ({ ...one, account: moved(one.account) })) };
}

/** The entry to correct: that of the id, or if it is a correction the entry it corrects. @throws JOURNAL_ENTRY_MISSING, JOURNAL_STATUS */
export async function correctable(head: Tree, id: string): Promise<Entry> {
  const found = isEntryId(id) ? await findEntry(head, id) : null;
  const of = found?.tags["corrects"];
  const entry = of === undefined ? found : await findEntry(head, of);
  if (entry === null) throw new ClearedError("JOURNAL_ENTRY_MISSING", `No entry has the id "${(of ?? id).slice(0, 40)}".`);
  const kind = ownKind(entry);
  if (entry.status === "pending-review")
    throw unfit(entry.id, "waits to be confirmed. `cleared queue` has its card; `cleared approve N --account NUMBER` moves it there.");
  if (kind !== null)
    throw unfit(
      entry.id,
      `is ${kind === "void" ? "a reversal" : "a stated balance"} and cannot be corrected. \`cleared undo import\` takes back what an import booked.`,
    );
  const reversal = await reversalOf(entry, monthsOf(head));
  if (reversal !== null) throw unfit(entry.id, `has been voided by ${reversal}, so its account no longer matters.`);
  return entry;
}

/**
 * Books the correction that moves an entry to `account`; no change if the same person last moved it there, so that it can be repeated after
 * a crash. @throws JOURNAL_*, ACCOUNT_UNKNOWN, USAGE without an account
 */
export async function correctEntry(head: Tree, id: string, decision: EntryDecision, rules: DecisionRules): Promise<Files> {
  const entry = await correctable(head, id);
  if (decision.account === undefined)
    throw new ClearedError("USAGE", `Name the account for ${entry.id}: \`cleared correct ${entry.id} --account NUMBER\`.`);
  const chart = await loadChart(head);
  const { name: target } = accountOf(chart, decision.account);
  const corrections = await correctionsOf(entry, monthsOf(head));
  const places = otherLegs(entry, chart);
  const { postings } = asCorrected(entry, corrections);
  const legs = postings.filter((_, i) => places.includes(i));
  const [from, second] = new Set(legs.map(({ account }) => account));
  if (from === undefined || second !== undefined)
    throw unfit(entry.id, `does not have exactly one account beside the bank's, so it is not clear which leg moves.`);
  if (from === target) {
    if (corrections.at(-1)?.tags["by"] === decision.by) return new Map();
    throw unfit(entry.id, `is on ${target} already.`);
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
      // The account has balances stated by a bank too: they must hold, so the correction is dated after the one that would fail.
      date = shifted(dayOfId((error.data as { entry: string }).entry), 1);
    }
  }
}
