/** One calendar: a header, a policy, a primitive and an answer take the same days; only what is booked has a narrower range. */
import { expect, test } from "vitest";
import { primitives } from "../primitives/index.ts";
import { isBookDay, isDay } from "../runtime/kernel/day.ts";
import { dayOrMoment } from "../runtime/rules/policy/values.ts";
import { validateInput } from "../runtime/scripts/fields.ts";

const takesHeader = (day: string): boolean => {
  try {
    validateInput({ name: "Loan", input: { due: { type: "date" } } }, { due: day });
    return true;
  } catch {
    return false;
  }
};
const businessDays = primitives.find((one) => one.name === "compute_dt_business_days");
const takesPrimitive = (day: string): boolean => businessDays?.params.safeParse({ start_date: day, end_date: day }).success === true;

// A loan that ends in 2075, a birth in 1965, "no end" as other systems write it; then days that are none.
test.each([
  ["2075-01-01", true, false],
  ["1965-05-03", true, false],
  ["9999-12-31", true, false],
  ["2024-02-29", true, true],
  ["2000-02-29", true, true],
  ["1900-02-29", false, false],
  ["2026-02-29", false, false],
  ["2026-13-01", false, false],
  ["0000-01-01", false, false],
  ["2026-1-1", false, false],
])("%s is a day everywhere or nowhere: %s; booked: %s", (day, is, booked) => {
  expect([isDay(day), takesHeader(day), dayOrMoment(day) !== null, takesPrimitive(day)]).toEqual([is, is, is, is]);
  expect(isBookDay(day)).toBe(booked);
});
