/** Which task of a remote agent belongs to a call (run/step) that has not ended. */
import type { Database } from "./database.ts";

export interface Link {
  key: string;
  run: string;
  agent: string;
  task: string;
  /**
   * Its last known state. `sent`: no task id is known yet; `in_doubt`: sent again only after a person's no; `ended`: not canceled with its run;
   * `given_up`: not polled any more.
   */
  state: "sent" | "in_doubt" | "working" | "auth-required" | "input-required" | "ended" | "given_up";
  /** Since when it is working, ms; its timeout does not run while it waits for its own people. */
  at: number;
  /** How long it may work, ms. */
  timeout: number;
  /** The last question that was answered. */
  answered: string | null;
  /** How often the task was sent: each time its answer was lost is a separate question to a person. */
  sent: number;
  /** Of key, agent and task. */
  seal: string | null;
}

export function linkOf(database: Database, key: string): Link | undefined {
  return database.get("SELECT * FROM a2a_calls WHERE key = ?", key);
}

export function keepLink(database: Database, link: Link): Link {
  const { key, run, agent, task, state, at, timeout, answered, sent, seal } = link;
  database.write(() =>
    database.run(
      "INSERT OR REPLACE INTO a2a_calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      ...[key, run, agent, task, state, at, timeout, answered, sent, seal],
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

/** The remote task that a waiting run waits for. */
export function linkAtWork(database: Database, run: string): Link | undefined {
  return database.get("SELECT * FROM a2a_calls WHERE run = ? AND state IN ('working', 'auth-required') ORDER BY at DESC LIMIT 1", run);
}

/** Of runs that have ended, no more than 50. */
export function linksLeft(database: Database): Link[] {
  return database.all("SELECT c.* FROM a2a_calls c JOIN runs r ON r.id = c.run WHERE r.ended_at IS NOT NULL LIMIT 50");
}
