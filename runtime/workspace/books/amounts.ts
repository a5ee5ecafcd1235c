/**
 * Exact sums of amounts as whole numbers of units of 10^-80, in BigInt, because decimal.js takes about ten times as long
 * on a hundred thousand entries (spec/books.md 2). Text in, text out; a JS number never holds an amount.
 */

// More digits after the point than any amount of the books or of a call (plainDecimal in kernel/money.ts) has.
const DIGITS = 80;
const UNITS = Array.from({ length: DIGITS + 1 }, (_, places) => 10n ** BigInt(DIGITS - places));
/** The units of 1 in the last of so many digits after the point. */
const unitsOf = (places: number): Exact => UNITS[places] as bigint;

/** An amount, or a sum of amounts, in units. */
export type Exact = bigint;

// The canonical form of an amount in the journal: no leading zeros, no plus, no thousands; limits as in runtime/kernel/money.ts.
const PLAIN = /^-?(?:0|[1-9]\d{0,29})(?:\.\d{1,18})?$/;

export const isPlainAmount = (text: string): boolean => PLAIN.test(text);

/** Exact value of a plain amount; the caller has checked the form. */
export function toExact(text: string): Exact {
  const point = text.indexOf(".");
  if (point < 0) return BigInt(text) * unitsOf(0);
  return BigInt(text.slice(0, point) + text.slice(point + 1)) * unitsOf(text.length - point - 1);
}

/** Decimal text with at least `places` digits after the point, and more only where they are not zero. */
export function fromExact(value: Exact, places = 0): string {
  let scale = places;
  while (value % unitsOf(scale) !== 0n) scale++;
  const digits = `${sizeOf(value) / unitsOf(scale)}`.padStart(scale + 1, "0");
  const point = digits.length - scale;
  return `${value < 0n ? "-" : ""}${digits.slice(0, point)}${scale === 0 ? "" : `.${digits.slice(point)}`}`;
}

export const sizeOf = (value: Exact): Exact => (value < 0n ? -value : value);
export const plus = (a: Exact, b: Exact): Exact => a + b;
export const minus = (a: Exact, b: Exact): Exact => a - b;
export const ZERO: Exact = 0n;

/** The amount with its sign reversed; zero has no sign. */
export function negated(amount: string): string {
  if (amount.startsWith("-")) return amount.slice(1);
  return /^[0.]+$/.test(amount) ? amount : `-${amount}`;
}

/** Significant digits after the point: 1 for "4.50". */
export function decimalsOf(text: string): number {
  const point = text.indexOf(".");
  if (point < 0) return 0;
  let end = text.length;
  while (text[end - 1] === "0") end--;
  return Math.max(0, end - point - 1);
}

/** The amount with exactly `places` digits, or null if it has more. `text` is any decimal text. */
export function withPlaces(text: string, places: number): string | null {
  return decimalsOf(text) > places ? null : fromExact(toExact(text), places);
}

/** Running totals by two keys, account and currency. */
export type Totals = Map<string, Map<string, Exact>>;

export function addTo(totals: Totals, account: string, currency: string, value: Exact): void {
  const row = totals.getOrInsertComputed(account, () => new Map<string, Exact>());
  row.set(currency, (row.get(currency) ?? 0n) + value);
}

export const totalOf = (totals: Totals, account: string, currency: string): Exact => totals.get(account)?.get(currency) ?? 0n;

/** Account -> currency -> decimal text; accounts and currencies with a balance of zero are left out. */
export type Balances = Record<string, Record<string, string>>;

export function toBalances(totals: Totals): Balances {
  const balances: Balances = {};
  for (const account of [...totals.keys()].sort()) {
    const row: Record<string, string> = {};
    for (const [currency, value] of [...(totals.get(account) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (value !== 0n) row[currency] = fromExact(value, 2);
    }
    if (Object.keys(row).length > 0) balances[account] = row;
  }
  return balances;
}
