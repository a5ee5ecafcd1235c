/** What nobody has read yet: alert cards, and agents that should have run and did not. The page and every command tell of it. */
import { minuteOf } from "../../kernel/day.ts";
import type { Database } from "../../engine/database.ts";
import { openPauses, pauseOf, pauseWords } from "../../engine/pauses.ts";
import { OPEN } from "../../engine/rows.ts";
import type { CardDraft } from "../../kernel/ports.ts";
import { oneLine } from "../../kernel/text.ts";
import { ALERT } from "./outbox.ts";

/** So late is late, in ms: a busy owner may take some minutes over a large import. */
export const LATE_MS = 300_000;

/** What the store keeps of an agent's schedule, under `schedule:AGENT`. Times in ms. */
export interface KeptSchedule {
  expression: string;
  timezone: string;
  /** Ticks up to here are dealt with. */
  last: number;
  /** The tick after it, or null. */
  next: number | null;
}

export const SCHEDULE = "schedule:";

/** Open cards whose script asked for reminders, and which are due for one by a time (`?`, ms). */
export const REMINDING = "decision IS NULL AND kind IN ('approval', 'form') AND at + (document ->> 'remind') <= ?";

/** A sentence each, most urgent first. */
export function openAlerts(database: Database, now: number): string[] {
  const cards = database
    .all<{ id: number; document: string }>(
      `SELECT id, document FROM cards WHERE decision IS NULL AND key LIKE '${ALERT}%' ORDER BY id LIMIT 20`,
    )
    .map((row) => `Card ${row.id}: ${oneLine((JSON.parse(row.document) as CardDraft).title)}`);
  const overdue = database
    .all<{ name: string; value: string }>(`SELECT * FROM facts WHERE name LIKE '${SCHEDULE}%' ORDER BY name`)
    .flatMap((row) => {
      const { next } = JSON.parse(row.value) as KeptSchedule;
      const agent = row.name.slice(SCHEDULE.length);
      return next === null || now - next <= LATE_MS || pauseOf(database, agent) !== null ? [] : [late(agent, next)];
    });
  const once = database
    .all<{ agent: string; not_before: number }>(
      `SELECT agent, not_before FROM runs WHERE ${OPEN} AND status = 'queued' AND not_before < ? ORDER BY not_before LIMIT 20`,
      now - LATE_MS,
    )
    .map((row) => late(row.agent, row.not_before));
  const { waiting } = database.get<{ waiting: number }>(
    "SELECT count(*) AS waiting FROM notices WHERE state = 'queued' AND due_at < ?",
    now - LATE_MS,
  ) ?? { waiting: 0 };
  const unsent =
    waiting === 0
      ? []
      : [`${waiting === 1 ? "A notice waits" : `${waiting} notices wait`} to be sent: \`cleared start\` sends what is due.`];
  const open = database
    .all<{ id: number; at: number; document: string }>(
      `SELECT id, at, document FROM cards WHERE ${REMINDING}
       AND NOT EXISTS (SELECT 1 FROM notices WHERE key GLOB 'card/' || cards.id || '/remind/*') ORDER BY id LIMIT 20`,
      now,
    )
    .map(
      ({ id, at, document }) =>
        `Card ${id} waits for a person since ${minuteOf(at)}: ${oneLine((JSON.parse(document) as CardDraft).title)}`,
    );
  const paused = openPauses(database).map((pause) => `${pauseWords(pause)}.`);
  return [...paused, ...cards, ...open, ...overdue, ...once, ...unsent];
}

function late(agent: string, at: number): string {
  return `${agent} should have run at ${minuteOf(at)} and has not: \`cleared start\` does not run, or may not commit now.`;
}
