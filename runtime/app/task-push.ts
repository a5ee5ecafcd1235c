/**
 * Push notifications about tasks. No list of pending messages is stored: a task's changes have permanent numbers, so the last delivered number
 * is enough, and it survives every kill. Each address receives each change at least once, in order.
 */
import { digestOf } from "../kernel/canonical.ts";
import { ClearedError } from "../kernel/errors.ts";
import type { Host } from "./host.ts";
import { full } from "./callers.ts";
import { assertAllowed } from "./task-intake.ts";
import type { Follower } from "./task-follow.ts";
import {
  type PushRow,
  dropClosedPushes,
  dropPush,
  duePushes,
  hasPush,
  movePush,
  openPushes,
  pushesOf,
  setPush,
} from "../engine/store/pushes.ts";
import type { TaskRow } from "../engine/store/tasks.ts";
import { sealerOf } from "../workspace/settings/confirmation.ts";
import { type TaskView, hasEnded } from "./task-view.ts";

export interface PushConfig {
  /** Empty: derived from address and token, so that repeating a registration changes nothing. */
  id: string;
  url: string;
  /** Sent along, so that the receiver can identify the sender. */
  token: string | null;
  authentication: { scheme: string; credentials: string } | null;
}

/** A task with changes that an address has not received. */
export type Push = Omit<PushRow, "config"> & { config: PushConfig };

const MOST_OF_A_TASK = 8;
const MOST_OF_AN_OWNER = 5000;
const LONGEST_WAIT_MS = 600_000;
/** With the growing delays this is more than a day. */
const MOST_TRIES = 160;
/** How long the address of an ended task can still be read. */
const KEPT_MS = 86_400_000;

const refused = (message: string): ClearedError => new ClearedError("TASK_REQUEST", message, { data: { rpc: -32602 } });

/** `owners`: an owner whose token was removed receives nothing until a token with that name exists again. */
export function createPushes(
  host: Pick<Host, "dir" | "database" | "clock" | "trust">,
  follower: Follower,
  owners: () => (owner: string) => boolean,
) {
  const { dir, clock, database } = host;

  return {
    /** Called before a task is accepted. @throws TASK_REQUEST for an address that is not allowed */
    admit: ({ url }: PushConfig) => assertAllowed(host, "The push address", url),
    /** `from`: the change before the first to be sent. If set again, it continues where it was. @throws TASK_REQUEST */
    set({ id: task, tid, owner }: TaskRow, dialect: string, given: PushConfig, from: number): PushConfig {
      const id = given.id === "" ? `push-${digestOf([given.url, given.token])}` : given.id;
      const config = { ...given, id };
      database.write(() => {
        const known = hasPush(database, { tid, pid: id });
        if (!known && pushesOf(database, tid).length >= MOST_OF_A_TASK)
          throw refused(`The task has ${MOST_OF_A_TASK} push addresses already. Delete one of them first.`);
        if (!known && openPushes(database, owner) >= MOST_OF_AN_OWNER)
          throw full(`${MOST_OF_AN_OWNER} push addresses are in use already. Subscribe to the task, or ask for it again.`, 60);
        const text = JSON.stringify(config);
        const seal = sealerOf(dir)("push", task, owner, text);
        setPush(database, { tid, pid: id, dialect, config: text, sent: from, due_at: clock.now(), seal });
      });
      return config;
    },
    list: ({ tid }: TaskRow) => pushesOf(database, tid).map(({ config }) => JSON.parse(config) as PushConfig),
    delete: ({ tid }: TaskRow, pid: string) => dropPush(database, { tid, pid }),
    /** Those with something to send now, longest due first; a row that this user has not registered here is dropped. */
    due(): Push[] {
      dropClosedPushes(database, clock.now() - KEPT_MS);
      const found = duePushes(database, clock.now());
      const isKnown = found.length === 0 ? null : owners();
      const seal = found.length === 0 ? null : sealerOf(dir);
      return found.flatMap((one) => {
        if (one.seal !== seal?.("push", one.id, one.owner, one.config)) dropPush(database, one);
        else if (isKnown?.(one.owner)) return [{ ...one, config: JSON.parse(one.config) as PushConfig }];
        return [];
      });
    },
    /** All changes, each with the task at that time. */
    changes: (push: Push) => follower.past(push),
    /** Records delivery up to this change. */
    sent(push: Push, generation: number): void {
      push.attempts = 0;
      movePush(database, push, { sent: generation, attempts: 0, last_error: null });
    },
    /** Everything has been delivered. */
    done(push: Push, last: TaskView | null): void {
      const state = last !== null && hasEnded(last.status.state) ? "done" : "open";
      movePush(database, push, { state, events: push.events, entries: push.entries, due_at: clock.now() });
    },
    /** Tries again later, or never. Returns whether it is given up. */
    failed(push: Push, why: string, never: boolean): boolean {
      const attempts = push.attempts + 1;
      const dead = never || attempts >= MOST_TRIES;
      const due_at = clock.now() + (dead ? 0 : Math.min(LONGEST_WAIT_MS, 1000 * 2 ** Math.min(push.attempts, 20)));
      movePush(database, push, { state: dead ? "dead" : "open", due_at, attempts, last_error: why.slice(0, 300) });
      return dead;
    },
  };
}
