/** Days as text, YYYY-MM-DD, and moments for people. An entry's id has two digits for its year, so the books know the years 1970 to 2069 and no others. */

/** True for a day of the calendar from 1970 to 2069. Without Date: it runs once per row of large statements. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const [year, month, day] = [Number(text.slice(0, 4)), Number(text.slice(5, 7)), Number(text.slice(8))];
  if (year < 1970 || year > 2069 || month < 1 || month > 12 || day < 1) return false;
  // Every fourth year of this range is a leap year, 2000 too.
  return day <= (month === 2 ? (year % 4 === 0 ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31);
}

/** `2026-11-06 09:30 UTC`, of ms. */
export const minuteOf = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
