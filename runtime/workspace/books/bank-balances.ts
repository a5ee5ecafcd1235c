/**
 * The legs on one account as a run sees them, and what the bank's balances prove about them: which hold, which rows explain one that no
 * longer holds, and the gap between a statement and the books. Sums only; view-balances.ts writes. A month that the run has not touched is
 * read once per content, and only what sums and stated balances need is cached.
 */
import type { Entry, Tree } from "../../kernel/ports.ts";
import { type Exact, fromExact, sizeOf, toExact } from "./amounts.ts";
import { entryId, ownKind } from "./entry-id.ts";
import { Kept } from "../../kernel/kept.ts";
import { plain } from "./ledger.ts";
import { monthFile } from "../layout.ts";
import { digestOf, monthOfId, readEntries } from "./months.ts";
import type { Overlay } from "../overlay.ts";
import type { Stated } from "../statements/receipt.ts";

/** Every leg on one account in one currency, in the order of the books. */
export interface Leg {
  entry: Entry;
  amount: Exact;
  assertion: Exact | null;
}

export const isCheckpoint = ({ entry }: Pick<Leg, "entry">): boolean => ownKind(entry) === "opening";
export const through = (legs: readonly Leg[], date: string): Exact => sumOf(legs, ({ entry }) => entry.date <= date);

/** The sum of the legs that count. */
export const sumOf = (legs: readonly Leg[], counts: (leg: Leg) => boolean = () => true): Exact =>
  legs.reduce((sum, leg) => (counts(leg) ? sum + leg.amount : sum), 0n);

/** True when a balance that the bank stated on this day or later holds, with `carried` brought in before all legs. */
export function isProven(legs: readonly Leg[], date: string, carried: Exact): boolean {
  let sum = carried;
  return legs.some(({ entry, amount, assertion }) => {
    sum += amount;
    return assertion !== null && entry.date >= date && ownKind(entry) === "closing" && assertion === sum;
  });
}

/** A stated balance. `was` and `off`: the balance minus that of the books, before the fresh rows came in and now. */
export interface Held {
  entry: Entry;
  assertion: Exact;
  was: Exact;
  off: Exact;
}

/** Every stated balance, in the order of the books. */
export function balancesIn(legs: readonly Leg[], isFresh: (entry: Entry) => boolean): Held[] {
  const held: Held[] = [];
  let [fresh, now] = [0n, 0n];
  for (const { entry, amount, assertion } of legs) {
    now += amount;
    if (isFresh(entry)) fresh += amount;
    if (assertion === null) continue;
    const off = assertion - now;
    held.push({ entry, assertion, was: off + fresh, off });
  }
  return held;
}

/** Balances of the bank that do not hold. */
export function failing(balances: readonly Held[]): Held[] {
  return balances.filter(({ entry, off }) => ownKind(entry) === "closing" && off !== 0n);
}

/** How far the first opening was off, if rows that have just come in explain all of it; else null, and the gap is reported. */
export function explainedShift(
  { first, opening, closing, morning }: Stated,
  legs: readonly Leg[],
  held: readonly Held[],
  earliest: Leg,
  isFresh: (entry: Entry) => boolean,
): Exact | null {
  const fresh = legs.filter(({ entry }) => isFresh(entry));
  if (closing === null || fresh.length === 0) return null;
  const has = through(legs, closing.date);
  const gap = toExact(closing.amount) - has;
  if (gap === 0n) return null;
  // A row was missing when the opening was computed from a closing balance: then every balance of the bank is off by the same amount, at
  // its place or at the end of its day.
  const isOff = ({ entry, assertion, off }: Held): boolean => [off, assertion - through(legs, entry.date)].includes(gap);
  if (held.length > 0 && held.every(isOff)) return gap;
  // The first statement began in the middle of a day; this one has the rows before it.
  if (opening === null || first !== earliest.entry.date) return null;
  const shift = toExact(opening) - (earliest.assertion ?? earliest.amount);
  const left = fresh.filter(({ entry }) => entry.date === first).map(({ amount }) => amount);
  let passed = 0n;
  const began = morning.some((text) => {
    passed += toExact(text);
    const at = left.indexOf(toExact(text));
    if (at >= 0) left.splice(at, 1);
    else left.length = 0;
    return at >= 0 && passed + shift === 0n;
  });
  const ends = [gap, ...held.filter(({ entry }) => entry.date === closing.date).map(({ assertion }) => assertion - has)];
  return began && ends.includes(shift) ? shift : null;
}

/**
 * The bank's balance minus that of the books; null when the statement ends within a day, at a balance that some of the rows of that day
 * add up to, and a balance of the bank at the end of that day or later holds.
 */
export function unexplained(
  { first, opening }: Stated,
  closing: { date: string; amount: string },
  legs: readonly Leg[],
  listed: ReadonlySet<string>,
): Exact | null {
  const gap = toExact(closing.amount) - through(legs, closing.date);
  const isStart = (leg: Leg): boolean => leg.entry.date < closing.date || (leg.entry.date === closing.date && isCheckpoint(leg));
  const start = sumOf(legs, isStart);
  const day = legs.filter((leg) => leg.entry.date === closing.date && !isStart(leg));
  const own = day.filter(({ entry }) => isListed(entry, listed));
  const others = day.filter(({ entry }) => !isListed(entry, listed));
  // A statement of a single day may also begin within it, after rows that only another statement lists.
  const begins = first === closing.date && opening !== null ? sumsOf(others).map((sum) => toExact(opening) - start - sum) : [0n];
  const gaps = first === closing.date ? begins : [toExact(closing.amount) - start - sumOf(own)];
  if (gaps.length === 0 || gaps.includes(0n)) return isProven(legs, closing.date, 0n) ? null : gap;
  return [gap, ...gaps].reduce((a, b) => (sizeOf(b) < sizeOf(a) ? b : a));
}

