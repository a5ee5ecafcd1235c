/**
 * Parameters of a call beside an amount that are known to neither multiply nor price anything. Fails closed: a list of names that do would never
 * be complete.
 */
import { plainDecimal } from "../../kernel/money.ts";
import type { Json } from "../../kernel/ports.ts";
import { nameWords } from "./classify.ts";
import { decimalOf, isAmountKey, isCurrency, isPiece, MONEY, sumsIn } from "./trace.ts";

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));

// A name is known by its last word, and only if each word before it is known as well: invoice_id, due_date, approved_by.
const PARTIES = words(
  `to from by payee payer recipient beneficiary creditor debtor sender vendor supplier customer client employee company bank department
  project owner contact approver requester`,
);
const IDS = words("id ref reference uuid iban bic swift email phone name account hash key");
const TEXTS = words(
  "note notes memo reason description comment comments message subject title text purpose remark remarks narrative summary",
);
const LABELS = words("status type method category kind outcome");
const DAYS = words("date on at period");
const NUMBERED = words(
  "invoice account routing order po purchase customer vendor supplier employee phone document reference claim contract bank",
);
const QUALIFIERS = words(
  `ar ap invoice payment transfer transaction order po purchase expense claim contract dispute plan subscription incident case ticket line journal
  ledger entry document request idempotency external internal original routing credit debit due pay paid value booking booked posting posted
  issue issued execution effective created submitted requested approved decided net gross`,
);
const LISTS = words("lines entries payments transfers invoices expenses");
const RANKS = words("priority severity level rank page row line position sequence step attempt");
const COUNTS = words("quantity qty count pieces units copies");
const REPEATS = words("schedule recurrence recurring frequency repeat repeats rrule");

const ONCE = /^(?:|once|one|one.?time|none|never|no|false|single)$/i;
const OFTEN =
  /^(?:hourly|daily|(?:bi|semi)?-?(?:weekly|monthly)|fortnightly|quarterly|yearly|annual|annually|recurring|(?:standing|each|every|per)\b.*)$/i;
const OFTEN_WORDS = words(
  `hourly daily weekly biweekly fortnightly monthly bimonthly quarterly yearly annual annually semiannual recurring repeated repeating standing
  each every per autopay auto subscription installment installments instalment instalments`,
);
const TIMES = /^\d+\s?[x×*]|[x×*]\s?\d+$/i;
/** Several names in one text. Not: "ACME, Inc." */
const SEVERAL = /[;|\n]|@[^@]*@|,(?!\s*(?:inc|incorporated|ltd|limited|llc|llp|lp|plc|corp|co|gmbh|ag|s\.?a|b\.?v|n\.?v|pty)\b)/i;
const SCALE = /^(?:hundred|thousand|million|billion|lakh|crore|dozen|[km]|mn|bn)s?$/i;

const isKnown = (word: string): boolean => [PARTIES, IDS, DAYS, QUALIFIERS].some((set) => set.has(word));

/** A small whole number that is evidently no money. */
export const isRank = (key: string, decimal: string): boolean => RANKS.has(nameWords(key).at(-1) ?? "") && /^\d{1,3}$/.test(decimal);

const isOften = (text: string): boolean => nameWords(text).some((word) => OFTEN_WORDS.has(word));

/** Whether a value may multiply the amount beside it. */
export const mayMultiply = (key: string, value: Json): boolean =>
  !isHarmless([key], value) && (typeof value === "boolean" || plainDecimal(value) !== null || isOften(String(value)));

/** Whether a value under these names, the outermost first, neither multiplies nor prices anything; of an amount, whether it can be read. */
export function isHarmless(names: readonly string[], value: Json): boolean {
  const key = names.at(-1);
  if (key === undefined || !names.slice(0, -1).every(isHolder)) return false;
  const text = String(value ?? "").trim();
  const money = isAmountKey(key) === true;
  if (money) return nameWords(key).every((word) => MONEY.has(word) || isKnown(word)) && (value === null || plainDecimal(value) !== null);
  if (value === null || text === "") return true;
  if (typeof value === "boolean" || sumsIn(text).length > 0) return REPEATS.has(key) && value === false;
  if (isCurrency(key) || isRank(key, text) || isPiece(key, text)) return true;
  return fits(nameWords(key), value as string | number, text);
}

/** A name under which parameters are gathered: a party, the lines of an entry, an amount with its currency. */
function isHolder(name: string): boolean {
  const all = nameWords(name);
  return all.length > 0 && all.every((word) => isKnown(word) || MONEY.has(word) || LISTS.has(word));
}

/** Whether a value is of the kind that its name says. */
function fits(all: readonly string[], value: string | number, text: string): boolean {
  const [last, before] = [all.at(-1) ?? "", all.slice(0, -1)];
  const decimal = decimalOf(value);
  if (COUNTS.has(last)) return before.length === 0 && text === "1";
  if (REPEATS.has(last)) return before.length === 0 && ONCE.test(text);
  if (last === "number" || last === "no") return before.length > 0 && before.every((word) => NUMBERED.has(word)) && !/\.\d/.test(text);
  if (!before.every(isKnown)) return false;
  // Those of credit_days are a term; those of `days: 30` may be paid.
  if (last === "days") return before.length > 0 && /^\d{1,3}(?:\.\d+)?$/.test(text);
  if (DAYS.has(last)) return /^\d{4}-\d\d(?:-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?)?$/.test(text);
  if ((IDS.has(last) || PARTIES.has(last)) && SEVERAL.test(text)) return false;
  if (IDS.has(last)) return decimal === null || !/[.,]\d/.test(text);
  if (decimal !== null || TIMES.test(text)) return false;
  if (PARTIES.has(last)) return true;
  if (LABELS.has(last) && isOften(text)) return false;
  return (TEXTS.has(last) || LABELS.has(last)) && !SCALE.test(text) && !OFTEN.test(text);
}
