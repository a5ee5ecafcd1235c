/**
 * The legs on one account as a run sees them, and what the bank's balances prove about them: which hold, which rows explain that one does
 * not any more, and how far a statement is from the books. Sums only; view-balances.ts writes. Months that the run has not touched are
 * read once for each content, and of their entries only what sums and stated balances need is kept.
 */
import type { Entry, Tree } from "../../kernel/ports.ts";
import { type Exact, fromExact, minus, plus, toExact, ZERO } from "./amounts.ts";
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
const size = ({ units, scale }: Exact): Exact => ({ units: units < 0n ? -units : units, scale });

/** The sum of those that count: a long history is added up several times at each import, nearly all of it in one unit. */
export function sumOf(legs: readonly Leg[], counts: (leg: Leg) => boolean = () => true): Exact {
  let { units, scale } = ZERO;
  for (const leg of legs) {
    if (!counts(leg)) continue;
    if (leg.amount.scale === scale) units += leg.amount.units;
    else ({ units, scale } = plus({ units, scale }, leg.amount));
  }
  return { units, scale };
}

/** True when a balance that the bank proved on this day or later holds, with so much carried in before all legs. */
export function isProven(legs: readonly Leg[], date: string, carried: Exact): boolean {
  let sum = carried;
  return legs.some(({ entry, amount, assertion }) => {
    sum = plus(sum, amount);
    return assertion !== null && entry.date >= date && ownKind(entry) === "closing" && minus(assertion, sum).units === 0n;
  });
}

/** A stated balance. `was` and `off`: what it says minus what the books said before the fresh rows came in, and say now. */
export interface Held {
  entry: Entry;
  assertion: Exact;
  was: Exact;
  off: Exact;
}

/** Every stated balance, in the order of the books. */
export function balancesIn(legs: readonly Leg[], isFresh: (entry: Entry) => boolean): Held[] {
  const held: Held[] = [];
  let [fresh, now] = [ZERO, ZERO];
  for (const { entry, amount, assertion } of legs) {
    now = plus(now, amount);
    if (isFresh(entry)) fresh = plus(fresh, amount);
    if (assertion === null) continue;
    const off = minus(assertion, now);
    held.push({ entry, assertion, was: plus(off, fresh), off });
  }
  return held;
}

/** Those of the bank that do not hold. */
export function failing(balances: readonly Held[]): Held[] {
  return balances.filter(({ entry, off }) => ownKind(entry) === "closing" && off.units !== 0n);
}

/** By how much the first opening was off, when rows that have just come in explain all of it; else null, and the gap is said. */
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
  const gap = minus(toExact(closing.amount), has);
  if (gap.units === 0n) return null;
  // A row was missing where the opening was computed from a closing balance: all that the bank has stated is off by the same, where it
  // stands or at the end of its day.
  const isOff = ({ entry, assertion, off }: Held): boolean =>
    [off, minus(assertion, through(legs, entry.date))].some((one) => minus(one, gap).units === 0n);
  if (held.length > 0 && held.every(isOff)) return gap;
  // The first statement began in the middle of a day; this one has the rows before it.
  if (opening === null || first !== earliest.entry.date) return null;
  const shift = minus(toExact(opening), earliest.assertion ?? earliest.amount);
  const left = fresh.filter(({ entry }) => entry.date === first).map(({ amount }) => amount);
  let passed = ZERO;
  const began = morning.some((text) => {
    passed = plus(passed, toExact(text));
    const at = left.findIndex((amount) => minus(amount, toExact(text)).units === 0n);
    if (at >= 0) left.splice(at, 1);
    else left.length = 0;
    return at >= 0 && plus(passed, shift).units === 0n;
  });
  const ends = [gap, ...held.filter(({ entry }) => entry.date === closing.date).map(({ assertion }) => minus(assertion, has))];
  return began && ends.some((end) => minus(end, shift).units === 0n) ? shift : null;
}

/**
 * What the bank says minus what the books say; null when the statement ends within a day, at a place that the rows of that day can
 * reach, and a balance of the bank at the end of that day or later holds.
 */
