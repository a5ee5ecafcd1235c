/**
 * A child that dies during its work is a lost slot, not a failed script: another child does the work again. A job continues there from its
 * history: what was answered before is served. Only a job that loses one child after another at the same place fails.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { DoorCall, Job, JobEnd, Served } from "../kernel/ports.ts";

/** `killed`: by someone else, not by its script. */
export interface Lost {
  kind: "lost";
  killed: boolean;
}

// Nine kills in a row, or three crashes: then it is the script, or a machine on which nothing runs.
const PATIENCE = 9;
const CRASH = 3;
// A moment for the cause of kills, such as a lack of memory, to pass.
const PAUSE_MS = 20;

export const isLost = (end: unknown): end is Lost => (end as { kind?: unknown } | null)?.kind === "lost";

/** Classifies the end of a child that nobody here has ended. */
export const lostBy = (signal: NodeJS.Signals | null): Lost => ({ kind: "lost", killed: signal === "SIGKILL" || signal === "SIGTERM" });

/** Repeats work that lost its child; returns Lost when that does not help. `progress` grows when the same place is not reached again. */
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

/** `once` executes the job in some child; null when none is available. */
export async function untilEnded(job: Job, once: (job: Job) => Promise<JobEnd | Lost | null>): Promise<JobEnd> {
  const answered: Served[] = [];
  let underWay: Promise<unknown> = Promise.resolve();
  let suspended = false;
  const act = async (doorCall: DoorCall) => {
    const answer = await job.call(doorCall);
    if (answer.kind === "suspend") suspended = true;
    else {
      const [result, error] = answer.kind === "value" ? [answer.json, null] : [null, answer.error];
      answered.push({ name: doorCall.name, params: doorCall.params, result, error, at: answer.now });
    }
    return answer;
  };
  const call = (doorCall: DoorCall) => {
    const acting = act(doorCall);
    underWay = acting;
    return acting;
  };
  const calls = () => job.history.length + answered.length;
  const attempt = async (): Promise<JobEnd | Lost> => {
    const end = await once({ ...job, call, history: answered.length === 0 ? job.history : [...job.history, ...answered] });
    // A call that reached the host is finished first: its effect exists, and its answer is served from then on.
    if (isLost(end)) await underWay;
    return end === null || (isLost(end) && (suspended || job.abort?.aborted === true)) ? { kind: "suspended", calls: calls() } : end;
  };
  const end = await persist(attempt, calls);
  return end.kind === "lost" ? { kind: "failed", error: crashed(job, calls(), end), calls: calls() } : end;
}

function crashed({ main }: Job, calls: number, { killed }: Lost) {
  const how = killed ? "was killed, stopped or left without a core" : "died";
  const message = `The sandbox process of ${main.file} ${how} repeatedly after call ${calls}. The steps recorded before it are kept.`;
  return { code: "SANDBOX_CRASHED", message, at: { file: main.file } };
}
