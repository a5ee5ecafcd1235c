/** Statistics, in doubles: scores, weighted means, regression. Undefined results are refused or null, never NaN. */
import { z } from "zod";
import { defineCompute, finite, refuse } from "./declare.ts";
import { cumulative, total } from "./roots.ts";
import { fields, list, real } from "./shapes.ts";

const numbers = (min: number) => list(real(), min, 100_000);

export const compute_stats_zscore = defineCompute({
  name: "compute_stats_zscore",
  summary: "How many standard deviations a value lies from the mean, and its percentile if values are normal.",
  params: z.object({
    value: real().describe("the value"),
    mean: real().describe("mean of all values"),
    std_dev: real(0).describe("standard deviation of all values"),
  }),
  returns: z.object({
    result: z.number().describe("z-score"),
    z_score: z.number(),
    percentile: z.number().describe("0 to 100, of a normal distribution"),
    interpretation: z.enum(["usual", "unusual", "extreme"]).describe("within 2, within 3, beyond 3 standard deviations"),
  }),
  example: "compute_stats_zscore({ value: 130, mean: 100, std_dev: 15 })",
  run(p) {
    if (Number(p.std_dev) === 0) refuse("zero_std_dev", "std_dev: is 0; without spread there is no score.");
    const score = finite((Number(p.value) - Number(p.mean)) / Number(p.std_dev));
    const away = Math.abs(score);
    return {
      result: score,
      z_score: score,
      percentile: cumulative(score) * 100,
      interpretation: away <= 2 ? "usual" : away <= 3 ? "unusual" : "extreme",
    };
  },
});

export const compute_stats_weighted_avg = defineCompute({
  name: "compute_stats_weighted_avg",
  summary: "Weighted mean; the weights need not add up to one.",
  params: z.object({
    values: numbers(1).describe("the values"),
    weights: list(real(0), 1, 100_000).describe("one weight for each value, in the same order"),
  }),
  returns: z.object({
    result: z.number().describe("weighted mean"),
    ...fields(z.number(), "weighted_avg", "sum_of_weights", "weighted_sum"),
  }),
  example: "compute_stats_weighted_avg({ values: [80, 90, 70], weights: [0.5, 0.3, 0.2] })",
  run(p) {
    if (p.values.length !== p.weights.length)
      refuse("length_mismatch", `There are ${p.values.length} values and ${p.weights.length} weights; give one weight for each value.`);
    const weights = p.weights.map(Number);
    const [weight, weighted] = [total(weights), total(p.values.map((value, i) => Number(value) * (weights[i] ?? 0)))];
    if (weight === 0) refuse("zero_weight", "weights: add up to 0.");
    const mean = finite(weighted / weight);
    return { result: mean, weighted_avg: mean, sum_of_weights: weight, weighted_sum: weighted };
  },
});

export const compute_stats_regression = defineCompute({
  name: "compute_stats_regression",
  summary: "Line through points by least squares, and its value one step beyond the last point.",
  params: z.object({
    x_values: numbers(2).describe("x of each point"),
    y_values: numbers(2).describe("y of each point, in the same order"),
  }),
  returns: z.object({
    result: z.number().describe("slope"),
    ...fields(z.number(), "slope", "intercept"),
    r_squared: z.number().nullable().describe("share of the spread that the line explains; null when all values are equal"),
    equation_str: z.string(),
    predict_next: z.number().describe("value at the last x + 1"),
  }),
  example: "compute_stats_regression({ x_values: [1, 2, 3, 4], y_values: [2, 4, 6, 8] })",
  run(p) {
    if (p.x_values.length !== p.y_values.length)
      refuse("length_mismatch", `There are ${p.x_values.length} x and ${p.y_values.length} y; give one y for each x.`);
    const [xs, ys] = [p.x_values.map(Number), p.y_values.map(Number)];
    const [meanX, meanY] = [total(xs) / xs.length, total(ys) / ys.length];
    // Least squares about the means, which loses fewer digits than sums of squares.
    const dx = xs.map((x) => x - meanX);
    const dy = ys.map((y) => y - meanY);
    const product = (a: readonly number[], b: readonly number[]): number => total(a.map((one, i) => one * (b[i] ?? 0)));
    const [xx, xy, yy] = [product(dx, dx), product(dx, dy), product(dy, dy)];
    if (xx === 0) refuse("zero_variance_x", "x_values: are all equal, so no line can be fitted.");
    const slope = finite(xy / xx);
    const intercept = finite(meanY - slope * meanX);
    const flat = ys.every((y) => y === ys[0]);
    return {
      result: slope,
      slope,
      intercept,
      r_squared: flat || yy === 0 ? null : Math.min(1, finite((xy / xx) * (xy / yy))),
      equation_str: `y = ${Number(slope.toPrecision(6))} x ${intercept < 0 ? "-" : "+"} ${Number(Math.abs(intercept).toPrecision(6))}`,
      predict_next: finite(intercept + slope * ((xs.at(-1) ?? 0) + 1)),
    };
  },
});
