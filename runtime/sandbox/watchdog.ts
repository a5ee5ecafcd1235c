/**
 * Looks at a child from outside while its script runs, and stands still while the host answers a call. It ends what breaks a limit that the
 * child cannot enforce itself, and gives up a child that was stopped: no time passes for a script whose process stands still or waits for a core.
 */
import type { Job } from "../kernel/ports.ts";
import { cpuMs, exists, rssBytes, standsStill, waitMs, whileAwake } from "../kernel/processes.ts";
import type { Child } from "./spawn.ts";

// How often the watchdog looks: a script can allocate some 20 MB between two looks.
const WATCH_MS = 15;
const ANSWER_WATCH_MS = 250;
// A child that was stopped is not waited for longer: another one does its work.
const STOPPED_MS = 2000;
// What the child needs besides the script's heap (measured: 62 MB idle with two prepared isolates).
const BASE_RSS = 90e6;
// Every call, served or live, earns a little CPU time: 1 s per 10,000 (DESIGN.md 6).
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
  // What it had used, and how long it and we had waited, is read at the first look, which most runs do not live to see.
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
    // The timer outlives short answers of the host: starting it anew for each call costs more than a look at nothing.
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
    // A large answer exists some three times in the child on its way into the script.
    if (rssBytes(child.pid) > 2 * limits.memory_mb * 2 ** 20 + BASE_RSS + 3 * largestAnswer)
      return ends.limit("LIMIT_MEMORY", `The script used more than ${limits.memory_mb} MiB of memory.`);
    // The child ends a run at its exact limit when it can; this is for code it cannot interrupt, and includes its own work.
    const more = calls / CALLS_PER_MS;
    if (cpu > 1.25 * (limits.cpu_ms + more) + 250)
      return ends.limit("LIMIT_CPU", `The script used more than ${Math.round(limits.cpu_ms + more)} ms of CPU time.`);
    // On a busy machine the child stands in line for a core, and this process to hear it: neither is its doing.
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
    /** True when the child was ended at its wall limit without having computed: it stood still, or the machine had no core for it. */
    starved: (code: string): boolean =>
      code === "LIMIT_WALL" && process.platform === "linux" && cpuMs(child.pid) - (start ?? 0) < limits.wall_ms / 2,
  };
}

/** It has ended counts too: what stands around it tells us, unless that was stopped. */
function isIdle(pid: number, traced = false): boolean {
  return standsStill(pid, traced) || !exists(pid);
}

/**
 * The same for a process that works on one answer and tells nothing meanwhile: `late` once it has computed for so long, `lost` when it was
 * stopped, or had no core for most of three times as long. Either may be called more than once. Answers what ends the watch.
 */
export function watchAnswer(child: { readonly pid: number }, ms: number, end: { late(): void; lost(): void }): () => void {
  const before = cpuMs(child.pid);
  let [worked, stopped] = [0, 0];
  const timer = whileAwake(ANSWER_WATCH_MS, (passed) => {
    // Read anew: a child that starts is not yet the process that works.
    const { pid } = child;
    stopped = isIdle(pid, true) ? stopped + passed : 0;
    if (stopped > STOPPED_MS && isIdle(pid)) return end.lost();
    if (stopped > 0) return;
    worked += passed;
    // Where the system tells nothing of it, the process is taken to have computed all the time.
    if (worked > ms && (process.platform !== "linux" || cpuMs(pid) - before > ms / 2)) end.late();
    else if (worked > 3 * ms) end.lost();
  });
  return () => clearInterval(timer);
}
