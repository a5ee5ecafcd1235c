/** Days and moments as facts and conditions write them. A day without a time is compared with days only: its zone is not known. */
import { isDay } from "../../kernel/day.ts";

/** `day`: YYYY-MM-DD, which sorts as text. `ms`: a date-time with its zone. Null when it is neither, or no day of the calendar. */
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
