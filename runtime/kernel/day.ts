/**
 * Days as text, YYYY-MM-DD, and moments for people: the one calendar that headers, policies, primitives and the books use. An entry's id has
 * two digits for its year, so booked days lie in the years 1970 to 2069.
 */

/** True for a day of the calendar, in the years 0001 to 9999. Does not use Date: it runs once per row of large statements. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const [year, month, day] = [Number(text.slice(0, 4)), Number(text.slice(5, 7)), Number(text.slice(8))];
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day <= (month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31);
}

/** True for a day that an entry may be booked on. */
export const isBookDay = (text: string): boolean => isDay(text) && text >= "1970" && text < "2070";

/** `2026-11-06 09:30 UTC`, from ms since 1970. */
export const minuteOf = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;

/** The day that is `days` days after `day`. */
export const shifted = (day: string, days: number): string => new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10);
