/** Scores and shares of risk, in doubles: a weighted score, concentration, and weights from pairwise comparisons (AHP). */
import { z } from "zod";
import { text } from "../_shapes.ts";
import { defineCompute, finite, refuse } from "./declare.ts";
import { total } from "./roots.ts";
import { count, fields, list, real } from "./shapes.ts";

/** Doubles carry noise in their last digits; bands are decided on twelve. */
const clean = (value: number): number => Number(finite(value).toPrecision(12));

const bandLimits = z.object({ medium: real(0, 100), high: real(0, 100), critical: real(0, 100) }).strict();

export const compute_risk_weighted_score = defineCompute({
  name: "compute_risk_weighted_score",
  summary: "Weighted risk score, in percent of the scale and as a band.",
  params: z.object({
    factors: list(
      z.object({
        name: text.describe("what is scored"),
        score: real(0).describe("0 to scale_max"),
        weight: real(0).describe("any scale; weights are normalised"),
      }),
      1,
      1000,
    ).describe("components of the score"),
    scale_max: real(0, 1e9, "open").default(10).describe("highest score"),
    bands: bandLimits.default({ medium: 25, high: 50, critical: 75 }).describe("percent from which a band begins"),
  }),
  returns: z.object({
    result: z.number().describe("composite score"),
    ...fields(z.number(), "composite_score", "score_pct"),
    risk_band: z.enum(["Low", "Medium", "High", "Critical"]),
    factor_breakdown: z.array(z.object({ name: z.string(), weight: z.number().describe("normalised"), contribution: z.number() })),
  }),
  example: `compute_risk_weighted_score({ factors: [{ name: "pep", score: 8, weight: "0.4" }, { name: "geo", score: 5, weight: "0.6" }] })`,
  run(p) {
    const [max, weights] = [Number(p.scale_max), total(p.factors.map((one) => Number(one.weight)))];
    if (weights === 0) refuse("zero_weight", "factors: their weights add up to 0.");
    const high = p.factors.find((one) => Number(one.score) > max);
    if (high !== undefined) refuse("score_out_of_range", `factors: the score ${high.score} of "${high.name}" is above scale_max ${max}.`);
    const [medium, upper, critical] = [Number(p.bands.medium), Number(p.bands.high), Number(p.bands.critical)];
    if (medium > upper || upper > critical) refuse("bands_out_of_order", "bands: medium, high and critical must rise.");
    const parts = p.factors.map((one) => ({
      name: one.name,
      weight: Number(one.weight) / weights,
      contribution: (Number(one.score) * Number(one.weight)) / weights,
    }));
    const score = clean(total(parts.map((one) => one.contribution)));
    const pct = clean((score / max) * 100);
    return {
      result: score,
      composite_score: score,
      score_pct: pct,
      risk_band: pct < medium ? "Low" : pct < upper ? "Medium" : pct < critical ? "High" : "Critical",
      factor_breakdown: parts,
    };
  },
});

export const compute_risk_concentration = defineCompute({
  name: "compute_risk_concentration",
  summary: "Concentration of shares: Herfindahl index, normalised index and the share of the largest.",
  params: z.object({
    shares: list(real(0), 1).describe("any scale; normalised to percent"),
    top_n: count(1, 10_000).default(3).describe("how many of the largest to add up"),
    moderate_from: real(0, 10_000).default(1500).describe("index from which concentration is moderate; US guidelines of 2023: 1000"),
    high_above: real(0, 10_000).default(2500).describe("index above which it is high; same guidelines: 1800"),
  }),
  returns: z.object({
    result: z.number().describe("Herfindahl index, 0 to 10,000"),
    hhi: z.number(),
    hhi_normalized: z.number().nullable().describe("0 for equal shares, 1 for one holder; null for a single share"),
    top_n_concentration_pct: z.number(),
    risk_band: z.enum(["Low", "Moderate", "High"]),
    shares_pct: z.array(z.number()).describe("in the order given"),
  }),
  example: "compute_risk_concentration({ shares: [50, 30, 20], top_n: 2 })",
  run(p) {
    const given = p.shares.map(Number);
    const all = total(given);
    if (all === 0) refuse("zero_total", "shares: add up to 0.");
    const pct = given.map((one) => (one / all) * 100);
    const hhi = clean(total(pct.map((one) => one * one)));
    const even = 1 / pct.length;
    return {
      result: hhi,
      hhi,
      hhi_normalized: pct.length === 1 ? null : clean(Math.max(0, (hhi / 10_000 - even) / (1 - even))),
      top_n_concentration_pct: clean(total(pct.toSorted((a, b) => b - a).slice(0, p.top_n))),
      risk_band: hhi < Number(p.moderate_from) ? "Low" : hhi <= Number(p.high_above) ? "Moderate" : "High",
      shares_pct: pct.map(clean),
    };
  },
});

