/**
 * Which rows of a statement are already in the books: under their own id, under another id that a person has confirmed to be the same, or
 * possibly under another id (a pending row that is booked now, the same days in another format, an export that renumbers its references).
 * Then a person is asked: nothing is merged here. A row that was booked and deleted by hand is not booked again without a decision.
 */
import { shifted } from "../../kernel/day.ts";
import type { AskedRow } from "../../kernel/ports.ts";
import type { KeptReceipt, Stated } from "./receipt.ts";
import { receiptsAbout, receiptTree } from "../books/claims.ts";
import { dayOfId } from "../books/entry-id.ts";
import { loadChart, monthOfId } from "../books/months.ts";
import { monthFile } from "../layout.ts";
import type { Overlay } from "../overlay.ts";
import { factsOfKey, idUnder, type KeyedRow, type RowFacts } from "./identity.ts";
import { tiesWith } from "../books/view-balances.ts";
import { toExact } from "../books/amounts.ts";

export interface SortedRows {
  /** Rows that are entries of the books: row id -> entry id. */
  known: Map<string, string>;
  /** Those of `known` that a person has confirmed. */
  same: Map<string, string>;
  asked: AskedRow[];
  /** Rows whose entry was deleted by hand: row id -> entry id. */
  removed: Map<string, string>;
}

/** The rows of one account in a statement, and the data they are compared with. */
export interface RowsOfStatement {
  hash: string;
  /** In the order of the file. */
  keyed: readonly KeyedRow[];
  stated: readonly Stated[];
  overlay: Overlay;
  /** Rows of other files that this run has parsed and not booked yet. */
  ahead: readonly PairRow[];
}

export async function sortRows(rows: RowsOfStatement): Promise<SortedRows> {
  const { keyed, overlay } = rows;
  const sorted: SortedRows = { known: new Map(), same: new Map(), asked: [], removed: new Map() };
  for (const id of await overlay.existing(keyed.map(({ row }) => row.id))) sorted.known.set(id, id);
  const unknown = keyed.filter(({ row }) => !sorted.known.has(row.id));
  const [first] = unknown;
  if (first === undefined) return sorted;
  const days = unknown.map(({ row }) => row.date).sort();
  const span = { account: first.row.account, from: days[0] ?? "", to: days.at(-1) ?? "" };
  const receipts = await receiptsAbout(await receiptTree(overlay), span);
  await settleBefore(unknown, receipts, overlay, sorted);
  const fresh = unknown.filter(({ row }) => !sorted.known.has(row.id) && !sorted.removed.has(row.id));
  if (fresh.length > 0) sorted.asked = await askedOf(fresh, rows, receipts, new Set(sorted.known.values()));
  return sorted;
}

/** Sorts rows that a person has decided about, or has deleted from the books. */
async function settleBefore(
  unknown: readonly KeyedRow[],
  receipts: readonly KeptReceipt[],
  overlay: Overlay,
  sorted: SortedRows,
): Promise<void> {
  const same = new Map(receipts.flatMap(({ record }) => Object.entries(record.same)));
  const leftOut = new Set(receipts.flatMap(({ record }) => record.left_out));
  const isBooked = (id: string): boolean => leftOut.has(id) || receipts.some(({ record }) => Object.hasOwn(record.booked, id));
  const named = await nameOf(unknown[0]?.row.account ?? "", overlay);
  const former = new Map(unknown.map((one) => [one.row.id, idUnder(named, one)]));
  const there = await overlay.existing([...former].flatMap(([id, old]) => [same.get(id) ?? same.get(old) ?? [], old].flat()));
  for (const { row } of unknown) {
    const old = former.get(row.id) ?? "";
    const entry = same.get(row.id) ?? same.get(old) ?? (there.has(old) || isBooked(old) ? old : undefined);
    if (entry !== undefined && there.has(entry)) {
      sorted.known.set(row.id, entry);
      sorted.same.set(row.id, entry);
    } else if (entry !== undefined || isBooked(row.id)) sorted.removed.set(row.id, entry ?? row.id);
  }
}

