/**
 * Backtest: the recorded runs of an agent on other code, several at a time, newest first, one in memory per slot. A run that other code
 * than the one before made is compared with what the one before does to it, so that a change answers for itself alone.
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
import { DATA } from "../../workspace/layout.ts";
import { filesOf, haveSame, onItsSettings } from "./code.ts";
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
  /** Commit or words that say which code is tried. */
  name: string;
  progress?: (done: number, total: number) => void;
  /** Hears of every run as it was compared, before the report forgets the rest of it. */
  compared?(one: Compared): Promise<void>;
}

/** A recording on other code, and what the code before did to it. */
export interface Compared {
  recording: Recording;
  /** Read when it is asked for. */
  was(): Effects;
  trial: Trial;
  /** With the settings that the trial had. */
  code: Code;
  difference: RunDifference;
}

/** True for a run that had failed and comes to a good end on the code. */
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
  // Only the change asks: what the code before it would have been answered is no part of the evidence.
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
    // No large one is read while another is tried.
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
    const earlier =
      tried === code
        ? before
        : ((await onItsSettings(
            base,
            commit,
            tried.changed.filter((path) => path.startsWith(DATA)),
          )) ?? before);
    const isAsThen = await haveSame(base.tree, commit, [...files, ...tried.changed]);
    const then = isAsThen ? null : await tryRun(recording, earlier, silent);
    // A code that cannot be tried on it, or that is broken, tells nothing: the record does.
    const { error } = then === null || then.missing !== null ? { error: null } : then.effects;
    const tells = then !== null && then.missing === null && (error === null || kindOf(error.code) !== "script");
    const was = tells ? () => then.effects : await effectsLater(run, steps, bench.world);
    const isSame = trial.isRecorded && (!tells || then.isRecorded);
    const difference = isSame ? sameRun(run, trial) : await differenceOf(run, was(), trial, leftOf(run.id, head, bench.cards));
    const reviews = { was: reviewsIn(tells ? then.steps : steps), now: reviewsIn(trial.steps) };
    return { recording, was, trial, code: tried, difference: { ...difference, reviews } };
  }
}

/** None for an agent that is new or does not compile: then the record is all there is to compare with. */
async function filesBefore({ tree }: Code, agent: string, bench: TrialEnvironment): Promise<string[]> {
  try {
    return await filesOf(await bench.scriptIn(tree, agent), tree);
  } catch (error) {
    if (error instanceof ClearedError && error.kind === "script") return [];
    throw error;
  }
}

/** Runs that came to their end by themselves, newest first. @throws RUN_UNKNOWN */
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

/** A live run of an agent of a commit that came to its end; a fork of one of `cleared exec` has its text in no commit either. */
function isRecorded({ mode, cause, status, dropped }: RunRecord): boolean {
  const isText = cause.kind === "exec" || typeof (cause.detail as { text?: Json } | null | undefined)?.text === "string";
  return mode === "live" && !isText && dropped !== true && (status === "done" || status === "failed");
}

const reviewsIn = (steps: readonly Step[]): number => changesIn(steps, "review").length;

/** True for one that is tried alone. */
export const isLarge = ({ steps }: Pick<Recording, "steps">): boolean => sizeOf(steps) >= LARGE;

/** Characters of what was asked and answered. */
export const sizeOf = (steps: readonly Step[]): number =>
  steps.reduce((sum, { params, result }) => sum + params.length + (result?.length ?? 0), 0);

/** A run with its history, as trials take it; null for one that cannot be tried. @throws RUN_UNKNOWN */
export async function recordingOf(id: string, { engine, cards }: Pick<TrialEnvironment, "engine" | "cards">): Promise<Recording | null> {
  const run = await engine.get(id);
  if (run === null) throw new ClearedError("RUN_UNKNOWN", `There is no run "${id.slice(0, 40)}".`);
  if (!isRecorded(run)) return null;
  const steps = (await engine.steps(id)).filter((step) => step.state !== "intent");
  if (isLarge({ steps })) {
    // V8 lets its heap grow to several times what is in use: with one large recording after the other, to a gigabyte.
    setFlagsFromString("--heap-growing-percent=40");
    endResting();
  }
  const refusal = stopped(run) ? cards.list({ run: id, decided: true }).findLast((card) => card.gate !== null) : undefined;
  return { run, steps, refused: refusal?.calls ?? null };
}

/** The waiting runs, and whether the code makes the calls they have made. */
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
