/**
 * Where the amounts of a write come from (spec/worker.md 15): each must be the result of a compute_* call or a field that was read. Only
 * text and sets, linear in its input, without recursion: an answer may be 32 MiB, nested as deep as a hostile server likes.
 */
import { plainDecimal } from "../../kernel/money.ts";
import type { Call, Json } from "../../kernel/ports.ts";
import { nameWords } from "./classify.ts";

/** Words of a key whose value is an amount. */
export const MONEY: ReadonlySet<string> = new Set(
  `amount amounts balance bonus budget charge commission cost credit debit deposit discount due exposure fee fees gross income interest
  limit loan net paid pay payment penalty premium price principal proceeds rebate refund rent retention revenue salary settlement spend
  subtotal sum tax tip total value vat wage wages`.split(/\s+/),
);

/** Words of a key whose value is not an amount: payment_id, credit_days. The last word of either kind decides: account_balance is money. */
const OTHER = new Set(
  `id ids number no code ref reference date day days month months year years at on count quantity qty hours minutes index version zip phone
  account method type status currency key name term terms hash iban email pct percent ratio score confidence
  group headcount center centre reason`.split(/\s+/),
);

export interface Amount {
  /** `lines[0].amount` */
  path: string;
  /** As written in the call. */
  value: string;
}

/** The amount in a scalar: 1200, "-1200.00", "USD 1,200.00", "-$1,200". Null for other text. */
export function signedDecimalOf(value: Json): string | null {
  if (typeof value !== "string" && typeof value !== "number") return null;
  const direct = plainDecimal(value);
  if (direct !== null) return direct;
  if (typeof value !== "string" || value.length > 80 || !/^\D{0,6}\d[\d,.]*\D{0,4}$/.test(value)) return null;
  const text = value.trim().replace(/^[+-]?\s*(?:[A-Z]{3}\s?|\p{Sc}\s?)?[+-]?|(?:\s?[A-Z]{3}|\s?\p{Sc})$/gu, "");
  const read = plainDecimal(/^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(text) ? text.replaceAll(",", "") : text);
  return read === null || read === "0" || !/-.*\d/.test(value) ? read : `-${read}`;
}

/** The same without its sign. */
export const decimalOf = (value: Json): string | null => signedDecimalOf(value)?.replace("-", "") ?? null;

/** Position of a scalar: the key or index in its parent; `name` is the nearest key. */
export interface Place {
  value: Json;
  at: string | number;
  name: string;
  parent: Place | null;
}

/** Visits the scalars of a value in order, and its empty lists and objects. */
export function scalars(root: Json, visit: (place: Place) => void): void {
  const stack: Place[] = [{ value: root, at: "", name: "", parent: null }];
  for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
    const { value, name } = place;
    if (typeof value === "object" && value !== null && Object.keys(value).length === 0) visit(place);
    else if (Array.isArray(value)) {
      for (let at = value.length - 1; at >= 0; at--) stack.push({ value: value[at] ?? null, at, name, parent: place });
    } else if (typeof value === "object" && value !== null) {
      for (const at of Object.keys(value).reverse()) stack.push({ value: value[at] ?? null, at, name: at, parent: place });
    } else visit(place);
  }
}

export function pathOf(place: Place): string {
  const parts: string[] = [];
  for (let one: Place | null = place; one?.parent != null; one = one.parent)
    parts.push(typeof one.at === "number" ? `[${one.at}]` : `.${one.at}`);
  return parts.reverse().join("").replace(/^\./, "");
}

// 1,000 pieces at 99.00 do not cost 99.00.
export const MULTIPLIES = "quantity qty count units pieces hours times weeks months years nights seats".split(" ");

/** Whether the words of a key say that its value is an amount (true) or not (false); null when they say neither. */
export function isAmountKey(key: string): boolean | null {
  const words = nameWords(key);
  const tells = words.findLast(
    (word, i) => MONEY.has(word) || (OTHER.has(word) && (i === words.length - 1 || !["at", "on"].includes(word))),
  );
  return tells === undefined ? null : MONEY.has(tells);
}

