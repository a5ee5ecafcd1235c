/**
 * Approval profiles of trust.yaml: whether calls may be approved without a person. Fails closed: besides amounts a call may hold only parameters
 * whose names are known to neither multiply nor price anything; a list of names that do would never be complete.
 */
import { plainDecimal } from "../kernel/money.ts";
import type { Call, Json } from "../kernel/ports.ts";
import { scalarsOf } from "../rules/edits.ts";
import { nameWords } from "../rules/tools/classify.ts";
import { amountsIn, decimalOf, isAmountKey, isCurrency, MONEY, saysCurrency, saysMoney } from "../rules/tools/trace.ts";
import { isAtMost, signOf } from "./authority.ts";

interface Limit {
  up_to: string;
  currency: string;
  /** Names of parameters that the person who wrote the profile has said to be harmless. */
  fields: readonly string[];
}

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
const COUNTS = words("quantity qty count pieces units copies");
const REPEATS = words("schedule recurrence recurring frequency repeat repeats rrule");

const ONCE = /^(?:|once|one|one.?time|none|never|no|false|single)$/i;
const OFTEN =
  /^(?:hourly|daily|(?:bi|semi)?-?(?:weekly|monthly)|fortnightly|quarterly|yearly|annual|annually|recurring|(?:standing|each|every|per)\b.*)$/i;
const SCALE = /^(?:hundred|thousand|million|billion|lakh|crore|dozen|[km]|mn|bn)s?$/i;

/** The calls as the profile judges them: without the parameters that it ignores. */
export const judgedBy = (calls: readonly Call[], { fields }: Pick<Limit, "fields">): readonly Call[] =>
  fields.length === 0
    ? calls
    : calls.map(({ tool, params }) => ({
        tool,
        params: JSON.parse(JSON.stringify(params), (key, value) => (fields.includes(key) ? undefined : value)) as Json,
      }));

/**
 * Why a person decides on these calls instead of the profile; null: each has an amount, none is above the limit or negative, and nothing could
 * multiply them or be one more. `fallback`: the workspace's currency, for calls that name none.
 */
export function outside(calls: readonly Call[], limit: Limit, fallback: string): string | null {
  if (calls.length === 0) return "there is no call";
  for (const { tool, params } of calls) {
    const amounts = amountsIn(params);
    if (amounts.length === 0) return `${tool} has no amount`;
    const over = amounts.find(({ value }) => !isAtMost(value, limit.up_to) || signOf(value) < 0);
    if (over !== undefined) return `${tool} ${over.path} is not within ${limit.up_to}`;
  }
  for (const call of calls) {
    const named = [...scalarsOf([call])].filter(([path, value]) => saysCurrency(namesOf(path).at(-1) ?? "", value));
    if (named.length === 0 ? fallback !== limit.currency : named.some(([, value]) => value !== limit.currency))
      return `${call.tool} is not in ${limit.currency}`;
  }
  const scalars = [...scalarsOf(calls)];
  const unclear = scalars.find(([path, value]) => !isHarmless(path, value) || isUnpriced(path, scalars));
  return unclear === undefined ? null : `${unclear[0]} could multiply the amount or change what it is`;
}

const isIndex = (part: string): boolean => /^(?:0|[1-9]\d*)$/.test(part);

/** The names on a path; its beginning is the call's number and `params`. */
const namesOf = (path: string): string[] =>
  path
    .split(".")
    .slice(3)
    .filter((part) => !isIndex(part));

/** In a further element of a list that has no amount of its own: a payee, who may get that of the call. */
function isUnpriced(path: string, all: readonly (readonly [string, Json])[]): boolean {
  const elements = [...path.matchAll(/\.[1-9]\d*(?=\.)/g)].map((one) => path.slice(0, one.index + one[0].length + 1));
  return elements.some((element) => !all.some(([other]) => other.startsWith(element) && isAmountKey(namesOf(other).at(-1) ?? "") === true));
}

const isKnown = (word: string): boolean => [PARTIES, IDS, DAYS, QUALIFIERS].some((set) => set.has(word));

function isHarmless(path: string, value: Json): boolean {
  const names = namesOf(path);
  const key = names.at(-1);
  // One of several values in a list: each may cost the amount.
  if (key === undefined || (/\.\d+$/.test(path) && !path.endsWith(".0")) || !names.slice(0, -1).every(isHolder)) return false;
  const text = String(value ?? "").trim();
  const money = isAmountKey(key) === true;
  if (money) return nameWords(key).every((word) => MONEY.has(word) || isKnown(word)) && (value === null || plainDecimal(value) !== null);
  if (value === null || text === "") return true;
  if (typeof value === "boolean" || saysMoney(text)) return REPEATS.has(key) && value === false;
  if (isCurrency(key)) return true;
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
  if (DAYS.has(last)) return /^\d{4}-\d\d(?:-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?)?$/.test(text);
  if (IDS.has(last)) return decimal === null || !/[.,]\d/.test(text);
  if (PARTIES.has(last)) return decimal === null;
  return (TEXTS.has(last) || LABELS.has(last)) && decimal === null && !SCALE.test(text) && !OFTEN.test(text);
}