/** Mean consistency index of random matrices by size (Saaty, The Analytic Hierarchy Process, 1980). */
const RANDOM_INDEX = [0, 0, 0, 0.58, 0.9, 1.12, 1.24, 1.32, 1.41, 1.45, 1.49, 1.51, 1.48, 1.56, 1.57, 1.59] as const;
/** Allowed distance of a_ij * a_ji from 1: accepts a third written as 0.33. */
const RECIPROCAL_TOLERANCE = 0.02;

export const compute_risk_ahp = defineCompute({
  name: "compute_risk_ahp",
  summary: "Weights from pairwise comparisons by the analytic hierarchy process; flagged when the comparisons contradict each other.",
  params: z.object({
    matrix: list(list(real(1 / 9.5, 9.5), 1, 15), 1, 15).describe(
      "row i, column j: how much more i matters than j, 1 to 9; the mirrored entry is its reciprocal",
    ),
    names: list(text, 1, 15).optional().describe("names of the rows"),
  }),
  returns: z.object({
    result: z.array(z.number()).describe("weights in the order of the rows; they add up to 1"),
    weights: z.array(z.object({ name: z.string(), weight: z.number() })),
    ...fields(z.number(), "lambda_max", "consistency_index", "consistency_ratio"),
    consistent: z.boolean().describe("false: the ratio is above 0.10; compare again"),
  }),
  example: `compute_risk_ahp({ matrix: [[1, 3, 5], [1 / 3, 1, 3], [1 / 5, 1 / 3, 1]], names: ["credit", "market", "fraud"] })`,
  run(p) {
    const rows = p.matrix.map((row) => row.map(Number));
    const n = rows.length;
    if (rows.some((row) => row.length !== n)) refuse("not_square", `matrix: has ${n} rows; each needs ${n} entries.`);
    if (p.names !== undefined && p.names.length !== n) refuse("length_mismatch", `names: has ${p.names.length} names for ${n} rows.`);
    const at = (i: number, j: number): number => rows[i]?.[j] ?? 0;
    for (let i = 0; i < n; i++) {
      for (let j = i; j < n; j++) {
        if (Math.abs(at(i, j) * at(j, i) - 1) > RECIPROCAL_TOLERANCE) {
          const problem = i === j ? "must be 1" : `and [${j}][${i}] ${at(j, i)} must multiply to 1`;
          refuse("not_reciprocal", `matrix: [${i}][${j}] ${at(i, j)} ${problem}.`);
        }
      }
    }
    const weights = principal(rows);
    const lambda = clean(total(rows.map((row) => total(row.map((one, j) => one * (weights[j] ?? 0))))));
    const index = n < 2 ? 0 : Math.max(0, clean((lambda - n) / (n - 1)));
    const ratio = n < 3 ? 0 : clean(index / (RANDOM_INDEX[n] ?? 1));
    return {
      result: weights.map(clean),
      weights: weights.map((weight, i) => ({ name: p.names?.[i] ?? String(i + 1), weight: clean(weight) })),
      lambda_max: lambda,
      consistency_index: index,
      consistency_ratio: ratio,
      consistent: ratio <= 0.1,
    };
  },
});

/** Principal eigenvector, its entries adding up to 1, by power iteration: a positive matrix has exactly one (Perron). */
function principal(rows: readonly (readonly number[])[]): number[] {
  let vector = rows.map(() => 1 / rows.length);
  for (let i = 0; i < 1000; i++) {
    const next = rows.map((row) => total(row.map((one, j) => one * (vector[j] ?? 0))));
    const size = total(next);
    const scaled = next.map((one) => one / size);
    const moved = Math.max(...scaled.map((one, j) => Math.abs(one - (vector[j] ?? 0))));
    vector = scaled;
    if (moved < 1e-15) break;
  }
  return vector;
}