const PAID = new Set("amount gross net pay payment principal refund settlement sum total".split(" "));

/** Whether a key names what is paid itself, and nothing beside it: not a fee, a tax, or an `original_amount`. */
export const isPaidKey = (key: string): boolean => nameWords(key).length > 0 && nameWords(key).every((word) => PAID.has(word));

/** The amounts a call writes: decimals under a key of money, and any decimal with a fraction under a key of unknown kind. */
export function amountsIn(params: Json): Amount[] {
  const found: Amount[] = [];
  scalars(params, (place) => {
    const { value, name } = place;
    const decimal = decimalOf(value);
    if (decimal === null) return;
    if (isAmountKey(name) ?? /\.\d/.test(String(value))) found.push({ path: pathOf(place), value: String(value) });
  });
  return found;
}

/** The amounts of calls for display, each under a unique name; with the currency if the call names it. */
export function amountsOf(calls: readonly Call[]): Record<string, string> {
  const times = (tool: string): number => calls.filter((call) => call.tool === tool).length;
  return Object.fromEntries(
    calls.flatMap(({ tool, params }, i) => {
      const { currency } = (params ?? {}) as { currency?: Json };
      const number = times(tool) < 2 ? "" : ` #${calls.slice(0, i + 1).filter((call) => call.tool === tool).length}`;
      const unit = typeof currency === "string" ? ` ${currency}` : "";
      return amountsIn(params).map(({ path, value }) => [`${tool}${number} ${path}`, `${value}${unit}`]);
    }),
  );
}

/** Counts the decimals of an answer, without their signs unless `read` keeps them. */
export function numbersOf(result: Json, into: Map<string, number> = new Map(), read = decimalOf): Map<string, number> {
  scalars(result, ({ value }) => {
    const decimal = read(value);
    if (decimal !== null) into.set(decimal, (into.get(decimal) ?? 0) + 1);
  });
  return into;
}

const CURRENCIES = new Set(Intl.supportedValuesOf("currency"));

const UNITS = new Set("unit units asset denomination denom coin token symbol".split(" "));
// What is counted in pieces is paid in the currency of the call.
const PIECE = /^(?:each|ea|pcs?|pieces?|items?|units?)$/i;

/** Whether a tool's parameter is a currency: by its name, or by its value (unit: KWD, BTC, €), because tools choose their own names. */
export function saysCurrency(key: string, value: Json): boolean {
  const [text, words] = [String(value ?? "").trim(), nameWords(key)];
  if (isCurrency(key) || CURRENCIES.has(text) || /^\p{Sc}$/u.test(text)) return true;
  if (!words.some((word) => UNITS.has(word)) || typeof value !== "string" || text === "") return false;
  if (CURRENCIES.has(text.toUpperCase()) || words.includes("asset")) return true;
  return UNITS.has(words.at(-1) ?? "") && !words.includes("business") && decimalOf(text) === null && !PIECE.test(text);
}

const SUM =
  /(?<![\p{L}\p{N}.,])(?:([a-z]{3}|\p{Sc})\s?)?(\p{N}[\p{N},]*(?:\.\p{N}+)?)(?!\p{N}|\.\p{N})(?:\s?([a-z]{3}(?!\p{L})|\p{Sc}))?/giu;

/** Sums of money that a text states, as written: numbers with two decimals, and those beside a currency's code or sign. */
export const sumsIn = (text: string): string[] =>
  [...text.matchAll(SUM)].flatMap(([, before, number = "", after]) => {
    const hasUnit = [before, after].some((one) => one !== undefined && (one.length < 3 || CURRENCIES.has(one.toUpperCase())));
    return hasUnit || /\.\p{N}{2}$/u.test(number) ? [number] : [];
  });

export const isCurrency = (key: string): boolean => nameWords(key).some((word) => ["currency", "ccy", "curr"].includes(word));

/** The amounts of a call that are in none of the sources. */
export const untraced = (params: Json, sources: ReadonlyMap<string, number>): Amount[] =>
  amountsIn(params).filter(({ value }) => !sources.has(decimalOf(value) ?? ""));