/** Rows with the entries they may be; `taken`: entries already matched by rows of the statement. */
async function askedOf(
  fresh: readonly KeyedRow[],
  { hash, keyed, stated, overlay, ahead }: RowsOfStatement,
  receipts: readonly KeptReceipt[],
  taken: ReadonlySet<string>,
): Promise<AskedRow[]> {
  const account = fresh[0]?.row.account ?? "";
  const listed = keyed.map(({ row }) => toPairRow(row));
  const own = new Set(listed.map(({ id }) => id));
  const months = monthsAround(fresh);
  const others = [...(await rowsOfBooks(account, months, overlay)), ...(await deletedRows(account, months, receipts, overlay)), ...ahead];
  const known = others.filter(({ id }) => !taken.has(id) && !own.has(id));
  if (known.length === 0) return [];
  // A statement may begin and end within a day, so its first and last day do not count as complete.
  const lists = (spans: readonly Stated[], day: string): boolean =>
    spans.some((one) => one.account === account && one.from !== null && one.to !== null && one.from < day && day < one.to);
  const before = receipts.flatMap((receipt) => (receipt.hash === hash ? [] : receipt.record.stated));
  const evidence = { listed, lists: (day: string) => lists(stated, day), listedBefore: (day: string) => lists(before, day) };
  const byId = new Map(fresh.map((one) => [one.row.id, one]));
  const open = listed.filter(({ id }) => byId.has(id));
  const pairs = pairsOf(open, known, evidence);
  if (pairs.length === 0 || (await areNew(fresh, stated, overlay))) return [];
  return pairs.flatMap(({ row: id, entry, why }): AskedRow[] => {
    const one = byId.get(id);
    if (one === undefined) return [];
    const { date, amount, currency, description, reference } = one.row;
    return [{ question: "", why, entry, id, key: one.key, date, amount, currency, description, reference }];
  });
}

/** True when the bank's own balance proves that all of them are separate payments. */
async function areNew(fresh: readonly KeyedRow[], stated: readonly Stated[], overlay: Overlay): Promise<boolean> {
  const [only, second] = stated;
  const rows = fresh.map(({ row }) => row);
  return only !== undefined && second === undefined && tiesWith(only, rows, overlay);
}

const toPairRow = ({ id, date, amount, currency, description: text }: KeyedRow["row"]): PairRow => ({ id, date, amount, currency, text });

/** Months of the entries that `pairsOf` compares: up to NEAR_DAYS away from these rows, and again as far from those entries. */
type Months = ReadonlySet<string>;
const monthsAround = (rows: readonly KeyedRow[]): Months =>
  new Set([...new Set(rows.map(({ row }) => row.date))].flatMap((day) => [-12, 0, 12].map((days) => monthFile(shifted(day, days)))));

const nameOf = async (account: string, overlay: Overlay): Promise<string> =>
  (await loadChart(await overlay.head())).byWord.get(account)?.name ?? account;

/** Entries of these months that are booked rows of the account. */
async function rowsOfBooks(account: string, months: Months, overlay: Overlay): Promise<PairRow[]> {
  const found: PairRow[] = [];
  const words = [account, await nameOf(account, overlay)];
  for (const file of await overlay.months()) {
    if (!months.has(file)) continue;
    for (const { id, counterparty, description, tags } of await overlay.month(file)) {
      const key = tags["key"] ?? "";
      const facts = key.includes("#") ? null : factsOfKey(key);
      if (facts !== null && words.includes(facts.account)) found.push({ id, ...facts, text: `${counterparty} ${description}`.trim() });
    }
  }
  return found;
}

/** Entries of the account that were booked and deleted since, by the receipts: another format must not book them again without a decision. */
async function deletedRows(account: string, months: Months, receipts: readonly KeptReceipt[], overlay: Overlay): Promise<PairRow[]> {
  const found: PairRow[] = [];
  for (const { record } of receipts) {
    const part = record.stated.find((one) => one.account === account);
    const near = part === undefined ? [] : Object.keys(record.booked).filter((id) => months.has(monthOfId(id)));
    const there = await overlay.existing(near);
    for (const id of near) {
      const amount = record.booked[id] ?? "";
      if (!there.has(id) && amount !== "") found.push({ id, date: dayOfId(id), amount, currency: part?.currency ?? "", text: "" });
    }
  }
  return [...new Map(found.map((row) => [row.id, row])).values()];
}

/** A row of a statement, or of the books. */
export interface PairRow extends Pick<RowFacts, "date" | "amount" | "currency"> {
  id: string;
  text: string;
}

