/**
 * One child that runs scripts, and the conversation of one job with it. The host is the authority: it checks position, prefix and limits
 * again, watches CPU, memory and time from outside, and kills a child that breaks the rules. Called by pool.ts only.
 */
import { hash } from "node:crypto";
import type { WireError } from "../kernel/errors.ts";
import type { Compiled, DoorAnswer, Job, JobEnd } from "../kernel/ports.ts";
import { FRAME, type Frame, SERVED_NONE, encodeFrame, servedHash } from "./frames.js";
import { afterAwake } from "../kernel/processes.ts";
import { type ChildCall, failedAt, failureOf, readCall, readEnd } from "./from-child.ts";
import { type Lost, lostBy } from "./lost.ts";
import { type Child, scriptChild, spawnChild, whenGone } from "./spawn.ts";
import { createWatchdog } from "./watchdog.ts";

const BOOT_MS = 20_000;

export type Slot = ReturnType<typeof createSlot>;

export function createSlot({ jit }: { jit: boolean }) {
  let maxFrame = 1 << 20;
  const child = spawnChild(scriptChild({ jit, maxFrame: () => maxFrame }));
  const ready = new Promise<boolean>((resolve) => {
    const timer = afterAwake(BOOT_MS, () => resolve(false));
    timer.unref();
    void child.ready.then((is) => {
      clearInterval(timer);
      resolve(is);
    });
  });
  const slot = {
    /** Scripts that ran here last: a fresh context for them is ready. */
    warm: null as string | null,
    jit,
    busy: false,
    idleSince: Date.now(),
    alive: child.alive,
    /** Never rejects unless job.call does. */
    async run(job: Job): Promise<JobEnd | Lost> {
      // A timer keeps the event loop alive while only the unreferenced child is being waited for.
      const hold = setInterval(() => undefined, 1000);
      try {
        if (!(await ready)) {
          child.kill();
          return { kind: "lost", killed: true };
        }
        maxFrame = Math.max(1 << 20, job.limits.call_bytes + (1 << 16), historyBytes(job) + (1 << 20));
        slot.warm = job.main.blob;
        return await converse(child, job);
      } finally {
        clearInterval(hold);
        slot.idleSince = Date.now();
      }
    },
    async kill(): Promise<void> {
      child.kill();
      await child.exited;
    },
  };
  return slot;
}

/** One job's conversation with a child that may be compromised: whatever it sends ends in a JobEnd, never in a forbidden call. */
export function converse(child: Child, job: Job): Promise<JobEnd | Lost> {
  return new Promise((resolve, reject) => {
    let [calls, bytes, largestAnswer] = [job.history.length, 0, 0];
    let [answering, settled] = [false, false];
    /** How the host's answer has ended the run. The child may only add the place in the script. */
    let decided: Extract<JobEnd, { kind: "failed" | "suspended" }> | null = null;
    const over = () => {
      settled = true;
      watch.end();
      job.abort?.removeEventListener("abort", onAbort);
    };
    const settle = (end: JobEnd | Lost) => {
      if (settled) return;
      over();
      child.listen(() => child.kill());
      whenGone(child, () => undefined);
      resolve(end);
    };
    const killed = (code: string, message: string) => {
      child.kill();
      settle(decided ?? { kind: "failed", error: { code, message, at: { file: job.main.file } }, calls });
    };
    const onAbort = () => {
      child.kill();
      settle({ kind: "suspended", calls });
    };
    const lost = () => {
      child.kill();
      settle(decided ?? { kind: "lost", killed: true });
    };
    const watch = createWatchdog(child, job, () => ({ calls, largestAnswer }), { limit: killed, lost });
    job.abort?.addEventListener("abort", onAbort, { once: true });
    if (job.abort?.aborted === true) return onAbort();
    whenGone(child, (signal) => settle(decided ?? lostBy(signal)));

    const answer = (text: Buffer) => {
      if (settled) return;
      answering = false;
      watch.resume();
      child.send(text);
    };
    const onCall = async (frame: Frame) => {
      watch.pause();
      const head = readCall(frame.head, job);
      if (head === null || decided !== null) return killed("SANDBOX_CRASHED", "The sandbox process sent a call that is not one.");
      const problem = wrongPosition(job, head, calls, frame.body.length);
      if (problem !== null) return killed("SANDBOX_CRASHED", problem);
      bytes += frame.body.length;
      // The child ends a run at this limit with the place of the call; here the limit is only enforced.
      if (bytes > job.limits.total_bytes) return killed("LIMIT_BYTES", totalText(job));
      answering = true;
      calls = head.seq;
      // The child counts calls from 1; elsewhere a call is identified by its index in the history.
      let given: DoorAnswer;
      try {
        given = await job.call({
          seq: head.seq - 1,
          name: head.name,
          params: frame.body.toString("utf8"),
          ...(head.at && { at: head.at }),
        });
      } catch (error) {
        // The engine could not continue (fenced, disk full): the run stops here and the caller gets the error.
        if (settled) return;
        over();
        child.kill();
        return reject(error);
      }
      const stop = (error: WireError) => {
        decided = { kind: "failed", error, calls };
        answer(encodeFrame(FRAME.STOP, { error }));
      };
      if (given.kind === "suspend") {
        decided = { kind: "suspended", calls };
        return answer(encodeFrame(FRAME.SUSPEND, {}));
      }
      if (given.kind === "error") return stop(given.error);
      const body = Buffer.from(`[${given.now},true,${given.json}]`);
      if (body.length > job.limits.answer_bytes + 64)
        return stop({
          code: "LIMIT_BYTES",
          message: `The answer of ${head.name} has ${body.length} bytes; the limit is ${job.limits.answer_bytes}.`,
        });
      bytes += body.length;
      largestAnswer = Math.max(largestAnswer, body.length);
      answer(encodeFrame(FRAME.VALUE, {}, body));
    };
    child.listen((frame) => {
      if (settled) return child.kill();
      // Nothing may arrive while the host is working for this child.
      if (answering) return killed("SANDBOX_CRASHED", "The sandbox process spoke before its call was answered.");
      if (frame.kind === FRAME.CALL) return void onCall(frame);
      const end = frame.kind === FRAME.END ? readEnd(frame, job, calls, decided) : null;
      if (end === null) return killed("SANDBOX_CRASHED", "The sandbox process sent what was not asked for.");
      // For a failure that came from the host, live or recorded, the child cannot be starved.
      const own = decided === null && end.kind === "failed" && !job.history[end.calls - 1]?.error;
      if (own && watch.starved(end.error.code)) return lost();
      // The child has announced that it exits after this run.
      if ((frame.head as { last?: unknown }).last !== false) child.kill();
      settle(end);
    });
    const { head, body } = jobFrame(job);
    child.send(encodeFrame(FRAME.JOB, head, body));
    if (!settled && !answering) watch.resume();
  });
}

