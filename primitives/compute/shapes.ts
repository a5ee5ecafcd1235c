/**
 * Shapes of parameters and answers of the compute primitives. Three kinds of figure: money (text only), exact figures (percentages,
 * hours, factors: text, Decimal or a number as written), and reals (statistics, in doubles). Exact answers are text, answers in doubles numbers.
 */
import { z } from "zod";
import { checked, currency, money, shown } from "../_shapes.ts";
import { exact } from "../../runtime/kernel/exact.ts";

const DECIMAL_PATTERN = /^-?\d{1,30}(?:\.\d{1,60})?$/;
/** A double keeps 15 digits of every decimal; one that shows more was computed in binary (0.1 + 0.2) and is not what was meant. */
const SAFE_DIGITS = 15;

const digitsOf = (value: number): number => String(value).replace(/e.*$/, "").replace(/\D/g, "").replace(/^0+/, "").length;
const isExact = (value: unknown): value is string | number =>
  typeof value === "number"
    ? Number.isFinite(value) && digitsOf(value) <= SAFE_DIGITS
    : typeof value === "string" && DECIMAL_PATTERN.test(value);

function decimalSays(value: unknown): string {
  return typeof value === "number" && Number.isFinite(value)
    ? `${value} was computed in binary and is not exact; compute it with Decimal, or pass text`
    : `${shown(value)} is not a decimal; write it as text such as "7.25"`;
}

/** `from` 0 to 100 includes both ends. `above` excludes the lower end. */
type Range = Partial<Record<"from" | "above" | "to", string>>;

function inRange(value: string | number, { from, above, to }: Range): boolean {
  const x = exact(value);
  return (from === undefined || x >= exact(from)) && (above === undefined || x > exact(above)) && (to === undefined || x <= exact(to));
}

function rangeSays({ from, above, to }: Range): string {
  const low = above !== undefined ? `above ${above}` : from !== undefined ? `at least ${from}` : "";
  return [low, to === undefined ? "" : `at most ${to}`].filter((part) => part !== "").join(" and ");
}

/** An exact figure within a range: text, Decimal, or a number whose text is exact. */
export function figure(range: Range = {}) {
  return checked<string | number>((value) => isExact(value) && inRange(value, range), {
    says: (value) => (isExact(value) ? `${value} must be ${rangeSays(range)}` : decimalSays(value)),
    code: "COMPUTE_RANGE",
    ts: "DecimalInput",
  });
}

/** A percentage: 7.25 is 7.25 %. A rate above 1,000 is a mistake of the unit. */
export const percent = figure({ from: "0", to: "1000" });
export const percentTo100 = figure({ from: "0", to: "100" });

/** A count within bounds that keep one call below 250 ms. */
export function count(from: number, to: number) {
  return checked<number>((value) => Number.isSafeInteger(value) && (value as number) >= from && (value as number) <= to, {
    says: (value) => `${shown(value)} must be a whole number from ${from} to ${to}`,
    code: "COMPUTE_RANGE",
    ts: "number",
  });
}

/** A real number in doubles, for statistics and models; accepts decimal text. Beyond 1e15 doubles skip integers. */
export function real(from = -1e15, to = 1e15, open: "open" | "closed" = "closed") {
  const numberOf = (value: unknown): number =>
    typeof value === "number" ? value : typeof value === "string" && DECIMAL_PATTERN.test(value) ? Number(value) : Number.NaN;
  return checked<string | number>(
    (value) => {
      const x = numberOf(value);
      return (open === "open" ? x > from : x >= from) && x <= to;
    },
    {
      says: (value) =>
        `${shown(value)} must be a number ${open === "open" ? "above" : "from"} ${from} ${open === "open" ? "and at most" : "to"} ${to}`,
      code: "COMPUTE_RANGE",
      ts: "DecimalInput",
    },
  );
}

/** A list with at least `min` and at most `max` items. */
export function list<T extends z.ZodType>(element: T, min: number, max = 10_000): z.ZodArray<T> {
  return z.array(element).min(min, `needs at least ${min}`).max(max, `takes at most ${max}`);
}

/** An exact answer that is not an amount: percentages, hours, quantities. */
export const exactOut = z.string().meta({ ts: "Money", type: "string" });
export const moneyOut = money;

/** The parameter that decides the decimals of returned amounts. */
export const inCurrency = { currency: currency.optional().describe("decides the decimals of the answer: JPY 0, KWD 3; default 2") };

/** Several keys with one shape. */
export function fields<S extends z.ZodType, K extends string>(shape: S, ...keys: K[]): Record<K, S> {
  return Object.fromEntries(keys.map((key) => [key, shape])) as Record<K, S>;
}
