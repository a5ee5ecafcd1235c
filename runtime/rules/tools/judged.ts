/**
 * What the policies of a run have judged, and what of its calls they have not: each judged figure covers as many amounts of a tool's calls as it was judged
 * times, or one sum of a call. Fails closed: what may be an amount, or multiply one, counts as one that was not judged.
 */
import { plainDecimal } from "../../kernel/money.ts";
import type { Call, Json } from "../../kernel/ports.ts";
import { dayOrMoment, sumDecimals } from "../policy/values.ts";
import { nameWords, spelled } from "./classify.ts";
import { isHarmless } from "./harmless.ts";
import {
  type Amount,
  decimalOf,
  isAmountKey,
  isCurrency,
  MULTIPLIES,
  numbersOf,
  pathOf,
  type Place,
  saysCurrency,
  scalars,
  signedDecimalOf,
  sumsIn,
} from "./trace.ts";

/** Words of a fact that measures something: it judges only a field with the same word. A limit of 5,000 does not approve a payment of 5,000. */
const MEASURES = new Set(["limit", "balance", "budget", "exposure", "revenue", "income", "salary", ...MULTIPLIES]);

const figure = (key: string, decimal: string): string => `${nameWords(key).find((word) => MEASURES.has(word)) ?? ""} ${decimal}`;

/** How often a figure was judged. Facts of one verdict that are equal are one figure under several names. */
interface Figure {
  times: number;
  /** Under the name of each fact. */
  named: Map<string, number>;
}

/** What policies have judged in a run: its figures, with their signs, the currencies, and the facts in words. */
export interface Judged {
  figures: Map<string, Figure>;
  currencies: Set<string>;
  /** Those that are amounts, in words. */
  facts: string[];
  /** All, by name: what a call says beside its amounts is judged under the same name. */
  said: Set<string>;
}

/** How often calls use each judged figure, by the name of the field. */
type Uses = Map<string, Map<string, number>>;

/** The same of each tool. */
export type Used = Map<string, Uses>;

const fact = (name: string, value: Json): string => JSON.stringify([spelled(name), value]);

/** Counts the facts that a policy has judged. `currency`: the workspace's, used for amounts where no fact names another. */
export function countJudged(facts: { [name: string]: Json }, currency: string | undefined, judged: Judged): void {
  const named = Object.keys(facts).filter((name) => isCurrency(name) && typeof facts[name] === "string");
  for (const one of named.length === 0 ? [currency] : named.map((name) => facts[name]))
    if (typeof one === "string") judged.currencies.add(one);
  const most = new Map<Figure, number>();
  for (const [name, value] of Object.entries(facts)) {
    judged.said.add(fact(name, value));
    if (isAmountKey(name) === true) judged.facts.push(`${name} ${String(value)}`);
    if (isAmountKey(name) === false && figure(name, "") === " ") continue;
    for (const [decimal, times] of numbersOf(value, new Map(), signedDecimalOf)) {
      const one = judged.figures.get(figure(name, decimal)) ?? { times: 0, named: new Map<string, number>() };
      judged.figures.set(figure(name, decimal), one);
      one.named.set(spelled(name), (one.named.get(spelled(name)) ?? 0) + times);
      most.set(one, Math.max(most.get(one) ?? 0, times));
    }
  }
  for (const [one, times] of most) one.times += times;
}

