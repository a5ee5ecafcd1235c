/**
 * Where callers want to be told of their tasks. There is no list of what is still to be sent: a task's changes are numbered for good, so the
 * number that was delivered last is enough, and it survives every kill. Each address is told at least once of each change, in order.
 */
import { createHash } from "node:crypto";
import type { Database } from "../engine/database.ts";
import { ClearedError } from "../kernel/errors.ts";
import type { Host } from "./host.ts";
import { assertAllowed } from "./task-intake.ts";
import type { Followed, Follower } from "./task-follow.ts";
import type { TaskRow } from "./task-store.ts";
import { type TaskView, hasEnded } from "./task-view.ts";

export interface PushConfig {
  /** Empty: one that follows from address and token, so that the same wish twice is one. */
  id: string;
  url: string;
  /** Sent along, so that the receiver knows who tells it. */
  token: string | null;
  authentication: { scheme: string; credentials: string } | null;
}

/** A task with changes that an address was not told of. */
export interface Push extends PushConfig {
  row: TaskRow;
  /** The generation of A2A that its caller speaks. */
  dialect: string;
  /** Number of the change that was delivered last. */
  sent: number;
  attempts: number;
  /** How much of the task was looked at: with this, what has come since is found without reading it. */
  events: number;
  entries: number;
}

export interface Pushes {
  /** Before a task is taken in. @throws TASK_REQUEST for an address that may not be told of anything */
  admit(config: PushConfig): Promise<void>;
  /** `from`: the change before the first that is to be told. Set again, it goes on where it was. @throws TASK_REQUEST */
  set(row: TaskRow, dialect: string, config: PushConfig, from: number): PushConfig;
  list(row: TaskRow): PushConfig[];
  delete(row: TaskRow, id: string): void;
  /** Those with something to tell by now, longest due first. */
  due(): Push[];
  /** What this one is to be told, each with the task as it stood then. */
  changes(push: Push): AsyncGenerator<Followed, TaskView>;
  /** Delivered up to this change. */
  sent(push: Push, generation: number): void;
  /** All that was there is delivered. */
  done(push: Push, view: TaskView): void;
  /** Tried again later, or never. Answers whether it is given up. */
  failed(push: Push, why: string, never: boolean): boolean;
}

const MOST_OF_A_TASK = 8;
const MOST_OF_AN_OWNER = 5000;
const LONGEST_WAIT_MS = 600_000;
/** With these waits more than a day. */
const MOST_TRIES = 160;
/** How long the address of an ended task can still be read. */
const KEPT_MS = 86_400_000;

const refused = (message: string): ClearedError => new ClearedError("TASK_REQUEST", message, { data: { rpc: -32602 } });

interface PushRow extends TaskRow {
  pid: string;
  dialect: string;
  url: string;
  token: string | null;
  authentication: string | null;
  sent: number;
  attempts: number;
  events: number;
  entries: number;
}

