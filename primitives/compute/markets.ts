/**
 * Models of prices: simulation, options, value at risk. All in doubles, because a model is not an amount; only compute_finance_var
 * returns money, from observed returns. Only the seed decides a simulation.
 */
import { z } from "zod";
import { nonNegativeMoney } from "../_shapes.ts";
import { amounts, defineCompute, finite, refuse } from "./declare.ts";
import { exact, ONE, plain, share, sum, times } from "../../runtime/kernel/exact.ts";
import { cumulative, density, normals } from "./roots.ts";
import { count, exactOut, fields, figure, inCurrency, list, moneyOut, real } from "./shapes.ts";

/** Most draws of one call: 10,000 paths over the 252 trading days of a year take about 130 ms, and a call should end within 250. */
const DRAWS = 2_520_000;
const sigmaShape = real(0, 5).describe("volatility a year as a fraction: 0.2 is 20 %");

export const compute_finance_monte_carlo = defineCompute({
  name: "compute_finance_monte_carlo",
  summary: "Final value of a price that follows a geometric Brownian motion, simulated; the same seed gives the same answer.",
  params: z.object({
    s0: real(0, 1e12, "open").describe("price now"),
    mu: real(-5, 5).describe("drift a year as a fraction: 0.05 is 5 %"),
    sigma: sigmaShape,
    T: real(0, 100, "open").describe("years"),
    n_paths: count(1, 100_000).default(2000).describe(`paths; paths times steps at most ${DRAWS}`),
    n_steps: count(1, 10_000).default(52).describe("steps of a path"),
    seed: count(0, 4_294_967_295).default(1).describe("decides every draw"),
  }),
  returns: z.object({
    result: z.number().describe("mean final value"),
    mean: z.number(),
    std: z.number().describe("standard deviation of the final values"),
    var_95: z.number().describe("loss against the price now that 5 % of the paths exceed; below zero is a gain"),
    var_99: z.number(),
    paths_summary: z.object({ ...fields(z.number(), "min", "p5", "p25", "p50", "p75", "p95", "max", "n_paths", "n_steps", "seed") }),
  }),
  example: `compute_finance_monte_carlo({ s0: 100, mu: 0.05, sigma: 0.2, T: 1, seed: 7 })`,
  run(p) {
    if (p.n_paths * p.n_steps > DRAWS)
      refuse("too_many_draws", `n_paths times n_steps is ${p.n_paths * p.n_steps}; at most ${DRAWS} draws finish in time.`);
    const [s0, mu, sigma, dt] = [Number(p.s0), Number(p.mu), Number(p.sigma), Number(p.T) / p.n_steps];
    const draw = normals(p.seed);
    // d ln S = (mu - sigma^2/2) dt + sigma sqrt(dt) Z: exact for this process (Glasserman, Monte Carlo Methods, 3.2.3).
    const [drift, spread] = [(mu - (sigma * sigma) / 2) * dt, sigma * Math.sqrt(dt)];
    const finals = Float64Array.from({ length: p.n_paths }, () => {
      let logReturn = 0;
      for (let step = 0; step < p.n_steps; step++) logReturn += drift + spread * draw();
      return s0 * Math.exp(logReturn);
    }).sort();
    const mean = finite(finals.reduce((total, one) => total + one, 0) / finals.length);
    const variance = finals.reduce((total, one) => total + (one - mean) ** 2, 0) / Math.max(1, finals.length - 1);
    const at = (share: number): number => finals[Math.min(finals.length - 1, Math.floor(share * finals.length))] ?? 0;
    return {
      result: mean,
      mean,
      // Identical paths differ from their mean in its last bit.
      std: sigma === 0 ? 0 : finite(Math.sqrt(variance)),
      var_95: s0 - at(0.05),
      var_99: s0 - at(0.01),
      paths_summary: {
        ...{ min: at(0), p5: at(0.05), p25: at(0.25), p50: at(0.5), p75: at(0.75), p95: at(0.95), max: at(1) },
        ...{ n_paths: p.n_paths, n_steps: p.n_steps, seed: p.seed },
      },
    };
  },
});

