/**
 * What the operating system reports about processes, our own and others: whether one lives or is stopped and what it used; and timers that count
 * only the time in which this process was awake. From /proc on Linux; elsewhere a process has no start time, no usage and never counts as stopped.
 */
import { readFileSync } from "node:fs";

const PAGE = 4096;
// Linux counts CPU time in hundredths of a second everywhere that Node runs.
const TICK_MS = 10;

/** The fields of /proc/PID/stat after the name, starting with the state; null when there is no such process or no /proc. */
function statOf(pid: number): string[] | null {
  const stat = readProc(`/proc/${pid}/stat`);
  return stat === null ? null : stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** Text of a file of /proc, or null. */
export function readProc(path: string): string | null {
  try {
    return readFileSync(path, "latin1");
  } catch {
    // The process is gone, or there is no /proc.
    return null;
  }
}

/** pid and start time: a pid alone may have been reused by another process. */
export function identityOf(pid: number): string {
  const stat = statOf(pid);
  if (stat === null) return `${pid}:`;
  // Z: killed, not yet reaped by its parent.
  return stat[0] === "Z" ? `${pid}:dead` : `${pid}:${stat[19]}`;
}

export function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  return statOf(pid)?.[0] !== "Z";
}

/** Whether the process with this identity is still alive. */
export function lives(identity: string): boolean {
  const pid = Number(identity.split(":")[0]);
  return exists(pid) && identityOf(pid) === identity;
}

/** Whether the process is stopped by a signal (Ctrl-Z, SIGSTOP) until it is continued. `traced`: stopping in a debugger counts too. */
export function standsStill(pid: number, traced = false): boolean {
  const state = statOf(pid)?.[0];
  return state === "T" || (traced && state === "t");
}

/** 0 where unknown. */
export const parentOf = (pid: number): number => Number(statOf(pid)?.[1] ?? 0);

/** CPU time in ms; 0 where unknown. */
export function cpuMs(pid: number): number {
  const stat = statOf(pid);
  return stat === null ? 0 : (Number(stat[11] ?? 0) + Number(stat[12] ?? 0)) * TICK_MS;
}

/** Resident memory in bytes; 0 where unknown. */
export const rssBytes = (pid: number): number => Number(readProc(`/proc/${pid}/statm`)?.split(" ")[1] ?? 0) * PAGE;

/** How long the process was ready to run but had no core, in ms; 0 where unknown. */
export const waitMs = (pid: number): number => Number(readProc(`/proc/${pid}/schedstat`)?.split(" ")[1] ?? 0) / 1e6;

/**
 * Calls `tick` at intervals with the ms that passed while this process was awake. Time in which it is stopped, in a debugger or asleep with
 * its machine does not count, so that an answer that arrived meanwhile is handled before a timeout. End it with clearInterval.
 */
export function whileAwake(everyMs: number, tick: (passedMs: number) => void): NodeJS.Timeout {
  let last = performance.now();
  return setInterval(() => {
    const now = performance.now();
    const passed = Math.min(now - last, 2 * everyMs);
    last = now;
    tick(passed);
  }, everyMs);
}

/** Calls `then` once this process has been awake for `ms`. */
export function afterAwake(ms: number, then: () => void): NodeJS.Timeout {
  let left = ms;
  const timer = whileAwake(Math.max(1, Math.min(250, ms / 4)), (passed) => {
    left -= passed;
    if (left > 0) return;
    clearInterval(timer);
    then();
  });
  return timer;
}

const resting = new Map<() => void, NodeJS.Timeout>();

/** Marks a helper process as busy (null) or idle: an idle one is ended after `afterMs`, or sooner when its memory is needed. */
export function rests(end: () => void, afterMs: number | null): void {
  clearTimeout(resting.get(end));
  resting.delete(end);
  if (afterMs !== null) resting.set(end, setTimeout(() => endResting([end]), afterMs).unref());
}

/** Ends idle helpers to free memory: something large is about to be read. */
export function endResting(some: Iterable<() => void> = [...resting.keys()]): void {
  for (const end of some) {
    rests(end, null);
    end();
  }
}
