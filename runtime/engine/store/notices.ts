/** The outbox as a table, one row per notice: outside/notices/outbox.ts defines the rows and the states they pass through. */
import type { Database } from "./database.ts";
import type { NoticeState } from "../../kernel/ports.ts";
import { ALERT } from "./card-queries.ts";

export interface NoticeRow {
  key: string;
  channel: string;
  /** JSON of the Notice. */
  payload: string;
  state: NoticeState;
  due_at: number;
  attempts: number;
  last_error: string | null;
  at: number;
}

/** The row stored under the key, and whether it is this one. Inside the caller's transaction. */
export function addNotice(database: Database, row: Omit<NoticeRow, "attempts" | "last_error">): { row: NoticeRow; isNew: boolean } {
  const { key, channel, payload, state, due_at, at } = row;
  const inserted = database.run(
    "INSERT INTO notices VALUES (?, ?, ?, ?, ?, 0, NULL, ?) ON CONFLICT (key) DO NOTHING",
    ...[key, channel, payload, state, due_at, at],
  );
  return { row: database.get<NoticeRow>("SELECT * FROM notices WHERE key = ?", key) as NoticeRow, isNew: inserted === 1 };
}

export function moveNotice(
  database: Database,
  key: string,
  state: NoticeState,
  more: { due?: number; attempts?: number; why?: string } = {},
): void {
  database.write(() =>
    database.run(
      "UPDATE notices SET state = ?, due_at = ifnull(?, due_at), attempts = ifnull(?, attempts), last_error = ? WHERE key = ?",
      ...[state, more.due ?? null, more.attempts ?? null, more.why ?? null, key],
    ),
  );
}

/** Queued and due, oldest first. */
export function dueNotices(database: Database, now: number): NoticeRow[] {
  return database.all("SELECT * FROM notices WHERE state = 'queued' AND due_at <= ? ORDER BY due_at, rowid LIMIT 200", now);
}

/** Mails that were being sent. */
export function sendingNotices(database: Database): NoticeRow[] {
  return database.all("SELECT * FROM notices WHERE state = 'sending'");
}

/** Notices that stopped and whose alert `card` a person has answered; `decision`: JSON. */
export function answeredNotices(database: Database): (NoticeRow & { card: number; decision: string })[] {
  return database.all(
    `SELECT notices.*, cards.id AS card, cards.decision AS decision FROM notices JOIN cards ON cards.key = '${ALERT}notice:' || notices.key
     WHERE notices.state IN ('dead', 'doubt') AND cards.decision IS NOT NULL`,
  );
}

export function overdueNotices(database: Database, before: number): number {
  return database.get<{ n: number }>("SELECT count(*) AS n FROM notices WHERE state = 'queued' AND due_at < ?", before)?.n ?? 0;
}
