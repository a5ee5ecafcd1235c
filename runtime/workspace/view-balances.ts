/**
 * What a statement says about balances, written into the books: an opening entry at the first import of an account, and the closing
 * balance as an assertion when every row is booked and the sum ties. An older statement moves the opening back in time; what later
 * statements proved stays true, and decides where two of them meet within a day.
 */
import type { Entry } from "../ports.ts";
import { type Exact, fromExact, minus, plus, toExact, ZERO } from "./amounts.ts";
import type { Config } from "./config.ts";
import { accountOf } from "./draft.ts";
import { entryId, ownKind } from "./entry-id.ts";
import { cleanEntry } from "./journal-text.ts";
import { type Chart, placesOf } from "./main-journal.ts";
import { loadChart } from "./months.ts";
import type { Overlay } from "./overlay.ts";

/** One account's part of a statement, as far as balances go. */
export interface Stated {
  /** Account number. */
  account: string;
  currency: string;
  /** Day of the oldest row, or null when there is none. */
  first: string | null;
  opening: string | null;
  closing: { date: string; amount: string } | null;
}

interface Context {
  overlay: Overlay;
  config: Config;
  /** The last day of the closed period, or undefined. */
  closed: string | undefined;
  run: string;
  hash: string;
  /** True while a row of the statement is refused or not booked: then nothing is proven. */
  isOpen: boolean;
}

/** Every leg on one account in one currency, in the order of the books. */
interface Leg {
  entry: Entry;
  amount: Exact;
  assertion: Exact | null;
}

/** Writes opening and closing; answers what the bank says minus what the books say, or null. */
export async function stateBalances(part: Stated, context: Context): Promise<string | null> {
  const { overlay, config, closed, hash } = context;
  const chart = await loadChart(await overlay.head());
  const { name } = accountOf(chart, part.account);
  await stateOpening(part, name, chart, context);
  const { closing } = part;
  if (closing === null) return null;
  const legs = await legsOf(overlay, name, part.currency);
  const has = sumOf(legs.filter(({ entry }) => entry.date <= closing.date));
  const gap = minus(toExact(closing.amount), has);
  // Within its last day another statement may go on; then a later balance of the bank that holds proves this one too.
  const isTied = gap.units === 0n;
  if (!isTied && !isProven(legs, closing.date, ZERO)) return fromExact(gap, 2);
  if (context.isOpen || (closed !== undefined && closing.date <= closed)) return null;
  const superseded = failing(legs, part.first ?? closing.date, closing.date);
  for (const id of superseded) overlay.record({ op: "remove", id });
  if (!isTied) return null;
  const last = legs.findLast(({ entry }) => entry.date <= closing.date && !superseded.has(entry.id));
  if (last !== undefined && last.entry.date === closing.date && last.assertion !== null) return null;
  const places = placesOf(chart, part.currency);
  const key = `closing:${part.account}${isHome(part, config) ? "" : `:${part.currency}`}:${closing.date}:${hash.slice(0, 8)}`;
  record(overlay, {
    id: entryId(closing.date, key),
    date: closing.date,
    status: "bootstrap-confirmed",
    counterparty: "",
    description: "Statement balance",
    tags: { key, run: context.run },
    postings: [{ account: name, amount: fromExact(ZERO, places), currency: part.currency, assertion: fromExact(has, places) }],
  });
  return null;
}

/**
 * Openings are checkpoints: each states what the account held before a statement's first row and carries what is missing up to there.
 * The first one is the opening balance; a later one exists only while statements between two imported ones are missing, and shrinks to
 * nothing as they come in. Amounts are computed anew from what the checkpoints state, so nothing depends on the order of imports.
 * A statement may begin within a day, with rows before it that day that only another one has: a balance the bank proved later decides.
 */
