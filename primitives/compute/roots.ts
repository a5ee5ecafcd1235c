/**
 * Rates at which cash flows have a present value of zero: all of them, in doubles. Flows with more than one change of sign may have
 * several; picking one silently would be a guess, so callers get all.
 */

/** Intervals, even in the logarithm of 1 + rate: for flows that differ by a factor of 1,000, roots within 0.35 % of it count as one. */
const STEPS = 4000;

/** Net present value at a rate given as a fraction. */
export function presentValue(flows: readonly number[], rate: number): number {
  let value = 0;
  for (let t = flows.length - 1; t >= 0; t--) value = value / (1 + rate) + (flows[t] ?? 0);
  return value;
}

/** Derivative by the rate. */
export function slope(flows: readonly number[], rate: number): number {
  let [value, power] = [0, 1 / (1 + rate)];
  for (const [t, flow] of flows.entries()) {
    value -= t * flow * power;
    power /= 1 + rate;
  }
  return value;
}

/** All rates (fractions, ascending) with a present value of zero. Empty when there is none. */
export function rates(flows: readonly number[]): number[] {
  const signs = flows.filter((flow) => flow !== 0).map(Math.sign);
  const changes = signs.filter((sign, i) => i > 0 && sign !== signs[i - 1]).length;
  if (changes === 0) return [];
  const size = Math.max(...flows.map(Math.abs));
  const scaled = flows.map((flow) => flow / size);
  const at = (x: number): number => balanced(scaled, x);
  const found: number[] = [];
  // Cauchy's bound: 1 + rate is at most 1 + the largest flow over the first, and its inverse over the last. No root lies outside.
  const held = scaled.filter((flow) => flow !== 0).map(Math.abs);
  const [low, high] = [-Math.log1p(1 / (held.at(-1) ?? 1)), Math.log1p(1 / (held[0] ?? 1))];
  // Descartes: one change of sign means one root; a single interval is enough.
  const steps = changes === 1 ? 1 : STEPS;
  const xs = Array.from({ length: steps + 1 }, (_, i) => low + ((high - low) * i) / steps);
  const values = xs.map(at);
  for (let i = 0; i <= steps; i++) {
    const [before, here, after] = [values[i - 1] ?? Number.NaN, values[i] ?? 0, values[i + 1] ?? Number.NaN];
    const x = xs[i] ?? 0;
    if (here === 0) found.push(x);
    else if (here * after < 0) found.push(bisect(at, x, xs[i + 1] ?? x));
    // A curve that comes near zero and turns between two points of the grid hides two roots, or a double root.
    else if (here * before > 0 && here * after > 0 && Math.abs(here) < Math.abs(before) && Math.abs(here) <= Math.abs(after)) {
      found.push(...turning(at, xs[i - 1] ?? x, xs[i + 1] ?? x, Math.sign(here)));
    }
  }
  return found.map((x) => Math.expm1(x));
}

/** Present value at rate e^x - 1, times a positive factor that prevents overflow for either sign of x. */
function balanced(flows: readonly number[], x: number): number {
  const factor = Math.exp(-Math.abs(x));
  let value = 0;
  for (let t = 0; t < flows.length; t++) value = value * factor + (flows[x >= 0 ? flows.length - 1 - t : t] ?? 0);
  return value;
}

function bisect(at: (x: number) => number, from: number, to: number): number {
  let [low, high] = [from, to];
  const sign = Math.sign(at(low));
  // 90 halvings of an interval below 400 (the logarithm of any double, either way) reach its last bit.
  for (let i = 0; i < 90; i++) {
    const middle = (low + high) / 2;
    if (Math.sign(at(middle)) === sign) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** The two roots, or the double root, around the turning point nearest to zero; none when it stays away from zero. */
function turning(at: (x: number) => number, from: number, to: number, sign: number): number[] {
  let [low, high] = [from, to];
  for (let i = 0; i < 100; i++) {
    const [a, b] = [low + (high - low) / 3, high - (high - low) / 3];
    if (at(a) * sign < at(b) * sign) high = b;
    else low = a;
  }
  const x = (low + high) / 2;
  const value = at(x) * sign;
  // 1e-13 of the largest flow: the rounding error at a double root.
  if (Math.abs(value) < 1e-13) return [x];
  return value < 0 ? [bisect(at, from, x), bisect(at, x, to)] : [];
}

export const total = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);

/** Density. */
export const density = (x: number): number => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);

/** P(X <= x). Series of Marsaglia, Evaluating the Normal Distribution, 2004: exact to about 1e-15. */
export function cumulative(x: number): number {
  // Beyond 8 the tail is below 1e-15 and the series would only cancel out.
  if (Math.abs(x) > 8) return x < 0 ? 0 : 1;
  let [total, term] = [x, x];
  for (let k = 3; total + term !== total; k += 2) {
    term *= (x * x) / k;
    total += term;
  }
  return 0.5 + total * density(x);
}

/** Draws between 0 and 1, the same on every machine: mulberry32 (Tommy Ettinger, public domain). Not for secrets. */
export function uniforms(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Standard normal draws: Box-Muller. Not for secrets. */
export function normals(seed: number): () => number {
  const uniform = uniforms(seed);
  let spare: number | null = null;
  return () => {
    if (spare !== null) {
      const kept = spare;
      spare = null;
      return kept;
    }
    // 1 - u is above zero, where the logarithm exists.
    const radius = Math.sqrt(-2 * Math.log(1 - uniform()));
    const angle = 2 * Math.PI * uniform();
    spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  };
}
