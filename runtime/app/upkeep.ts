/**
 * Maintenance, so that a workspace's thousandth day is like its first: histories of closed runs leave the store, objects are packed, and idle
 * processes return memory. An owner does this whenever nothing has been requested for a while; a command at its end, if enough has accumulated
 * that git itself would collect. One job at a time, in pieces between which a run may start.
 */
import { dropClosed, packClosed, waitingToPack } from "../engine/store/packing.ts";
import { getFact, setFact } from "../engine/store/facts.ts";
import { type GitUpkeep, createGitUpkeep } from "../workspace/git/repack.ts";
import { findGitDir } from "../workspace/git/git.ts";
import type { Host } from "./host.ts";
import { keepLooking } from "./looks.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** When each job is due; the numbers are the owner's by default. */
export interface UpkeepLimits {
  /** Idle time before work starts. */
  quietMs: number;
  /** Age at which histories are moved after the end of their runs; recent ones are read and resumed more often. */
  ageMs: number;
  /** Number of histories worth a bundle and its commit; fewer wait a day. */
  runs: number;
  /** Number of loose objects that are packed; fewer wait a day. */
  loose: number;
  lookMs: number;
}

const OWNER: UpkeepLimits = { quietMs: 20_000, ageMs: HOUR_MS, runs: 100, loose: 2000, lookMs: 5000 };
// A workspace that is never idle, or that only commands use, is maintained as well. git's gc.auto is 6700.
const PRESSING = { runs: 5000, loose: 10_000 };
const COMMAND = { runs: 2000, loose: 6700 };
// Time per step while runs are executing.
const SHARE_MS = 500;
// Steps skipped after a failure: a full disk stays full for a while.
const PATIENCE = 12;
const COLLECT_MS = 30 * DAY_MS;

/** Does one due piece after another, until none is left or `goOn` returns false. Returns whether anything was done. */
async function work(
  host: Host,
  git: GitUpkeep,
  limits: Pick<UpkeepLimits, "ageMs" | "runs" | "loose">,
  goOn: () => Promise<boolean>,
  stop: AbortSignal,
): Promise<boolean> {
  const { database, clock, packing } = host;
  const dueSince = (name: string, ms: number): boolean => {
    const last = getFact(database, name);
    // A job that was never done is due once this has passed.
    if (last === null) setFact(database, name, String(clock.now()));
    return last !== null && clock.now() - Number(last) >= ms;
  };
  const done = (name: string) => setFact(database, name, String(clock.now()));
  const before = () => clock.now() - limits.ageMs;
  let worked = false;

  const packs = waitingToPack(database, before(), limits.runs);
  if (packs >= limits.runs || (packs > 0 && dueSince("upkeep:pack", DAY_MS))) {
    while (!stop.aborted && (await goOn()) && (await packClosed(packing, before())) > 0) worked = true;
    done("upkeep:pack");
  }
  const { keep_days: days } = (await host.config()).history;
  if (days !== undefined && (await goOn()) && dueSince("upkeep:drop", DAY_MS)) {
    if ((await dropClosed(packing, clock.now() - days * DAY_MS, await git.namedRuns())) > 0) worked = true;
    done("upkeep:drop");
  }
  if ((await goOn()) && dueSince("upkeep:tasks", DAY_MS)) {
    const tasks = (await import("./tasks.ts")).tasksOf(host);
    while (!stop.aborted && (await goOn()) && (await tasks.letGo(100)) > 0) worked = true;
    done("upkeep:tasks");
  }
  if ((await goOn()) && database.shrink()) worked = true;
  if (stop.aborted || !(await goOn())) return worked;
  const loose = git.loose();
  // Collecting also packs loose objects and must come first: repacking would make unneeded objects look recent.
  if (dueSince("upkeep:collect", COLLECT_MS)) {
    if (await git.collect(stop)) done("upkeep:collect");
    worked = true;
  } else if (loose >= limits.loose || (loose > 0 && dueSince("upkeep:repack", DAY_MS))) {
    if (await git.repack(stop)) done("upkeep:repack");
    worked = true;
  }
  return worked;
}

/** Works until stopped. `rested`: called when an execution is over. */
export function keepUp(host: Host, onError: (error: unknown) => void, limits: UpkeepLimits = OWNER) {
  const stop = new AbortController();
  let active = performance.now();
  let resting = false;

  const quiet = async (): Promise<boolean> => {
    if ((await host.engine.list({ status: ["running"], limit: 1 })).length > 0) active = performance.now();
    return performance.now() - active >= limits.quietMs;
  };
  const look = async (): Promise<void> => {
    const git = createGitUpkeep(host.dir, await findGitDir(host.dir));
    const many = waitingToPack(host.database, host.clock.now() - limits.ageMs, PRESSING.runs) >= PRESSING.runs;
    const calm = await quiet();
    if (!calm && !many && git.loose() < PRESSING.loose) return;
    const began = performance.now();
    const goOn = calm ? quiet : async () => performance.now() - began < SHARE_MS;
    if (await work(host, git, calm ? limits : { ...limits, ...PRESSING }, goOn, stop.signal)) return;
    if (resting || !(await quiet())) return;
    resting = true;
    host.database.rest();
    // The launcher starts an owner with --expose-gc: after a busy hour this returns 60 MB.
    await globalThis.gc?.({ type: "major", execution: "async", flavor: "last-resort" });
  };
  const looking = keepLooking(limits.lookMs, look, onError, { pauseMs: PATIENCE * limits.lookMs });
  return {
    rested(): void {
      active = performance.now();
      resting = false;
    },
    async stop(): Promise<void> {
      stop.abort();
      await looking.stop();
    },
  };
}

/** At the end of a command: one pass, if far more than a day's work has accumulated. */
export async function upkeepOnce(host: Host, say: (message: string) => void): Promise<void> {
  const git = createGitUpkeep(host.dir, await findGitDir(host.dir));
  const many = waitingToPack(host.database, host.clock.now() - OWNER.ageMs, COMMAND.runs) >= COMMAND.runs;
  if (!many && git.loose() < COMMAND.loose) return;
  say("Packing the histories of old runs and the repository ...");
  await work(host, git, { ...OWNER, ...COMMAND }, async () => true, new AbortController().signal);
}

/** Does at once what an owner does in an idle night. */
export async function upkeepNow(host: Host): Promise<void> {
  const git = createGitUpkeep(host.dir, await findGitDir(host.dir));
  await work(host, git, OWNER, async () => true, new AbortController().signal);
}
