/**
 * The invariants of one entry: balanced in every currency, one amount per leg, known accounts, a real day outside the closed period,
 * an id that is the hash of its key, exact decimals. Every write passes here, and so does `cleared verify`.
 */
import { isBookDay } from "../../kernel/day.ts";
import { ClearedError, type Code } from "../../kernel/errors.ts";
import { CURRENCY_PATTERN } from "../../kernel/money.ts";
import type { Entry, Posting } from "../../kernel/ports.ts";
import { decimalsOf, type Exact, fromExact, isPlainAmount, minus, plus, toExact, withPlaces, ZERO } from "./amounts.ts";
import { entryId } from "./entry-id.ts";
import { isTagName } from "./journal-text.ts";
import { accountHint, type Chart, placesOf } from "./main-journal.ts";

/** What config.yaml rules about the books. */
export interface BookRules {
  /** The last day of the closed period, or undefined. */
  closed_through?: string | undefined;
}

interface Fault {
  code: Code;
  message: string;
}

/** Everything wrong with an entry, as data. `chart` decides accounts and decimals. */
export function faultsOf(entry: Entry, chart: Chart): Fault[] {
  const faults: Fault[] = [];
  const fault = (code: Code, message: string): void => {
    faults.push({ code, message });
  };
  if (!isBookDay(entry.date)) fault("JOURNAL_DATE", `"${entry.date.slice(0, 20)}" is not a day from 1970 to 2069. Write YYYY-MM-DD.`);
  const key = entry.tags["key"];
  if (key === undefined)
    fault("JOURNAL_KEY", `${entry.id} has no key tag, so its id cannot be checked. Add a line "    ; key: ..." with words of your own.`);
  else if (entryId(entry.date, key) !== entry.id)
    fault("JOURNAL_KEY", `The id ${entry.id} is not the hash of its key and day; ${entryId(entry.date, key)} would be.`);
  for (const name of Object.keys(entry.tags))
    if (!isTagName(name)) fault("JOURNAL_FORM", `"${name.slice(0, 40)}" is not a name a tag may have.`);
  if (entry.postings.length === 0) fault("JOURNAL_LEG", "The entry has no legs.");
  else if (entry.postings.length === 1 && !isStatement(entry)) fault("JOURNAL_LEG", "The entry has only one leg.");
  for (const posting of entry.postings) legFaults(posting, isStatement(entry), chart, fault);
  if (faults.length === 0) {
    for (const [currency, rest] of imbalance(entry)) {
      fault("JOURNAL_UNBALANCED", `The legs do not add up to zero: ${fromExact(rest, 2)} ${currency} too much on the debit side.`);
    }
  }
  return faults;
}

/** An entry that only states a balance: one leg of zero with an assertion. */
function isStatement(entry: Entry): boolean {
  const [only, second] = entry.postings;
  return second === undefined && only?.assertion !== undefined && toExact(only.amount).units === 0n;
}

function legFaults(posting: Posting, statement: boolean, chart: Chart, fault: (code: Code, message: string) => void): void {
  const { account, currency, amount, cost, assertion } = posting;
  if (chart.byWord.get(account)?.name !== account)
    fault("ACCOUNT_UNKNOWN", `No account is called "${account.slice(0, 80)}".${accountHint(chart, account)}`);
  for (const [text, unit] of [
    [amount, currency],
    [cost?.amount, cost?.currency],
    [assertion, currency],
  ] as const) {
    if (text === undefined || unit === undefined) continue;
    const places = placesOf(chart, unit);
    if (!CURRENCY_PATTERN.test(unit)) fault("JOURNAL_AMOUNT", `"${unit.slice(0, 20)}" is not a currency such as USD.`);
    else if (!isPlainAmount(text)) fault("JOURNAL_AMOUNT", `"${text.slice(0, 60)}" is not an exact decimal text.`);
    else if (decimalsOf(text) > places) fault("JOURNAL_AMOUNT", `${text} ${unit} has more than ${places} digits after the point.`);
    else if (withPlaces(text, places) !== text)
      fault("JOURNAL_FORM", `${text} ${unit} is not written with ${places} digits after the point.`);
  }
  if (!statement && isPlainAmount(amount) && toExact(amount).units === 0n) fault("JOURNAL_LEG", `The leg on ${account} has no amount.`);
  if (cost !== undefined && isPlainAmount(cost.amount) && toExact(cost.amount).units <= 0n)
    fault("JOURNAL_LEG", `The cost on ${account} is not positive.`);
  if (cost !== undefined && cost.currency === currency) fault("JOURNAL_LEG", `The cost on ${account} is in the leg's own currency.`);
}

/** What is left over by currency; a leg with a total price counts in the price's currency, with the leg's sign. */
function imbalance(entry: Entry): [string, Exact][] {
  const sums = new Map<string, Exact>();
  for (const { amount, currency, cost } of entry.postings) {
    const unit = cost?.currency ?? currency;
    const value = toExact(cost?.amount ?? amount);
    const negative = cost !== undefined && amount.startsWith("-");
    sums.set(unit, negative ? minus(sums.get(unit) ?? ZERO, value) : plus(sums.get(unit) ?? ZERO, value));
  }
  return [...sums].filter(([, rest]) => rest.units !== 0n);
}

// Entries without a fault on a chart. Nobody changes an entry that is made, and each is asked at its call, by its receipt and by its commit.
const faultless = new WeakMap<Entry, Chart>();

/** @throws the first fault of the entry, or JOURNAL_CLOSED when its day lies in the closed period */
export function assertEntry(entry: Entry, chart: Chart, rules: BookRules): void {
  const [first] = faultless.get(entry) === chart ? [] : faultsOf(entry, chart);
  if (first === undefined) faultless.set(entry, chart);
  else
    throw new ClearedError(first.code, `${first.message} (entry of ${entry.date}, "${entry.description.slice(0, 60)}")`, {
      data: { entry: entry.id },
    });
  assertOpen(entry.date, rules);
}

/** @throws JOURNAL_CLOSED */
export function assertOpen(date: string, rules: BookRules): void {
  if (rules.closed_through !== undefined && date <= rules.closed_through) {
    throw new ClearedError(
      "JOURNAL_CLOSED",
      `${date} lies in the period closed through ${rules.closed_through}. Date the entry after that day, or move closed_through back in config.yaml first.`,
    );
  }
}
