/**
 * Slots for what a run waits for while it holds its own (a synthesized tool): one for each level, started at its first use and ended
 * after a while without work. A job waits only for those before it in its level and, while it runs, for those of lower levels: nothing
 * waits in a circle, however few slots there are. Called by pool.ts only.
 */
import type { Job, JobEnd } from "../kernel/ports.ts";
import { untilEnded } from "./lost.ts";
import type { Slot } from "./slot.ts";

export interface NestedSlots {
  run(job: Job, level: number): Promise<JobEnd>;
  /** Ends the slots without work for so long. */
  sweep(idleMs: number): void;
  close(): Promise<void>;
}

interface NestedSlot {
  slot: Slot | null;
  /** Settles when the job that came last is over. */
  last: Promise<unknown>;
}

export function createNestedSlots(start: () => Slot): NestedSlots {
  const slots = new Map<number, NestedSlot>();
  let closed = false;

  const runIn = (own: NestedSlot, wanted: Job): Promise<JobEnd> =>
    untilEnded(wanted, async (job) => {
      if (closed || job.abort?.aborted === true) return null;
      if (own.slot === null || !own.slot.alive()) own.slot = start();
      const { slot } = own;
      slot.busy = true;
      try {
        return await slot.run(job);
      } finally {
        slot.busy = false;
      }
    });
  const drop = (own: NestedSlot): Promise<void> => {
    const { slot } = own;
    own.slot = null;
    return slot?.kill() ?? Promise.resolve();
  };
  return {
    run(job, level) {
      const own = slots.get(level) ?? { slot: null, last: Promise.resolve() };
      slots.set(level, own);
      const ended = own.last.then(() => runIn(own, job));
      own.last = ended.catch(() => undefined);
      return ended;
    },
    sweep(idleMs) {
      for (const own of slots.values()) if (own.slot !== null && !own.slot.busy && Date.now() - own.slot.idleSince > idleMs) void drop(own);
    },
    async close() {
      closed = true;
      await Promise.all([...slots.values()].map(drop));
    },
  };
}
