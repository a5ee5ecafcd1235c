/**
 * Backtest: the recorded runs of an agent on other code, several at a time, newest first, one in memory per slot. A run that other code
 * than the one before made is compared with what the one before does to it, so that a change answers for itself alone.
 */
import { obstaclesTo, stopped } from "../engine/replay.ts";
import { ClearedError, kindOf } from "../errors.ts";
import type { Json, RunRecord, Tree } from "../ports.ts";
import { type Exact, ZERO, fromExact, plus, toExact } from "../workspace/amounts.ts";
import { findEntry } from "../workspace/months.ts";
import type { Bench } from "./bench.ts";
import { type Known, differenceOf } from "./differences.ts";
import { effectsOf } from "./effects.ts";
import { addMoney, movesOf, netOf } from "./money.ts";
import { filesOf } from "./reached.ts";
import { inSlots } from "./slots.ts";
import { tryRun } from "./trial.ts";
import type { BacktestClass, BacktestReport, Code, Effects, Recording, RunDifference, Which } from "./types.ts";

/** How many differences a report lists, and how many entries each; the counts and sums are of all. */
export const LISTED = 200;
const LISTED_ENTRIES = 100;
const PAGE = 50;
const DAY_MS = 86_400_000;
const WORST: readonly BacktestClass[] = ["worse", "failed", "not_replayable", "changed", "same"];

export interface BacktestOptions {
  /** Commit or words that say which code is tried. */
  name: string;
  progress?: (done: number, total: number) => void;
}

/** Tries `code` on the recorded runs of an agent, against `base`, the code it is to replace. */
export async function backtest(
  agent: string,
  code: Code,
  base: Code,
  which: Which,
  bench: Bench,
  options: BacktestOptions,
): Promise<BacktestReport> {
  const before: Code = { tree: base.tree, changed: code.changed };
  const files = [...(await filesBefore(before, agent, bench)), ...code.changed];
  const chosen = await idsOf(agent, which, bench);
  const head = bench.git.tree(await bench.git.head());
  const sums = newSums();
  const look = async (id: string): Promise<void> => {
    const recording = await recordingOf(id, bench);
    if (recording !== null) sums.add(await compared(recording));
  };
  await inSlots(chosen, bench.trust.sandbox.slots, look, options.progress);
  return {
    agent,
    code: options.name,
    days: "days" in which ? which.days : null,
    ...sums.report(),
    waiting: await waitingOn(agent, code, bench),
  };

  async function compared(recording: Recording): Promise<RunDifference> {
    const trial = await tryRun(recording, code, bench);
    const was = await wasOf(recording);
    const known: Known = new Map(
      (
        await Promise.all(
          was.entries.map(async ({ id }) => {
            const entry = await findEntry(head, id);
            return entry === null ? [] : [[id, entry] as const];
          }),
        )
      ).flat(),
    );
    return differenceOf(recording.run, was, trial, known);
  }

  /** What the code before does to it: what is recorded, when it was the code before. */
  async function wasOf(recording: Recording): Promise<Effects> {
    const { run, steps } = recording;
    if (!(await isMadeBy(before.tree, bench.git.tree(run.pin.commit), files))) {
      const { effects, missing } = await tryRun(recording, before, bench);
      if (missing === null && (effects.error === null || kindOf(effects.error.code) !== "script")) return effects;
    }
    return effectsOf(run, steps, bench.world);
  }
}

/** None for an agent that is new or does not compile: then the record is all there is to compare with. */
async function filesBefore({ tree }: Code, agent: string, bench: Bench): Promise<string[]> {
  try {
    return await filesOf(await bench.scriptIn(tree, agent), tree);
  } catch (error) {
    if (error instanceof ClearedError && error.kind === "script") return [];
    throw error;
  }
}

async function isMadeBy(tree: Tree, then: Tree, files: readonly string[]): Promise<boolean> {
  for (const path of files) if ((await tree.blob(path)) !== (await then.blob(path))) return false;
  return true;
}

