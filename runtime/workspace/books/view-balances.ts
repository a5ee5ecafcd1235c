/**
 * Writes the balances of a statement into the books: an opening entry at the first import of an account, and the closing balance as an
 * assertion when every row is booked and the sum ties. An older statement moves the opening back in time, and balances that later statements
 * proved still hold. An opening or an assertion is changed only by rows that have just come in and explain all of the difference.
 * Earlier statements whose rows are in the books meanwhile are settled, by a later import or by a decision.
 */
import type { Entry } from "../../kernel/ports.ts";
import { type Exact, fromExact, toExact } from "./amounts.ts";
import {
  balancesIn,
  explainedShift,
  failing,
  isCheckpoint,
  isListed,
  isProven,
  type Leg,
  legsOf,
  sumOf,
  through,
  unexplained,
} from "./bank-balances.ts";
import { goneFrom, listedBy, receiptsAbout, receiptTree } from "./claims.ts";
import type { Config } from "../settings/config.ts";
import { accountOf } from "./invariants.ts";
import { entryId, ownKind } from "./entry-id.ts";
import { cleanEntry } from "./journal-text.ts";
import { plain } from "./ledger.ts";
import { placesOf } from "./main-journal.ts";
import { loadChart } from "./months.ts";
import type { Overlay } from "../overlay.ts";
import { receiptFile } from "../layout.ts";
import { isOpenReceipt, type KeptReceipt, receiptToYaml, type Stated } from "../statements/receipt.ts";

/** A statement, and the books that its balances are written into. */
export interface StatedContext {
  overlay: Overlay;
  config: Config;
  /** The last day of the closed period, or undefined. */
  closed: string | undefined;
  /** The author of the entries: the tag of a run or of a person. */
  by: { run: string } | { by: string };
  hash: string;
  /** Ids of the entries that the rows of the statement are. */
  listed: ReadonlySet<string>;
  /** True for a new entry of this statement: only such entries can explain a change of an opening or an assertion. */
  isFresh(entry: Entry): boolean;
  /** True while a row of the statement is refused, not booked or asked about: then its balance proves nothing. */
  isOpen: boolean;
  isAsked: boolean;
}

/** True when the books, with these rows booked too, tie to the closing balance. @throws JOURNAL_FORM */
export async function tiesWith(part: Stated, rows: readonly { date: string; amount: string }[], overlay: Overlay): Promise<boolean> {
  const { closing, currency } = part;
  if (closing === null) return false;
  const { name } = accountOf(await loadChart(await overlay.head()), part.account);
  const more = rows.filter(({ date }) => date <= closing.date).reduce((sum, { amount }) => sum + toExact(amount), 0n);
  return toExact(closing.amount) === through(await legsOf(overlay, name, currency), closing.date) + more;
}

/** False when checking the statement again would change nothing: it does not tie, and the account has its opening. @throws JOURNAL_FORM */
export async function mayTie(part: Stated, overlay: Overlay): Promise<boolean> {
  const { name } = accountOf(await loadChart(await overlay.head()), part.account);
  const legs = await legsOf(overlay, name, part.currency);
  return (part.opening !== null && !legs.some(isCheckpoint)) || tiesWith(part, [], overlay);
}

/** Moves balances of the bank to the end of their day, where they hold, when rows of that day were added after them. @throws JOURNAL_FORM */
export async function placeBalances(overlay: Overlay, account: string, currency: string, closed: string | undefined): Promise<void> {
  const legs = await legsOf(overlay, account, currency);
  for (const { entry, assertion } of failing(balancesIn(legs, () => false))) {
    if (assertion !== through(legs, entry.date) || (closed !== undefined && entry.date <= closed)) continue;
    overlay.record({ op: "remove", id: entry.id });
    overlay.add([plain(entry)]);
  }
}

/** Writes opening and closing of one account; returns the bank's balance minus that of the books, or null. @throws JOURNAL_FORM */
export async function stateBalances(part: Stated, context: StatedContext): Promise<string | null> {
  return stateClosing(part, context, await stateOpening(part, context));
}

/**
 * Writes the closing balance if it ties; returns the bank's balance minus that of the books, or null. `held`: ids of the bank's balances
 * that held before the new entries came in, from stateOpening. @throws JOURNAL_FORM
 */
