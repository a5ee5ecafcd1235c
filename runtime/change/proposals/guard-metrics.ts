/**
 * What the guard measures: an agent's ended runs before and since a change, from the run store; whether the books still hold; whether runs fail on the code
 * before it as well, which is the weather and not the change; and the alert that tells people.
 */
import type { Database } from "../../engine/store/database.ts";
import { alertCard } from "../../engine/store/card-queries.ts";
import { type EndedRow, endedLive, glanceAt } from "../../engine/store/run-queries.ts";
import { type WireError, ClearedError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/ports.ts";
import { newestTouching } from "../../workspace/git/past.ts";
import { verifyBooks } from "../../workspace/books/verify.ts";
import { openAlert } from "../../outside/notices/outbox.ts";
import { recordingOf } from "../evidence/backtest.ts";
import type { TrialEnvironment } from "../evidence/trial-environment.ts";
import { codeOver } from "../evidence/code.ts";
import { tryRun } from "../evidence/trial.ts";
import type { ApplyWorld } from "./apply.ts";
import type { Proposal } from "../proposal-types.ts";

/** Of live runs of one agent that have ended by themselves. */
export interface Metrics {
  runs: number;
  /** Cards for review that they opened. */
  reviews: number;
  failed: number;
  /** The first that broke an invariant of the books as none did before, in words, or null. */
  broken: string | null;
}

/** A live run that has ended by itself. */
export interface Ended {
  id: string;
  reviews: number;
  failed: boolean;
  /** Code of its error, or "". */
  code: string;
}

// As far back as a share means something: a busy agent's last days, a quiet one's last months.
const LATEST = 500;
const BEFORE = 100;

/** Where a commit stands to a change: with it, before it, or where it tells nothing of it. */
export type Side = (commit: string) => "after" | "before" | null;

/**
 * The runs of an agent before and since, newest first. A run counts by the code it is pinned to, whatever the clock said. */
export function endedRuns(database: Database, agent: string, side: Side): { before: Ended[]; after: Ended[] } {
  const rows = endedLive(database, agent, LATEST);
  const { after = [], before = [] } = Object.groupBy(rows, (row) => side(row.pin_commit) ?? "neither");
  return { before: before.slice(0, BEFORE).map(toEnded), after: after.map(toEnded) };
}

function toEnded({ id, status, error, reviews }: EndedRow): Ended {
  return { id, reviews, failed: status !== "done", code: error === null ? "" : (JSON.parse(error) as WireError).code };
}

/** `known`: codes that the agent's runs ended with before. */
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

// All of the books are read; 100,000 entries take some seconds.
const EVERY_MS = 300_000;

/**
 * Whether a run of these agents on changed code has left books that do not hold, in words, or null: its own commit must have brought that.
 * What a person breaks by hand, before it or after, is theirs.
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

type Told = Pick<ApplyWorld, "database" | "cards" | "clock">;

export function hasAlert(world: Pick<Told, "database">, key: string): boolean {
  return alertCard(world.database, key) !== undefined;
}

/** Answers the sentence when it is news, else "". One that a person has read stays read. */
export function tell(world: Told, { key, title, about }: Alert): string {
  const id = alertCard(world.database, key);
  if (id === undefined) {
    openAlert(world.database, key, title, about, world.clock.now());
    return title;
  }
  if (world.cards.get(id)?.title === title) return "";
  world.cards.restate(id, { title, body: { about } });
  return title;
}

// Trying takes a part of a second each; the newest tell enough.
const TRIED = 50;

/**
 * The runs as the code before would have left them, and as they are where that is the change's doing. One that cannot be tried is charged to
 * the change: it asks what the code before did not.
 */
export async function onCodeBefore(bench: TrialEnvironment, { files }: Proposal, applied: string, runs: readonly Ended[]) {
  const parent = await bench.git.parent(applied);
  if (parent === null) return { was: [], now: [...runs] };
  const before = bench.git.tree(parent);
  const code = codeOver(before, new Map(await Promise.all(files.map(async ({ path }) => [path, await before.read(path)] as const))));
  const [was, now]: [Ended[], Ended[]] = [[], []];
  for (const run of runs.slice(0, TRIED)) {
    const tried = await triedOn(run.id);
    was.push({ id: run.id, reviews: tried?.reviews ?? 0, failed: false, code: "" });
    const isWeather = run.failed && tried?.failed === true && (!run.code.startsWith("JOURNAL_") || tried.code === run.code);
    now.push(isWeather ? { ...run, failed: false, code: "" } : run);
  }
  return { was, now };

  async function triedOn(id: string): Promise<Omit<Ended, "id"> | null> {
    try {
      const recording = await recordingOf(id, bench);
      if (recording === null) return null;
      const { effects, missing } = await tryRun(recording, code, bench);
      if (missing !== null) return null;
      return { reviews: effects.reviews.length, failed: effects.status === "failed", code: effects.error?.code ?? "" };
    } catch (error) {
      if (error instanceof ClearedError && error.kind !== "internal") return null;
      throw error;
    }
  }
}