export const compute_finance_black_scholes = defineCompute({
  name: "compute_finance_black_scholes",
  summary: "Price and Greeks of a European option without dividends.",
  params: z.object({
    S: real(0, 1e12, "open").describe("price of the underlying"),
    K: real(0, 1e12, "open").describe("strike price"),
    T: real(0, 100, "open").describe("years to expiry"),
    r: real(-1, 1).describe("risk-free rate a year as a fraction: 0.05 is 5 %"),
    sigma: real(0, 5, "open").describe("volatility a year as a fraction: 0.2 is 20 %"),
    option_type: z.enum(["call", "put"]).default("call"),
  }),
  returns: z.object({
    result: z.number().describe("price of the option"),
    ...fields(z.number(), "d1", "d2", "delta", "gamma", "theta_per_year"),
    vega_per_unit: z.number().describe("for a change of sigma by 1.00"),
    rho_per_unit: z.number().describe("for a change of r by 1.00"),
  }),
  example: `compute_finance_black_scholes({ S: 100, K: 100, T: 1, r: 0.05, sigma: 0.2, option_type: "call" })`,
  run(p) {
    const [S, K, T, r, sigma] = [Number(p.S), Number(p.K), Number(p.T), Number(p.r), Number(p.sigma)];
    const root = sigma * Math.sqrt(T);
    // Black & Scholes 1973; Greeks as in Hull, Options, Futures, and Other Derivatives, ch. 19.
    const d1 = finite((Math.log(S / K) + (r + (sigma * sigma) / 2) * T) / root);
    const d2 = d1 - root;
    const discounted = finite(K * Math.exp(-r * T));
    const side = p.option_type === "call" ? 1 : -1;
    const [n1, n2] = [cumulative(side * d1), cumulative(side * d2)];
    return {
      result: Math.max(0, side * (S * n1 - discounted * n2)),
      d1,
      d2,
      delta: side * n1,
      gamma: finite(density(d1) / (S * root)),
      theta_per_year: (-S * density(d1) * sigma) / (2 * Math.sqrt(T)) - side * r * discounted * n2,
      vega_per_unit: S * density(d1) * Math.sqrt(T),
      rho_per_unit: side * T * discounted * n2,
    };
  },
});

export const compute_finance_var = defineCompute({
  name: "compute_finance_var",
  summary: "Value at risk and expected shortfall from observed returns, without a model.",
  params: z.object({
    returns: list(real(-1, 1000), 1, 100_000).describe("observed returns as fractions: -0.05 is a loss of 5 %"),
    confidence_level: figure({ above: "0", to: "0.9999" }).describe("0.95 for 95 %"),
    portfolio_value: nonNegativeMoney.describe("value that is at risk"),
    ...inCurrency,
  }),
  returns: z.object({
    result: moneyOut.describe("value at risk; below zero: even that return is a gain"),
    cvar: moneyOut.describe("mean loss of the returns at or below it"),
    confidence_level: exactOut,
    ...fields(z.number(), "n_observations", "worst_return"),
  }),
  example: `compute_finance_var({ returns: [-0.05, -0.03, -0.02, -0.01, 0, 0.01, 0.02, 0.03, 0.04, 0.05], confidence_level: 0.9, portfolio_value: "100000.00" })`,
  run(p) {
    const sorted = p.returns.map(exact).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    // Historical simulation: index floor(n (1 - c)) of the ascending returns; the shortfall includes it (spec/worker.md 10.3).
    const index = Number((BigInt(sorted.length) * (ONE - exact(p.confidence_level))) / ONE);
    const cut = sorted[index] ?? 0n;
    const tail = sorted.filter((one) => one <= cut);
    const value = exact(p.portfolio_value);
    return {
      ...amounts(p, { result: -times(cut, value), cvar: -share(sum(tail), value, BigInt(tail.length) * ONE) }),
      confidence_level: plain(exact(p.confidence_level)),
      n_observations: sorted.length,
      worst_return: Number(plain(sorted[0] ?? 0n, 18)),
    };
  },
});
