/** Alerts that nobody has read yet: alert cards, and agents whose scheduled run did not happen. Shown on the page and by every command. */
import { minuteOf } from "../../kernel/day.ts";
import type { Database } from "../../engine/store/database.ts";
import { openAlertCards, unremindedCards } from "../../engine/store/card-queries.ts";
import { factsNamed } from "../../engine/store/facts.ts";
import { overdueNotices } from "../../engine/store/notices.ts";
import { lateRuns } from "../../engine/store/run-queries.ts";
import { openPauses, pauseOf, pauseWords } from "../../engine/store/pauses.ts";
import { oneLine } from "../../kernel/text.ts";

/** A run counts as late after this many ms: a busy owner may need some minutes for a large import. */
export const LATE_MS = 300_000;

/** The stored state of an agent's schedule, under `schedule:AGENT`. Times in ms. */
export interface KeptSchedule {
  expression: string;
  timezone: string;
  /** Ticks up to this time are handled. */
  last: number;
  /** The tick after it, or null. */
  next: number | null;
}

export const SCHEDULE = "schedule:";

/** One sentence each, most urgent first. */
export function openAlerts(database: Database, now: number): string[] {
  const cards = openAlertCards(database).map(({ id, title }) => `Card ${id}: ${oneLine(title)}`);
  const overdue = factsNamed(database, SCHEDULE).flatMap(({ name, value }) => {
    const { next } = JSON.parse(value) as KeptSchedule;
    const agent = name.slice(SCHEDULE.length);
    return next === null || now - next <= LATE_MS || pauseOf(database, agent) !== null ? [] : [late(agent, next)];
  });
  const once = lateRuns(database, now - LATE_MS).map(({ agent, at }) => late(agent, at));
  const waiting = overdueNotices(database, now - LATE_MS);
  const unsent =
    waiting === 0
      ? []
      : [`${waiting === 1 ? "A notice waits" : `${waiting} notices wait`} to be sent: \`cleared start\` sends what is due.`];
  const open = unremindedCards(database, now).map(
    ({ id, at, title }) => `Card ${id} waits for a person since ${minuteOf(at)}: ${oneLine(title)}`,
  );
  const paused = openPauses(database).map((pause) => `${pauseWords(pause)}.`);
  return [...paused, ...cards, ...open, ...overdue, ...once, ...unsent];
}

function late(agent: string, at: number): string {
  return `${agent} should have run at ${minuteOf(at)} and has not: \`cleared start\` does not run, or may not commit now.`;
}
