/**
 * Pay of one workweek. The law decides which hours are overtime and differs by state; each rule names its section. Each component is
 * rounded once, and the total is the sum of the returned components.
 */
import { z } from "zod";
import { nonNegativeMoney } from "../_shapes.ts";
import { amounts, defineCompute, placesOf, refuse, settled } from "./declare.ts";
import { exact, least, most, ONE, over, plain, round, sum, times, whole } from "../../runtime/kernel/exact.ts";
import { exactOut, fields, figure, inCurrency, list, moneyOut } from "./shapes.ts";

/** A month has at most 744: hours that are already sorted may be from a longer pay period. */
const sortedHours = figure({ from: "0", to: "744" });

/** Hours of one week by their rate. */
type Week = Record<"regular" | "overtime" | "double", bigint>;

/** The hours up to a limit, and those above it. */
const split = (all: bigint, upTo: bigint): [bigint, bigint] => [least(all, upTo), most(0n, all - upTo)];

/**
 * California Labor Code 510: over 8 hours of a day at 1.5, over 12 at 2; on the seventh day worked in a row of the workweek the first
 * 8 at 1.5, the rest at 2; straight-time hours over 40 of the week at 1.5. No hour counts twice (no pyramiding).
 */
function californiaWeek(days: readonly bigint[]): Week {
  const [eight, twelve] = [whole(8), whole(12)];
  const all = sum(days);
  // Section 556: no seventh-day premium when the week has at most 30 hours and no day more than 6.
  const exempt = all <= whole(30) && days.every((day) => day <= whole(6));
  const seventh = days.length === 7 && days.every((day) => day > 0n) && !exempt;
  const week: Week = { regular: 0n, overtime: 0n, double: 0n };
  for (const [i, day] of days.entries()) {
    const premium = seventh && i === 6;
    const [upTo, beyond] = split(day, premium ? eight : twelve);
    const [straight, long] = premium ? [0n, upTo] : split(upTo, eight);
    week.regular += straight;
    week.overtime += long;
    week.double += beyond;
  }
  const [regular, weekly] = split(week.regular, whole(40));
  return { regular, overtime: week.overtime + weekly, double: week.double };
}

export const compute_hr_overtime = defineCompute({
  name: "compute_hr_overtime",
  summary:
    "Pay of one workweek with overtime: of hours already sorted, or by the federal rule, or by California's, which needs daily hours.",
  params: z.object({
    rule: z
      .enum(["stated", "flsa", "california"])
      .default("stated")
      .describe("stated: regular_hours and overtime_hours as given; flsa: over 40 hours a week; california: needs daily_hours"),
    hourly_rate: nonNegativeMoney.describe("pay for one hour"),
    regular_hours: sortedHours.optional().describe("rule stated: hours at the plain rate"),
    overtime_hours: sortedHours.optional().describe("rule stated: hours at the multiplied rate"),
    overtime_multiplier: figure({ from: "1", to: "5" }).default("1.5").describe("rule stated: 1.5 is time and a half"),
    hours_worked: figure({ from: "0", to: "168" }).optional().describe("rule flsa: hours of the week; daily_hours serve too"),
    daily_hours: list(figure({ from: "0", to: "24" }), 1, 7)
      .optional()
      .describe("hours of each day of the workweek, first day first, 0 for a day off"),
    nondiscretionary_pay: nonNegativeMoney.default("0").describe("rules flsa and california: bonuses in the regular rate of this week"),
    ...inCurrency,
  }),
  returns: z.object({
    result: moneyOut.describe("total pay"),
    regular_pay: moneyOut,
    overtime_pay: moneyOut.describe("pay for overtime hours, with their premium; on the regular rate where a bonus belongs to it"),
    ...fields(moneyOut, "double_time_pay", "nondiscretionary_pay"),
    ...fields(exactOut, "total_hours", "regular_hours", "overtime_hours", "double_time_hours"),
  }),
  example: `compute_hr_overtime({ rule: "california", daily_hours: [13, 13, 13, 13, 0, 0, 0], hourly_rate: "28.00" })`,
  run(p) {
    const days = p.daily_hours?.map(exact);
    const rate = exact(p.hourly_rate);
    const bonus = exact(p.nondiscretionary_pay);
    const week = weekOf(p.rule, p, days);
    const all = week.regular + week.overtime + week.double;
    if (p.rule === "stated" && bonus !== 0n) refuse("bonus_needs_rule", "nondiscretionary_pay: needs the rule flsa or california.");
    const multiplier = p.rule === "stated" ? exact(p.overtime_multiplier) : exact("1.5");
    // 29 CFR 778.108-110: the regular rate is all pay for the week divided by its hours; a bonus already pays each hour once, so overtime
    // adds only the part of the multiplier above one.
    const bonusRate = all === 0n ? 0n : over(bonus, all);
    // California divides a flat bonus by straight-time hours only and pays it 1.5 or 2 times (Alvarado v. Dart Container, 2018).
    const flatRate = week.regular === 0n ? bonusRate : over(bonus, week.regular);
    const premium = (times_: bigint): bigint =>
      times(rate, times_) + (p.rule === "california" ? times(flatRate, times_) : times(bonusRate, times_ - ONE));
    const places = placesOf(p);
    const regular = round(times(rate, week.regular), places);
    const overtime = round(times(week.overtime, premium(multiplier)), places);
    const paid = settled(p.nondiscretionary_pay, p);
    const double = round(times(week.double, premium(2n * ONE)), places);
    return {
      ...amounts(p, { result: regular + overtime + double + paid, regular_pay: regular, overtime_pay: overtime, double_time_pay: double }),
      ...amounts(p, { nondiscretionary_pay: paid }),
      ...{ total_hours: plain(all), regular_hours: plain(week.regular) },
      ...{ overtime_hours: plain(week.overtime), double_time_hours: plain(week.double) },
    };
  },
});

type HoursGiven = { [K in "regular_hours" | "overtime_hours" | "hours_worked"]?: string | number | undefined };

function weekOf(rule: "stated" | "flsa" | "california", p: HoursGiven, days: readonly bigint[] | undefined): Week {
  if (rule === "california") {
    // 52 hours at 28.00 are 1,624.00 or 1,792.00, depending on their days; a weekly total does not tell (spec/worker.md 8.4).
    if (days === undefined) refuse("daily_hours_required", "daily_hours: California's rule counts by the day; pass the hours of each day.");
    return californiaWeek(days);
  }
  if (rule === "flsa") {
    const all = p.hours_worked !== undefined ? exact(p.hours_worked) : days === undefined ? null : sum(days);
    if (all === null) refuse("hours_required", "hours_worked: is needed for the rule flsa, or daily_hours.");
    // 29 USC 207(a)(1): over 40 hours in a workweek.
    const [regular, overtime] = split(all, whole(40));
    return { regular, overtime, double: 0n };
  }
  if (p.regular_hours === undefined || p.overtime_hours === undefined)
    refuse("hours_required", "regular_hours and overtime_hours: are needed for the rule stated; or name a rule that sorts the hours.");
  return { regular: exact(p.regular_hours), overtime: exact(p.overtime_hours), double: 0n };
}
