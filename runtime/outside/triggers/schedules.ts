/**
 * What is due of each schedule, and the runs for it. The store keeps until where ticks are dealt with, so a restart, a machine that slept
 * and a clock that was set lose none and start none twice: a tick's key is its instant, and the same key never starts two runs.
 */
import { minuteOf } from "../../kernel/day.ts";
import { setFact } from "../../engine/cards.ts";
import type { Database } from "../../engine/database.ts";
import { pauseOf } from "../../engine/pauses.ts";
import { ClearedError } from "../../kernel/errors.ts";
import { type KeptSchedule, LATE_MS, SCHEDULE } from "../notices/alerts.ts";
import { openAlert } from "../notices/outbox.ts";
import type { Cause, Json } from "../../kernel/ports.ts";
import type { Header } from "../../scripts/header.ts";
import { type Schedule, lastTicks, nextTick, tickKey } from "./cron.ts";

export interface DuePorts {
  database: Database;
  now(): number;
  start(agent: string, options: { cause: Cause; input: Json }): Promise<{ id: string; created: boolean }>;
  note(message: string): void;
}

export interface Planned extends Schedule {
  missed: Header["missed"];
}

// run-all of a minute's schedule after a week asleep would be ten thousand runs.
const MOST_RUNS = 100;

/** Starts the runs that are due by now. Answers when the schedule is due next (ms), or null when never. */
export async function startDue(ports: DuePorts, planned: Planned): Promise<number | null> {
  const { database } = ports;
  const { agent, expression, timezone, missed } = planned;
  const now = ports.now();
  const kept = readKept(database, agent);
  const keep = async (last: number): Promise<number | null> => {
    const next = await nextTick(planned, last);
    const value: KeptSchedule = { expression, timezone, last, next };
    if (JSON.stringify(value) !== JSON.stringify(kept)) setFact(database, SCHEDULE + agent, JSON.stringify(value));
    return next;
  };
  // New, or written anew: it counts from here. A clock that was set back counts from here too, and what it ticks again has its key already.
  if (kept === null || kept.expression !== expression || kept.timezone !== timezone || kept.last > now) return keep(now);
  if (kept.next === null || kept.next > now) return kept.next;
  // While it is paused its ticks stay due; afterwards they are missed ones, and the header says what becomes of those.
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
      // The script or its input is refused, and would be at each look: said once, so that the schedules behind it are not held up.
      if (!(error instanceof ClearedError) || (error.kind !== "input" && error.kind !== "script")) throw error;
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
    database.write(() => openAlert(database, `overdue:${agent}`, title, { what_now: then, schedule: expression, timezone, missed }, now));
    ports.note(`${title}. ${then}`);
  }
  return keep(last);
}

/** Schedules that are gone are not overdue. */
export function forgetOthers(database: Database, agents: readonly string[]): void {
  for (const { name } of database.all<{ name: string }>(`SELECT name FROM facts WHERE name LIKE '${SCHEDULE}%'`))
    if (!agents.includes(name.slice(SCHEDULE.length))) database.write(() => database.run("DELETE FROM facts WHERE name = ?", name));
}

function readKept(database: Database, agent: string): KeptSchedule | null {
  const row = database.get<{ value: string }>("SELECT value FROM facts WHERE name = ?", SCHEDULE + agent);
  return row === undefined ? null : (JSON.parse(row.value) as KeptSchedule);
}
