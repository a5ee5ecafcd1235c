/**
 * Watches a child from outside while its script runs, and pauses while the host answers a call. It ends a script that breaks a limit which the
 * child cannot enforce itself, and gives up a stopped child: time in which a process is stopped or waits for a core does not count.
 */
import type { Job } from "../kernel/ports.ts";
import { cpuMs, exists, rssBytes, standsStill, waitMs, whileAwake } from "../kernel/processes.ts";
import type { Child } from "./spawn.ts";

// Interval of the watchdog: a script can allocate about 20 MB in between.
const WATCH_MS = 15;
const ANSWER_WATCH_MS = 250;
// A stopped child is given up after this time: another one does its work.
const STOPPED_MS = 2000;
// Memory of the child besides the script's heap (measured: 62 MB idle with two prepared isolates).
const BASE_RSS = 90e6;
// Every call, served or live, adds a little CPU time: 1 s per 10,000 (DESIGN.md 6).
const CALLS_PER_MS = 10;

export function createWatchdog(
  child: Child,
  { limits }: Job,
  state: () => { calls: number; largestAnswer: number },
  ends: { limit(code: string, message: string): void; lost(): void },
) {
  let timer: NodeJS.Timeout | null = null;
  let [ran, last, stopped, used] = [0, 0, 0, 0];
  let looking = false;
  // CPU time and waiting times before the run are read at the first check, which most runs end before.
  let [start, waited]: (number | null)[] = [null, null];
  const sinceLast = () => {
    const now = performance.now();
    // Capped: when this process itself was busy, the child may have been waiting for us.
    const passed = Math.min(now - last, 4 * WATCH_MS);
    last = now;
    return passed;
  };
  const inLine = () => waitMs(child.pid) + waitMs(process.pid);
  const end = () => {
    if (timer !== null) clearInterval(timer);
    timer = null;
    looking = false;
  };
  const look = () => {
    // The timer outlives short answers of the host: restarting it for each call costs more than an idle check.
    if (!looking) return end();
    const passed = sinceLast();
    start ??= cpuMs(child.pid);
    const cpu = cpuMs(child.pid) - start;
    waited ??= inLine();
    if (cpu === used && isIdle(child.pid, true)) {
      stopped += passed;
      if (stopped > STOPPED_MS && isIdle(child.pid)) ends.lost();
      return;
    }
    [used, stopped] = [cpu, 0];
    ran += passed;
    const { calls, largestAnswer } = state();
    // A large answer exists about three times in the child on its way into the script.
    if (rssBytes(child.pid) > 2 * limits.memory_mb * 2 ** 20 + BASE_RSS + 3 * largestAnswer)
      return ends.limit("LIMIT_MEMORY", `The script used more than ${limits.memory_mb} MiB of memory.`);
    // The child ends a run at its exact limit if it can; this is for code that it cannot interrupt, and includes its own work.
    const more = calls / CALLS_PER_MS;
    if (cpu > 1.25 * (limits.cpu_ms + more) + 250)
      return ends.limit("LIMIT_CPU", `The script used more than ${Math.round(limits.cpu_ms + more)} ms of CPU time.`);
    // On a busy machine the child waits for a core, and this process waits to hear it: neither is the script's fault.
    if (ran > limits.wall_ms + more && ran - (inLine() - waited) > limits.wall_ms + more)
      ends.limit("LIMIT_WALL", `The script ran longer than ${Math.round(limits.wall_ms + more)} ms without waiting.`);
  };
  return {
    pause(): void {
      looking = false;
      ran += sinceLast();
    },
    resume(): void {
      looking = true;
      last = performance.now();
      timer ??= setInterval(look, WATCH_MS);
    },
    end,
    /** True when the child was ended at its wall limit without computing: it was stopped, or the machine had no core for it. */
    starved: (code: string): boolean =>
      code === "LIMIT_WALL" && process.platform === "linux" && cpuMs(child.pid) - (start ?? 0) < limits.wall_ms / 2,
  };
}

/** An ended process counts too: the jail around it reports the end, unless the jail was stopped. */
const isIdle = (pid: number, traced = false): boolean => standsStill(pid, traced) || !exists(pid);

/**
 * Watches a process that works on one answer without reporting: `late` once it has computed for `ms`, `lost` when it was
 * stopped, or had no core for most of three times as long. Either may be called more than once. Returns a function that ends the watch.
 */
export function watchAnswer(child: { readonly pid: number }, ms: number, end: { late(): void; lost(): void }): () => void {
  const before = cpuMs(child.pid);
  let [worked, stopped] = [0, 0];
  const timer = whileAwake(ANSWER_WATCH_MS, (passed) => {
    // Read again: the pid of a starting child is not yet that of the process that works.
    const { pid } = child;
    stopped = isIdle(pid, true) ? stopped + passed : 0;
    if (stopped > STOPPED_MS && isIdle(pid)) return end.lost();
    if (stopped > 0) return;
    worked += passed;
    // Where CPU time is unknown, the process counts as computing all the time.
    if (worked > ms && (process.platform !== "linux" || cpuMs(pid) - before > ms / 2)) end.late();
    else if (worked > 3 * ms) end.lost();
  });
  return () => clearInterval(timer);
}
