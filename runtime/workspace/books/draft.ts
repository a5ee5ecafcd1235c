/**
 * From what a script hands in to an entry: legs with debit or credit become signed postings on accounts of the chart, amounts get the
 * currency's digits. Everything is untrusted; what does not fit is refused here, at the call, and not first at the commit.
 */
import { ClearedError } from "../../kernel/errors.ts";
import { AMOUNT_PATTERN, CURRENCY_PATTERN } from "../../kernel/money.ts";
import type { Account, Entry, EntryDraft, Posting } from "../../kernel/ports.ts";
import { toExact, withPlaces } from "./amounts.ts";
import { entryId } from "./entry-id.ts";
import { type BookRules, assertEntry } from "./invariants.ts";
import { cleanEntry, isTagName, MAX_KEY } from "./journal-text.ts";
import { accountHint, type Chart, placesOf } from "./main-journal.ts";

/** What a card says of an entry, so that it can be read without the books: date, account, amount and currency, leg by leg. */
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
    throw new ClearedError("JOURNAL_STATUS", "An entry is not written as voided. Write it, then journal_void it.");
  for (const name of Object.keys(draft.tags)) {
    if (OWN_TAGS.has(name) || !isTagName(name))
      throw new ClearedError(
        "PARAMS_INVALID",
        `"${name.slice(0, 40)}" is not a tag an entry may carry. Use small letters, digits, "-" and "_".`,
      );
  }
  // Else a script could pass for a stated balance, which a later import moves or removes.
  if (/^(?:opening|closing|void|correct):/.test(key))
    throw new ClearedError("JOURNAL_KEY", `"${key.slice(0, 60)}" begins like a key of the books' own. Choose another first word.`);
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
  if (given.length !== 1 || given[0] === undefined) {
    throw new ClearedError("JOURNAL_LEG", `The leg on ${account.name} needs exactly one of debit and credit; it has ${given.length}.`);
  }
  const amount = positive(given[0], currency, chart, account.name);
  const posting = { account: account.name, amount: leg.debit === undefined ? `-${amount}` : amount, currency };
  if (leg.cost === undefined) return posting;
  return { ...posting, cost: { amount: positive(leg.cost.amount, leg.cost.currency, chart, account.name), currency: leg.cost.currency } };
}

function positive(text: string, currency: string, chart: Chart, account: string): string {
  if (typeof text !== "string" || !AMOUNT_PATTERN.test(text)) {
    throw new ClearedError("JOURNAL_AMOUNT", `"${String(text).slice(0, 60)}" is not an amount. Write it as text such as "42.99".`);
  }
  if (!CURRENCY_PATTERN.test(currency))
    throw new ClearedError("JOURNAL_AMOUNT", `"${currency.slice(0, 20)}" is not a currency such as USD.`);
  if (toExact(text).units <= 0n)
    throw new ClearedError("JOURNAL_LEG", `The leg on ${account} has the amount ${text}; write a positive amount as debit or credit.`);
  const places = placesOf(chart, currency);
  const written = withPlaces(text, places);
  if (written === null) throw new ClearedError("JOURNAL_AMOUNT", `${text} ${currency} has more than ${places} digits after the point.`);
  return written;
}

/** The account of a number or name. @throws ACCOUNT_UNKNOWN with the nearest one */
export function accountOf(chart: Chart, word: string): Account {
  const account = chart.byWord.get(String(word));
  if (account === undefined) {
    throw new ClearedError(
      "ACCOUNT_UNKNOWN",
      `No account has the number or name "${String(word).slice(0, 80)}".${accountHint(chart, String(word))}`,
    );
  }
  return account;
}