/** What begins with a number and may be one: 9e3, 9k, 0x2328, 9_000, 9000 dollars. */
const MAYBE = /^\W{0,3}\p{N}[\p{N}.,_'’]*(?:[ex][\da-f]+|\s?\p{L}{1,12})?$/iu;

/** A number as other countries or scripts write it: 9.000,00, 9 000, ९०००. */
const NUMERAL = /^\D{0,6}(?:\d{1,3}(?:[.,'’\s]\d{3})+(?:[.,]\d+)?|\d+,\d+|(?!\d+\D{0,4}$)\p{Nd}+)\D{0,4}$/u;

// By themselves: the days of `days: 30` may be paid, those of `credit_days: 30` are no price.
const ALONE = "number no days minutes term terms".split(" ");

const multiplies = (key: string): boolean => {
  const words = nameWords(key);
  return words.some((word) => MULTIPLIES.includes(word)) || (words.length === 1 && ALONE.includes(words[0] ?? ""));
};

/** Whether a number counts as an amount: under a key of money, and under one of unknown kind unless it is evidently none. */
function isPaid({ value, name }: Place): boolean {
  const decimal = decimalOf(value);
  if (decimal === null || decimal === "0" || multiplies(name) || saysCurrency(name, value)) return false;
  return isAmountKey(name) ?? true;
}

/** The amounts of a call that need a judged figure: of an entry that balances, its debits, because its credits are the same money. */
function paidIn(places: readonly Place[]): Place[] {
  const paid = places.filter(isPaid);
  // Of an account each: what is debited from one payee and credited to another is paid twice.
  const ofAccount = new Set(places.filter(({ name }) => nameWords(name).includes("account")).map(({ parent }) => parent));
  const isFlat = !paid.some(({ parent }) => typeof parent?.at === "number");
  const [debits, credits] = ["debit", "credit"].map((side) =>
    paid.filter(
      ({ name, parent }) =>
        nameWords(name).includes(side) && isAmountKey(name) && figure(name, "") === " " && (isFlat || ofAccount.has(parent)),
    ),
  );
  const [a, b] = [debits, credits].map((side = []) => totalOf(side));
  const same = new Set(a !== null && a === b ? credits : []);
  return paid.filter((one) => !same.has(one));
}

/** The names on the way to a scalar, the outermost first. */
function namesOf(place: Place): string[] {
  const names: string[] = [];
  for (let one: Place | null = place; one?.parent != null; one = one.parent) if (typeof one.at === "string") names.push(one.at);
  return names.reverse();
}

/** The sum of amounts of one sign; null where one could offset another, or there is none. */
function totalOf(amounts: readonly Place[]): string | null {
  const decimals = amounts.flatMap(({ value }) => signedDecimalOf(value) ?? []);
  if (decimals.length === 0 || new Set(decimals.map((one) => one.startsWith("-"))).size > 1) return null;
  return sumDecimals(decimals);
}

/** Uses judged figures for the amounts of a call, one for each or one for their sum, and answers those for which there is none. */
function use(paid: readonly Place[], figures: Judged["figures"], used: Uses): Set<Place> {
  const groupOf = ({ value, name }: Place): string => {
    const decimal = signedDecimalOf(value) ?? "";
    return figures.has(figure(name, decimal)) ? figure(name, decimal) : ` ${decimal}`;
  };
  const add = (key: string, name: string, times: number): void => {
    const names = used.get(key) ?? new Map<string, number>();
    used.set(key, names.set(name, (names.get(name) ?? 0) + times));
  };
  const isCovered = (key: string): boolean => {
    const [judged, names] = [figures.get(key), [...(used.get(key) ?? [])]];
    if (judged === undefined) return false;
    return (
      names.reduce((all, [, times]) => all + times, 0) <= judged.times ||
      names.every(([name, times]) => times <= (judged.named.get(name) ?? 0))
    );
  };
  const addAll = (times: number): void => {
    for (const one of paid) add(groupOf(one), spelled(one.name), times);
  };
  addAll(1);
  const open = new Set([...new Set(paid.map(groupOf))].filter((key) => !isCovered(key)));
  const total = totalOf(paid);
  if (open.size > 0 && paid.length > 1 && total !== null) {
    addAll(-1);
    add(` ${total}`, "", 1);
    if (isCovered(` ${total}`)) return new Set();
    add(` ${total}`, "", -1);
    addAll(1);
  }
  return new Set(paid.filter((one) => open.has(groupOf(one))));
}

/** What belongs to an amount: the amounts themselves, and the elements of lists around them. */
function priced(places: readonly Place[]): Set<Place> {
  const found = new Set<Place>();
  for (const place of places)
    if (isPaid(place) || (isAmountKey(place.name) === true && decimalOf(place.value) !== null))
      for (let one: Place | null = place; one !== null && !found.has(one); one = one.parent) found.add(one);
  return found;
}

/**
 * Parts of a call that the judged facts do not cover: its amounts, what may be one or multiply one, their currency, and an amount that cannot
 * be read. `used`: by the calls before, to which this one is added: a figure judged once covers one amount of a tool's calls. `isTraced`: whether
 * a sum that a text states was read or computed: who wrote the text may want it paid.
 */
export function unjudged(
  { tool, params }: Call,
  used: Used,
  { figures, currencies, said }: Judged,
  isTraced: (sum: string) => boolean,
): Amount[] {
  const [places, own]: [Place[], Uses] = [[], used.get(tool) ?? new Map()];
  used.set(tool, own);
  scalars(params, (place) => void places.push(place));
  const [paid, withAmount] = [paidIn(places), priced(places)];
  const open = use(paid, figures, own);
  // One of several payees, who may each get the amount, or all that is said of one (amount: {all: true}). So deep that looking takes long: maybe.
  const mayAdd = (place: Place): boolean => {
    let one: Place | null = place;
    for (let depth = 0; one !== null && !withAmount.has(one); depth++, one = one.parent)
      if (depth > 100 || (paid.length > 0 && typeof one.at === "number" && one.at > 0) || /amounts?$/i.test(String(one.at))) return true;
    return false;
  };
  // To a tool a missing amount may mean all that is open. One of several amounts may be missing, but not the one that is called so.
  const lacksAmount = (place: Place): boolean => {
    let one: Place | null = place;
    for (let depth = 0; one !== null && depth < 100 && !(typeof one.at === "string" && isAmountKey(one.at) === true); depth++)
      one = one.parent;
    return one !== null && !withAmount.has(one) && (paid.length === 0 || /^amounts?$/i.test(String(one.at)));
  };
  const fits = (place: Place): boolean => {
    const { value, name } = place;
    const [text, decimal, money] = [String(value), decimalOf(value), isAmountKey(name)];
    if (saysCurrency(name, value)) return value === null || currencies.has(text) || currencies.has(text.toUpperCase());
    if (value === null || typeof value === "object" || text.trim() === "")
      return !lacksAmount(place) && (paid.length === 0 || isHarmless(namesOf(place), value));
    if (multiplies(name)) {
      const times = signedDecimalOf(value) ?? "";
      // Units may be cents.
      return times === "1" || figures.has(figure(name, times));
    }
    if (decimal === null && money === true) return dayOrMoment(text) !== null;
    if (mayAdd(place) || (decimal === null && money === null && (NUMERAL.test(text) || MAYBE.test(text)))) return false;
    // One of several who are named as the keys of an object: to: {a: true, b: true}.
    if (paid.length > 0 && value === true && place.parent?.parent != null && !withAmount.has(place.parent)) return false;
    if (isPaid(place) && (text.match(/[A-Z]{3}|\p{Sc}/gu) ?? []).some((code) => !currencies.has(code))) return false;
    if (open.has(place)) return false;
    if (isPaid(place) || said.has(fact(name, value))) return true;
    if (paid.length > 0 || decimal !== null || typeof value === "boolean") return isHarmless(namesOf(place), value);
    return sumsIn(text).every((sum) => isTraced(plainDecimal(sum.replaceAll(",", "")) ?? ""));
  };
  return places
    .filter((place) => !fits(place))
    .map((place) => ({ path: pathOf(place), value: typeof place.value === "object" ? JSON.stringify(place.value) : String(place.value) }));
}