/** Runs that came to their end by themselves, newest first. @throws RUN_UNKNOWN */
async function idsOf(agent: string, which: Which, { engine, clock }: Bench): Promise<string[]> {
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

/** A run with its history, as trials take it; null for one that cannot be tried. @throws RUN_UNKNOWN */
export async function recordingOf(id: string, { engine, cards }: Pick<Bench, "engine" | "cards">): Promise<Recording | null> {
  const run = await engine.get(id);
  if (run === null) throw new ClearedError("RUN_UNKNOWN", `There is no run "${id.slice(0, 40)}".`);
  if (!isRecorded(run)) return null;
  const steps = (await engine.steps(id)).filter((step) => step.state !== "intent");
  const refusal = stopped(run) ? cards.list({ run: id }).findLast((card) => card.gate !== null && card.decision !== null) : undefined;
  return { run, steps, refused: refusal?.calls ?? null };
}

/** The waiting runs, and whether the code makes the calls they have made. */
async function waitingOn(agent: string, code: Code, bench: Bench): Promise<BacktestReport["waiting"]> {
  const waiting: BacktestReport["waiting"] = [];
  for (const run of await bench.engine.list({ agent, status: ["waiting"], limit: LISTED })) {
    if (run.cause.kind === "exec" || run.mode !== "live") continue;
    const why = await obstacleTo(run, code, bench).catch((error) => {
      if (error instanceof ClearedError) return error.message;
      throw error;
    });
    waiting.push({ run: run.id, moves: why === null, why });
  }
  return waiting;
}

async function obstacleTo(run: RunRecord, code: Code, bench: Bench): Promise<string | null> {
  const script = await bench.scriptIn(code.tree, run.agent);
  const findings = await obstaclesTo(run, await bench.engine.steps(run.id), { ...bench.world, script: async () => script });
  return findings[0] ?? null;
}

interface Sums {
  add(one: RunDifference): void;
  report(): Pick<BacktestReport, "runs" | "counts" | "money" | "net" | "moves" | "differences">;
}

/** Counts and sums of all runs; of the differences only the worst are kept, so memory does not grow with the runs. */
function newSums(): Sums {
  const counts: BacktestReport["counts"] = { same: 0, changed: 0, worse: 0, failed: 0, not_replayable: 0 };
  const moves = new Map<string, { move: BacktestReport["moves"][number]; amount: Exact }>();
  const net = new Map<string, Exact>();
  let money: BacktestReport["money"] = [];
  let runs = 0;
  let differences: RunDifference[] = [];
  const rank = (one: RunDifference) => WORST.indexOf(one.class);
  const cut = () => {
    differences = differences.sort((a, b) => rank(a) - rank(b) || (a.run < b.run ? 1 : -1)).slice(0, LISTED);
  };
  return {
    add(one) {
      runs++;
      counts[one.class]++;
      if (one.class === "same") return;
      money = addMoney(money, one.money);
      for (const [currency, size] of netOf(one.entries)) net.set(currency, plus(net.get(currency) ?? ZERO, size));
      for (const move of one.entries.flatMap(movesOf)) {
        const key = [move.from, move.to, move.currency].join("\n");
        const sum = moves.get(key);
        moves.set(key, {
          move: { ...move, entries: (sum?.move.entries ?? 0) + 1 },
          amount: plus(sum?.amount ?? ZERO, toExact(move.amount)),
        });
      }
      differences.push({ ...one, entries: one.entries.slice(0, LISTED_ENTRIES), why: one.why.slice(0, LISTED_ENTRIES) });
      if (differences.length >= 2 * LISTED) cut();
    },
    report() {
      cut();
      return {
        runs,
        counts,
        money: money.filter(({ difference }) => toExact(difference).units !== 0n),
        net: Object.fromEntries([...net].map(([currency, sum]) => [currency, fromExact(sum, 2)])),
        moves: [...moves.values()].map(({ move, amount }) => ({ ...move, amount: fromExact(amount, 2) })),
        differences,
      };
    },
  };
}
