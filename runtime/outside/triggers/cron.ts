/**
 * Schedules: node-cron signals each minute, croner computes which ticks are due, were missed and come next. The key of a tick is its minute, so
 * that it starts one run however often it is seen (a restart within the minute, two processes). Both packages are loaded when a schedule needs
 * them.
 */
import type { Cron } from "croner";
import type { ScheduledTask } from "node-cron";
import { minuteOf } from "../../kernel/day.ts";
import { dropFact, factsNamed, getFact, setFact } from "../../engine/store/facts.ts";
import type { Database } from "../../engine/store/database.ts";
import { pauseOf } from "../../engine/store/pauses.ts";
import { type KeptSchedule, LATE_MS, SCHEDULE } from "../notices/alerts.ts";
import { openAlert } from "../notices/outbox.ts";
import type { Header } from "../../scripts/header.ts";
import { type StartPorts, isRefusal } from "./events.ts";

export interface Schedule {
  agent: string;
  /** Five fields, cron. */
  expression: string;
  /** IANA name. */
  timezone: string;
}

/** The next tick after a time, or null if there is none, as for an invalid expression. */
export function nextTick(schedule: Schedule, after: number): Promise<number | null> {
  return asked(schedule, null, (cron) => cron.nextRun(new Date(after))?.getTime() ?? null);
}

/** Why a schedule never starts anything, as a sentence; null if it has a next tick. */
export async function scheduleProblem(schedule: Schedule, after: number): Promise<string | null> {
  if ((await nextTick(schedule, after)) !== null) return null;
  return `schedule: "${schedule.expression}" never comes: it is not a cron expression, or no calendar has such a day. Write five fields: minute hour day month weekday, for example "0 6 * * *".`;
}

/** The last `count` ticks up to a time (inclusive), oldest first. */
function lastTicks(schedule: Schedule, until: number, count: number): Promise<number[]> {
  return asked(schedule, [], (cron) =>
    // croner counts whole seconds and excludes the one it is given.
    cron
      .previousRuns(count + 1, new Date(until + 1000))
      .map((tick) => tick.getTime())
      .filter((tick) => tick <= until)
      .slice(0, count)
      .reverse(),
  );
}

async function asked<T>({ expression, timezone }: Schedule, none: T, ask: (cron: Cron) => T): Promise<T> {
  const { Cron } = await import("croner");
  // A sixth field would mean seconds, which no business process needs.
  if (expression.trim().split(/\s+/).length !== 5) return none;
  try {
    return ask(new Cron(expression, { timezone, paused: true }));
  } catch {
    return none; // `scheduleProblem` reports the error
  }
}

/** Identifies a tick: the expression as written, and the minute. */
export function tickKey(expression: string, at: Date): string {
  return `${expression}@${at.toISOString().slice(0, 16)}`;
}

/** Signals each tick of its schedules. */
export function createBell(ring: () => void) {
  const tasks = new Map<string, ScheduledTask>();
  const stop = (keep: ReadonlySet<string>): void => {
    for (const [key, task] of tasks) if (!keep.has(key) && tasks.delete(key)) void task.destroy();
  };
  return {
    /** Replaces changed schedules and keeps the others. */
    async set(schedules: readonly Schedule[]): Promise<void> {
      const wanted = new Map(schedules.map((one) => [`${one.expression}\n${one.timezone}`, one]));
      stop(new Set(wanted.keys()));
      for (const [key, { expression, timezone }] of wanted) {
        if (tasks.has(key)) continue;
        const { schedule, validate } = await import("node-cron");
        // node-cron rejects some valid expressions of croner (`0 0 31 2 1`); the periodic check finds their ticks.
        if (validate(expression)) tasks.set(key, schedule(expression, ring, { timezone, suppressMissedWarning: true }));
      }
    },
    stop: (): void => stop(new Set()),
  };
}

/**
 * What is due for each schedule, and the runs for it. The store records up to where ticks are handled, so a restart, a sleeping machine or a
 * changed clock loses none and starts none twice: a tick's key is its time, and one key never starts two runs.
 */
export type DuePorts = Omit<StartPorts, "agents">;

export interface Planned extends Schedule {
  missed: Header["missed"];
}

// run-all of a minute's schedule after a week of sleep would be ten thousand runs.
const MOST_RUNS = 100;

/** Starts the runs that are due. Returns when the schedule is due next (ms), or null for never. */
export async function startDue(ports: DuePorts, planned: Planned): Promise<number | null> {
  const { database } = ports;
  const { agent, expression, timezone, missed } = planned;
  const now = ports.now();
  const kept = JSON.parse(getFact(database, SCHEDULE + agent) ?? "null") as KeptSchedule | null;
  const keep = async (last: number): Promise<number | null> => {
    const next = await nextTick(planned, last);
    const value: KeptSchedule = { expression, timezone, last, next };
    if (JSON.stringify(value) !== JSON.stringify(kept)) setFact(database, SCHEDULE + agent, JSON.stringify(value));
    return next;
  };
  // A new or changed schedule counts from now. So does one whose clock was set back; repeated ticks have known keys.
  if (kept === null || kept.expression !== expression || kept.timezone !== timezone || kept.last > now) return keep(now);
  if (kept.next === null || kept.next > now) return kept.next;
  // While it is paused its ticks stay due; afterwards they are missed ones, which the header says how to handle.
  if (pauseOf(database, agent) !== null) return kept.next;

  const latest = await lastTicks(planned, now, missed === "run-all" ? MOST_RUNS + 1 : 2);
  const ticks = latest.filter((tick) => tick > kept.last);
  const [last] = ticks.slice(-1);
  if (last === undefined) return keep(now);
  const late = now - last > LATE_MS;
  const due = missed === "run-all" ? ticks.slice(-MOST_RUNS) : missed === "skip" && late ? [] : [last];
  let failure: string | null = null;
  for (const tick of due) {
    const at = new Date(tick);
    try {
      await ports.start(agent, {
        cause: { kind: "schedule", key: tickKey(expression, at), detail: { tick: at.toISOString() } },
        input: {},
      });
    } catch (error) {
      if (!isRefusal(error)) throw error;
      failure = error.message;
    }
  }
  const first = kept.next;
  if (failure !== null || now - first > LATE_MS) {
    const title = `${agent} should have run at ${minuteOf(first)} and did not${first === last ? "" : `, nor later until ${minuteOf(last)}`}`;
    const then =
      failure ??
      (due.length === 0
        ? "It was skipped (missed: skip)."
        : due.length === 1
          ? "It runs once now."
          : ticks.length > MOST_RUNS
            ? `It runs now for the last ${MOST_RUNS} of them; those before are left out.`
            : `It runs ${due.length} times now, once for each.`);
    openAlert(database, `overdue:${agent}`, title, { what_now: then, schedule: expression, timezone, missed }, now);
    ports.note(`${title}. ${then}`);
  }
  return keep(last);
}

/** Removed schedules are not overdue. */
export function forgetOthers(database: Database, agents: readonly string[]): void {
  for (const { name } of factsNamed(database, SCHEDULE)) if (!agents.includes(name.slice(SCHEDULE.length))) dropFact(database, name);
}