export interface Evidence {
  /** Every row of the statement, including known ones. */
  listed: readonly PairRow[];
  /** True for a day of which the statement lists all rows, so that the bank no longer has an entry that is not listed. */
  lists(day: string): boolean;
  /** True for a day of which another statement listed all rows, so that a new row of that day was not among them. */
  listedBefore(day: string): boolean;
}

/** `day`: on the same day. `near`: some days apart. */
export interface Pair {
  row: string;
  entry: string;
  why: "day" | "near";
}

// Card payments are cleared within days, and a payment a week later is another one.
const NEAR_DAYS = 6;
// Most rows of one amount and day that are compared with each other: a till may have thousands at one price.
const MOST_COMPARED = 50;
const PENDING = /\b(?:pending|pend|authori[sz]ation|vorgemerkt)\b/i;

/** Each row with at most one entry, each entry with at most one row. `known`: entries that the statement does not list. */
export function pairsOf(rows: readonly PairRow[], known: readonly PairRow[], evidence: Evidence): Pair[] {
  const pairs: Pair[] = [];
  const { alike } = createWords();
  const [bySum, listedBySum] = [Map.groupBy(rows, sumOf), Map.groupBy(evidence.listed, sumOf)];
  for (const [sum, entries] of Map.groupBy(known, sumOf)) {
    let open = bySum.get(sum) ?? [];
    if (open.length === 0) continue;
    const left = byDay(entries);
    const all = [byDay(entries), byDay(listedBySum.get(sum) ?? [])];
    const pair = (why: Pair["why"], days: number, fits: (row: PairRow, entry: PairRow) => boolean): void => {
      open = open.filter((row) => {
        for (const list of nearLists(left, row, days)) {
          const at = list.slice(0, MOST_COMPARED).findIndex((entry) => fits(row, entry));
          const [entry] = at < 0 ? [] : list.splice(at, 1);
          if (entry === undefined) continue;
          pairs.push({ row: row.id, entry: entry.id, why });
          return false;
        }
        return true;
      });
    };
    /** Repeated payments are not the same payment: without proof from a complete day, only a unique pair is asked about. */
    const isLone = (one: PairRow): boolean =>
      all.every((lists) => {
        const near = nearLists(lists, one, NEAR_DAYS).flat();
        return near.length <= MOST_COMPARED && near.filter(({ text }) => alike(text, one.text)).length === 1;
      });
    pair("day", 0, (row, entry) => row.text === entry.text);
    pair("day", 0, (row, entry) => alike(row.text, entry.text));
    pair("day", 0, () => true);
    pair("near", NEAR_DAYS, (row, entry) => {
      if (!alike(row.text, entry.text)) return false;
      if (evidence.lists(entry.date) || evidence.listedBefore(row.date)) return true;
      return PENDING.test(row.text) || PENDING.test(entry.text) || (isLone(row) && isLone(entry));
    });
  }
  return pairs;
}

const sumOf = ({ amount, currency }: PairRow): string => `${toExact(amount)} ${currency}`;

const dayNumber = (day: string): number => Date.parse(day) / 86_400_000;
const byDay = (rows: readonly PairRow[]) => Map.groupBy(rows, ({ date }) => dayNumber(date));

/** The lists of the days at most `days` away, nearest first. */
function nearLists(lists: ReadonlyMap<number, PairRow[]>, { date }: PairRow, days: number): PairRow[][] {
  const day = dayNumber(date);
  const distances = Array.from({ length: days + 1 }, (_, apart) => (apart === 0 ? [day] : [day - apart, day + apart]));
  return distances.flat().flatMap((one) => (lists.has(one) ? [lists.get(one) ?? []] : []));
}

// Words that banks use for any payment, so they do not make two payments alike.
const EMPTY_WORDS: ReadonlySet<string> = new Set(
  "pending purchase payment debit credit card checkcard visa mastercard pos ach transfer from and the with inc llc ltd gmbh com www".split(
    " ",
  ),
);

function createWords() {
  const kept = new Map<string, ReadonlySet<string>>();
  const wordsIn = (text: string): ReadonlySet<string> => {
    const words = text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [];
    return new Set(words.filter((word) => /\p{L}/u.test(word) && !EMPTY_WORDS.has(word)));
  };
  const wordsOf = (text: string) => kept.getOrInsertComputed(text, wordsIn);
  return { alike: (a: string, b: string): boolean => a === b || [...wordsOf(a)].some((word) => wordsOf(b).has(word)) };
}
