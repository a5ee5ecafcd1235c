/**
 * Compares figures exactly: numbers, and decimal text of rates and exact percentages, which have more digits than amounts; and days and
 * moments as facts and conditions write them: a day without a time is compared with days only, because its zone is unknown.
 */
import { isDay } from "../../kernel/day.ts";
import { exact, plain, sum } from "../../kernel/exact.ts";

const DECIMAL = /^-?\d{1,60}(?:\.\d{1,100})?$/;

/** True for a finite number and for plain decimal text: no currency sign, thousands separators, percent sign or exponent. */
export function isDecimal(value: unknown): value is string | number {
  return typeof value === "number" ? Number.isFinite(value) : typeof value === "string" && DECIMAL.test(value);
}

/** Negative, zero or positive as a is below, equal to or above b, to the last digit. A number is its shortest text: 0.1 is 0.1. */
export function compareDecimals(a: string | number, b: string | number): number {
  const [x, y] = [Number(a), Number(b)];
  // Rounding to a double preserves the order, so the digits matter only where the doubles are equal.
  if (x !== y) return x < y ? -1 : 1;
  if (typeof a === "number" && typeof b === "number") return 0;
  const difference = exact(a) - exact(b);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** The exact sum of plain decimals, in its shortest form. */
export const sumDecimals = (values: readonly string[]): string => plain(sum(values.map(exact)), 100);

/** `day`: YYYY-MM-DD, which sorts as text. `ms`: a date-time with its zone. Null when it is neither, or not a calendar day. */
export function dayOrMoment(text: string): { day: string } | { ms: number } | null {
  const [, day, time] = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/.exec(text) ?? [];
  if (day === undefined || !isDay(day)) return null;
  if (time === undefined) return { day };
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : { ms };
}

/** ms of a date-time with its zone, or null. */
export function momentOf(text: string): number | null {
  const found = dayOrMoment(text);
  return found !== null && "ms" in found ? found.ms : null;
}

/** Negative, zero or positive; null when the two cannot be compared. */
export function compareDates(a: string, b: string): number | null {
  const [x, y] = [dayOrMoment(a), dayOrMoment(b)];
  if (x === null || y === null) return null;
  if ("day" in x && "day" in y) return x.day < y.day ? -1 : x.day > y.day ? 1 : 0;
  return "ms" in x && "ms" in y ? Math.sign(x.ms - y.ms) : null;
}
