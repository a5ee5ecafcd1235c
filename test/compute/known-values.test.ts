/** Values from books, laws and worked examples that the vectors do not have. */
import { expect, it } from "vitest";
import type { Json } from "../../runtime/ports.ts";
import { compute } from "./vectors.ts";

it.each<[string, string, Json, Json]>([
  [
    "a variance at the threshold to the last decimal does not exceed it",
    "compute_variance_check",
    { invoiced: "52340.00", po_amount: "51200.00", threshold_pct: "2.2265625" },
    { exceeds: false, pct: "2.226563", pct_exact: "2.2265625", direction: "over" },
  ],
  [
    "a JPY loan has no decimals",
    "compute_payment_plan_summary",
    { principal: "100000", annual_rate_pct: 3, months: 12, currency: "JPY" },
    { monthly_payment: "8469" },
  ],
  [
    "a California week of 52 hours in four days",
    "compute_hr_overtime",
    { rule: "california", daily_hours: [13, 13, 13, 13, 0, 0, 0], hourly_rate: "28.00" },
    { result: "1792.00", regular_hours: "32", overtime_hours: "16", double_time_hours: "4" },
  ],
  [
    // 29 CFR 778.110(b): 46 hours at 12.00 with a bonus of 46.00 are a regular rate of 13.00, 637.00 in all.
    "a bonus belongs to the regular rate of the federal rule",
    "compute_hr_overtime",
    { rule: "flsa", hours_worked: 46, hourly_rate: "12.00", nondiscretionary_pay: "46.00" },
    { result: "637.00" },
  ],
  [
    "the demo's downtime",
    "compute_ops_uptime",
    { total_minutes_in_period: 43200, downtime_minutes: "388.8", incident_count: 3 },
    { result: "99.1", nines: 2 },
  ],
  [
    "Social Security ends at the wage base",
    "compute_tax_bands",
    { country: "US", year: 2025, scheme: "social_security", income: "250000" },
    { result: "10918.20" },
  ],
  [
    "FICA of an employee above all thresholds",
    "compute_tax_bands",
    { country: "US", year: 2026, income: "250000.00" },
    // 11,439.00 + 3,625.00 + 0.9 % of 50,000
    { result: "15514.00", net: "234486.00", currency: "USD" },
  ],
  [
    // Income tax 7,540 + 3,892; National Insurance 3,016 + 194.60
    "PAYE and National Insurance on 60,000 pounds",
    "compute_tax_bands",
    { country: "GB", year: 2025, income: "60000.00" },
    { result: "14642.60" },
  ],
  [
    "the personal allowance is gone at 125,140",
    "compute_tax_bands",
    { country: "GB", year: 2025, scheme: "income_tax", income: "125140" },
    { result: "42516.00" },
  ],
  [
    "the employer's share",
    "compute_tax_bands",
    { country: "GB", year: 2026, scheme: "national_insurance_employer", income: "30000" },
    { result: "3750.00", net: null },
  ],
  ["a flat rate", "compute_tax_bands", { country: "BG", year: 2025, income: "24000.00" }, { result: "2400.00", effective_rate_pct: "10" }],
  [
    "Newton finds the root near its guess",
    "compute_finance_newton_raphson",
    { cash_flows: ["-100", "230", "-132"], guess: 21 },
    { converged: true },
  ],
])("%s", async (_, name, params, expected) => {
  expect(await compute(name, params)).toMatchObject(expected as object);
});

it("pairwise comparisons give Saaty's weights, and contradictions are flagged", async () => {
  const found = (await compute("compute_risk_ahp", {
    matrix: [
      [1, 3, 5],
      [1 / 3, 1, 3],
      [1 / 5, 1 / 3, 1],
    ],
  })) as { result: number[]; consistency_ratio: number; consistent: boolean };
  expect(found.result.map((one) => Number(one.toFixed(3)))).toEqual([0.637, 0.258, 0.105]);
  expect(Number(found.consistency_ratio.toFixed(3))).toBe(0.033);
  expect(found.consistent).toBe(true);
  const circle = await compute("compute_risk_ahp", {
    matrix: [
      [1, 5, 1 / 5],
      [1 / 5, 1, 5],
      [5, 1 / 5, 1],
    ],
  });
  expect(circle).toMatchObject({ consistent: false });
  const large = (await compute("compute_risk_ahp", { matrix: Array.from({ length: 15 }, () => Array(15).fill(1)) })) as {
    result: number[];
  };
  expect(large.result.map((one) => Number(one.toFixed(9)))).toEqual(Array(15).fill(0.066666667));
});

it("Newton's method answers the root nearest its guess and lists the others", async () => {
  const at = async (guess: number) =>
    (await compute("compute_finance_newton_raphson", { cash_flows: ["-100", "230", "-132"], guess })) as {
      result: number;
      all_roots: number[];
    };
  expect((await at(21)).result).toBeCloseTo(20, 6);
  expect((await at(5)).result).toBeCloseTo(10, 6);
  expect((await at(5)).all_roots.map((one) => Number(one.toFixed(6)))).toEqual([10, 20]);
});

it("a double root is found although the curve only touches zero", async () => {
  expect(await compute("compute_finance_irr", { cash_flows: ["-100", "220", "-121"] })).toMatchObject({
    result: expect.closeTo(10, 3) as number,
  });
});

it("a simulation is decided by its seed, and its mean lies where theory puts it", async () => {
  const run = async (seed: number, more: object = {}) =>
    (await compute("compute_finance_monte_carlo", { s0: 100, mu: 0.05, sigma: 0.2, T: 1, seed, ...more })) as { mean: number; std: number };
  const first = await run(7);
  expect(await run(7)).toEqual(first);
  expect((await run(8)).mean).not.toBe(first.mean);
  for (const seed of [1, 2, 3]) {
    const { mean, std } = await run(seed, { n_paths: 10_000, n_steps: 20 });
    expect(Math.abs(mean - 100 * Math.exp(0.05))).toBeLessThan((4 * std) / 100);
  }
  const started = performance.now();
  await run(1);
  expect(performance.now() - started).toBeLessThan(10_000);
});
