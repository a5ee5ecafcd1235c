/**
 * The guard's measurements: an agent's ended runs before and after a change, from the run store; whether the books still hold; whether runs
 * also fail on the previous code, which means that the change is not the cause; and the alert that notifies people.
 */
import type { Database } from "../../engine/store/database.ts";
import { alertCard } from "../../engine/store/card-queries.ts";
import { type EndedRow, endedLive, glanceAt } from "../../engine/store/run-queries.ts";
import { type WireError, unlessInternal } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/ports.ts";
import { newestTouching } from "../../workspace/git/past.ts";
import { verifyBooks } from "../../workspace/books/verify.ts";
import { openAlert } from "../../outside/notices/outbox.ts";
import { recordingOf } from "../evidence/backtest.ts";
import type { TrialEnvironment } from "../evidence/trial-environment.ts";
import { codeOver } from "../evidence/code.ts";
import { bookedIn, effectsOf } from "../evidence/effects.ts";
import { tryRun } from "../evidence/trial.ts";
import type { ApplyWorld } from "./apply.ts";
import type { Proposal } from "../proposal-types.ts";

/** Of live runs of one agent that ended on their own. */
export interface Metrics {
  runs: number;
  /** Cards for review they opened. */
  reviews: number;
  failed: number;
  /** The first that broke an invariant of the books where none did before, in words, or null. */
  broken: string | null;
}

/** A live run that ended on its own. */
export interface Ended {
  id: string;
  reviews: number;
  failed: boolean;
  /** Code of its error, or "". */
  code: string;
}

// Enough for a meaningful share: the last days of a busy agent, the last months of a quiet one.
const LATEST = 500;
const BEFORE = 100;

/** How a commit relates to a change: it contains it, precedes it, or says nothing about it. */
export type Side = (commit: string) => "after" | "before" | null;

/** An agent's runs before and after the change, newest first. The commit a run is pinned to decides, not the clock. */
export function endedRuns(database: Database, agent: string, side: Side): { before: Ended[]; after: Ended[] } {
  const rows = endedLive(database, agent, LATEST);
  const { after = [], before = [] } = Object.groupBy(rows, (row) => side(row.pin_commit) ?? "neither");
  return { before: before.slice(0, BEFORE).map(toEnded), after: after.map(toEnded) };
}

function toEnded({ id, status, error, reviews }: EndedRow): Ended {
  return { id, reviews, failed: status !== "done", code: error === null ? "" : (JSON.parse(error) as WireError).code };
}

/** `known`: error codes of the agent's earlier runs. */
export function measure(agent: string, runs: readonly Ended[], known: ReadonlySet<string> = new Set()): Metrics {
  const broken = runs.findLast(({ failed, code }) => failed && code.startsWith("JOURNAL_") && !known.has(code));
  return {
    runs: runs.length,
    reviews: runs.reduce((sum, { reviews }) => sum + reviews, 0),
    failed: runs.filter(({ failed }) => failed).length,
    broken: broken === undefined ? null : `${broken.id} of ${agent} failed with ${broken.code}, which the books forbid`,
  };
}

type Books = Pick<ApplyWorld, "dir" | "git" | "clock" | "database" | "config">;

// Reads all books; 100,000 entries take some seconds.
const EVERY_MS = 300_000;

/**
 * Whether a run of these agents on changed code has broken the books, in words, or null: the run's own commit must be the cause. Damage done
 * by hand, before or after, does not count.
 */
export function brokenBooks({ dir, git, clock, database, config }: Books) {
  let looked = { head: "", at: 0 };
  let findings: Awaited<ReturnType<typeof verifyBooks>>["findings"] = [];
  const foundAt = async (commit: string) => (await verifyBooks(git.tree(commit), await config(git.tree(commit)))).findings;
  return async (agents: readonly string[], sideOf: (agent: string) => Side): Promise<string | null> => {
    const head = await git.head();
    const now = clock.now();
    if (looked.head !== head && (looked.head === "" || Math.abs(now - looked.at) >= EVERY_MS)) {
      findings = await foundAt(head);
      looked = { head, at: now };
    }
    for (const { code, at, message } of findings) {
      const [last] = await newestTouching(dir, looked.head, at.file);
      const run = last === undefined ? undefined : glanceAt(database, last.trailers["Run"] ?? "");
      if (last === undefined || run === undefined || !agents.includes(run.agent) || sideOf(run.agent)(run.pin) !== "after") continue;
      const isThere = async (commit: string) => (await foundAt(commit)).some((one) => one.code === code && one.at.file === at.file);
      if ((await isThere(last.commit)) && !(await isThere(last.parent)))
        return `${last.trailers["Run"]} left books that do not hold: ${at.file}: ${message.replace(/\.$/, "")} (${code})`;
    }
    return null;
  };
}

export interface Alert {
  key: string;
  title: string;
  about: Json;
}

/** Returns the sentence if it is new, else "". An alert that was read stays read. */
export function tell(world: Pick<ApplyWorld, "database" | "cards" | "clock">, { key, title, about }: Alert): string {
  const id = alertCard(world.database, key);
  if (id === undefined) {
    openAlert(world.database, key, title, about, world.clock.now());
    return title;
  }
  if (world.cards.get(id)?.title === title) return "";
  world.cards.restate(id, { title, body: { about } });
  return title;
}

// A trial takes a fraction of a second; the newest runs are enough.
const TRIED = 50;

/**
 * For each run, what the previous code would have done, and what it did, where the change is the cause. Reviews count for the same work only:
 * not where the previous code fails, nor those of entries beyond as many as it books. A run that cannot be tried counts against the change: it
 * asks something the previous code did not.
 */
export async function onCodeBefore(bench: TrialEnvironment, { files }: Proposal, applied: string, runs: readonly Ended[]) {
  const parent = (await bench.git.objects.commit(applied))?.parents[0];
  if (parent === undefined) return { was: [], now: [...runs] };
  const before = bench.git.tree(parent);
  const code = codeOver(before, new Map(await Promise.all(files.map(async ({ path }) => [path, await before.read(path)] as const))));
  const [was, now]: [Ended[], Ended[]] = [[], []];
  for (const run of runs.slice(0, TRIED)) {
    const tried = await triedOn(run).catch(unlessInternal(() => null));
    was.push({ id: run.id, reviews: tried?.reviews ?? 0, failed: false, code: "" });
    const isWeather = run.failed && tried?.failed === true && (!run.code.startsWith("JOURNAL_") || tried.code === run.code);
    const same = { ...run, reviews: run.reviews - (tried?.ofNewWork ?? 0) };
    now.push(isWeather ? { ...same, failed: false, code: "" } : same);
  }
  return { was, now };

  async function triedOn({ id, reviews, failed }: Ended): Promise<(Omit<Ended, "id"> & { ofNewWork: number }) | null> {
    const recording = await recordingOf(id, bench);
    if (recording === null) return null;
    const { effects, missing } = await tryRun(recording, code, bench);
    if (missing !== null) return null;
    const result = { reviews: effects.reviews.length, failed: effects.status === "failed", code: effects.error?.code ?? "" };
    if (result.failed && !failed) return { ...result, ofNewWork: reviews };
    const own = await effectsOf(recording.run, recording.steps, bench.world);
    const booked = bookedIn(own);
    const asked = own.reviews.filter(({ about }) => booked.has(about)).length;
    return { ...result, ofNewWork: Math.min(asked, reviews, Math.max(0, booked.size - bookedIn(effects).size)) };
  }
}
