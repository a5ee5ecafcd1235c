/**
 * A trial: other code executed against a recorded run by the same executor, engine/run.ts, without touching the world. The child serves the
 * recording up to the first difference; later calls are computed, matched with the recording, simulated, or missing.
 * Invariant: no answer is invented. A read without a recorded answer ends the trial, and every assumption is reported.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { canonicalJson } from "../../kernel/canonical.ts";
import { detachedLog, sameCall, stopped } from "../../engine/replay.ts";
import { executeRun } from "../../engine/run.ts";
import type { World } from "../../engine/world.ts";
import { type Callable, type Script, callableIn } from "../../engine/script.ts";
import { type At, ClearedError, kindOf, toWire } from "../../kernel/errors.ts";
import type { Call, Decision, DoorCall, Json, RunLog, RunRecord, Step, WorkspaceView } from "../../kernel/ports.ts";
import { End, type Gate, Suspend } from "../../kernel/primitive.ts";
import { STATE } from "../../workspace/layout.ts";
import { type TrialEnvironment, changedFiles, standingGit, trialView } from "./trial-environment.ts";
import { missing, type Recorded, askedIn, callsKey, createRecorded, withRecordedAnswers } from "./recorded.ts";
import { effectsLater } from "./effects.ts";
import { inputFor, servedBy } from "./served.ts";
import { laterData, onItsSettings } from "./code.ts";
import type { Code, Divergence, Recording, Trial } from "./types.ts";

type Ended = Parameters<RunLog["end"]>[0];

const EXTRA_CALLS = 20_000;
// Calls on synthetic input, which is small: more than this means an endless loop.
const MADE_UP_CALLS = 5000;

interface Attempt {
  ended: Ended | null;
  steps: readonly Step[];
  missing: string | null;
  supposed: string[];
  at: Map<number, At>;
  /** The step at which the child found a difference in what it served, or null. */
  diverged: number | null;
  /** The last call that reached the host. */
  last: DoorCall | null;
}

/** Executes the code against the recording. Failures of the code do not throw; they are in the trial's effects. */
export async function tryRun(recording: Recording, code: Code, bench: TrialEnvironment): Promise<Trial> {
  const { run, steps } = recording;
  let callable: Callable = bench.world;
  let attempt: Attempt;
  let place: string | null = null;
  try {
    const course = courseOf(code, run, bench);
    const script = await course.script;
    callable = callableIn(bench.world, script);
    const started = { ...recording, run: { ...run, input: await inputFor(run, code, script.header, bench) } };
    const served = await servedBy(recording, code, script, bench);
    place = served.statements;
    // A child that finds a difference restarts, which costs more than asking the host from the step where other runs have diverged.
    const holds = Math.min(recording.holds ?? served.steps, served.steps);
    const serve = course.parted > course.whole ? Math.min(course.first, holds) : holds;
    attempt = await execute(started, code, script, bench, serve, place);
    if (attempt.diverged !== null) attempt = await execute(started, code, script, bench, attempt.diverged, place);
    const parting = partingOf(steps, attempt);
    if (parting === null) course.whole++;
    else Object.assign(course, { parted: course.parted + 1, first: Math.min(course.first, parting.step) });
  } catch (error) {
    if (error instanceof Suspend) attempt = { ...newAttempt(), missing: error.waitsFor };
    // A script that does not compile or rejects the input is a failure of the code; an unusable repository or sandbox is not.
    else if (error instanceof ClearedError && (error.kind === "script" || error.code === "RUN_INPUT"))
      attempt = newAttempt({ status: "failed", error: toWire(error) });
    else throw error;
  } finally {
    if (place !== null) await rm(place, { recursive: true, force: true });
  }
  const effects = await effectsLater(outcomeOf(run, attempt), attempt.steps, callable);
  return {
    get effects() {
      return effects();
    },
    divergence: partingOf(steps, attempt),
    missing: attempt.missing,
    supposed: attempt.supposed,
    steps: attempt.steps,
    isRecorded: isRecorded(recording, attempt),
    get last() {
      return attempt.last === null ? "" : (askedIn(JSON.parse(attempt.last.params)) ?? attempt.last.name);
    },
  };
}