function totalText(job: Job): string {
  return `The run moved more than ${job.limits.total_bytes} bytes.`;
}

/** Null when the call is the next one after the history that the child was given. */
function wrongPosition(job: Job, head: ChildCall, calls: number, bytes: number): string | null {
  if (failedAt(job) !== -1) return "The sandbox process continues after a recorded failure.";
  if (head.seq !== calls + 1) return `The sandbox process is at call ${head.seq}, but ${calls} are known.`;
  if (!Object.hasOwn(job.primitives, head.name)) return `The sandbox process calls ${head.name}, which this run does not have.`;
  if (bytes > job.limits.call_bytes || head.seq > job.limits.calls) return "The sandbox process does not keep its limits.";
  if (calls === job.history.length && head.served !== historyHash(job))
    return "The sandbox process served another history than it was given.";
  return null;
}

function historyHash(job: Job): number {
  return job.history.reduce((hash, step, i) => servedHash(hash, i + 1, step), SERVED_NONE);
}

function historyBytes(job: Job): number {
  let most = 0;
  for (const step of job.history) most = Math.max(most, step.params.length);
  // A divergence contains both calls as JSON text inside JSON.
  return 4 * most + 2 * job.limits.call_bytes;
}

/** The part of a script that a child runs; the host keeps the rest. */
function toRun({ file, blob, code, shifts }: Compiled) {
  return { file, blob, code, shifts };
}

function jobFrame(job: Job): { head: unknown; body: Buffer } {
  const parts: Buffer[] = [];
  const history = {
    names: [] as string[],
    paramBytes: [] as number[],
    resultBytes: [] as number[],
    at: [] as number[],
    errors: [] as (WireError | null)[],
  };
  for (const step of job.history) {
    const params = Buffer.from(step.params);
    const result = Buffer.from(step.result ?? "");
    parts.push(params, result);
    history.names.push(step.name);
    history.paramBytes.push(params.length);
    history.resultBytes.push(result.length);
    history.at.push(step.at);
    history.errors.push(failureOf(step));
  }
  const { primitives, input, startedAt, limits, sealed = false, places = false } = job;
  const main = toRun(job.main);
  const scripts = Object.fromEntries(Object.entries(job.scripts).map(([name, script]) => [name, toRun(script)]));
  const digest = hash("sha256", job.seed, "buffer");
  const seed = [0, 4, 8, 12].map((i) => digest.readInt32LE(i));
  return { head: { main, scripts, primitives, input, seed, startedAt, limits, sealed, places, history }, body: Buffer.concat(parts) };
}
