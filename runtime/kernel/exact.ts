/**
 * Exact decimals for amounts, rates and hours: a bigint that counts units of 10^-160, so sums and comparisons are the language's own
 * operators and cannot lose a digit. Products and quotients round far behind the 60 decimals that count: a result keeps those 60 and is
 * rounded half-up once to its currency, so 4 % / 12 of 1,501.50 is 5.005 and not 5.00499. Only `exact` of a number touches a double.
 */

/** Decimals that count: as many as one figure may have (primitives/compute/shapes.ts). */
const DIGITS = 60;
/** Guard decimals. 100: an amount of 18 decimals times two figures of 60 is still exact. */
const GUARD = 10n ** 100n;
export const ONE = 10n ** BigInt(DIGITS) * GUARD;
export const HUNDRED = 100n * ONE;

export const abs = (value: bigint): bigint => (value < 0n ? -value : value);
export const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
export const most = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** The value of decimal text, or of a number as it is written: 7.25 is 7.25. The caller has checked the text by its shape. */
export function exact(value: string | number): bigint {
  const [, sign = "", whole = "0", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(String(value)) ?? refuseText(value);
  const [digits, shift] = [BigInt(whole + fraction) * ONE, Number(exponent) - fraction.length];
  const magnitude = shift >= 0 ? digits * 10n ** BigInt(shift) : quotient(digits, 10n ** BigInt(-shift));
  return sign === "-" ? -magnitude : magnitude;
}

function refuseText(value: string | number): never {
  throw new TypeError(`${value} is not a decimal`);
}

/** A count as an exact value. */
export const whole = (count: number): bigint => BigInt(count) * ONE;

/** a / b to the nearest integer, halves away from zero. */
function quotient(a: bigint, b: bigint): bigint {
  const floor = a / b;
  if (2n * abs(a % b) < abs(b)) return floor;
  return a < 0n === b < 0n ? floor + 1n : floor - 1n;
}

export const times = (a: bigint, b: bigint): bigint => quotient(a * b, ONE);
export const over = (a: bigint, b: bigint): bigint => quotient(a * ONE, b);
/** a * b / c, rounded once. */
export const share = (a: bigint, b: bigint, c: bigint): bigint => quotient(a * b, c);
/** pct percent of a. */
export const percentOf = (a: bigint, pct: bigint): bigint => quotient(a * pct, HUNDRED);

export const sum = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n);

/** As a count of units of 10^-places, from the decimals that count; halves away from zero (half-up, spec/worker.md 8.1). */
const units = (value: bigint, places: number): bigint =>
  places > DIGITS ? quotient(value, ONE / 10n ** BigInt(places)) : quotient(quotient(value, GUARD), 10n ** BigInt(DIGITS - places));

/** Rounded half-up to `places` decimals. */
export const round = (value: bigint, places: number): bigint => (units(value, places) * ONE) / 10n ** BigInt(places);

/** Text with exactly `places` decimals, half-up. */
export function fixed(value: bigint, places: number): string {
  const count = units(value, places);
  const digits = abs(count)
    .toString()
    .padStart(places + 1, "0");
  const sign = count < 0n ? "-" : "";
  return sign + (places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`);
}

/** Text with at most `places` decimals and no trailing zeros: for percentages and quantities. */
export function plain(value: bigint, places = 6): string {
  const text = fixed(value, places);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Smallest integer not below a / b; both positive. */
export const ceilRatio = (a: bigint, b: bigint): bigint => (a + b - 1n) / b;

/** base^n for a count n >= 0, by squaring. */
export function power(base: bigint, n: number): bigint {
  let [result, square] = [ONE, base];
  for (let left = n; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = times(result, square);
    square = left > 1 ? times(square, square) : square;
  }
  return result;
}

/** base^exponent for base > 0 and any exponent; an integer part is computed by squaring. */
export function powerOf(base: bigint, exponent: bigint): bigint {
  const count = exponent / ONE;
  const rest = exponent - count * ONE;
  const wholePart = power(base, Number(abs(count)));
  const scaled = count < 0n ? over(ONE, wholePart) : wholePart;
  return rest === 0n ? scaled : times(scaled, exponential(times(rest, logarithm(base))));
}

/** Natural logarithm: 2 artanh((m - 1) / (m + 1)) of m in 1..2, plus ln 2 for each halving. Series: Abramowitz & Stegun 4.1.27. */
function logarithm(value: bigint): bigint {
  let [m, halvings] = [value, 0n];
  for (; m >= 2n * ONE; halvings++) m = quotient(m, 2n);
  for (; m < ONE; halvings--) m *= 2n;
  return artanhTwice(m) + (halvings === 0n ? 0n : halvings * artanhTwice(2n * ONE));
}

function artanhTwice(m: bigint): bigint {
  const z = over(m - ONE, m + ONE);
  const square = times(z, z);
  let total = 0n;
  for (let [term, k] = [z, 1n]; term !== 0n; k += 2n) {
    total += term / k;
    term = times(term, square);
  }
  return 2n * total;
}

/** e^x for a moderate x. Series: Abramowitz & Stegun 4.2.1. */
function exponential(x: bigint): bigint {
  let [total, term] = [0n, ONE];
  for (let k = 1n; term !== 0n; k++) {
    total += term;
    term = times(term, x) / k;
  }
  return total;
}
