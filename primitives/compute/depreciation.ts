/**
 * Depreciation for the books and for tax. A schedule with fixed shares is rounded cumulatively, so the last book value is the
 * salvage value to the cent and no row differs from its exact value by more than one cent.
 */
import { z } from "zod";
import { nonNegativeMoney } from "../_shapes.ts";
import { amount, amounts, defineCompute, placesOf, refuse, settled, spread } from "./declare.ts";
import { exact, HUNDRED, least, most, percentOf, round, share, sum } from "../../runtime/kernel/exact.ts";
import { count, fields, inCurrency, moneyOut, percentTo100 } from "./shapes.ts";

const cost = nonNegativeMoney.describe("purchase cost of the asset");
const salvage = nonNegativeMoney.describe("value at the end of its life");
const lifeMonths = count(1, 1200).describe("useful life in months");

/** The total to depreciate. */
function base(p: { cost: string; currency?: string | undefined }, salvageValue: string): bigint {
  const value = settled(p.cost, p) - settled(salvageValue, p);
  return value < 0n ? refuse("salvage_above_cost", `The salvage value ${salvageValue} is above the cost ${p.cost}.`) : value;
}

/** Straight line: every period weighs the same. */
const even = (n: number): bigint[] => Array.from({ length: n }, () => 1n);

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
    let book = settled(p.cost, p);
    return spread(base(p, p.salvage), even(p.useful_life_months), p).map((part, i) => {
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
    const [cost, total, n] = [settled(p.cost, p), base(p, p.salvage_value), p.useful_life];
    const methods = {
      sl: () => spread(total, even(n), p),
      ddb: () => declining(cost, total, n, placesOf(p)),
      // Year k takes (n - k + 1) of n (n + 1) / 2 parts.
      soyd: () =>
        spread(
          total,
          even(n).map((_, k) => BigInt(n - k)),
          p,
        ),
    };
    const years = methods[p.method]();
    return {
      ...amounts(p, { result: years[0] ?? 0n, ending_book_value: cost - sum(years) }),
      schedule: years.map((one) => amount(one, p)),
    };
  },
});

/** 2/n of the book value, straight line over the rest once that is greater, never below salvage (Kieso, Intermediate Accounting, ch. 11). */
function declining(cost: bigint, total: bigint, n: number, places: number): bigint[] {
  let [book, left] = [cost, total];
  return Array.from({ length: n }, (_, k) => {
    const even = k === n - 1 ? left : left / BigInt(n - k);
    const part = least(left, round(most(share(book, 2n, BigInt(n)), even), places));
    [book, left] = [book - part, left - part];
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
    const [total, rate, macrs] = [settled(p.asset_cost, p), exact(p.allowance_rate ?? 0), p.method === "macrs_5yr_half_year"];
    if (!macrs && p.allowance_rate === undefined) refuse("rate_missing", `allowance_rate: is needed for ${p.method}.`);
    if (macrs && p.years > MACRS_5_HALF_YEAR.length)
      refuse("years_out_of_range", `years: the MACRS 5-year table ends after ${MACRS_5_HALF_YEAR.length} years, not ${p.years}.`);
    const table = macrs ? spread(total, MACRS_5_HALF_YEAR.map(exact), p) : [];
    let left = total;
    const rows = Array.from({ length: p.years }, (_, k) => {
      const share = round(percentOf(p.method === "reducing_balance" ? left : total, rate), placesOf(p));
      // The year that reaches 100 % takes the rest: four years of 25 % leave nothing.
      const ends = p.method === "straight_line" && rate * BigInt(k + 1) >= HUNDRED;
      const allowance = table[k] ?? (ends ? left : least(left, share));
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
