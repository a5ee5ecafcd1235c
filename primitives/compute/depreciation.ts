/**
 * Depreciation in the books and for tax. Every schedule is rounded cumulatively where its method is linear, so the last book value is
 * the salvage value to the cent and no month differs from another by more than one.
 */
import { z } from "zod";
import { nonNegativeMoney } from "../_shapes.ts";
import { amount, amounts, defineCompute, placesOf, refuse } from "./declare.ts";
import { exact, least, most, percentOf, round, share, sum } from "./exact.ts";
import { count, fields, inCurrency, moneyOut, percentTo100 } from "./shapes.ts";

const cost = nonNegativeMoney.describe("what the asset cost");
const salvage = nonNegativeMoney.describe("value at the end of its life");
const lifeMonths = count(1, 1200).describe("useful life in months");

/** What is written off in all. */
function base(p: { cost: string }, salvageValue: string): bigint {
  const value = exact(p.cost) - exact(salvageValue);
  return value < 0n ? refuse("salvage_above_cost", `The salvage value ${salvageValue} is above the cost ${p.cost}.`) : value;
}

/** r(total k/n) - r(total (k-1)/n): the parts add up to the total whatever it is. */
function linear(total: bigint, n: number, places: number): bigint[] {
  const upTo = (k: number): bigint => (k === n ? total : round(share(total, BigInt(k), BigInt(n)), places));
  return Array.from({ length: n }, (_, k) => upTo(k + 1) - upTo(k));
}

export const compute_straight_line_depreciation = defineCompute({
  name: "compute_straight_line_depreciation",
  summary: "Depreciation a month, straight line; use compute_depreciation_schedule for amounts that add up.",
  params: z.object({ cost, salvage, useful_life_months: lifeMonths, ...inCurrency }),
  returns: moneyOut,
  example: `compute_straight_line_depreciation({ cost: "34547.04", salvage: "95.00", useful_life_months: 24 })`,
  run: (p) => amount(share(base(p, p.salvage), 1n, BigInt(p.useful_life_months)), p),
});

export const compute_depreciation_schedule = defineCompute({
  name: "compute_depreciation_schedule",
  summary: "Straight-line depreciation month by month; ends exactly at the salvage value.",
  params: z.object({ cost, salvage, useful_life_months: lifeMonths, ...inCurrency }),
  returns: z.array(z.object({ month: z.number(), depreciation: moneyOut, book_value: moneyOut })),
  example: `compute_depreciation_schedule({ cost: "6000.00", salvage: "600.00", useful_life_months: 9 })`,
  run(p) {
    let book = exact(p.cost);
    return linear(base(p, p.salvage), p.useful_life_months, placesOf(p)).map((part, i) => {
      book -= part;
      return { month: i + 1, depreciation: amount(part, p), book_value: amount(book, p) };
    });
  },
});

export const compute_finance_depreciation = defineCompute({
  name: "compute_finance_depreciation",
  summary: "Depreciation year by year: straight line, double declining balance or sum of the years' digits.",
  params: z.object({
    cost,
    salvage_value: salvage,
    useful_life: count(1, 100).describe("useful life in years"),
    method: z.enum(["sl", "ddb", "soyd"]).default("sl").describe("straight line, double declining balance, sum of years' digits"),
    ...inCurrency,
  }),
  returns: z.object({
    result: moneyOut.describe("depreciation of the first year"),
    schedule: z.array(moneyOut).describe("one amount a year"),
    ending_book_value: moneyOut,
  }),
  example: `compute_finance_depreciation({ cost: "10000.00", salvage_value: "1000.00", useful_life: 5, method: "ddb" })`,
  run(p) {
    const total = base(p, p.salvage_value);
    const places = placesOf(p);
    const methods = {
      sl: () => linear(total, p.useful_life, places),
      ddb: () => declining(exact(p.cost), total, p.useful_life, places),
      soyd: () => digits(total, p.useful_life, places),
    };
    const years = methods[p.method]();
    return {
      result: amount(years[0] ?? 0n, p),
      schedule: years.map((one) => amount(one, p)),
      ending_book_value: amount(exact(p.cost) - sum(years), p),
    };
  },
});

