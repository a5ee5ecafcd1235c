/**
 * The sandbox as the engine sees it: compile a script, execute a job. Owns the children: one is made ready, more start on demand up to
 * `slots`, and all end after a while without work: the next run then waits 0.1 s, but an idle night costs no memory. A killed child is
 * replaced; the others are not affected.
 */
import type { Job, JobEnd, Sandbox } from "../kernel/ports.ts";
import { createKeyedTurns } from "../kernel/turns.ts";
import { createCompiler } from "./compile.ts";
import type { DiskCache } from "../scripts/disk-cache.ts";
import { untilEnded } from "./lost.ts";
import { type Slot, createSlot } from "./slot.ts";

export interface SandboxOptions {
  /** How many scripts run at the same time. */
  slots?: number;
  /** Twice the speed for computing scripts, a larger attack surface. */
  jit?: boolean;
  /** Children end after this time without work, the last one after twice the time. */
  idleMs?: number;
  /** Whether to start a child before the first job; false for a process that rarely has one. */
  ahead?: boolean;
  /** Cache of compiled scripts for the next process. */
  cache?: DiskCache;
  /** limits.source_bytes of the agent that a file belongs to. Default: 64 KiB. */
  sourceBytes?: (file: string) => number;
}

/** Idle children of closed sandboxes, for the next sandbox of this process: a child does not depend on the workspace. */
const reusable = new Set<Slot>();
const MAX_REUSABLE = 2;

export function createSandbox(options: SandboxOptions = {}): Sandbox {
  const { slots = 2, jit = false, idleMs = 30_000, ahead = true, cache, sourceBytes } = options;
  const children = new Set<Slot>();
  const queue: (() => void)[] = [];
  const nested = createNestedSlots(() => createSlot({ jit }));
  let closed = false;

  const start = () => {
    const slot = [...reusable].find((one) => one.jit === jit && one.alive()) ?? createSlot({ jit });
    reusable.delete(slot);
    slot.idleSince = Date.now();
    children.add(slot);
    return slot;
  };
  const end = async (slot: Slot) => {
    if (slot.busy || !slot.alive() || reusable.size >= MAX_REUSABLE) return slot.kill();
    reusable.add(slot);
    setTimeout(() => reusable.delete(slot) && slot.kill(), idleMs).unref();
  };
  const sweep = setInterval(
    () => {
      for (const slot of children) {
        if (!slot.busy && Date.now() - slot.idleSince > (children.size > 1 ? idleMs : 2 * idleMs)) {
          children.delete(slot);
          void slot.kill();
        }
      }
      nested.sweep(idleMs);
    },
    Math.max(50, idleMs / 2),
  );
  sweep.unref();

  /** The free child that has run the script, else a free one, else a new one, else null. */
  const take = (blob: string): Slot | null => {
    for (const slot of children) if (!slot.busy && !slot.alive()) children.delete(slot);
    const free = [...children].filter((slot) => !slot.busy);
    const busy = children.size - free.length;
    if (busy >= slots) return null;
    const slot =
      free.find((one) => one.warm === blob) ??
      free.find((one) => one.warm === null) ??
      (children.size < slots && free.length === 0 ? start() : free[0]);
    if (slot === undefined) return null;
    slot.busy = true;
    return slot;
  };
  const free = (slot: Slot) => {
    slot.busy = false;
    // The next run finds a warm child, unless the sandbox is closed.
    if (!slot.alive() && children.delete(slot) && !closed && children.size === 0) start();
    // All are woken, in order: some may have been aborted meanwhile.
    for (const wake of queue.splice(0)) wake();
  };
  const slotFor = async (job: Job): Promise<Slot | null> => {
    for (;;) {
      if (closed || job.abort?.aborted === true) return null;
      const slot = take(job.main.blob);
      if (slot !== null) return slot;
      await new Promise<void>((resolve) => {
        queue.push(resolve);
        job.abort?.addEventListener("abort", () => resolve(), { once: true });
      });
    }
  };
  if (ahead) start();

  return {
    compile: createCompiler(cache, sourceBytes),
    execute: (wanted): Promise<JobEnd> =>
      untilEnded(wanted, async (job) => {
        const slot = await slotFor(job);
        if (slot === null) return null;
        try {
          return await slot.run(job);
        } finally {
          free(slot);
        }
      }),
    executeBeside: (job, level) => nested.run(job, level),
    async close() {
      closed = true;
      clearInterval(sweep);
      for (const wake of queue.splice(0)) wake();
      await Promise.all([...children].map(end).concat(nested.close()));
    },
  };
}

/**
 * Slots for jobs that a run waits for while it holds its own slot (a synthesized tool): one for each level, started at first use and
 * ended after a while without work. A job waits only for earlier ones of its level and, while it runs, for those of lower levels: there is no
 * circular wait, however few slots there are.
 */
function createNestedSlots(start: () => Slot) {
  const slots = new Map<number, Slot>();
  const inTurn = createKeyedTurns();
  let closed = false;

  const attempt = async (job: Job, level: number) => {
    if (closed || job.abort?.aborted === true) return null;
    const known = slots.get(level);
    const slot = known?.alive() === true ? known : start();
    slots.set(level, slot);
    slot.busy = true;
    try {
      return await slot.run(job);
    } finally {
      slot.busy = false;
    }
  };
  const drop = ([level, slot]: [number, Slot]): Promise<void> => {
    slots.delete(level);
    return slot.kill();
  };
  return {
    run: (wanted: Job, level: number): Promise<JobEnd> => inTurn(String(level), () => untilEnded(wanted, (job) => attempt(job, level))),
    /** Ends the slots that have been without work for `idleMs`. */
    sweep(idleMs: number): void {
      for (const one of slots) if (!one[1].busy && Date.now() - one[1].idleSince > idleMs) void drop(one);
    },
    async close(): Promise<void> {
      closed = true;
      await Promise.all([...slots].map(drop));
    },
  };
}
