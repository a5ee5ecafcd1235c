/** Which task of an agent elsewhere belongs to a call (run/step) that has not come to its end. */
import type { Database } from "./database.ts";

export interface Link {
  key: string;
  run: string;
  agent: string;
  task: string;
  /** How it stood when it was looked at last; one that has ended is not canceled with its run, of one `given_up` no more is asked. `sent`: no task is known. */
  state: "sent" | "working" | "auth-required" | "input-required" | "ended" | "given_up";
  /** Since when it is at work, ms: while it waits for its own people no time passes. */
  at: number;
  /** How long it may be, ms. */
  timeout: number;
  /** The question that was answered last. */
  answered: string | null;
  /** How often the task was given: each time that its answer was lost is a question of its own. */
  sent: number;
}

export function linkOf(database: Database, key: string): Link | undefined {
  return database.get("SELECT * FROM a2a_calls WHERE key = ?", key);
}

export function keepLink(database: Database, link: Link): Link {
  const { key, run, agent, task, state, at, timeout, answered, sent } = link;
  database.write(() =>
    database.run(
      "INSERT OR REPLACE INTO a2a_calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      ...[key, run, agent, task, state, at, timeout, answered, sent],
    ),
  );
  return link;
}

export function dropLink(database: Database, key: string): void {
  database.write(() => database.run("DELETE FROM a2a_calls WHERE key = ?", key));
}

export function hasLinks(database: Database): boolean {
  return database.get("SELECT 1 FROM a2a_calls LIMIT 1") !== undefined;
}

/** What a waiting run waits for. */
export function linkAtWork(database: Database, run: string): Link | undefined {
  return database.get("SELECT * FROM a2a_calls WHERE run = ? AND state IN ('working', 'auth-required') ORDER BY at DESC LIMIT 1", run);
}

/** Of runs that have ended, no more than 50. */
export function linksLeft(database: Database): Link[] {
  return database.all("SELECT c.* FROM a2a_calls c JOIN runs r ON r.id = c.run WHERE r.ended_at IS NOT NULL LIMIT 50");
}