/** 2/n of the book value, straight line over the rest once that is more, never below salvage (Kieso, Intermediate Accounting, ch. 11). */
function declining(cost: bigint, total: bigint, n: number, places: number): bigint[] {
  let [book, left] = [cost, total];
  return Array.from({ length: n }, (_, k) => {
    const even = k === n - 1 ? left : left / BigInt(n - k);
    const part = least(left, round(most(share(book, 2n, BigInt(n)), even), places));
    [book, left] = [book - part, left - part];
    return part;
  });
}

/** Year k takes (n - k + 1) of n (n + 1) / 2 parts; rounded cumulatively. */
function digits(total: bigint, n: number, places: number): bigint[] {
  const all = BigInt((n * (n + 1)) / 2);
  let [taken, parts] = [0n, 0n];
  return Array.from({ length: n }, (_, k) => {
    parts += BigInt(n - k);
    const upTo = k === n - 1 ? total : round(share(total, parts, all), places);
    const part = upTo - taken;
    taken = upTo;
    return part;
  });
}

/** IRS Publication 946, table A-1: 5-year property, half-year convention, percent of the cost. */
const MACRS_5_HALF_YEAR = ["20", "32", "19.2", "11.52", "11.52", "5.76"] as const;

export const compute_tax_depreciation_tax = defineCompute({
  name: "compute_tax_depreciation_tax",
  summary: "Capital allowances for tax year by year, by reducing balance, straight line or the MACRS 5-year table.",
  params: z.object({
    asset_cost: cost,
    years: count(1, 100).describe("years to show; the MACRS table has 6"),
    method: z.enum(["reducing_balance", "straight_line", "macrs_5yr_half_year"]).describe("how the allowance is found"),
    allowance_rate: percentTo100.optional().describe("allowance a year in percent; not for MACRS, which has its own table"),
    ...inCurrency,
  }),
  returns: z.object({
    result: moneyOut.describe("allowance of the first year"),
    schedule: z.array(moneyOut).describe("one allowance a year"),
    annual_schedule: z.array(z.object({ year: z.number(), allowance: moneyOut, tax_base: moneyOut })),
    ...fields(moneyOut, "total_allowances", "final_tax_base"),
  }),
  example: `compute_tax_depreciation_tax({ asset_cost: "10000.00", allowance_rate: 25, years: 4, method: "reducing_balance" })`,
  run(p) {
    const [total, places, rate] = [exact(p.asset_cost), placesOf(p), p.allowance_rate === undefined ? null : exact(p.allowance_rate)];
    if (p.method !== "macrs_5yr_half_year" && rate === null) refuse("rate_missing", `allowance_rate: is needed for ${p.method}.`);
    if (p.method === "macrs_5yr_half_year" && p.years > MACRS_5_HALF_YEAR.length)
      refuse("years_out_of_range", `years: the MACRS 5-year table ends after ${MACRS_5_HALF_YEAR.length} years, not ${p.years}.`);
    let left = total;
    const rows = Array.from({ length: p.years }, (_, k) => {
      const of = p.method === "reducing_balance" ? left : total;
      const pct = p.method === "macrs_5yr_half_year" ? exact(MACRS_5_HALF_YEAR[k] ?? "0") : (rate ?? 0n);
      // The last year of the table takes the rest, which rounding has moved by cents.
      const last = p.method === "macrs_5yr_half_year" && k === MACRS_5_HALF_YEAR.length - 1;
      const allowance = last ? left : least(left, round(percentOf(of, pct), places));
      left -= allowance;
      return { year: k + 1, allowance: amount(allowance, p), tax_base: amount(left, p) };
    });
    return {
      result: rows[0]?.allowance ?? amount(0n, p),
      schedule: rows.map((one) => one.allowance),
      annual_schedule: rows,
      ...amounts(p, { total_allowances: total - left, final_tax_base: left }),
    };
  },
});