export async function stateClosing(part: Stated, context: StatedContext, held: ReadonlySet<string>): Promise<string | null> {
  const { overlay, config, closed, hash } = context;
  const { closing, currency } = part;
  if (closing === null) return null;
  const chart = await loadChart(await overlay.head());
  const { name } = accountOf(chart, part.account);
  await placeBalances(overlay, name, currency, closed);
  const legs = await legsOf(overlay, name, currency, [part.first ?? closing.date, closing.date]);
  const has = through(legs, closing.date);
  const isTied = toExact(closing.amount) === has;
  const isOver = closed !== undefined && closing.date <= closed;
  if (isTied && !context.isOpen && !isOver) {
    const broken = failing(balancesIn(legs, () => false)).filter(
      ({ entry }) => held.has(entry.id) && entry.date >= (part.first ?? closing.date) && entry.date <= closing.date,
    );
    for (const { entry } of broken) overlay.record({ op: "remove", id: entry.id });
    const last = legs.findLast(({ entry }) => entry.date <= closing.date && !broken.some((one) => one.entry.id === entry.id));
    if (last === undefined || last.entry.date !== closing.date || last.assertion === null) {
      const places = placesOf(chart, currency);
      const key = `closing:${part.account}${isHome(part, config) ? "" : `:${currency}`}:${closing.date}:${hash.slice(0, 8)}`;
      const leg = { account: name, amount: fromExact(0n, places), currency, assertion: fromExact(has, places) };
      overlay.add([stating(closing.date, "Statement balance", { key, ...context.by }, [leg])]);
    }
  }
  return gapOf(part, context.listed, overlay);
}

/** The bank's balance minus that of the books, or null. `listed`: ids of the entries that the statement's rows are. @throws JOURNAL_FORM */
export async function gapOf(part: Stated, listed: ReadonlySet<string>, overlay: Overlay): Promise<string | null> {
  const { closing, currency } = part;
  if (closing === null) return null;
  const { name } = accountOf(await loadChart(await overlay.head()), part.account);
  const legs = await legsOf(overlay, name, currency, [part.first ?? closing.date, closing.date]);
  const isTied = toExact(closing.amount) === through(legs, closing.date);
  const gap = isTied ? null : unexplained(part, closing, legs, listed);
  return gap === null ? null : fromExact(gap, 2);
}

/**
 * Openings are checkpoints: each states what the account held before a statement's first row, and books the amount missing up to there.
 * The first one is the opening balance; a later one exists only while statements between two imported ones are missing, and shrinks to
 * zero as they come in. Amounts are recomputed from what the checkpoints state, so nothing depends on the order of imports.
 * Returns the ids of the bank's balances that held before the statement's new entries came in. @throws JOURNAL_FORM
 */
export async function stateOpening(part: Stated, context: StatedContext): Promise<Set<string>> {
  const { overlay, config, isOpen, isAsked, listed } = context;
  const { first, currency, opening, closing } = part;
  const chart = await loadChart(await overlay.head());
  const { name } = accountOf(chart, part.account);
  const key = `opening:${part.account}${isHome(part, config) ? "" : `:${currency}`}`;
  const legs = await legsOf(overlay, name, currency, first === null ? [] : [first, closing?.date ?? first]);
  const balances = balancesIn(legs, context.isFresh);
  const held = balances.filter(({ entry, was }) => ownKind(entry) === "closing" && was === 0n);
  const ids = new Set(held.map(({ entry }) => entry.id));
  if (first === null) return ids;
  const old = legs.filter(isCheckpoint);
  const rows = legs.filter((leg) => !isCheckpoint(leg));
  const stated = new Map(old.map((leg) => [leg.entry.date, leg.assertion ?? leg.amount]));
  const [earliest] = old;
  if (earliest === undefined && (opening === null || isAsked)) return ids;
  const before = (date: string): Exact => sumOf(rows, ({ entry }) => entry.date < date);
  /** True if, with `carried` brought in, this statement's closing balance or a later balance of the bank holds. */
  const holds = (date: string, carried: Exact): boolean => {
    const isOwn = closing !== null && closing.date >= date && toExact(closing.amount) === carried + through(rows, closing.date);
    return isOwn || isProven(rows, date, carried);
  };
  if (earliest === undefined || first < earliest.entry.date) {
    const morning = rows.filter(({ entry }) => entry.date === first && !isListed(entry, listed));
    // For a statement of a single day, rows that only another statement lists may come before or after it.
    if (earliest === undefined && morning.length > 0 && closing?.date === first) return ids;
    if (earliest === undefined && (await isMissed(part.account, first, overlay))) return ids;
    if (opening !== null) stated.set(first, toExact(opening) - sumOf(morning));
    else if (earliest !== undefined) {
      // The statement has no opening balance: it is that of the later one, less the rows in between.
      const between = sumOf(rows, ({ entry }) => entry.date >= first && entry.date < earliest.entry.date);
      stated.set(first, (stated.get(earliest.entry.date) ?? 0n) - between);
      stated.delete(earliest.entry.date);
    }
  } else {
    const shift = explainedShift(part, legs, held, earliest, context.isFresh);
    if (shift !== null) stated.set(earliest.entry.date, (stated.get(earliest.entry.date) ?? 0n) + shift);
    else if (old.length === 1) return ids;
  }
  const places = placesOf(chart, currency);
  const equity = accountOf(chart, config.accounts.opening).name;
  /** A row that was deleted by hand must not be carried in by a checkpoint, so a checkpoint that was off stays off. */
  const missed = new Map(balances.filter(isCheckpoint).map(({ entry, was }) => [entry.date, was]));
  if (earliest !== undefined && !stated.has(earliest.entry.date)) missed.set(first, missed.get(earliest.entry.date) ?? 0n);
  let carried = 0n;
  const wanted: Entry[] = [];
  for (const [date, balance] of [...stated].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const amount = balance - carried - before(date) - (missed.get(date) ?? 0n);
    const isGap = wanted.length > 0;
    if (isGap && (amount === 0n || holds(date, carried))) continue;
    carried += amount;
    const leg = { account: name, amount: fromExact(amount, places), currency, assertion: fromExact(balance, places) };
    const other = { account: equity, amount: fromExact(-amount, places), currency };
    const tags = { key: isGap ? `${key}:gap` : key, ...context.by };
    const description = isGap ? "Balance brought forward, statements before this day are missing" : "Opening balance";
    // A leg of zero is not allowed beside others; the entry then only states what the account holds.
    wanted.push(stating(date, description, tags, amount === 0n ? [leg] : [leg, other]));
  }
  for (const { entry } of old) if (!wanted.some((other) => isSame(entry, other))) overlay.record({ op: "remove", id: entry.id });
  for (const entry of wanted) {
    if (old.some((other) => isSame(other.entry, entry))) continue;
    overlay.add([entry]);
    // While rows of the statement itself are open, the missing amount may be theirs.
    if (!isOpen && entry.tags["key"] === `${key}:gap`) {
      const [missing] = entry.postings;
      const body = { account: part.account, date: entry.date, missing: `${missing?.amount ?? ""} ${currency}`, entry: entry.id };
      overlay.record({ op: "review", title: `${name}: statements before ${entry.date} are missing`, body: { note: body }, entry: null });
    }
  }
  return ids;
}

