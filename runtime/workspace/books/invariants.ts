/**
 * The invariants of one entry: balanced in every currency, one amount per leg, known accounts, a real day outside the closed period,
 * an id that is the hash of its key, exact decimals. Every write is checked here, and so is every entry by `cleared verify`. Also turns a
 * script's draft into an entry: legs with debit or credit become signed postings on accounts of the chart, amounts get the currency's digits.
 * Drafts are untrusted and refused at the call, not only at the commit. Also reversals: an entry is cancelled by its mirror image, once, and
 * never edited. The entry may change between the call and the commit (a person moves a leg, another run voids it), so the commit checks again.
 */
import { isBookDay } from "../../kernel/day.ts";
import { ClearedError, type Code } from "../../kernel/errors.ts";
import { AMOUNT_PATTERN, CURRENCY_PATTERN } from "../../kernel/money.ts";
import type { Account, Entry, EntryDraft, Posting, Tree } from "../../kernel/ports.ts";
import { decimalsOf, type Exact, fromExact, isPlainAmount, negated, toExact, withPlaces } from "./amounts.ts";
import { entryId } from "./entry-id.ts";
import { cleanEntry, isTagName, MAX_KEY } from "./journal-text.ts";
import type { Config } from "../settings/config.ts";
import { accountHint, type Chart, placesOf } from "./main-journal.ts";
import { monthFile } from "../layout.ts";
import { findEntry, monthFiles, wholeMonth } from "./months.ts";

/** The settings of config.yaml that restrict the books. */
export type BookRules = Pick<Config, "closed_through">;

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
    fault("JOURNAL_KEY", `${entry.id} has no key tag, so its id cannot be checked. Add a line "    ; key: ..." with any unique text.`);
  else if (entryId(entry.date, key) !== entry.id)
    fault("JOURNAL_KEY", `The id ${entry.id} is not the hash of its key and day; ${entryId(entry.date, key)} would be.`);
  for (const name of Object.keys(entry.tags))
    if (!isTagName(name)) fault("JOURNAL_FORM", `"${name.slice(0, 40)}" is not a name a tag may have.`);
  if (entry.postings.length === 0) fault("JOURNAL_LEG", "The entry has no legs.");
  else if (entry.postings.length === 1 && !isStatement(entry)) fault("JOURNAL_LEG", "The entry has only one leg.");
  for (const posting of entry.postings) legFaults(posting, isStatement(entry), chart, fault);
  if (faults.length === 0) {
    for (const [currency, rest] of imbalance(entry))
      fault("JOURNAL_UNBALANCED", `The legs do not add up to zero: ${fromExact(rest, 2)} ${currency} too much on the debit side.`);
  }
  return faults;
}

/** An entry that only states a balance: one leg of zero with an assertion. */
function isStatement(entry: Entry): boolean {
  const [only, second] = entry.postings;
  return second === undefined && only?.assertion !== undefined && toExact(only.amount) === 0n;
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
  if (!statement && isPlainAmount(amount) && toExact(amount) === 0n) fault("JOURNAL_LEG", `The leg on ${account} has no amount.`);
  if (cost !== undefined && isPlainAmount(cost.amount) && toExact(cost.amount) <= 0n)
    fault("JOURNAL_LEG", `The cost on ${account} is not positive.`);
  if (cost !== undefined && cost.currency === currency) fault("JOURNAL_LEG", `The cost on ${account} is in the leg's own currency.`);
}

/** The non-zero sums by currency; a leg with a total price counts in the price's currency, with the leg's sign. */
function imbalance(entry: Entry): [string, Exact][] {
  const sums = new Map<string, Exact>();
  for (const { amount, currency, cost } of entry.postings) {
    const unit = cost?.currency ?? currency;
    const value = toExact(cost?.amount ?? amount);
    const negative = cost !== undefined && amount.startsWith("-");
    sums.set(unit, (sums.get(unit) ?? 0n) + (negative ? -value : value));
  }
  return [...sums].filter(([, rest]) => rest !== 0n);
}

