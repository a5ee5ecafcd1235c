/** Runs that start once, later: a follow-up, a reminder. Queued durably; `cleared runs --scheduled` lists them, `runs cancel` cancels one. */
import { z } from "zod";
import { isDay } from "../runtime/kernel/day.ts";
import { ClearedError } from "../runtime/kernel/errors.ts";
import { momentOf } from "../runtime/rules/policy/values.ts";
import { definePrimitive, type StepContext } from "../runtime/kernel/primitive.ts";
import { json, shown, text } from "./_shapes.ts";

const params = z.object({
  agent: text.describe("name of the agent"),
  at: text.describe('"in 3d" (m, h, d, w), a day (at 09:00), or a date-time with its zone; a time in the past starts at once'),
  input: json.optional().describe("its input"),
  key: text.describe("starts one run for each key of this agent"),
});

const UNITS = { m: "minutes", h: "hours", d: "days", w: "weeks" } as const;
const OPENS = "T09:00";

/** ms. Days and weeks keep the time of day across changes of the clock. @throws PARAMS_INVALID */
function opensAt(at: string, now: number, timezone: string): number {
  const [, count, unit] = /^in ([1-9]\d{0,4})([mhdw])$/.exec(at) ?? [];
  if (count !== undefined && unit !== undefined) {
    const from = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(timezone);
    return from.add({ [UNITS[unit as keyof typeof UNITS]]: Number(count) }).epochMilliseconds;
  }
  if (isDay(at)) return Temporal.PlainDateTime.from(at + OPENS).toZonedDateTime(timezone).epochMilliseconds;
  const moment = momentOf(at);
  if (moment !== null) return moment;
  throw new ClearedError(
    "PARAMS_INVALID",
    `schedule_run: at: ${shown(at)} is neither "in 3d" (m, h, d, w), nor a day ("2026-11-30"), nor a date-time with its zone ("2026-11-30T18:00:00Z").`,
  );
}

async function schedule(p: z.output<typeof params>, ctx: StepContext, live: boolean) {
  const timezone = (await ctx.ports.config("timezone")) ?? "UTC";
  const opens = opensAt(p.at, ctx.now, String(timezone));
  const { run, at, created } = await ctx.ports.notices.schedule(
    { agent: p.agent, at: opens, input: p.input ?? {}, key: `${ctx.run.agent}:${p.key}`, by: ctx.run.id },
    { live },
  );
  return { run, at: new Date(at).toISOString(), created };
}

export const schedule_run = definePrimitive({
  name: "schedule_run",
  effect: "notify",
  idempotent: "key",
  summary: "Start an agent once, later; the run is pinned to the script as it is now.",
  params,
  returns: z.object({ run: z.string(), at: z.string(), created: z.boolean() }),
  errors: ["AGENT_UNKNOWN", "RUN_INPUT"],
  example: `schedule_run({ agent: "ingest", at: "in 3d", input: {}, key: "again-INV-7" })`,
  run: (p, ctx) => schedule(p, ctx, true),
  dryRun: (p, ctx) => schedule(p, ctx, false),
});
