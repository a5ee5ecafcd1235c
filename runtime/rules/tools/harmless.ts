/**
 * Parameters of a call beside an amount that can say neither how often, to whom else nor how much: one id, one day, a currency, an amount that can
 * be read. Fails closed: words can say all of it in any language, so they pass only as a fact that was judged, or as a declared parameter.
 */
import { plainDecimal } from "../../kernel/money.ts";
import type { Json } from "../../kernel/ports.ts";
import { ibanLength } from "../privacy/checksums.ts";
import { nameWords } from "./classify.ts";
import { isAmountKey, isCurrency, MONEY } from "./trace.ts";

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));

// A name is known by its last word, and only if each word before it is known as well: invoice_id, due_date, approved_by.
const IDS = words("id ref reference uuid iban account key hash");
const NAMED = words(
  `to from by payee payer recipient beneficiary creditor debtor sender vendor supplier customer client employee company bank department
  project owner contact approver requester number no`,
);
const DAYS = words("date on at period");
const BEFORE = words(
  `ar ap invoice payment transfer transaction order po purchase expense claim contract dispute plan subscription incident case ticket line journal
  ledger entry document request idempotency external internal original routing credit debit due pay paid value booking booked posting posted
  issue issued execution effective delivery ship needed created submitted requested approved decided net gross`,
);
const LISTS = words("lines entries payments transfers invoices expenses");

// Not what a repeat or a duration looks like, nor a small number or a sum.
const NO_ID = String.raw`(?!P[-_]?T?\d+[DHMSWY]$|[RX][-_]?\d\d?$|\d\d?$|\d+\.\d+$)`;
/** One word with a digit: under a name that says it is an id. */
const ID = new RegExp(`^${NO_ID}(?=.*\\d)[A-Z\\d](?:[A-Z\\d_-]|[./:](?=\\d)){0,127}$`, "i");
/** Letters and a number: under the name of a party. */
const NUMBERED = new RegExp(`^${NO_ID}[A-Z]{1,4}[-_]?\\d[A-Z\\d]*(?:[-_]\\d[A-Z\\d]*){0,2}$`, "i");
const DAY = /^\d{4}-\d\d(?:-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?)?$/;

const isKnown = (word: string): boolean => [IDS, NAMED, DAYS, BEFORE].some((set) => set.has(word));

/** Whether a value under these names, the outermost first, neither multiplies nor prices anything; of an amount, whether it can be read. */
export function isHarmless(names: readonly string[], value: Json): boolean {
  const key = names.at(-1);
  if (key === undefined || !names.slice(0, -1).every(isHolder)) return false;
  const [all, text] = [nameWords(key), String(value ?? "").trim()];
  if (isAmountKey(key) === true)
    return all.every((word) => MONEY.has(word) || isKnown(word)) && (text === "" || plainDecimal(value) !== null);
  // Names may be those of payees, also without a value: to: {Eve: "", Bob: ""}.
  if (text === "") return names.length === 1 || isHolder(key);
  // Filled in with whoever decides, and why.
  if (text === "@approver" || text === "@reason" || isCurrency(key)) return true;
  const last = all.at(-1) ?? "";
  if (typeof value === "boolean" || !all.slice(0, -1).every(isKnown)) return false;
  if (DAYS.has(last)) return DAY.test(text) && all.slice(0, -1).every((word) => BEFORE.has(word));
  return (IDS.has(last) && (ID.test(text) || ibanLength(text) === text.length)) || (NAMED.has(last) && NUMBERED.test(text));
}

/** A name under which parameters are gathered: a party, the lines of an entry, an amount with its currency. */
function isHolder(name: string): boolean {
  const all = nameWords(name);
  return all.length > 0 && all.every((word) => isKnown(word) || MONEY.has(word) || LISTS.has(word));
}
