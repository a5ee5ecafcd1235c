/**
 * A child that dies under its work is a lost slot, not a failed script: the work is done again in another child. A job goes on in the next
 * one from its history: what was answered before is served. Only who loses one child after the other at the same place gives up.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { DoorCall, Job, JobEnd, Served } from "../kernel/ports.ts";

/** `killed`: by somebody else, not by what its script did. */
export interface Lost {
  kind: "lost";
  killed: boolean;
}

// Nine kills in a row, or three crashes of its own: then it is the script, or a machine on which nothing runs.
const PATIENCE = 9;
const CRASH = 3;
// What kills processes for want of memory gets a moment to end.
const PAUSE_MS = 20;

export function isLost(end: unknown): end is Lost {
  return (end as { kind?: unknown } | null)?.kind === "lost";
}

/** How a child ended that nobody here has ended. */
export function lostBy(signal: NodeJS.Signals | null): Lost {
  return { kind: "lost", killed: signal === "SIGKILL" || signal === "SIGTERM" };
}

/** Repeats what lost its child; answers Lost when that does not end. `progress` grows when the same place is not met again. */
export async function persist<T>(once: () => Promise<T | Lost>, progress = () => 0): Promise<T | Lost> {
  for (let [patience, reached] = [PATIENCE, progress()]; ; ) {
    const end = await once();
    if (!isLost(end)) return end;
    if (progress() > reached) [patience, reached] = [PATIENCE, progress()];
    patience -= end.killed ? 1 : CRASH;
    if (patience <= 0) return end;
    await sleep(PAUSE_MS * 2 ** (PATIENCE - patience - 1));
  }
}

/** `once` executes the job in some child, null when there is none to be had. */
export async function untilEnded(job: Job, once: (job: Job) => Promise<JobEnd | Lost | null>): Promise<JobEnd> {
  const answered: Served[] = [];
  let underWay: Promise<unknown> = Promise.resolve();
  let suspended = false;
  const act = async (asked: DoorCall) => {
    const given = await job.call(asked);
    if (given.kind === "suspend") suspended = true;
    else {
      const [result, error] = given.kind === "value" ? [given.json, null] : [null, given.error];
      answered.push({ name: asked.name, params: asked.params, result, error, at: given.now });
    }
    return given;
  };
  const call = (asked: DoorCall) => {
    const acting = act(asked);
    underWay = acting;
    return acting;
  };
  const calls = () => job.history.length + answered.length;
  const attempt = async (): Promise<JobEnd | Lost> => {
    const end = await once({ ...job, call, history: answered.length === 0 ? job.history : [...job.history, ...answered] });
    // A call that had reached the host is let finish: what it did is done, and is served from then on.
    if (isLost(end)) await underWay;
    return end === null || (isLost(end) && (suspended || job.abort?.aborted === true)) ? { kind: "suspended", calls: calls() } : end;
  };
  const end = await persist(attempt, calls);
  return end.kind === "lost" ? { kind: "failed", error: crashed(job, calls(), end), calls: calls() } : end;
}

function crashed({ main }: Job, calls: number, { killed }: Lost) {
  const how = killed ? "was killed, stopped or left without a core" : "died";
  const message = `The sandbox process of ${main.file} ${how} repeatedly after call ${calls}. What was recorded up to there is kept.`;
  return { code: "SANDBOX_CRASHED", message, at: { file: main.file } };
}
