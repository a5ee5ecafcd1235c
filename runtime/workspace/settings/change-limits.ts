/** config.yaml `changes:`: how much agents may propose, and when an applied change is taken back by itself (change/proposals/intake.ts, guard.ts). */
import { z } from "zod";

/** A number of a setting, within its limits. */
export const size = (what: string, min: number, max: number) =>
  z
    .int({ error: `write ${what} as a whole number` })
    .min(min, `at least ${min}`)
    .max(max, `at most ${max}`);
const times = z.number({ error: "write how many times as many as before, such as 2" }).min(1, "at least 1").max(1000, "at most 1000");

const autoRevert = z.strictObject({
  hours: size("a number of hours", 1, 8760).default(24),
  reviews: times.default(2),
  errors: times.default(1.5),
  at_least: size("a number of runs", 1, 1000).default(3),
});

export const changeLimitsSchema = z.strictObject({
  per_agent_a_night: size("a number of proposals", 0, 1000).default(5),
  per_day: size("a number of proposals", 0, 1000).default(20),
  new_processes_a_day: size("a number of requests", 0, 1000).default(3),
  cooldown_hours: size("a number of hours", 0, 8760).default(24),
  auto_revert: z
    .union([z.literal("off"), z.literal(false).transform(() => "off" as const), autoRevert], {
      error: "write off, or some of hours, reviews, errors and at_least with their numbers",
    })
    .prefault({}),
});
