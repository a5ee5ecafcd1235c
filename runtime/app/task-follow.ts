/** Reading a task: as it stands, or change by change as they come. Both feed the same projection with the same lists in the same order. */
import type { Watch } from "../engine/rows.ts";
import { toWire } from "../kernel/errors.ts";
import type { RunEvent } from "../kernel/ports.ts";
import type { Host } from "./host.ts";
import type { Entry, TaskRow, TaskStore } from "../engine/store/tasks.ts";
import { type TaskChange, type TaskView, createProjection, hasEnded } from "./task-view.ts";

export interface Followed {
  change: TaskChange;
  view: TaskView;
}

export interface Follower {
  view(row: TaskRow): Promise<TaskView>;
  /** Every change so far, each with the task as it stood after it. */
  past(row: TaskRow): AsyncGenerator<Followed, TaskView>;
  /** Changes after number `from`, until the task has ended or nobody listens. `again`: the row as it is now. */
  changes(again: () => TaskRow, from: number, abort: AbortSignal): AsyncGenerator<Followed>;
}

// Whoever follows is woken by what happens; this is only for what nobody tells of.
const LOOK_MS = 30_000;

export function createFollower({ engine, cards }: Pick<Host, "engine" | "cards">, store: TaskStore, watch: Watch): Follower {
  const facts = { run: (id: string) => engine.get(id), cards: (run: string) => cards.list({ run }) };
  /** Of a history that is not kept any more how it ended, which its row knows. */
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
    const projection = createProjection(row, facts);
    const { view } = projection;
    // The events first: an entry that is placed behind one of them is there by then.
    const events = row.run === null ? [] : await eventsOf(row.run);
    const entries = store.entries(row.tid, 0);
    for (const event of events) {
      for (const change of projection.entries(before(entries, event))) yield { change, view };
      for (const change of await projection.event(event)) yield { change, view };
    }
    for (const change of projection.entries(entries)) yield { change, view };
    return view;
  };
  return {
    past,
    async view(row) {
      const changes = past(row);
      for (;;) {
        const next = await changes.next();
        if (next.done === true) return next.value;
      }
    },

    async *changes(again, from, abort) {
      let row = again();
      const projection = createProjection(row, facts);
      const { view } = projection;
      const told = function* (changes: Iterable<TaskChange>) {
        for (const change of changes) if (change.generation > from) yield { change, view };
      };
      const entries = () => store.entries(row.tid, 0);
      // Of this follower alone: of hundreds at one task each would wake all the others with every event.
      let wake = (): void => undefined;
      const stop = () => wake();
      abort.addEventListener("abort", stop, { once: true });
      let events: AsyncIterator<RunEvent> | null = null;
      let came: IteratorResult<RunEvent> | { failed: unknown } | null = null;
      const ask = (from: AsyncIterator<RunEvent>) =>
        void from.next().then(
          (next) => {
            came = next;
            wake();
          },
          (failed: unknown) => {
            came = { failed };
            wake();
          },
        );
      try {
        for (;;) {
          const changed = watch.next(row.id, LOOK_MS, (done) => (wake = done));
          row = again();
          if (events === null && row.run !== null) {
            view.run = row.run;
            events = engine.events(row.run, 1, { follow: true, abort })[Symbol.asyncIterator]();
            ask(events);
          }
          const next = came as IteratorResult<RunEvent> | { failed: unknown } | null;
          if (next === null) yield* told(projection.entries(entries()));
          else if ("failed" in next) throw next.failed;
          else if (next.done === true) return;
          else {
            came = null;
            yield* told(projection.entries(before(entries(), next.value)));
            yield* told(await projection.event(next.value));
            if (events !== null) ask(events);
          }
          if (hasEnded(view.status.state) || abort.aborted) return;
          if (came === null) await changed;
        }
      } finally {
        abort.removeEventListener("abort", stop);
        // A timer of a wait that nobody is in any more would hold the end of this process up.
        wake();
      }
    },
  };
}

/** What was said before the event happened. */
const before = (entries: readonly Entry[], { seq }: RunEvent): Entry[] => entries.filter((one) => one.after < seq);