// Entries known to have no fault on a chart. Entries are immutable, and each is checked at its call, for its receipt and at its commit.
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

/** The error for an operation that the state of an entry does not allow: "ENTRY has been voided ...". */
export const unfit = (id: string, why: string, data?: Record<string, unknown>): ClearedError =>
  new ClearedError("JOURNAL_STATUS", `${id} ${why}`, { data });

/** @throws JOURNAL_CLOSED */
export function assertOpen(date: string, rules: BookRules): void {
  if (rules.closed_through !== undefined && date <= rules.closed_through)
    throw new ClearedError(
      "JOURNAL_CLOSED",
      `${date} is in the period closed through ${rules.closed_through}. Date the entry after that day, or move closed_through back in config.yaml first.`,
    );
}

/** An entry as a card shows it, readable without the books: date, account, amount and currency, leg by leg. */
export const legsOf = ({ date, postings }: Entry): string[] =>
  postings.map(({ account, amount, currency }) => `${date}  ${account}  ${amount} ${currency}`);

/** Tags the books write themselves. */
const OWN_TAGS: ReadonlySet<string> = new Set(["key", "run", "ref", "voids", "corrects", "status"]);

/**
 * The entry of a draft under an import key.
 * @throws JOURNAL_*, ACCOUNT_UNKNOWN, PARAMS_INVALID
 */
export function toEntry(
  draft: EntryDraft,
  key: string,
  tags: Record<string, string>,
  chart: Chart,
  rules: BookRules & { currency: string },
): Entry {
  if (key.length > MAX_KEY || key.trim() === "")
    throw new ClearedError("JOURNAL_KEY", `A key has 1 to ${MAX_KEY} characters; this one has ${key.trim().length}.`);
  if (draft.status === "voided")
    throw new ClearedError("JOURNAL_STATUS", "An entry cannot be added as voided. Add it, then void it with journal_void.");
  for (const name of Object.keys(draft.tags)) {
    if (OWN_TAGS.has(name) || !isTagName(name))
      throw new ClearedError(
        "PARAMS_INVALID",
        `"${name.slice(0, 40)}" is not a tag an entry may carry. Use small letters, digits, "-" and "_".`,
      );
  }
  // Otherwise an entry of a script could look like a stated balance, which a later import moves or removes.
  if (/^(?:opening|closing|void|correct):/.test(key))
    throw new ClearedError(
      "JOURNAL_KEY",
      `"${key.slice(0, 60)}" begins with a word reserved for the books' own entries. Choose another first word.`,
    );
  const entry = cleanEntry({
    id: entryId(draft.date, key.toWellFormed()),
    date: draft.date,
    status: draft.status,
    counterparty: draft.counterparty ?? "",
    description: draft.description,
    tags: { ...draft.tags, ...tags, key: key.toWellFormed() },
    postings: draft.legs.map((leg) => toPosting(leg, chart, rules.currency)),
  });
  assertEntry(entry, chart, rules);
  return entry;
}

function toPosting(leg: EntryDraft["legs"][number], chart: Chart, home: string): Posting {
  const account = accountOf(chart, leg.account);
  const currency = leg.currency ?? home;
  const given = [leg.debit, leg.credit].filter((value) => value !== undefined);
  if (given.length !== 1 || given[0] === undefined)
    throw new ClearedError("JOURNAL_LEG", `The leg on ${account.name} needs exactly one of debit and credit; it has ${given.length}.`);
  const amount = positive(given[0], currency, chart, account.name);
  const posting = { account: account.name, amount: leg.debit === undefined ? `-${amount}` : amount, currency };
  if (leg.cost === undefined) return posting;
  return { ...posting, cost: { amount: positive(leg.cost.amount, leg.cost.currency, chart, account.name), currency: leg.cost.currency } };
}

