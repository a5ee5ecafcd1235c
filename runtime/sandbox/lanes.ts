/**
 * Slots for what a run waits for while it holds its own (a synthesized tool): one for each level, started at its first use and ended
 * after a while without work. A job waits only for those before it in its lane and, while it runs, for lanes of lower levels: nothing
 * waits in a circle, however few slots there are. Called by pool.ts only.
 */
import type { Job, JobEnd } from "../kernel/ports.ts";
import { untilEnded } from "./lost.ts";
import type { Slot } from "./slot.ts";

export interface Lanes {
  run(job: Job, level: number): Promise<JobEnd>;
  /** Ends the slots without work for so long. */
  sweep(idleMs: number): void;
  close(): Promise<void>;
}

interface Lane {
  slot: Slot | null;
  /** Settles when the job that came last is over. */
  last: Promise<unknown>;
}

export function createLanes(start: () => Slot): Lanes {
  const lanes = new Map<number, Lane>();
  let closed = false;

  const runIn = (lane: Lane, wanted: Job): Promise<JobEnd> =>
    untilEnded(wanted, async (job) => {
      if (closed || job.abort?.aborted === true) return null;
      if (lane.slot === null || !lane.slot.alive()) lane.slot = start();
      const { slot } = lane;
      slot.busy = true;
      try {
        return await slot.run(job);
      } finally {
        slot.busy = false;
      }
    });
  const drop = (lane: Lane): Promise<void> => {
    const { slot } = lane;
    lane.slot = null;
    return slot?.kill() ?? Promise.resolve();
  };
  return {
    run(job, level) {
      const lane = lanes.get(level) ?? { slot: null, last: Promise.resolve() };
      lanes.set(level, lane);
      const ended = lane.last.then(() => runIn(lane, job));
      lane.last = ended.catch(() => undefined);
      return ended;
    },
    sweep(idleMs) {
      for (const lane of lanes.values())
        if (lane.slot !== null && !lane.slot.busy && Date.now() - lane.slot.idleSince > idleMs) void drop(lane);
    },
    async close() {
      closed = true;
      await Promise.all([...lanes.values()].map(drop));
    },
  };
}
