/** Addresses to which callers want their tasks reported, one row per task and address. app/task-push.ts decides what is sent, and when. */
import type { Database } from "./database.ts";
import type { TaskRow } from "./tasks.ts";

interface Place {
  tid: number;
  pid: string;
}

/** `sent`: number of the last change delivered; `events`, `entries`: how much of the task was read for it. `due_at`: ms. */
interface Progress {
  state: "open" | "done" | "dead";
  sent: number;
  due_at: number;
  attempts: number;
  events: number;
  entries: number;
  last_error: string | null;
}

export interface PushRow extends TaskRow, Pick<Progress, "sent" | "attempts" | "events" | "entries"> {
  pid: string;
  /** The generation of A2A that its caller speaks. */
  dialect: string;
  /** JSON. */
  config: string;
  seal: string | null;
}

export function hasPush(database: Database, { tid, pid }: Place): boolean {
  return database.get("SELECT 1 FROM task_pushes WHERE tid = ? AND pid = ?", tid, pid) !== undefined;
}

export function pushesOf(database: Database, tid: number): { config: string }[] {
  return database.all("SELECT config FROM task_pushes WHERE tid = ? ORDER BY rowid", tid);
}

export function openPushes(database: Database, owner: string): number {
  const sql = "SELECT count(*) AS n FROM task_pushes JOIN tasks USING (tid) WHERE state = 'open' AND owner = ?";
  return database.get<{ n: number }>(sql, owner)?.n ?? 0;
}

type NewPush = Place & Pick<Progress, "sent" | "due_at"> & Pick<PushRow, "dialect" | "config" | "seal">;

/** Setting a push again continues where it was. */
export function setPush(database: Database, push: NewPush): void {
  const { tid, pid, dialect, config, sent, due_at, seal } = push;
  database.run(
    `INSERT INTO task_pushes VALUES (?, ?, ?, ?, 'open', ?, ?, 0, -1, -1, NULL, ?) ON CONFLICT (tid, pid) DO UPDATE SET
       dialect = excluded.dialect, config = excluded.config, seal = excluded.seal, state = 'open', due_at = excluded.due_at, attempts = 0, entries = -1`,
    ...[tid, pid, dialect, config, sent, due_at, seal],
  );
}

export function movePush(database: Database, { tid, pid }: Place, to: Partial<Progress>): void {
  const columns = Object.keys(to).map((column) => `${column} = ?`);
  const sql = `UPDATE task_pushes SET ${columns.join(", ")} WHERE tid = ? AND pid = ?`;
  database.write(() => database.run(sql, ...Object.values(to), tid, pid));
}

export function dropPush(database: Database, { tid, pid }: Place): void {
  database.write(() => database.run("DELETE FROM task_pushes WHERE tid = ? AND pid = ?", tid, pid));
}

/** Drops those that were closed before `before`, ms. */
export function dropClosedPushes(database: Database, before: number): void {
  const old = "FROM task_pushes WHERE state <> 'open' AND due_at < ?";
  if (database.get(`SELECT 1 ${old}`, before) !== undefined) database.write(() => database.run(`DELETE ${old}`, before));
}

/** Due pushes with something to report, longest due first; `events` and `entries` are the counts of the task now. */
export function duePushes(database: Database, now: number): PushRow[] {
  return database.all(
    `SELECT * FROM (
       SELECT t.*, p.pid, p.dialect, p.config, p.seal, p.sent, p.attempts, p.due_at, p.events AS seen_events, p.entries AS seen_entries,
         coalesce(r.events, 0) AS events, (SELECT count(*) FROM task_entries e WHERE e.tid = p.tid) AS entries
       FROM task_pushes p JOIN tasks t USING (tid) LEFT JOIN runs r ON r.id = t.run WHERE p.state = 'open' AND p.due_at <= ?)
     WHERE events <> seen_events OR entries <> seen_entries ORDER BY due_at`,
    now,
  );
}
