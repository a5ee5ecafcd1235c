/**
 * Reads tasks: their state, or change by change as it happens, from the same projection of the same lists in the same order; and a caller's
 * tasks page by page.
 */
import { setImmediate as turn } from "node:timers/promises";
import type { Watch } from "../engine/store/rows.ts";
import { ClearedError, toWire } from "../kernel/errors.ts";
import type { RunEvent } from "../kernel/ports.ts";
import type { Entry, TaskRow, TaskState, TaskStore } from "../engine/store/tasks.ts";
import { type TaskChange, type TaskFacts, type TaskView, createProjection, hasEnded } from "./task-view.ts";

export interface Followed {
  change: TaskChange;
  view: TaskView;
}

export interface Follower {
  view(row: TaskRow): Promise<TaskView>;
  /** Every change so far, each with the task after it. A task has at least one change: its creation. */
  past(row: TaskRow): AsyncGenerator<Followed>;
  /** Changes after number `from`, until the task ends or nobody listens. `again`: the current row. */
  changes(again: () => TaskRow, from: number, abort: AbortSignal): AsyncGenerator<Followed>;
}

// Followers are woken by events; this covers changes without one.
const LOOK_MS = 30_000;

export function createFollower(host: TaskFacts, store: TaskStore, watch: Watch): Follower {
  const { engine } = host;
  /** For a history that is no longer stored, only the end, which its row has. */
  const eventsOf = async (run: string): Promise<RunEvent[]> => {
    try {
      return await Array.fromAsync(engine.events(run, 1));
    } catch (error) {
      const record = toWire(error).code === "HISTORY_GONE" ? await engine.get(run) : null;
      if (record === null) throw error;
      const { status, outcome, endedAt, createdAt, error: why } = record;
      const body = { status, outcome, code: why?.code ?? "HISTORY_GONE" };
      return [{ run, seq: Number.MAX_SAFE_INTEGER, type: "ended", at: endedAt ?? createdAt, body }];
    }
  };
  const past: Follower["past"] = async function* (row) {
    const projection = createProjection(row, host);
    const { view } = projection;
    // Events are read first, so that an entry placed behind one of them is there.
    const events = row.run === null ? [] : await eventsOf(row.run);
    const entries = store.entries(row.tid, 0);
    for (const event of events) {
      for (const change of projection.entries(before(entries, event))) yield { change, view };
      for (const change of await projection.event(event)) yield { change, view };
    }
    for (const change of projection.entries(entries)) yield { change, view };
  };
  return {
    past,
    async view(row) {
      const { view } = createProjection(row, host);
      return (await Array.fromAsync(past(row))).at(-1)?.view ?? view;
    },

    async *changes(again, from, abort) {
      let row = again();
      const projection = createProjection(row, host);
      const { view } = projection;
      const told = function* (changes: Iterable<TaskChange>) {
        for (const change of changes) if (change.generation > from) yield { change, view };
      };
      const entries = () => store.entries(row.tid, 0);
      // One per follower: a shared one would wake hundreds of followers of other tasks with every event.
      let wake = (): void => undefined;
      const stop = () => wake();
      abort.addEventListener("abort", stop, { once: true });
      let events: AsyncIterator<RunEvent> | null = null;
      let came: IteratorResult<RunEvent> | { failed: unknown } | null = null;
      const ask = async (from: AsyncIterator<RunEvent>): Promise<void> => {
        came = await from.next().catch((failed: unknown) => ({ failed }));
        wake();
      };
      try {
        for (;;) {
          const changed = watch.next(row.id, LOOK_MS, (done) => (wake = done));
          row = again();
          if (events === null && row.run !== null) {
            view.run = row.run;
            events = engine.events(row.run, 1, { follow: true, abort })[Symbol.asyncIterator]();
            void ask(events);
          }
          const next = came as IteratorResult<RunEvent> | { failed: unknown } | null;
          if (next === null) yield* told(projection.entries(entries()));
          else if ("failed" in next) throw next.failed;
          else if (next.done === true) return;
          else {
            came = null;
            yield* told(projection.entries(before(entries(), next.value)));
            yield* told(await projection.event(next.value));
            if (events !== null) void ask(events);
          }
          if (hasEnded(view.status.state) || abort.aborted) return;
          if (came === null) await changed;
        }
      } finally {
        abort.removeEventListener("abort", stop);
        // A leftover timer would delay the end of this process.
        wake();
      }
    },
  };
}

/** Messages sent before the event. */
const before = (entries: readonly Entry[], { seq }: RunEvent): Entry[] => entries.filter((one) => one.after < seq);

interface TaskQuery {
  context?: string | undefined;
  state?: TaskState | undefined;
  since?: number | undefined;
  /** `next` of the previous page. */
  page?: string | undefined;
  limit: number;
}

type Found = ReturnType<TaskStore["list"]>[number];

/** Most recently changed first. */
export function createList(store: TaskStore, viewOf: (row: TaskRow) => Promise<TaskView>) {
  /** `show`: the wanted part of each; a page of large tasks is not held in memory whole. @throws TASK_REQUEST for an invalid page */
  return async <T>({ owner }: { owner: string }, query: TaskQuery, show: (view: TaskView) => T) => {
    const { context, state, since, page, limit } = query;
    // Null: removed since it was found.
    const view = async ({ id }: Found): Promise<TaskView | null> => {
      const row = store.find(owner, id);
      return row === undefined ? null : viewOf(row);
    };
    const rows: Found[] = [];
    for (const one of store.list({ owner, context, since })) {
      // Yields to others: an owner may have ten thousand tasks.
      if (state !== undefined) await turn();
      if (state === undefined || (await view(one))?.status.state === state) rows.push(one);
    }
    const at = page === undefined ? null : placeOf(page);
    const rest = at === null ? rows : rows.filter(({ moved, tid }) => moved < at.moved || (moved === at.moved && tid < at.tid));
    const shown = rest.slice(0, limit);
    const tasks: T[] = [];
    for (const one of shown) {
      const now = await view(one);
      if (now !== null) tasks.push(show(now));
    }
    return { tasks, next: rest.length > limit ? nameOf(shown.at(-1)) : "", total: rows.length };
  };
}

function nameOf(last: { moved: number; tid: number } | undefined): string {
  return last === undefined ? "" : Buffer.from(`${last.moved} ${last.tid}`).toString("base64url");
}

/** @throws TASK_REQUEST for an invalid page token */
function placeOf(page: string): { moved: number; tid: number } {
  const found = /^(\d+) (\d+)$/.exec(Buffer.from(page, "base64url").toString());
  if (found === null) throw new ClearedError("TASK_REQUEST", "pageToken is not one of an answer before.", { data: { rpc: -32602 } });
  return { moved: Number(found[1]), tid: Number(found[2]) };
}