async function stateOpening(part: Stated, name: string, chart: Chart, context: Context): Promise<void> {
  const { overlay, config, run } = context;
  const { first, currency, opening, closing } = part;
  if (first === null) return;
  const key = `opening:${part.account}${isHome(part, config) ? "" : `:${currency}`}`;
  const legs = await legsOf(overlay, name, currency);
  const isCheckpoint = ({ entry }: Leg): boolean => entry.tags["key"] === key || entry.tags["key"] === `${key}:gap`;
  const old = legs.filter(isCheckpoint);
  const rows = legs.filter((leg) => !isCheckpoint(leg));
  const stated = new Map(old.map((leg) => [leg.entry.date, leg.assertion ?? leg.amount]));
  const [earliest] = old;
  if (earliest === undefined ? opening === null : first > earliest.entry.date && old.length === 1) return;
  const before = (date: string): Exact => sumOf(rows.filter(({ entry }) => entry.date < date));
  /** With so much carried in, this statement's closing balance or a later one that the bank proved holds. */
  const holds = (date: string, carried: Exact): boolean => {
    const through = closing === null || closing.date < date ? null : sumOf(rows.filter(({ entry }) => entry.date <= closing.date));
    const isOwn = closing !== null && through !== null && minus(toExact(closing.amount), plus(carried, through)).units === 0n;
    return isOwn || isProven(rows, date, carried);
  };
  if (first === earliest?.entry.date) {
    if (opening !== null && holds(first, minus(toExact(opening), before(first)))) stated.set(first, toExact(opening));
  } else if (earliest === undefined || first < earliest.entry.date) {
    if (opening !== null) stated.set(first, toExact(opening));
    else if (earliest !== undefined) {
      // The statement does not say what it began with: what the later one says, less the rows in between.
      const between = sumOf(rows.filter(({ entry }) => entry.date >= first && entry.date < earliest.entry.date));
      stated.set(first, minus(stated.get(earliest.entry.date) ?? ZERO, between));
      stated.delete(earliest.entry.date);
    }
  }
  const places = placesOf(chart, currency);
  const equity = accountOf(chart, config.accounts.opening).name;
  let carried = ZERO;
  const wanted: Entry[] = [];
  for (const [date, balance] of [...stated].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const amount = minus(balance, plus(carried, before(date)));
    const isGap = wanted.length > 0;
    if (isGap && (amount.units === 0n || holds(date, carried))) continue;
    carried = plus(carried, amount);
    const leg = { account: name, amount: fromExact(amount, places), currency, assertion: fromExact(balance, places) };
    const other = { account: equity, amount: fromExact({ units: -amount.units, scale: amount.scale }, places), currency };
    const tags = { key: isGap ? `${key}:gap` : key, run };
    const id = entryId(date, tags.key);
    const description = isGap ? "Balance brought forward, statements before this day are missing" : "Opening balance";
    // A leg of zero is no leg; the entry then only states what the account holds.
    wanted.push({
      id,
      date,
      status: "bootstrap-confirmed",
      counterparty: "",
      description,
      tags,
      postings: amount.units === 0n ? [leg] : [leg, other],
    });
  }
  for (const { entry } of old) if (!wanted.some((other) => isSame(entry, other))) overlay.record({ op: "remove", id: entry.id });
  for (const entry of wanted) {
    if (old.some((other) => isSame(other.entry, entry))) continue;
    record(overlay, entry);
    if (entry.tags["key"] === `${key}:gap`) {
      const [missing] = entry.postings;
      const body = { account: part.account, date: entry.date, missing: `${missing?.amount ?? ""} ${currency}`, entry: entry.id };
      overlay.record({ op: "review", title: `${name}: statements before ${entry.date} are missing`, body: { note: body }, entry: null });
    }
  }
}

/** True when a balance that the bank proved on this day or later holds, with so much carried in before all legs. */
function isProven(legs: readonly Leg[], date: string, carried: Exact): boolean {
  let sum = carried;
  return legs.some(({ entry, amount, assertion }) => {
    sum = plus(sum, amount);
    return assertion !== null && entry.date >= date && ownKind(entry) === "closing" && minus(assertion, sum).units === 0n;
  });
}

function isSame(a: Entry, b: Entry): boolean {
  return a.id === b.id && a.postings[0]?.amount === b.postings[0]?.amount && a.postings[0]?.assertion === b.postings[0]?.assertion;
}

function isHome(part: Stated, config: Config): boolean {
  return part.currency === config.currency;
}

function record(overlay: Overlay, entry: Entry): void {
  overlay.add([cleanEntry(entry)]);
}

async function legsOf(overlay: Overlay, account: string, currency: string): Promise<Leg[]> {
  const legs: Leg[] = [];
  for (const file of await overlay.months()) {
    for (const entry of await overlay.month(file)) {
      for (const posting of entry.postings) {
        if (posting.account !== account || posting.currency !== currency) continue;
        legs.push({
          entry,
          amount: toExact(posting.amount),
          assertion: posting.assertion === undefined ? null : toExact(posting.assertion),
        });
      }
    }
  }
  return legs;
}

function sumOf(legs: readonly Leg[]): Exact {
  return legs.reduce((sum, { amount }) => plus(sum, amount), ZERO);
}

/** Assertions in the statement's range that the rows it brings make false: it states the balance anew, and ties. */
function failing(legs: readonly Leg[], from: string, through: string): Set<string> {
  const ids = new Set<string>();
  let sum = ZERO;
  for (const { entry, amount, assertion } of legs) {
    sum = plus(sum, amount);
    if (assertion === null || entry.date < from || entry.date > through) continue;
    if (minus(assertion, sum).units !== 0n && ownKind(entry) === "closing") ids.add(entry.id);
  }
  return ids;
}
