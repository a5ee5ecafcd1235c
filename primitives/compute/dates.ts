/** Working days between two calendar days. Counts days, not milliseconds, so time zones and clock changes do not matter. */
import { z } from "zod";
import { day } from "../_shapes.ts";
import { defineCompute, refuse } from "./declare.ts";
import { fields, list } from "./shapes.ts";

const DAY_MS = 86_400_000;
const numberOf = (iso: string): number => Date.parse(`${iso}T00:00:00Z`) / DAY_MS;
/** 1 January 1970 was a Thursday. */
const isWeekend = (dayNumber: number): boolean => [6, 0].includes((((dayNumber + 4) % 7) + 7) % 7);

export const compute_dt_business_days = defineCompute({
  name: "compute_dt_business_days",
  summary: "Working days from one day to another, Monday to Friday without the given holidays.",
  params: z.object({
    start_date: day.describe("first day"),
    end_date: day.describe("last day"),
    holidays: list(day, 0).default([]).describe("days off; those on a weekend or outside the period change nothing"),
    inclusive: z.boolean().default(false).describe("true counts the last day too"),
  }),
  returns: z.object({
    result: z.number().describe("working days"),
    ...fields(z.number(), "calendar_days", "weekend_days"),
    holidays_excluded: z.number().describe("holidays on a weekday"),
  }),
  alsoRefuses: ["JOURNAL_DATE"],
  example: `compute_dt_business_days({ start_date: "2026-01-01", end_date: "2026-02-01", holidays: ["2026-01-01", "2026-01-19"] })`,
  run(p) {
    const start = numberOf(p.start_date);
    const end = numberOf(p.end_date) + (p.inclusive ? 1 : 0);
    if (numberOf(p.end_date) < start) refuse("end_before_start", `end_date: ${p.end_date} lies before ${p.start_date}.`);
    const length = end - start;
    // Each whole week has two weekend days; those in the remaining days are counted.
    const weekend = 2 * Math.floor(length / 7) + Array.from({ length: length % 7 }, (_, i) => end - 1 - i).filter(isWeekend).length;
    const off = [...new Set(p.holidays.map(numberOf))].filter((one) => one >= start && one < end && !isWeekend(one)).length;
    return { result: length - weekend - off, calendar_days: length, weekend_days: weekend, holidays_excluded: off };
  },
});
