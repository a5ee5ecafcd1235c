/**
 * Tasks of other agents as stored: one row each, and its entries beside the events of its run. An entry records the number of events its run
 * had at that moment, so that entries and events together have one order, which never changes.
 */
import type { Database } from "./database.ts";
import type { Json } from "../../kernel/ports.ts";

export type TaskState = "submitted" | "working" | "input-required" | "auth-required" | "completed" | "failed" | "canceled" | "rejected";

export type TaskPart = { text: string } | { data: Json };

export const textIn = (parts: readonly TaskPart[]): string => parts.flatMap((part) => ("text" in part ? [part.text] : [])).join("\n");

export interface TaskMessage {
  id: string;
  role: "user" | "agent";
  parts: TaskPart[];
  metadata?: Json;
}

export interface TaskRow {
  tid: number;
  id: string;
  owner: string;
  context: string;
  /** The id its caller gave it (tasks/send). */
  alias: string | null;
  /** The input known so far, JSON. */
  draft: string;
  run: string | null;
  at: number;
  /** When its entries were deleted. */
  removed: number | null;
}

/** A change of a task that is not an event of its run. */
export interface Said {
  state: TaskState;
  /** What its caller wrote. */
  message?: TaskMessage;
  /** What its caller is told: the question, or why it ended. */
  parts?: TaskPart[];
  /** Hash of the message that came with this entry's key. */
  content?: string;
}

export interface Entry extends Said {
  n: number;
  after: number;
  at: number;
}

export type TaskStore = ReturnType<typeof createTaskStore>;
/** What changes together with an entry. */
type More = { key: string | null; draft?: string; run?: string | null };

// When a task last changed: the end of its run, which stays in the row when the history is archived, or its last status event or entry.
const MOVED = `max(coalesce(r.ended_at, (SELECT max(at) FROM events WHERE events.rid = r.rid AND type = 'status'), 0),
  (SELECT max(at) FROM task_entries WHERE task_entries.tid = t.tid))`;

/** Bytes by owner, for owners that were asked about; one count for all writers of a store. */
const STORED = new WeakMap<Database, Map<string, number>>();

/** An expression over the last entry of a task `t`. */
const lastOf = (what: string) => `(SELECT ${what} FROM task_entries e WHERE e.tid = t.tid ORDER BY n DESC LIMIT 1)`;
const ENDED = "json_extract(body, '$.state') IN ('completed', 'failed', 'canceled', 'rejected')";

// Tasks that nobody can follow any more: the run has ended or none was started, no push is open, and no run of their context is open.
const OVER = `SELECT t.tid, t.owner FROM tasks t LEFT JOIN runs r ON r.id = t.run WHERE t.removed IS NULL AND t.at < ?1 AND
  CASE WHEN t.run IS NOT NULL THEN coalesce(r.ended_at, 0) < ?1 AND (r.id IS NULL OR r.ended_at IS NOT NULL)
    ELSE ${lastOf(`at < ?1 AND ${ENDED}`)} END
  AND NOT EXISTS (SELECT 1 FROM task_pushes p WHERE p.tid = t.tid AND p.state = 'open')
  AND NOT EXISTS (SELECT 1 FROM tasks o JOIN runs s ON s.id = o.run WHERE o.owner = t.owner AND o.context = t.context AND s.ended_at IS NULL)
  ORDER BY t.tid LIMIT ?2`;