const ENDLESS = /^(?:LIMIT_|SANDBOX_CRASHED$)/;

/**
 * If code fails with the settings the run was pinned to, it may need a setting, account or data file committed later: then it is tried with
 * all of today's. `code`: with the settings of this trial.
 */
export async function tryRunOrToday(recording: Recording, code: Code, bench: TrialEnvironment): Promise<{ trial: Trial; code: Code }> {
  const { run } = recording;
  const trial = await tryRun(recording, code, bench);
  const { error } = trial.effects;
  // No setting helps a script that does not end, and each attempt takes the full time limit.
  if (run.error !== null || trial.missing !== null || error === null || ENDLESS.test(error.code)) return { trial, code };
  const then = bench.git.tree(run.pin.commit);
  const script = await courseOf(code, run, bench).script.catch(() => null);
  const today = await onItsSettings(code, then, script === null ? [] : await laterData(code, then, script));
  const again = today === null ? null : await tryRun(recording, today, bench);
  return today === null || again === null || again.effects.error !== null ? { trial, code } : { trial: again, code: today };
}

/** True if exactly the recorded steps were made, with the same end: then the effects cannot differ. */
function isRecorded({ run, steps }: Recording, attempt: Attempt): boolean {
  if (attempt.missing !== null || attempt.steps.length !== steps.length || attempt.steps.some((step, n) => step !== steps[n])) return false;
  const { status, outcome, error, result } = outcomeOf(run, attempt);
  return (
    status === run.status &&
    outcome === run.outcome &&
    error?.code === run.error?.code &&
    canonicalJson(result) === canonicalJson(run.result)
  );
}

/** What all trials of one Code share: the compiled script, and where earlier runs diverged. */
interface Course {
  script: Promise<Script>;
  parted: number;
  whole: number;
  first: number;
}

const courses = new WeakMap<Code, Map<string, Course>>();

function courseOf(code: Code, { agent }: RunRecord, bench: TrialEnvironment): Course {
  const known = courses.getOrInsertComputed(code, () => new Map());
  const fresh = () => ({ script: bench.scriptIn(code.tree, agent), parted: 0, whole: 0, first: Number.POSITIVE_INFINITY });
  return known.getOrInsertComputed(agent, fresh);
}

async function execute(
  recording: Recording,
  code: Code,
  script: Script,
  bench: TrialEnvironment,
  serve: number,
  statements: string | null,
): Promise<Attempt> {
  const { steps } = recording;
  const run: RunRecord = { ...recording.run, mode: "backtest", attempt: 1 };
  const recorded = createRecorded(steps, serve, run.createdAt);
  const attempt = newAttempt();
  const over = await changedFiles(code);
  const isWhole = serve === steps.length;
  let reached = false;
  let view: WorkspaceView | null = null;
  const unclear = new Set<string>();

  const log: RunLog = {
    ...detachedLog(run, steps.slice(0, serve)),
    end: (end) => void (attempt.ended = end),
    wait: (reason, sentence) => void (attempt.missing = reason === "slow_call" ? null : sentence),
  };
  const world: World = {
    ...bench.world,
    clock: recorded,
    sandbox: {
      ...bench.world.sandbox,
      execute: (job) =>
        bench.world.sandbox.execute({
          ...job,
          call: (call) => {
            reached = true;
            recorded.called(call);
            attempt.last = call;
            if (call.at !== undefined) attempt.at.set(call.seq, call.at);
            return job.call(call);
          },
        }),
    },
    script: async () => script,
    primitive: async (name) =>
      withRecordedAnswers(await bench.world.primitive(name), {
        recorded,
        restore: (step) => view?.restore(step),
        supposed: attempt.supposed,
        rereads: statements !== null,
        ask: bench.ask ?? null,
        read: bench.read ?? null,
      }),
    async view(_, own, now) {
      const git = standingGit(bench.git, recording, serve, over);
      // Files in today's import/ do not belong to the recorded run.
      const place = { git, base: git.tree(run.pin.commit), dir: statements ?? join(bench.dir, STATE, "nowhere") };
      const settled = () => isWhole && !reached && run.status === "done";
      view = trialView(await bench.viewAt(run, own, now, place), {
        recorded,
        trust: bench.trust,
        settled,
        rereads: statements !== null,
        supposed: attempt.supposed,
        unclear,
      });
      return view;
    },
    suppose: (seq, gate) =>
      (seq === steps.length ? bench.decision : undefined) ??
      answered(gate, recording, recorded, isWhole && seq === steps.length, attempt.supposed),
    supposeCommit: () => recorded.commit(),
    mayAct: () => undefined,
    sent: { has: () => false, keep: () => undefined },
    // Somebody is waiting: code that makes far more calls than the recorded run is stopped.
    async limits() {
      const limits = await bench.world.limits(run);
      return { ...limits, calls: Math.min(limits.calls, steps.length === 0 ? MADE_UP_CALLS : EXTRA_CALLS + 10 * steps.length) };
    },
    guard: () => undefined,
  };

  let execution = await executeRun(log, world);
  while (typeof execution === "object") {
    await execution.later;
    execution = await executeRun(log, world);
  }
  attempt.steps = log.steps;
  const untold = untoldBy(attempt, unclear);
  if (untold !== null) Object.assign(attempt, { ended: null, missing: untold });
  const { ended } = attempt;
  if (ended?.status === "diverged") attempt.diverged = (ended.error.data as { step?: number } | undefined)?.step ?? null;
  return attempt;
}

