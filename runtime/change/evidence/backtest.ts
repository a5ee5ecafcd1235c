/**
 * Backtest: replays the recorded runs of an agent on other code, several at a time, newest first, one in memory per slot. A run that was made
 * by code older than the base is compared with what the base does on it, so that a change is judged by its own differences only.
 */
import { setFlagsFromString } from "node:v8";
import { obstaclesTo, stopped } from "../../engine/replay.ts";
import { endResting } from "../../kernel/processes.ts";
import { ClearedError, kindOf } from "../../kernel/errors.ts";
import type { Json, RunRecord, Step } from "../../kernel/ports.ts";
import type { TrialEnvironment } from "./trial-environment.ts";
import { differenceOf, sameRun } from "./compare.ts";
import { changesIn, effectsLater } from "./effects.ts";
import { leftOf } from "./left.ts";
import { filesOf, haveSame, likeTried } from "./code.ts";
import { createTurns, inSlots } from "../../kernel/turns.ts";
import { newSums } from "./sums.ts";
import { tryRun, tryRunOrToday } from "./trial.ts";
import type { BacktestReport, Code, Effects, Recording, RunDifference, Trial, Which } from "./types.ts";

const PAGE = 50;
const MOST_WAITING = 200;
// Characters of a recording whose trial takes some 100 MB: an import of 10,000 rows has 5 million.
const LARGE = 1_000_000;
const DAY_MS = 86_400_000;

export interface BacktestOptions {
  /** Commit, or words, that name the code under test. */
  name: string;
  progress?: (done: number, total: number) => void;
  /** Called for each run once it is compared; the report itself keeps only a sample. */
  compared?(one: Compared): Promise<void>;
}

/** A recording on the new code, and the effects it is compared with. */
export interface Compared {
  recording: Recording;
  /** Computed on demand. */
  was(): Effects;
  trial: Trial;
  /** With the settings that the trial used. */
  code: Code;
  difference: RunDifference;
}

/** True for a run that failed when recorded and ends well on the new code. */
export const isMended = ({ recording: { run }, trial: { missing, effects } }: Pick<Compared, "recording" | "trial">): boolean =>
  run.status === "failed" && missing === null && effects.status === "done" && effects.outcome === "completed";

/** Tries `code` on the recorded runs of an agent, against `base`, the code it is to replace. */
export async function backtest(
  agent: string,
  code: Code,
  base: Code,
  which: Which,
  bench: TrialEnvironment,
  options: BacktestOptions,
): Promise<BacktestReport> {
  const chosen = await idsOf(agent, which, bench);
  const before: Code = { tree: base.tree, changed: code.changed };
  // Only the change may ask for answers that are not recorded; the base's would not be evidence.
  const { ask: _, ...silent } = bench;
  const files = [...(await filesBefore(before, agent, bench)), ...code.changed];
  const head = bench.git.tree(await bench.git.head());
  const sums = newSums();
  const inTurn = createTurns();
  const work = async (recording: Recording): Promise<void> => {
    const one = await compared(recording);
    sums.add(one.difference);
    await options.compared?.(one);
  };
  const look = async (id: string): Promise<void> => {
    // Large recordings are read one at a time.
    const small = await inTurn(async () => {
      const recording = await recordingOf(id, bench);
      return recording === null || !isLarge(recording) ? recording : work(recording).then(() => null);
    });
    if (small !== null) await work(small);
  };
  await inSlots(chosen, bench.trust.sandbox.slots, look, options.progress);
  return {
    agent,
    code: options.name,
    days: "days" in which ? which.days : null,
    ...sums.report(),
    waiting: await waitingOn(agent, code, bench),
  };

  async function compared(recording: Recording): Promise<Compared> {
    const { run, steps } = recording;
    const { trial, code: tried } = await tryRunOrToday(recording, code, bench);
    const commit = bench.git.tree(run.pin.commit);
    const earlier = await likeTried(before, tried, code, commit);
    const isAsThen = await haveSame(base.tree, commit, [...files, ...tried.changed]);
    const then = isAsThen ? null : await tryRun(recording, earlier, silent);
    // If the base cannot be tried or fails, the comparison is with the recording.
    const { error } = then === null || then.missing !== null ? { error: null } : then.effects;
    const tells = then !== null && then.missing === null && (error === null || kindOf(error.code) !== "script");
    const was = tells ? () => then.effects : await effectsLater(run, steps, bench.world);
    const isSame = trial.isRecorded && (!tells || then.isRecorded);
    const difference = isSame ? sameRun(run, trial) : await differenceOf(run, was(), trial, leftOf(run.id, head, bench.cards));
    const reviews = { was: reviewsIn(tells ? then.steps : steps), now: reviewsIn(trial.steps) };
    return { recording, was, trial, code: tried, difference: { ...difference, reviews } };
  }
}

