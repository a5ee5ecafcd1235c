/** Sums of doubles, the normal distribution, and the one source of chance: a generator that is decided by its seed, so a replay draws the same. */

export const total = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);

/** Density. */
export const density = (x: number): number => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);

/** P(X <= x). Series of Marsaglia, Evaluating the Normal Distribution, 2004: exact to about 1e-15. */
export function cumulative(x: number): number {
  // Beyond 8 the tail is below 1e-15 and the series would only cancel.
  if (Math.abs(x) > 8) return x < 0 ? 0 : 1;
  let [total, term] = [x, x];
  for (let k = 3; total + term !== total; k += 2) {
    term *= (x * x) / k;
    total += term;
  }
  return 0.5 + total * density(x);
}

/** Standard normal draws: Box-Muller over mulberry32 (Tommy Ettinger, public domain). Not for secrets. */
export function normals(seed: number): () => number {
  let state = seed >>> 0;
  const uniform = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
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