export function unexplained(
  { first, opening }: Stated,
  closing: { date: string; amount: string },
  legs: readonly Leg[],
  listed: ReadonlySet<string>,
): Exact | null {
  const gap = minus(toExact(closing.amount), through(legs, closing.date));
  const isStart = (leg: Leg): boolean => leg.entry.date < closing.date || (leg.entry.date === closing.date && isCheckpoint(leg));
  const start = sumOf(legs, isStart);
  const day = legs.filter((leg) => leg.entry.date === closing.date && !isStart(leg));
  const own = day.filter(({ entry }) => isListed(entry, listed));
  const others = day.filter(({ entry }) => !isListed(entry, listed));
  // Of one day alone, it may also begin within it, after rows that only another statement has.
  const begins =
    first === closing.date && opening !== null ? sumsOf(others).map((sum) => minus(toExact(opening), plus(start, sum))) : [ZERO];
  const gaps = first === closing.date ? begins : [minus(toExact(closing.amount), plus(start, sumOf(own)))];
  if (gaps.length === 0 || gaps.some(({ units }) => units === 0n)) return isProven(legs, closing.date, ZERO) ? null : gap;
  return [gap, ...gaps].reduce((a, b) => (minus(size(b), size(a)).units < 0n ? b : a));
}

// More than a day of a small business has. With so many, and for a day that has more, every balance can be reached.
const MOST_SUMS = 4096;

/** The sums of all selections among the legs, each once; none when they are too many to tell anything. */
function sumsOf(legs: readonly Leg[]): Exact[] {
  let sums = new Map([["0", ZERO]]);
  for (const { amount } of legs) {
    const more = [...sums.values()].map((sum) => plus(sum, amount));
    sums = new Map([...sums.values(), ...more].map((sum) => [fromExact(sum), sum]));
    if (sums.size > MOST_SUMS) return [];
  }
  return [...sums.values()];
}

/** A row that a script booked as several entries gives them its own key with a number behind it. */
export function isListed({ id, date, tags }: Entry, listed: ReadonlySet<string>): boolean {
  const key = tags["key"] ?? "";
  return listed.has(id) || (key.includes("#") && listed.has(entryId(date, key.slice(0, key.indexOf("#")))));
}

// An import looks at the legs of its account a few times, and the books are long.
const kept = new WeakMap<Overlay, { at: string; legs: Kept<string, Promise<readonly Leg[]>> }>();

/**
 * The legs on one account in one currency, in the order of the books. What one day has that states no balance stands as one leg, with the
 * sum: but in months that the run has written to, and in those of `days`, of which each leg is asked. @throws JOURNAL_FORM
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
  // What the run has committed is as new as what it has not.
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

// A long history is added up at each import and at each trial of one: some thirty sums a month.
const keptDays = new Kept<string, readonly Leg[]>(50_000, ({ length }) => 1 + length);
// A month of so many takes longer to read than what is kept of it on the disk.
const MANY = 300;

async function daysAt(head: Tree, file: string, account: string, currency: string): Promise<readonly Leg[]> {
  const name = `${await head.blob(file)} ${account} ${currency}`;
  return keptDays.load(name, async () => {
    let text = head.kept?.get("legs", name) ?? null;
    if (text === null) {
      // Most accounts have nothing in most months, which their sums tell.
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

/** Legs that state a balance or belong to the books themselves are whole, those of a day between two of them one sum. As text: it is kept on the disk. */
function briefly(legs: readonly Leg[]): string {
  const days: [Pick<Entry, "date">, Exact, Exact | null][] = [];
  let isOpen = false;
  for (const { entry, amount, assertion } of legs) {
    const isWhole = assertion !== null || ownKind(entry) !== null;
    const day = days.at(-1);
    if (isOpen && !isWhole && day?.[0].date === entry.date) day[1] = plus(day[1], amount);
    else days.push([isWhole ? plain(entry) : { date: entry.date }, amount, assertion]);
    isOpen = !isWhole;
  }
  return JSON.stringify(days.map(([entry, ...sums]) => [entry, ...sums.map((sum) => sum && fromExact(sum, sum.scale))]));
}

// The status is asked of none of them, and no statement lists a sum.
const BRIEF = { id: "", status: "auto-confirmed" as const, counterparty: "", description: "", tags: Object.freeze({}), postings: [] };