/** An entry of the books' own that states the balance of an account. */
const stating = (date: string, description: string, tags: { key: string }, postings: Entry["postings"]): Entry =>
  cleanEntry({ id: entryId(date, tags.key), date, status: "bootstrap-confirmed", counterparty: "", description, tags, postings });

/** True when rows of the account up to that day were deleted by hand: an opening would include them, and they could not come back. */
async function isMissed(account: string, day: string, overlay: Overlay): Promise<boolean> {
  const receipts = await receiptsAbout(await receiptTree(overlay), { account, from: "0000-00-00", to: day });
  return (await goneFrom(receipts, (ids) => overlay.existing(ids))).length > 0;
}

function isSame(a: Leg["entry"], b: Leg["entry"]): boolean {
  return a.id === b.id && a.postings[0]?.amount === b.postings[0]?.amount && a.postings[0]?.assertion === b.postings[0]?.assertion;
}

const isHome = (part: Stated, config: Config): boolean => part.currency === config.currency;

type SettleContext = Pick<StatedContext, "overlay" | "config" | "closed" | "by">;

/** The context of a receipt's statement. `isFresh`: true for its new entries. */
export const contextOf = (receipt: KeptReceipt, context: SettleContext, isFresh: (entry: Entry) => boolean): StatedContext => ({
  ...context,
  ...{ hash: receipt.hash, listed: listedBy(receipt), isFresh, isOpen: isOpenReceipt(receipt), isAsked: receipt.asked.length > 0 },
});

/** States the balances of a receipt; returns it with its gap. @throws JOURNAL_FORM */
export async function settle(receipt: KeptReceipt, context: SettleContext, isFresh: (entry: Entry) => boolean): Promise<KeptReceipt> {
  const gaps: (string | null)[] = [];
  for (const part of receipt.record.stated) gaps.push(await stateBalances(part, contextOf(receipt, context, isFresh)));
  return { ...receipt, gap: gaps.find((gap) => gap !== null) ?? null };
}

/**
 * Checks statements again that did not tie or wait for an answer: rows that are in the books meanwhile are no longer asked about, and
 * balances that tie now are stated. @throws JOURNAL_FORM
 */
export async function heal(receipts: readonly KeptReceipt[], context: SettleContext): Promise<void> {
  const { overlay } = context;
  for (const receipt of receipts) {
    const now = await withoutAnswered(receipt, overlay);
    const mayTieNow =
      receipt.gap !== null && (await Promise.all(receipt.record.stated.map((part) => mayTie(part, overlay)))).includes(true);
    if (now === receipt && (!mayTieNow || isOpenReceipt(receipt))) continue;
    const after = isOpenReceipt(now) ? now : await settle(now, context, () => false);
    if (now === receipt && after.gap === receipt.gap) continue;
    const path = receiptFile(receipt.hash);
    const base = overlay.files.get(path)?.base ?? (await (await overlay.head()).blob(path));
    overlay.record({ op: "file", path, text: receiptToYaml(after), base });
  }
}

/** The receipt without those asked or removed rows that are in the books meanwhile; they count as known. */
async function withoutAnswered(receipt: KeptReceipt, overlay: Overlay): Promise<KeptReceipt> {
  const { asked, removed, record } = receipt;
  const there = await overlay.existing([...asked.map(({ id }) => id), ...removed]);
  if (there.size === 0) return receipt;
  return {
    ...receipt,
    asked: asked.filter(({ id }) => !there.has(id)),
    removed: removed.filter((id) => !there.has(id)),
    known: receipt.known + there.size,
    record: { ...record, known: [...record.known, ...there] },
  };
}