/** Why a failure is no evidence about the code: the machine failed, or only a server could tell whether the call was a read. Null for others. */
function untoldBy({ ended, steps }: Attempt, unclear: ReadonlySet<string>): string | null {
  if (ended?.status !== "failed") return null;
  if (ended.error.code === "LIMIT_WALL") return "it did not end in time on this machine";
  if (kindOf(ended.error.code) !== "policy") return null;
  const { tool } = JSON.parse(steps.at(-1)?.params ?? "{}") as { tool?: Json };
  return typeof tool === "string" && unclear.has(tool) ? `whether ${tool} reads or writes only its server can tell` : null;
}

function newAttempt(ended: Ended | null = null): Attempt {
  return { ended, steps: [], missing: null, supposed: [], at: new Map(), diverged: null, last: null };
}

/** The run as the trial would have left it; one that stopped at a missing answer has not ended. */
function outcomeOf(run: RunRecord, { ended }: Pick<Attempt, "ended">): RunRecord {
  const none = { outcome: null, result: null, error: null, meta: null };
  if (ended === null) return { ...run, ...none, status: "waiting" };
  return { ...run, ...none, ...ended };
}

/** The first place at which the calls differ; null if they are the same. */
function partingOf(recorded: readonly Step[], { steps, at, missing: stopped }: Attempt): Divergence | null {
  const length = Math.max(recorded.length, stopped === null ? steps.length : steps.length + 1);
  for (let n = 0; n < length; n++) {
    const [was, now] = [recorded[n], steps[n]];
    if (was !== undefined && now !== undefined && (was === now || sameCall(was, now))) continue;
    return { step: n, recorded: toCall(was), now: toCall(now), at: at.get(n) ?? null };
  }
  return null;
}

function toCall(step: Step | undefined): Call | null {
  return step === undefined ? null : { tool: step.name, params: JSON.parse(step.params) as Json };
}

/**
 * The answer at a gate: the recorded decision on the same question; the end that the recorded run came to there; else an assumed approval,
 * which is reported.
 * @throws End, and Suspend for a form, whose answer cannot be assumed
 */
function answered(gate: Gate, { run, refused }: Recording, recorded: Recorded, isLast: boolean, supposed: string[]): Decision {
  const found = recorded.decisionOf(gate);
  if (found !== null) return found;
  const { calls, kind, title } = gate.card;
  const isRefused = refused === undefined ? isLast && stopped(run) : refused !== null && callsKey(refused) === callsKey(calls);
  if (isRefused && run.outcome !== null) {
    const { reason, by } = (run.result ?? {}) as { reason?: string; by?: string };
    throw new End(run.outcome, reason ?? "", { by: by ?? null });
  }
  if (kind === "form") throw missing(`"${title}" asks a person for data, which the recorded run did not do`);
  supposed.push(`an approval of "${title}", which the recorded run did not ask for`);
  return { card: 0, decision: "approved", by: recorded.decider, at: recorded.now() };
}