function positive(text: string, currency: string, chart: Chart, account: string): string {
  if (typeof text !== "string" || !AMOUNT_PATTERN.test(text))
    throw new ClearedError("JOURNAL_AMOUNT", `"${String(text).slice(0, 60)}" is not an amount. Write it as text such as "42.99".`);
  if (!CURRENCY_PATTERN.test(currency))
    throw new ClearedError("JOURNAL_AMOUNT", `"${currency.slice(0, 20)}" is not a currency such as USD.`);
  if (toExact(text) <= 0n)
    throw new ClearedError("JOURNAL_LEG", `The leg on ${account} has the amount ${text}; write a positive amount as debit or credit.`);
  const places = placesOf(chart, currency);
  const written = withPlaces(text, places);
  if (written === null) throw new ClearedError("JOURNAL_AMOUNT", `${text} ${currency} has more than ${places} digits after the point.`);
  return written;
}

/** The account with this number or name. @throws ACCOUNT_UNKNOWN with the nearest ones */
export function accountOf(chart: Chart, word: string): Account {
  const account = chart.byWord.get(String(word));
  if (account === undefined)
    throw new ClearedError(
      "ACCOUNT_UNKNOWN",
      `No account has the number or name "${String(word).slice(0, 80)}".${accountHint(chart, String(word))}`,
    );
  return account;
}

/** The books in which reversals are searched: a run's view, or a tree. */
export interface Months {
  /** Oldest first. */
  months(): Promise<string[]>;
  month(file: string): Promise<readonly Entry[]>;
}

export function monthsOf(tree: Tree): Months {
  return { months: () => monthFiles(tree), month: async (file) => (await wholeMonth(tree, file))?.entries ?? [] };
}

/** A leg without its balance assertion. */
export const bare = ({ assertion: _, ...leg }: Posting): Posting => leg;

const keyOf = (entry: Entry): string => `void:${entry.id}`;

/** The mirror image of an entry, dated today, so that balances the bank stated for earlier days still hold. */
export function mirrorOf(entry: Entry, reason: string, context: { today: string; run: string }): Entry {
  const date = entry.date > context.today ? entry.date : context.today;
  return cleanEntry({
    id: entryId(date, keyOf(entry)),
    date,
    status: "voided",
    counterparty: entry.counterparty,
    description: `Void ${entry.description}`,
    tags: { key: keyOf(entry), note: reason, run: context.run, voids: entry.id },
    postings: entry.postings.map((leg) => ({ ...bare(leg), amount: negated(leg.amount) })),
  });
}

/** Id of the reversal of an entry, or null. It is dated the entry's day or later, so only those months are read. */
export async function reversalOf(entry: Entry, books: Months): Promise<string | null> {
  for (const file of await books.months()) {
    if (file < monthFile(entry.date)) continue;
    const found = (await books.month(file)).find((other) => other.status === "voided" && other.tags["key"] === keyOf(entry));
    if (found !== undefined) return found.id;
  }
  return null;
}

/** @throws WORKSPACE_CONFLICT when an added reversal does not mirror the entry at HEAD, or is a second one */
export async function assertReversals(head: Tree, added: readonly Entry[]): Promise<void> {
  for (const reversal of added.filter((entry) => entry.status === "voided")) {
    const id = reversal.tags["voids"] ?? "";
    const entry = added.find((other) => other.id === id) ?? (await findEntry(head, id));
    if (entry === null || !isMirror(entry, reversal) || (await reversalOf(entry, monthsOf(head))) !== null)
      throw new ClearedError(
        "WORKSPACE_CONFLICT",
        `${id} was changed, voided or removed since the run voided it. Start the run again; it will read the new books.`,
        { data: { entry: id } },
      );
  }
}

/** True when the two cancel out, leg by leg. */
export function isMirror(entry: Entry, reversal: Entry): boolean {
  return entry.postings.length === reversal.postings.length && entry.postings.every((posting, i) => cancel(posting, reversal.postings[i]));
}

function cancel(a: Posting, b: Posting | undefined): boolean {
  return a.account === b?.account && a.currency === b.currency && a.amount === negated(b.amount);
}
