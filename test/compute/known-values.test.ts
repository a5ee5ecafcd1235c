/** Values from books, laws and worked examples that the vectors do not have. */
import { describe, expect, it } from "vitest";
import type { Json } from "../../runtime/kernel/ports.ts";
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

it("Newton's method returns the root nearest its guess and lists the others", async () => {
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

it("a simulation is determined by its seed, and its mean is where theory puts it", async () => {
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

describe("an amount in another currency", () => {
  const rate = { base: "EUR", quote: "USD", value: "1.0842", date: "2026-03-02", source: "ECB" };
  const fx = (more: object) =>
    compute("compute_fx_convert", { amount: "100.00", from: "EUR", to: "USD", rate, on: "2026-03-03", ...more } as Json);

  it.each<[string, object, object]>([
    ["multiplies by a rate of its direction", {}, { result: "108.42", currency: "USD", rate_used: "1.0842", rate_date: "2026-03-02" }],
    ["divides by a rate of the other one, not by its rounded inverse", { amount: "108.42", from: "USD", to: "EUR" }, { result: "100.00" }],
    ["has the decimals of its currency", { rate: { ...rate, quote: "JPY", value: "162.345" }, to: "JPY" }, { result: "16235" }],
    ["is below zero for a credit note", { amount: "-0.05" }, { result: "-0.05" }],
  ])("%s", async (_, more, expected) => expect(await fx(more)).toMatchObject(expected));

  it.each<[string, object, string]>([
    ["of another pair", { to: "GBP" }, "rate_of_other_pair"],
    ["of one currency", { rate: { ...rate, quote: "EUR" }, to: "EUR" }, "rate_of_other_pair"],
    ["of a later day", { on: "2026-03-01" }, "rate_of_later_day"],
    ["too old", { on: "2026-03-10" }, "rate_too_old"],
  ])("is refused with a rate %s", async (_, more, reason) => {
    await expect(fx(more)).rejects.toMatchObject({ code: "COMPUTE_RANGE", data: { reason } });
  });
});

it.each<[string, string, Json, Json]>([
  [
    "MACRS rows are rounded cumulatively and add up to the basis",
    "compute_tax_depreciation_tax",
    { asset_cost: "1000.03", years: 6, method: "macrs_5yr_half_year" },
    { schedule: ["200.01", "320.01", "192.00", "115.20", "115.21", "57.60"], total_allowances: "1000.03", final_tax_base: "0.00" },
  ],
  [
    "four years of 25 % leave nothing",
    "compute_tax_depreciation_tax",
    { asset_cost: "100.01", allowance_rate: 25, years: 5, method: "straight_line" },
    { schedule: ["25.00", "25.00", "25.00", "25.01", "0.00"], final_tax_base: "0.00" },
  ],
  [
    "the VAT of a credit note",
    "compute_tax_vat",
    { amount: "-107.49", vat_rate: "7.5", mode: "extract" },
    { result: "-7.50", net_amount: "-99.99" },
  ],
  [
    "half a cent of a credit note",
    "compute_tax_vat",
    { amount: "-0.10", vat_rate: 5, mode: "add" },
    { result: "-0.01", gross_amount: "-0.11" },
  ],
  [
    "withholding that is taken back",
    "compute_tax_withholding",
    { amount: "-850.00", withholding_rate: 15, mode: "gross_up" },
    { result: "-150.00", gross_amount: "-1000.00", effective_rate_pct: "15" },
  ],
  [
    "benefits without a salary are a cost; only their percentage is undefined",
    "compute_hr_benefits_cost",
    { base_salary: "0", health_insurance_monthly: "800.00", retirement_match_pct: 3 },
    { result: "9600.00", total_cost: "9600.00", burden_rate_pct: null },
  ],
  [
    "attrition where nobody left needs no mean",
    "compute_hr_headcount",
    { full_time_count: 3, separations_in_period: 0, avg_headcount_in_period: 0, period_months: 12 },
    { result: "3", period_attrition_rate_pct: "0", annualized_attrition_rate_pct: "0" },
  ],
  ["a return of a million percent is found", "compute_finance_irr", { cash_flows: ["-1", "10001"] }, { result: 1_000_000 }],
  ["a loss of all but a millionth is found", "compute_finance_irr", { cash_flows: ["-1000000", "0.5"] }, { result: -99.99995 }],
  ["a return of nothing is zero", "compute_finance_irr", { cash_flows: ["0", "-1000", "0", "1000"] }, { result: 0 }],
  [
    "two returns far from each other are both found",
    "compute_finance_newton_raphson",
    // (1 + r) = 10000 and 1.5
    { cash_flows: ["-1", "10001.5", "-15000"], guess: 10 },
    { all_roots: [50, 999900] },
  ],
])("%s", async (_, name, params, expected) => {
  expect(await compute(name, params)).toMatchObject(expected as object);
});

it("an item at the same price and quantity is unchanged, however its price is written", async () => {
  const original_items = ["A", "B", "C", "D"].map((id) => ({ id, price: "10.00", quantity: 2 }));
  const modified_items = [
    { id: "A", price: "10", quantity: "2.0" },
    { id: "B", price: "5.00", quantity: 4 },
    { id: "C", price: "0.00", quantity: 2 },
    { id: "E", price: "0.00" },
  ];
  const { breakdown, net_delta } = (await compute("compute_net_price_delta", { original_items, modified_items, cancelled_ids: ["D"] })) as {
    breakdown: { id: string; action: string; delta: string }[];
    net_delta: string;
  };
  expect(breakdown.map(({ id, action, delta }) => `${id} ${action} ${delta}`)).toEqual([
    ...["A unchanged 0.00", "B modified 0.00", "C modified -20.00", "D cancelled -20.00", "E added 0.00"],
  ]);
  expect(net_delta).toBe("-40.00");
});
