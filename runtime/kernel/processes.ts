/**
 * What the system tells of processes, our own and others: whether one lives, stands still, what it used; and timers that count only the
 * time in which this process itself was awake. Linux tells by /proc; elsewhere a process has no start time, uses nothing and never stands still.
 */
import { readFileSync } from "node:fs";

const PAGE = 4096;
// Linux counts CPU time in hundredths of a second everywhere that Node runs.
const TICK_MS = 10;

/** What stands after the name in /proc/PID/stat, from the state on; null when there is no such process or no /proc. */
function statOf(pid: number): string[] | null {
  const stat = readProc(`/proc/${pid}/stat`);
  return stat === null ? null : stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** Text of a file of /proc, or null. */
export function readProc(path: string): string | null {
  try {
    return readFileSync(path, "latin1");
  } catch {
    // Gone, or a system that does not tell.
    return null;
  }
}

/** pid and start time: a pid alone may have been given to another process since. */
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

/** Whether the process that was given this identity still lives. */
export function lives(identity: string): boolean {
  const pid = Number(identity.split(":")[0]);
  return exists(pid) && identityOf(pid) === identity;
}

/** Stopped by a signal (Ctrl-Z, SIGSTOP): it does nothing until it is told to go on. `traced`: by a debugger. */
export function standsStill(pid: number, traced = false): boolean {
  const state = statOf(pid)?.[0];
  return state === "T" || (traced && state === "t");
}

/** 0 where the system does not tell. */
export const parentOf = (pid: number): number => Number(statOf(pid)?.[1] ?? 0);

/** CPU time in ms; 0 where the system does not tell. */
export function cpuMs(pid: number): number {
  const stat = statOf(pid);
  return stat === null ? 0 : (Number(stat[11] ?? 0) + Number(stat[12] ?? 0)) * TICK_MS;
}

/** Resident memory in bytes; 0 where the system does not tell. */
export function rssBytes(pid: number): number {
  return Number(readProc(`/proc/${pid}/statm`)?.split(" ")[1] ?? 0) * PAGE;
}

/** How long the process was ready to run but had no core, in ms; 0 where the system does not tell. */
export function waitMs(pid: number): number {
  return Number(readProc(`/proc/${pid}/schedstat`)?.split(" ")[1] ?? 0) / 1e6;
}

/**
 * Calls `tick` now and then with the ms that passed while this process was awake. What passes while it is stopped, in a debugger or asleep
 * with its machine does not count, so that who answered meanwhile is heard first. End it with clearInterval.
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

/** Calls `then` once this process has been awake for so long. */
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

/** A helper process is at work (null), or idle: then it ends after so long, and sooner where its memory is wanted. */
export function rests(end: () => void, afterMs: number | null): void {
  clearTimeout(resting.get(end));
  resting.delete(end);
  if (afterMs !== null) resting.set(end, setTimeout(() => endResting([end]), afterMs).unref());
}

/** Ends what is idle: something large is about to be looked at. */
export function endResting(some: Iterable<() => void> = [...resting.keys()]): void {
  for (const end of some) {
    rests(end, null);
    end();
  }
}