export function createTaskStore(database: Database) {
  const stored = STORED.getOrInsertComputed(database, () => new Map<string, number>());
  const grow = (owner: string, by: number): void => {
    const known = stored.get(owner);
    if (known !== undefined) stored.set(owner, known + by);
    database.undone(() => stored.delete(owner));
  };
  const toEntry = ({ body, ...row }: { n: number; after: number; at: number; body: string }): Entry => ({
    ...row,
    ...(JSON.parse(body) as Said),
  });
  /** Inside the caller's transaction. */
  const add = (tid: number, after: number, at: number, key: string | null, said: Said): number => {
    const n = database.get<{ n: number }>("SELECT count(*) AS n FROM task_entries WHERE tid = ?", tid)?.n ?? 0;
    const body = JSON.stringify(said);
    database.run("INSERT INTO task_entries VALUES (?, ?, ?, ?, ?, ?)", tid, n, after, key, at, body);
    return Buffer.byteLength(body);
  };
  return {
    find: (owner: string, id: string) =>
      database.get<TaskRow>("SELECT * FROM tasks WHERE id = ? AND owner = ? AND removed IS NULL", id, owner),
    byAlias: (owner: string, alias: string) =>
      database.get<TaskRow>(
        "SELECT * FROM tasks WHERE owner = ? AND alias = ? AND removed IS NULL ORDER BY tid DESC LIMIT 1",
        ...[owner, alias],
      ),
    /** Tasks of the context that have not ended, newest first; no more than 50. */
    openIn: (owner: string, context: string) =>
      database.all<TaskRow>(
        `SELECT t.* FROM tasks t LEFT JOIN runs r ON r.id = t.run WHERE t.owner = ? AND t.context = ? AND t.removed IS NULL AND r.ended_at IS NULL
         AND (t.run IS NOT NULL OR NOT ${lastOf(ENDED)}) ORDER BY tid DESC LIMIT 50`,
        ...[owner, context],
      ),
    /** The last tasks of the context, oldest first. */
    inContext: (owner: string, context: string, most: number) =>
      database
        .all<TaskRow>(
          "SELECT * FROM tasks WHERE owner = ? AND context = ? AND removed IS NULL ORDER BY tid DESC LIMIT ?",
          ...[owner, context, most],
        )
        .reverse(),
    /** The last runs of the context, newest first. */
    runsIn: (owner: string, context: string) =>
      database.all<{ run: string; agent: string; input: string }>(
        "SELECT r.id AS run, r.agent, r.input FROM tasks t JOIN runs r ON r.id = t.run WHERE t.owner = ? AND t.context = ? AND t.removed IS NULL ORDER BY tid DESC LIMIT 8",
        ...[owner, context],
      ),
    byKey(key: string) {
      const found = database.get<TaskRow & { body: string }>(
        "SELECT tasks.*, body FROM task_entries JOIN tasks USING (tid) WHERE key = ?",
        key,
      );
      if (found === undefined) return undefined;
      const { body, ...row } = found;
      return { row, content: (JSON.parse(body) as Said).content };
    },
    entries: (tid: number, from: number): Entry[] =>
      database
        .all<{ n: number; after: number; at: number; body: string }>(
          "SELECT n, after, at, body FROM task_entries WHERE tid = ? AND n >= ? ORDER BY n",
          ...[tid, from],
        )
        .map(toEntry),
    /** Creates a task with its first entries. */
    create(row: Omit<TaskRow, "tid" | "removed">, { key, first, also }: { key: string | null; first: Said; also: Said | null }): void {
      const { id, owner, context, alias, draft, run, at } = row;
      database.write(() => {
        database.run(
          "INSERT INTO tasks (id, owner, context, alias, draft, run, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
          ...[id, owner, context, alias, draft, run, at],
        );
        const tid = database.get<{ tid: number }>("SELECT tid FROM tasks WHERE id = ?", id)?.tid ?? 0;
        grow(owner, Buffer.byteLength(draft) + add(tid, 0, at, key, first) + (also === null ? 0 : add(tid, 0, at, null, also)));
      });
    },
    /** Adds entries. False, and nothing is added, where the task has ended or begun its run since `row` was read. */
    say: (row: TaskRow, at: number, said: readonly Said[], { key, draft, run }: More = { key: null }): boolean =>
      database.write(() => {
        const open = `SELECT 1 FROM tasks t WHERE tid = ? AND run IS NULL AND NOT ${lastOf(ENDED)}`;
        if (row.run === null && database.get(open, row.tid) === undefined) return false;
        // The entry that starts the run comes before all of the run's events.
        const after = row.run === null ? 0 : database.get<{ n: number }>("SELECT events AS n FROM runs WHERE id = ?", row.run)?.n;
        for (const [i, one] of said.entries()) grow(row.owner, add(row.tid, after ?? 0, at, i === 0 ? key : null, one));
        if (draft !== undefined) {
          database.run("UPDATE tasks SET draft = ? WHERE tid = ?", draft, row.tid);
          grow(row.owner, Buffer.byteLength(draft) - Buffer.byteLength(row.draft));
        }
        if (run != null) database.run("UPDATE tasks SET run = ? WHERE tid = ?", run, row.tid);
        return true;
      }),
    /** Bytes that the tasks of an owner occupy. */
    stored: (owner: string): number =>
      stored.getOrInsertComputed(owner, () => {
        const entries = "(SELECT coalesce(sum(octet_length(body)), 0) FROM task_entries e WHERE e.tid = t.tid)";
        const all = `SELECT coalesce(sum(octet_length(draft) + ${entries}), 0) AS n FROM tasks t WHERE owner = ? AND removed IS NULL`;
        return database.get<{ n: number }>(all, owner)?.n ?? 0;
      }),
    /** Adds `end` to tasks that have waited for their caller's answer since before `before`; returns their ids, no more than `most`. */
    endUnanswered: (before: number, at: number, end: Said, most: number): string[] =>
      database.write(() => {
        const waits = lastOf("at < ?1 AND json_extract(body, '$.state') = 'input-required'");
        const asked = `SELECT t.* FROM tasks t WHERE run IS NULL AND removed IS NULL AND at < ?1 AND ${waits} ORDER BY tid LIMIT ?2`;
        return database.all<TaskRow>(asked, before, most).map((row) => {
          grow(row.owner, add(row.tid, 0, at, null, end));
          return row.id;
        });
      }),
    /** Deletes the entries of tasks that ended before `before`; returns how many tasks, no more than `most`. Their keys stay. */
    removeEnded: (before: number, at: number, most: number): number =>
      database.write(() => {
        const over = database.all<{ tid: number; owner: string }>(OVER, before, most);
        for (const { tid, owner } of over) {
          database.run("DELETE FROM task_pushes WHERE tid = ?", tid);
          database.run("DELETE FROM task_entries WHERE tid = ? AND key IS NULL", tid);
          // A repeated key is still compared with the hash of its first message.
          const left = "json_object('state', json_extract(body, '$.state'), 'content', json_extract(body, '$.content'))";
          database.run(`UPDATE task_entries SET body = ${left} WHERE tid = ?`, tid);
          database.run("UPDATE tasks SET draft = '', removed = ? WHERE tid = ?", at, tid);
          stored.delete(owner);
        }
        return over.length;
      }),
    /** Last changed first. `since`: only tasks that changed at this time or later, ms. */
    list: ({ owner, context, since }: { owner: string; context?: string | undefined; since?: number | undefined }) =>
      database.all<{ tid: number; id: string; moved: number }>(
        `SELECT * FROM (SELECT t.tid, t.id, ${MOVED} AS moved FROM tasks t LEFT JOIN runs r ON r.id = t.run WHERE t.owner = ? AND t.context = ifnull(?, t.context) AND t.removed IS NULL)
         WHERE moved >= ? ORDER BY moved DESC, tid DESC`,
        ...[owner, context ?? null, since ?? 0],
      ),
  };
}