// More than a day of a small business needs. With more sums than this, rows could add up to any balance, which proves nothing.
const MOST_SUMS = 4096;

/** The distinct sums of all subsets of the legs; none when there are more than MOST_SUMS. */
function sumsOf(legs: readonly Leg[]): Exact[] {
  const sums = new Set([0n]);
  for (const { amount } of legs) {
    for (const sum of [...sums]) sums.add(sum + amount);
    if (sums.size > MOST_SUMS) return [];
  }
  return [...sums];
}

/** True for an entry of a listed row. A row booked as several entries gives them its key, numbered from the second on (`#2`). */
export function isListed({ id, date, tags }: Entry, listed: ReadonlySet<string>): boolean {
  const key = tags["key"] ?? "";
  return listed.has(id) || (key.includes("#") && listed.has(entryId(date, key.slice(0, key.indexOf("#")))));
}

// An import reads the legs of its account several times, and the books are long.
const kept = new WeakMap<Overlay, { at: string; legs: Kept<string, Promise<readonly Leg[]>> }>();

/**
 * The legs on one account in one currency, in the order of the books. Consecutive legs of a day that state no balance are summed into one,
 * except in months that the run has written to and in those of `days`, where each leg is needed. @throws JOURNAL_FORM
 */
export async function legsOf(overlay: Overlay, account: string, currency: string, days: readonly string[] = []): Promise<readonly Leg[]> {
  const at = `${(await overlay.head()).commit} ${overlay.version()}`;
  let found = kept.get(overlay);
  if (found?.at !== at) kept.set(overlay, (found = { at, legs: new Kept(1000) }));
  const asked = new Set(days.map(monthFile));
  return found.legs.of([currency, account, ...asked].join(" "), () => readLegs(overlay, account, currency, asked));
}

async function readLegs(overlay: Overlay, account: string, currency: string, asked: ReadonlySet<string>): Promise<Leg[]> {
  const legs: Leg[] = [];
  // Months that the run has already committed to count as written.
  const own = new Set(Array.from(overlay.mine.keys(), monthOfId));
  for (const file of await overlay.months()) {
    const head = await overlay.untouched(file);
    const isBrief = head !== null && !asked.has(file) && !own.has(file);
    const entries = async () => (head === null ? overlay.month(file) : readEntries(head, file));
    const found = isBrief ? await daysAt(head, file, account, currency) : legsIn(await entries(), account, currency);
    for (const leg of found) legs.push(leg);
  }
  return legs;
}

// A long history is added up at each import and at each trial of one; a month has about thirty sums.
const keptDays = new Kept<string, readonly Leg[]>(50_000, ({ length }) => 1 + length);
// Entries of a month above which reading its legs from the disk cache is faster than parsing it.
const MANY = 300;

async function daysAt(head: Tree, file: string, account: string, currency: string): Promise<readonly Leg[]> {
  const name = `${await head.blob(file)} ${account} ${currency}`;
  return keptDays.load(name, async () => {
    let text = head.kept?.get("legs", name) ?? null;
    if (text === null) {
      // Most accounts have nothing in most months, and the month's sums show that.
      const isThere = (await digestOf(head, file)).totals.get(account)?.has(currency) === true;
      const entries = isThere ? await readEntries(head, file) : [];
      text = briefly(legsIn(entries, account, currency));
      if (entries.length > MANY) head.kept?.put(text, "legs", name);
    }
    return (JSON.parse(text) as [Pick<Entry, "date">, string, string | null][]).map(([entry, amount, assertion]): Leg => {
      return { entry: { ...BRIEF, ...entry }, amount: toExact(amount), assertion: assertion === null ? null : toExact(assertion) };
    });
  });
}

function legsIn(entries: readonly Entry[], account: string, currency: string): Leg[] {
  return entries.flatMap((entry) =>
    entry.postings.flatMap((posting) => {
      if (posting.account !== account || posting.currency !== currency) return [];
      const assertion = posting.assertion === undefined ? null : toExact(posting.assertion);
      return { entry, amount: toExact(posting.amount), assertion };
    }),
  );
}

/** Legs in the form of the disk cache: those that state a balance or have a key of the books' own in full, those of a day between two such as one sum. */
function briefly(legs: readonly Leg[]): string {
  const days: [Pick<Entry, "date">, Exact, Exact | null][] = [];
  let isOpen = false;
  for (const { entry, amount, assertion } of legs) {
    const isFull = assertion !== null || ownKind(entry) !== null;
    const day = days.at(-1);
    if (isOpen && !isFull && day?.[0].date === entry.date) day[1] += amount;
    else days.push([isFull ? plain(entry) : { date: entry.date }, amount, assertion]);
    isOpen = !isFull;
  }
  return JSON.stringify(days.map(([entry, ...sums]) => [entry, ...sums.map((sum) => (sum === null ? null : fromExact(sum)))]));
}

// The rest of a summed leg's entry: nothing reads its status, and no statement lists it.
const BRIEF = { id: "", status: "auto-confirmed" as const, counterparty: "", description: "", tags: Object.freeze({}), postings: [] };
