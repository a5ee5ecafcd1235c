/**
 * Exact sums of amounts as whole numbers of the smallest unit, in BigInt, because decimal.js takes about ten times as long
 * on a hundred thousand entries (spec/books.md 2). Text in, text out; a JS number never holds an amount.
 */

export interface Exact {
  units: bigint;
  /** Digits after the decimal point in `units`. */
  scale: number;
}

// The canonical form of an amount in the journal: no leading zeros, no plus, no thousands; limits as in runtime/kernel/money.ts.
const PLAIN = /^-?(?:0|[1-9]\d{0,29})(?:\.\d{1,18})?$/;

export const isPlainAmount = (text: string): boolean => PLAIN.test(text);

/** Exact value of a plain amount; the caller has checked the form. */
export function toExact(text: string): Exact {
  const point = text.indexOf(".");
  if (point < 0) return { units: BigInt(text), scale: 0 };
  return { units: BigInt(text.slice(0, point) + text.slice(point + 1)), scale: text.length - point - 1 };
}

/** Decimal text with at least `places` digits after the point, and more only where they are not zero. */
export function fromExact(value: Exact, places = 0): string {
  const negative = value.units < 0n;
  let digits = (negative ? -value.units : value.units).toString().padStart(value.scale + 1, "0");
  let scale = value.scale;
  while (scale < places) [digits, scale] = [`${digits}0`, scale + 1];
  while (scale > places && digits.endsWith("0")) [digits, scale] = [digits.slice(0, -1), scale - 1];
  const whole = digits.slice(0, digits.length - scale);
  return `${negative ? "-" : ""}${whole}${scale === 0 ? "" : `.${digits.slice(digits.length - scale)}`}`;
}

export function plus(a: Exact, b: Exact): Exact {
  if (a.scale === b.scale) return { units: a.units + b.units, scale: a.scale };
  const scale = Math.max(a.scale, b.scale);
  return { units: raise(a, scale) + raise(b, scale), scale };
}

export const minus = (a: Exact, b: Exact): Exact => plus(a, { units: -b.units, scale: b.scale });

/** The amount with its sign reversed; zero has no sign. */
export function negated(amount: string): string {
  if (amount.startsWith("-")) return amount.slice(1);
  return /^[0.]+$/.test(amount) ? amount : `-${amount}`;
}

const raise = (value: Exact, scale: number): bigint => value.units * 10n ** BigInt(scale - value.scale);

export const ZERO: Exact = { units: 0n, scale: 0 };

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
  const old = row.get(currency);
  row.set(currency, old === undefined ? value : plus(old, value));
}

export const totalOf = (totals: Totals, account: string, currency: string): Exact => totals.get(account)?.get(currency) ?? ZERO;

/** Account -> currency -> decimal text; accounts and currencies with a balance of zero are left out. */
export type Balances = Record<string, Record<string, string>>;

export function toBalances(totals: Totals): Balances {
  const balances: Balances = {};
  for (const account of [...totals.keys()].sort()) {
    const row: Record<string, string> = {};
    for (const [currency, value] of [...(totals.get(account) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (value.units !== 0n) row[currency] = fromExact(value, 2);
    }
    if (Object.keys(row).length > 0) balances[account] = row;
  }
  return balances;
}