/** `isKnown`: whose token was removed hears nothing until there is one of that name again. */
export function createPushes(
  host: Pick<Host, "database" | "clock" | "trust">,
  follower: Follower,
  isKnown: (owner: string) => boolean,
): Pushes {
  const { clock } = host;
  const database: Database = host.database;
  const toConfig = ({ pid, url, token, authentication }: PushRow): PushConfig => ({
    id: pid,
    url,
    token,
    authentication: authentication === null ? null : (JSON.parse(authentication) as PushConfig["authentication"]),
  });
  const update = (push: Push, set: string, ...values: (string | number | null)[]): void =>
    void database.write(() => database.run(`UPDATE task_pushes SET ${set} WHERE tid = ? AND pid = ?`, ...values, push.row.tid, push.id));

  return {
    admit: ({ url }) => assertAllowed(host, "The push address", url),
    set(row, dialect, { id, url, token, authentication }, from) {
      const pid =
        id === ""
          ? `push-${createHash("sha256")
              .update(JSON.stringify([url, token]))
              .digest("hex")
              .slice(0, 16)}`
          : id;
      const auth = authentication === null ? null : JSON.stringify(authentication);
      database.write(() => {
        const before = database.get<{ url: string }>("SELECT url FROM task_pushes WHERE tid = ? AND pid = ?", row.tid, pid);
        const count = (where: string, value: string | number) =>
          database.get<{ n: number }>(`SELECT count(*) AS n FROM task_pushes JOIN tasks USING (tid) WHERE ${where}`, value)?.n ?? 0;
        if (before === undefined && count("tid = ?", row.tid) >= MOST_OF_A_TASK)
          throw refused(`The task has ${MOST_OF_A_TASK} push addresses already. Delete one of them first.`);
        if (before === undefined && count("state = 'open' AND owner = ?", row.owner) >= MOST_OF_AN_OWNER)
          throw refused(`${MOST_OF_AN_OWNER} push addresses are in use already. Subscribe to the task, or ask for it again.`);
        database.run(
          `INSERT INTO task_pushes VALUES (?, ?, ?, ?, ?, ?, 'open', ?, ?, 0, -1, -1, NULL) ON CONFLICT (tid, pid) DO UPDATE SET
             dialect = excluded.dialect, url = excluded.url, token = excluded.token, authentication = excluded.authentication,
             state = 'open', due_at = excluded.due_at, attempts = 0, entries = -1`,
          ...[row.tid, pid, dialect, url, token, auth, from, clock.now()],
        );
      });
      return { id: pid, url, token, authentication };
    },
    list: ({ tid }) => database.all<PushRow>("SELECT * FROM task_pushes WHERE tid = ? ORDER BY rowid", tid).map(toConfig),
    delete: ({ tid }, id) => void database.write(() => database.run("DELETE FROM task_pushes WHERE tid = ? AND pid = ?", tid, id)),
    due() {
      const now = clock.now();
      const old = now - KEPT_MS;
      if (database.get("SELECT 1 FROM task_pushes WHERE state <> 'open' AND due_at < ?", old) !== undefined)
        database.write(() => database.run("DELETE FROM task_pushes WHERE state <> 'open' AND due_at < ?", old));
      return database
        .all<PushRow & { now_events: number; now_entries: number }>(
          `SELECT * FROM (
             SELECT t.*, p.*, coalesce(r.events, 0) AS now_events, (SELECT count(*) FROM task_entries e WHERE e.tid = p.tid) AS now_entries
             FROM task_pushes p JOIN tasks t USING (tid) LEFT JOIN runs r ON r.id = t.run WHERE p.state = 'open' AND p.due_at <= ?)
           WHERE events <> now_events OR entries <> now_entries ORDER BY due_at`,
          now,
        )
        .filter(({ owner }) => isKnown(owner))
        .map((one) => {
          const { tid, id, owner, context, alias, draft, run, at, dialect, sent, attempts, now_events: events, now_entries: entries } = one;
          return { ...toConfig(one), row: { tid, id, owner, context, alias, draft, run, at }, dialect, sent, attempts, events, entries };
        });
    },
    async *changes({ row, sent }) {
      const past = follower.past(row);
      for (;;) {
        const next = await past.next();
        if (next.done === true) return next.value;
        if (next.value.change.generation > sent) yield next.value;
      }
    },
    sent(push, generation) {
      push.attempts = 0;
      update(push, "sent = ?, attempts = 0, last_error = NULL", generation);
    },
    done(push, view) {
      const state = hasEnded(view.status.state) ? "done" : "open";
      update(push, "state = ?, events = ?, entries = ?, due_at = ?", state, push.events, push.entries, clock.now());
    },
    failed(push, why, never) {
      const attempts = push.attempts + 1;
      const dead = never || attempts >= MOST_TRIES;
      const due = clock.now() + (dead ? 0 : Math.min(LONGEST_WAIT_MS, 1000 * 2 ** Math.min(push.attempts, 20)));
      update(push, "state = ?, due_at = ?, attempts = ?, last_error = ?", dead ? "dead" : "open", due, attempts, why.slice(0, 300));
      return dead;
    },
  };
}
