/**
 * Rows that are probably entries of the books under another name: a pending row that is booked now, the same days in another format, an
 * export that numbers its references anew. Only pairs that a person is asked about; nothing is merged here.
 */
import { toExact } from "../books/amounts.ts";
import type { RowFacts } from "./identity.ts";

/** A row of a statement, or of the books. */
export interface PairRow extends Pick<RowFacts, "date" | "amount" | "currency"> {
  id: string;
  text: string;
}

export interface Evidence {
  /** Every row of the statement, also those that are known. */
  listed: readonly PairRow[];
  /** True for a day of which the statement lists all rows, so that an entry it does not list is no row of the bank any more. */
  lists(day: string): boolean;
  /** True for a day of which an earlier statement listed all rows, and not this one. */
  listedBefore(day: string): boolean;
}

/** `day`: of the same day. `near`: some days apart. */
export interface Pair {
  row: string;
  entry: string;
  why: "day" | "near";
}

// Cards are cleared within days; what repeats weekly is another payment.
const NEAR_DAYS = 6;
// Rows of one amount and day that are compared with one another: a till has thousands of one price.
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
    /** Payments that repeat are not one payment: where no list contradicts, only a lone pair is asked about. */
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

const sumOf = ({ amount, currency }: PairRow): string => {
  const { units, scale } = toExact(amount);
  return `${units * 10n ** BigInt(18 - scale)} ${currency}`;
};

const dayNumber = (day: string): number => Date.parse(day) / 86_400_000;
const byDay = (rows: readonly PairRow[]) => Map.groupBy(rows, ({ date }) => dayNumber(date));

/** The lists of the days at most so many days away, nearest first. */
function nearLists(lists: ReadonlyMap<number, PairRow[]>, { date }: PairRow, days: number): PairRow[][] {
  const day = dayNumber(date);
  const distances = Array.from({ length: days + 1 }, (_, apart) => (apart === 0 ? [day] : [day - apart, day + apart]));
  return distances.flat().flatMap((one) => (lists.has(one) ? [lists.get(one) ?? []] : []));
}

// What banks say about any payment; it makes no two of them alike.
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
