/** Parts of an amount, also over time: they always add up to it, because one of them is the remainder (spec/worker.md 8.2, 35.1). */
import { z } from "zod";
import { money, nonNegativeMoney } from "../_shapes.ts";
import { amount, amounts, defineCompute, placesOf, refuse, settled } from "./declare.ts";
import { exact, least, ONE, percentOf, plain, round, share } from "../../runtime/kernel/exact.ts";
import { count, exactOut, figure, inCurrency, moneyOut, percentTo100 } from "./shapes.ts";

const days = figure({ from: "-100000", to: "100000" });

export const compute_percent_of = defineCompute({
  name: "compute_percent_of",
  summary: "A percentage of an amount, and the remainder.",
  params: z.object({ amount: money, pct: percentTo100.describe("2 is 2 %"), ...inCurrency }),
  returns: z.object({ result: moneyOut.describe("the part"), rest: moneyOut.describe("the amount without it") }),
  example: `compute_percent_of({ amount: "52340.00", pct: "2" })`,
  run(p) {
    const part = round(percentOf(exact(p.amount), exact(p.pct)), placesOf(p));
    return amounts(p, { result: part, rest: settled(p.amount, p) - part });
  },
});

export const compute_prorated_amount = defineCompute({
  name: "compute_prorated_amount",
  summary: "Remaining value of a period after some of its days are used.",
  params: z.object({
    total: money.describe("price of the whole period"),
    days_used: days.describe("days used; below 0 counts as 0, beyond the period as all of it"),
    total_days: figure({ above: "0", to: "100000" }).describe("days of the period, as the contract or the calendar has them"),
    ...inCurrency,
  }),
  returns: moneyOut.describe("value of the days not used"),
  example: `compute_prorated_amount({ total: "21375.99", days_used: 30, total_days: 366 })`,
  run(p) {
    const [used, all] = [exact(p.days_used), exact(p.total_days)];
    return amount(share(exact(p.total), used <= 0n ? all : used >= all ? 0n : all - used, all), p);
  },
});

export const compute_prorated_for_period = defineCompute({
  name: "compute_prorated_for_period",
  summary: "Amount of one of several equal periods; over all periods the amounts add up to the total.",
  params: z.object({
    total: money.describe("amount for all periods"),
    period_num: count(1, 10_000).describe("which period, from 1"),
    total_periods: count(1, 10_000).describe("number of periods"),
    ...inCurrency,
  }),
  returns: moneyOut,
  example: `compute_prorated_for_period({ total: "100.00", period_num: 2, total_periods: 3 })`,
  run(p) {
    if (p.period_num > p.total_periods)
      refuse("period_out_of_range", `period_num: ${p.period_num} is greater than total_periods ${p.total_periods}.`);
    const upTo = (k: number): bigint => round(share(exact(p.total), BigInt(k), BigInt(p.total_periods)), placesOf(p));
    return amount(upTo(p.period_num) - upTo(p.period_num - 1), p);
  },
});

export const compute_dt_prorata = defineCompute({
  name: "compute_dt_prorata",
  summary: "Part of a period's amount for some of its days; multiplied first, rounded once.",
  params: z.object({
    full_period_amount: money.describe("amount of the whole period"),
    days_in_period: figure({ from: "0", to: "100000" }).describe("days to charge"),
    total_days_in_period: figure({ above: "0", to: "100000" }).describe("days of the period"),
    ...inCurrency,
  }),
  returns: z.object({ result: moneyOut, daily_rate: moneyOut, days_fraction: exactOut.describe("0 to 1"), full_period_amount: moneyOut }),
  example: `compute_dt_prorata({ full_period_amount: "1234.56", days_in_period: 17, total_days_in_period: 31 })`,
  run(p) {
    const [total, part, all] = [exact(p.full_period_amount), exact(p.days_in_period), exact(p.total_days_in_period)];
    if (part > all)
      refuse("days_exceed_period", `days_in_period: ${p.days_in_period} is more than the ${p.total_days_in_period} days of the period.`);
    return {
      ...amounts(p, { result: share(total, part, all), daily_rate: share(total, ONE, all), full_period_amount: total }),
      days_fraction: plain(share(part, ONE, all)),
    };
  },
});

export const compute_recognize_revenue = defineCompute({
  name: "compute_recognize_revenue",
  summary: "Revenue of a contract recognised so far, evenly over its months; recognised and deferred add up to the contract.",
  params: z.object({
    contract_value: nonNegativeMoney.describe("value of the contract"),
    contract_months: count(1, 1200).describe("months of the contract"),
    periods_elapsed: count(0, 1200).describe("months that have passed; beyond the contract counts as all"),
    ...inCurrency,
  }),
  returns: z.object({ recognized_per_period: moneyOut.describe("average per month"), recognized_total: moneyOut, deferred: moneyOut }),
  example: `compute_recognize_revenue({ contract_value: "12000.00", contract_months: 12, periods_elapsed: 3 })`,
  run(p) {
    const [value, months] = [exact(p.contract_value), BigInt(p.contract_months)];
    const recognized = round(share(value, least(BigInt(p.periods_elapsed), months), months), placesOf(p));
    return amounts(p, {
      recognized_per_period: share(value, 1n, months),
      recognized_total: recognized,
      deferred: settled(p.contract_value, p) - recognized,
    });
  },
});
