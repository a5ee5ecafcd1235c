/**
 * Where callers want to be told of their tasks. There is no list of what is still to be sent: a task's changes are numbered for good, so the
 * number that was delivered last is enough, and it survives every kill. Each address is told at least once of each change, in order.
 */
import { digestOf } from "../kernel/canonical.ts";
import { ClearedError } from "../kernel/errors.ts";
import type { Host } from "./host.ts";
import { full } from "./callers.ts";
import { assertAllowed } from "./task-intake.ts";
import type { Follower } from "./task-follow.ts";
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
export interface Push extends TaskRow {
  pid: string;
  /** The generation of A2A that its caller speaks. */
  dialect: string;
  config: PushConfig;
  /** Number of the change that was delivered last. */
  sent: number;
  attempts: number;
  /** How much of the task there is: with what was looked at before, what has come since is found without reading it. */
  events: number;
  entries: number;
}

const MOST_OF_A_TASK = 8;
const MOST_OF_AN_OWNER = 5000;
const LONGEST_WAIT_MS = 600_000;
/** With these waits more than a day. */
const MOST_TRIES = 160;
/** How long the address of an ended task can still be read. */
const KEPT_MS = 86_400_000;

const refused = (message: string): ClearedError => new ClearedError("TASK_REQUEST", message, { data: { rpc: -32602 } });

/** `owners`: whose token was removed hears nothing until there is one of that name again. */
export function createPushes(
  host: Pick<Host, "database" | "clock" | "trust">,
  follower: Follower,
  owners: () => (owner: string) => boolean,
) {
  const { clock, database } = host;
  const update = ({ tid, pid }: Push, set: string, ...values: (string | number)[]): void =>
    void database.write(() => database.run(`UPDATE task_pushes SET ${set} WHERE tid = ? AND pid = ?`, ...values, tid, pid));
  const count = (where: string, value: string | number): number =>
    database.get<{ n: number }>(`SELECT count(*) AS n FROM task_pushes JOIN tasks USING (tid) WHERE ${where}`, value)?.n ?? 0;

  return {
    /** Before a task is taken in. @throws TASK_REQUEST for an address that may not be told of anything */
    admit: ({ url }: PushConfig) => assertAllowed(host, "The push address", url),
    /** `from`: the change before the first that is to be told. Set again, it goes on where it was. @throws TASK_REQUEST */
    set({ tid, owner }: TaskRow, dialect: string, given: PushConfig, from: number): PushConfig {
      const id = given.id === "" ? `push-${digestOf([given.url, given.token])}` : given.id;
      const config = { ...given, id };
      database.write(() => {
        const known = database.get("SELECT 1 FROM task_pushes WHERE tid = ? AND pid = ?", tid, id) !== undefined;
        if (!known && count("tid = ?", tid) >= MOST_OF_A_TASK)
          throw refused(`The task has ${MOST_OF_A_TASK} push addresses already. Delete one of them first.`);
        if (!known && count("state = 'open' AND owner = ?", owner) >= MOST_OF_AN_OWNER)
          throw full(`${MOST_OF_AN_OWNER} push addresses are in use already. Subscribe to the task, or ask for it again.`, 60);
        database.run(
          `INSERT INTO task_pushes VALUES (?, ?, ?, ?, 'open', ?, ?, 0, -1, -1, NULL) ON CONFLICT (tid, pid) DO UPDATE SET
             dialect = excluded.dialect, config = excluded.config, state = 'open', due_at = excluded.due_at, attempts = 0, entries = -1`,
          ...[tid, id, dialect, JSON.stringify(config), from, clock.now()],
        );
      });
      return config;
    },
    list: ({ tid }: TaskRow) =>
      database
        .all<{ config: string }>("SELECT config FROM task_pushes WHERE tid = ? ORDER BY rowid", tid)
        .map(({ config }) => JSON.parse(config) as PushConfig),
    delete: ({ tid }: TaskRow, id: string) =>
      void database.write(() => database.run("DELETE FROM task_pushes WHERE tid = ? AND pid = ?", tid, id)),
    /** Those with something to tell by now, longest due first. */
    due(): Push[] {
      const now = clock.now();
      const old = "FROM task_pushes WHERE state <> 'open' AND due_at < ?";
      if (database.get(`SELECT 1 ${old}`, now - KEPT_MS) !== undefined) database.write(() => database.run(`DELETE ${old}`, now - KEPT_MS));
      const found = database.all<Omit<Push, "config"> & { config: string }>(
        `SELECT * FROM (
           SELECT t.*, p.pid, p.dialect, p.config, p.sent, p.attempts, p.due_at, p.events AS seen_events, p.entries AS seen_entries,
             coalesce(r.events, 0) AS events, (SELECT count(*) FROM task_entries e WHERE e.tid = p.tid) AS entries
           FROM task_pushes p JOIN tasks t USING (tid) LEFT JOIN runs r ON r.id = t.run WHERE p.state = 'open' AND p.due_at <= ?)
         WHERE events <> seen_events OR entries <> seen_entries ORDER BY due_at`,
        now,
      );
      const isKnown = found.length === 0 ? null : owners();
      return found.flatMap((one) => (isKnown?.(one.owner) ? [{ ...one, config: JSON.parse(one.config) as PushConfig }] : []));
    },
    /** All that has changed, each with the task as it stood then. */
    changes: (push: Push) => follower.past(push),
    /** Delivered up to this change. */
    sent(push: Push, generation: number): void {
      push.attempts = 0;
      update(push, "sent = ?, attempts = 0, last_error = NULL", generation);
    },
    /** All that was there is delivered. */
    done(push: Push, last: TaskView | null): void {
      const state = last !== null && hasEnded(last.status.state) ? "done" : "open";
      update(push, "state = ?, events = ?, entries = ?, due_at = ?", state, push.events, push.entries, clock.now());
    },
    /** Tried again later, or never. Answers whether it is given up. */
    failed(push: Push, why: string, never: boolean): boolean {
      const attempts = push.attempts + 1;
      const dead = never || attempts >= MOST_TRIES;
      const due = clock.now() + (dead ? 0 : Math.min(LONGEST_WAIT_MS, 1000 * 2 ** Math.min(push.attempts, 20)));
      update(push, "state = ?, due_at = ?, attempts = ?, last_error = ?", dead ? "dead" : "open", due, attempts, why.slice(0, 300));
      return dead;
    },
  };
}
