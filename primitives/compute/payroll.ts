/** Salaries and staff: pay for a part of a period, cost of an employee, headcount. Rounded once, at the end. */
import { z } from "zod";
import { nonNegativeMoney } from "../_shapes.ts";
import { amounts, defineCompute, pctText, placesOf, refuse, settled } from "./declare.ts";
import { exact, HUNDRED, ONE, percentOf, plain, round, share, whole } from "../../runtime/kernel/exact.ts";
import { count, exactOut, fields, figure, inCurrency, moneyOut, percentTo100 } from "./shapes.ts";

const PERIODS = { monthly: 12, semimonthly: 24, biweekly: 26, weekly: 52 } as const;

export const compute_hr_proration = defineCompute({
  name: "compute_hr_proration",
  summary: "Salary of a period that was worked in part; rounded once.",
  params: z.object({
    annual_salary: nonNegativeMoney.describe("salary a year"),
    working_days_in_period: figure({ from: "0", to: "366" }).describe("days worked"),
    total_working_days_in_period: figure({ above: "0", to: "366" }).describe("working days of the period"),
    pay_frequency: z.enum(["monthly", "semimonthly", "biweekly", "weekly"]).default("monthly"),
    ...inCurrency,
  }),
  returns: z.object({ result: moneyOut, daily_rate: moneyOut, full_period_pay: moneyOut, days_fraction: exactOut.describe("0 to 1") }),
  example: `compute_hr_proration({ annual_salary: "85000.00", working_days_in_period: 13, total_working_days_in_period: 22 })`,
  run(p) {
    const [worked, days] = [exact(p.working_days_in_period), exact(p.total_working_days_in_period)];
    const tooMany = `working_days_in_period: ${p.working_days_in_period} is more than the ${p.total_working_days_in_period} of the period.`;
    if (worked > days) refuse("days_exceed_period", tooMany);
    const [salary, periods] = [exact(p.annual_salary), BigInt(PERIODS[p.pay_frequency])];
    return {
      ...amounts(p, { result: share(salary, worked, days * periods), daily_rate: share(salary, ONE, days * periods) }),
      ...amounts(p, { full_period_pay: share(salary, 1n, periods) }),
      days_fraction: plain(share(worked, ONE, days)),
    };
  },
});

export const compute_hr_benefits_cost = defineCompute({
  name: "compute_hr_benefits_cost",
  summary: "Cost of an employee a year with benefits, and the burden in percent of the salary.",
  params: z.object({
    base_salary: nonNegativeMoney.describe("salary a year"),
    health_insurance_monthly: nonNegativeMoney.describe("employer's share a month"),
    retirement_match_pct: percentTo100.describe("employer's contribution in percent of the salary"),
    other_benefits_annual: nonNegativeMoney.default("0").describe("everything else a year"),
    ...inCurrency,
  }),
  returns: z.object({
    result: moneyOut.describe("total cost a year"),
    salary: moneyOut,
    benefits_annual: moneyOut.describe("health and other benefits"),
    ...fields(moneyOut, "retirement_contribution", "total_cost"),
    burden_rate_pct: exactOut.nullable().describe("null without a salary"),
  }),
  example: `compute_hr_benefits_cost({ base_salary: "100000.00", health_insurance_monthly: "800.00", retirement_match_pct: 3 })`,
  run(p) {
    const salary = settled(p.base_salary, p);
    const benefits = round(exact(p.health_insurance_monthly) * 12n + exact(p.other_benefits_annual), placesOf(p));
    const retirement = round(percentOf(salary, exact(p.retirement_match_pct)), placesOf(p));
    const cost = salary + benefits + retirement;
    return {
      ...amounts(p, { result: cost, salary, benefits_annual: benefits, retirement_contribution: retirement, total_cost: cost }),
      burden_rate_pct: salary === 0n ? null : pctText(share(cost - salary, HUNDRED, salary)),
    };
  },
});

export const compute_hr_headcount = defineCompute({
  name: "compute_hr_headcount",
  summary: "Full-time equivalents and attrition, annualised over the length of the period.",
  params: z.object({
    full_time_count: count(0, 10_000_000).describe("full-time employees"),
    part_time_count: count(0, 10_000_000).default(0).describe("part-time employees"),
    part_time_hours_avg: figure({ from: "0", to: "40" }).default(20).describe("their hours a week; 40 is full time"),
    separations_in_period: count(0, 10_000_000).describe("employees who left in the period"),
    avg_headcount_in_period: figure({ from: "0", to: "10000000" }).default(0).describe("mean number of employees; needed when any left"),
    period_months: figure({ from: "0", to: "120" }).default(0).describe("length of the period in months; needed when any left"),
  }),
  returns: z.object({
    result: exactOut.describe("full-time equivalents"),
    ...fields(exactOut, "fte_full_time", "fte_part_time", "period_attrition_rate_pct"),
    annualized_attrition_rate_pct: exactOut.describe("attrition times 12 over the months"),
  }),
  example: `compute_hr_headcount({ full_time_count: 200, part_time_count: 40, part_time_hours_avg: 16, separations_in_period: 12, avg_headcount_in_period: 210, period_months: 6 })`,
  run(p) {
    const part = (exact(p.part_time_hours_avg) * BigInt(p.part_time_count)) / 40n;
    const [left, mean, months] = [whole(p.separations_in_period), exact(p.avg_headcount_in_period), exact(p.period_months)];
    if (left > 0n && mean === 0n)
      refuse("zero_headcount", "avg_headcount_in_period: attrition needs the mean number of employees, above 0.");
    if (left > 0n && months === 0n) refuse("zero_period", "period_months: attrition needs the length of the period, above 0.");
    // Nobody left: 0 % of any number, over any time.
    const rate = left === 0n ? 0n : share(left, HUNDRED, mean);
    return {
      result: plain(whole(p.full_time_count) + part),
      fte_full_time: plain(whole(p.full_time_count)),
      fte_part_time: plain(part),
      period_attrition_rate_pct: pctText(rate),
      annualized_attrition_rate_pct: pctText(left === 0n ? 0n : share(rate, whole(12), months)),
    };
  },
});
