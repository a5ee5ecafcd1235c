/**
 * How much one run of a script may use (trust.yaml `limits:`), how much agents may propose, and when an applied change is undone
 * automatically (config.yaml `changes:`; change/proposals/intake.ts, guard.ts).
 */
import { z } from "zod";
import type { Limits } from "../../kernel/ports.ts";
import { size } from "./fields.ts";

const MIB = 1024 * 1024;
// DESIGN.md 6; the upper bounds keep a typing error from exhausting the machine.
const limitFields = {
  memory_mb: size("MiB of memory", 8, 1024),
  cpu_ms: size("milliseconds of CPU", 10, 600_000),
  wall_ms: size("milliseconds", 50, 3_600_000),
  calls: size("a number of calls", 1, 10_000_000),
  call_bytes: size("bytes", 1024, 256 * MIB),
  answer_bytes: size("bytes", 1024, 256 * MIB),
  total_bytes: size("bytes", 1024, 4096 * MIB),
  source_bytes: size("bytes", 1024, MIB),
};
const DEFAULTS: Omit<Limits, "wall_ms"> = {
  memory_mb: 64,
  cpu_ms: 1000,
  calls: 250_000,
  call_bytes: 4 * MIB,
  answer_bytes: 32 * MIB,
  total_bytes: 256 * MIB,
  source_bytes: 65_536,
};
// Wall time a script may take beyond its CPU limit, waiting excluded, before its process is killed (spec/sandbox.md 1.9).
const WALL_EXTRA_MS = 1500;

const someLimits = z.strictObject(limitFields).partial();

export const limitsSchema = z.strictObject({ ...someLimits.shape, agents: z.record(z.string(), someLimits).default({}) }).prefault({});

/** The limits of one agent: its own, else the workspace's, else the defaults. */
export function limitsFor(trust: { limits: z.output<typeof limitsSchema> }, agent: string): Limits {
  const { agents, ...common } = trust.limits;
  const own = Object.hasOwn(agents, agent) ? agents[agent] : undefined;
  const chosen = { ...DEFAULTS, ...given(common), ...given(own ?? {}) };
  return { ...chosen, wall_ms: own?.wall_ms ?? common.wall_ms ?? chosen.cpu_ms + WALL_EXTRA_MS };
}

const given = <T extends object>(values: T) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: NonNullable<T[K]> };

const times = z.number({ error: "write how many times as many as before, such as 2" }).min(1, "at least 1").max(1000, "at most 1000");

const autoRevert = z.strictObject({
  hours: size("a number of hours", 1, 8760).default(24).describe("how many hours an applied change is watched"),
  reviews: times.default(2).describe("more than how many times the reviews of before take a change back"),
  errors: times.default(1.5).describe("more than how many times the failed runs of before take a change back"),
  at_least: size("a number of runs", 1, 1000).default(3).describe("after how many runs a change may be taken back"),
});

export const changeLimitsSchema = z.strictObject({
  per_agent_a_night: size("a number of proposals", 0, 1000).default(5).describe("how many proposals one agent may make in a night"),
  per_day: size("a number of proposals", 0, 1000).default(20).describe("how many proposals agents may make in a day"),
  new_processes_a_day: size("a number of requests", 0, 1000).default(3).describe("how many new processes may be asked for in a day"),
  cooldown_hours: size("a number of hours", 0, 8760)
    .default(24)
    .describe("for how many hours a change of what was rejected or taken back is not proposed again"),
  auto_revert: z
    .union([z.literal("off"), z.literal(false).transform(() => "off" as const), autoRevert], {
      error: "write off, or some of hours, reviews, errors and at_least with their numbers",
    })
    .prefault({}),
});