/** Empty for an agent that is new or does not compile: then the comparison is with the recording. */
async function filesBefore({ tree }: Code, agent: string, bench: TrialEnvironment): Promise<string[]> {
  try {
    return await filesOf(await bench.scriptIn(tree, agent), tree);
  } catch (error) {
    if (error instanceof ClearedError && error.kind === "script") return [];
    throw error;
  }
}

/** Runs that ended on their own (not canceled), newest first. @throws RUN_UNKNOWN */
export async function idsOf(agent: string, which: Which, { engine, clock }: TrialEnvironment): Promise<string[]> {
  if ("runs" in which) return [...which.runs];
  const since = "days" in which ? clock.now() - which.days * DAY_MS : 0;
  const ids: string[] = [];
  for (let before: string | undefined; ; ) {
    const page = await engine.list({ agent, status: ["done", "failed"], limit: PAGE, ...(before === undefined ? {} : { before }) });
    ids.push(...page.filter((run) => run.createdAt >= since && isRecorded(run)).map(({ id }) => id));
    before = page.at(-1)?.id;
    if (page.length < PAGE || (page.at(-1)?.createdAt ?? 0) < since) return ids;
  }
}

/** A live run of committed code that has ended; a fork of an `exec` run has no committed code either. */
function isRecorded({ mode, cause, status, dropped }: RunRecord): boolean {
  const isText = cause.kind === "exec" || typeof (cause.detail as { text?: Json } | null | undefined)?.text === "string";
  return mode === "live" && !isText && dropped !== true && (status === "done" || status === "failed");
}

const reviewsIn = (steps: readonly Step[]): number => changesIn(steps, "review").length;

/** True for a recording that is tried alone. */
export const isLarge = ({ steps }: Pick<Recording, "steps">): boolean => sizeOf(steps) >= LARGE;

/** Characters of all parameters and results. */
export const sizeOf = (steps: readonly Step[]): number =>
  steps.reduce((sum, { params, result }) => sum + params.length + (result?.length ?? 0), 0);

/** A run with its history, as trials take it; null for one that cannot be replayed. @throws RUN_UNKNOWN */
export async function recordingOf(id: string, { engine, cards }: Pick<TrialEnvironment, "engine" | "cards">): Promise<Recording | null> {
  const run = await engine.get(id);
  if (run === null) throw new ClearedError("RUN_UNKNOWN", `There is no run "${id.slice(0, 40)}".`);
  if (!isRecorded(run)) return null;
  const steps = (await engine.steps(id)).filter((step) => step.state !== "intent");
  if (isLarge({ steps })) {
    // V8 lets its heap grow to a multiple of what is in use; with several large recordings in a row, to a gigabyte.
    setFlagsFromString("--heap-growing-percent=40");
    endResting();
  }
  const refusal = stopped(run) ? cards.list({ run: id, decided: true }).findLast((card) => card.gate !== null) : undefined;
  return { run, steps, refused: refusal?.calls ?? null };
}

/** Waiting runs, and whether the code would make the calls they have recorded so far. */
async function waitingOn(agent: string, code: Code, bench: TrialEnvironment): Promise<BacktestReport["waiting"]> {
  const waiting: BacktestReport["waiting"] = [];
  for (const run of await bench.engine.list({ agent, status: ["waiting"], limit: MOST_WAITING })) {
    if (run.cause.kind === "exec" || run.mode !== "live") continue;
    const why = await obstacleTo(run, code, bench).catch((error) => {
      if (error instanceof ClearedError) return error.message;
      throw error;
    });
    waiting.push({ run: run.id, moves: why === null, why });
  }
  return waiting;
}

async function obstacleTo(run: RunRecord, code: Code, bench: TrialEnvironment): Promise<string | null> {
  const script = await bench.scriptIn(code.tree, run.agent);
  const findings = await obstaclesTo(run, await bench.engine.steps(run.id), { ...bench.world, script: async () => script });
  return findings[0] ?? null;
}
