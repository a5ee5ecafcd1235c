/**
 * Runs on other code: moving one, copying one up to a step, and moving all that wait on older code than HEAD's. The new code must first replay
 * the recording, without acting, in the same state machine; who moved a run, and why, is among its events.
 */
import { NOBODY } from "../kernel/text.ts";
import { logTo } from "../engine/store/run-queries.ts";
import { obstaclesTo } from "../engine/replay.ts";
import { ClearedError } from "../kernel/errors.ts";
import type { RunRecord, ScriptPin, Step } from "../kernel/ports.ts";
import { API } from "../kernel/primitive.ts";
import { tryGit } from "../workspace/git/git-process.ts";
import { agentFile } from "../workspace/layout.ts";
import type { Host } from "./host.ts";
import { needRun } from "./look.ts";
import { execSource } from "./starts.ts";
import { agentFiles, closuresOf, reachedOf } from "../change/checks/reached.ts";
import { inSlots } from "../kernel/turns.ts";
import { codeOf, differing } from "../change/evidence/code.ts";
import { Kept } from "../kernel/kept.ts";

export interface Moving {
  run: string;
  /** The person whose key the command used. */
  by: string | null;
  reason: string;
}

export interface Proof {
  run: string;
  from: string;
  to: string;
  /** Recorded steps that the new code repeats. */
  steps: number;
}

/**
 * Moves a run to the code of a revision, HEAD by default; `dryRun` only proves that it could move.
 * @throws HISTORY_DIVERGED with both calls, RUN_STATUS, SCRIPT_*
 */
export async function migrateRun(host: Host, moving: Moving & { to?: string | undefined; dryRun: boolean }): Promise<Proof> {
  const run = await needRun(host.engine, moving.run);
  if (run.status === "done" || run.status === "canceled")
    throw new ClearedError("RUN_STATUS", `${run.id} is ${run.status}; only a run that has not ended can move to other code.`);
  if (run.status === "running") throw new ClearedError("RUN_STATUS", `${run.id} is executing now. Try again when it waits or has failed.`);
  const pin = await pinAt(host, run, moving.to);
  const proof = await prove(host, run, toServe(run, await host.engine.steps(run.id)), pin);
  if (moving.dryRun) return proof;
  note(host, run.id, moving, `moves this run from ${proof.from} to ${proof.to}`);
  await host.engine.migrate(run.id, pin);
  return proof;
}

/**
 * A new run with the first `at` steps of this one as its history (all by default), on its own code or that of HEAD.
 * @throws HISTORY_DIVERGED, RUN_STATUS, RUN_UNKNOWN
 */
export async function forkRun(host: Host, moving: Moving & { at?: number | undefined; head: boolean }): Promise<Proof> {
  const run = await needRun(host.engine, moving.run);
  const steps = (await host.engine.steps(run.id)).filter((step) => step.state !== "intent");
  const kept = moving.at ?? steps.length;
  if (kept > steps.length)
    throw new ClearedError("RUN_STATUS", `${run.id} has ${steps.length} answered steps; --at takes at most that number, not ${kept}.`);
  const pin = moving.head ? await pinAt(host, run, undefined) : run.pin;
  const proof = await prove(host, run, steps.slice(0, kept), pin);
  const id = await host.engine.fork(run.id, kept, pin, moving.by ?? NOBODY);
  note(host, id, moving, `forked this run from ${run.id} after ${kept} steps, on ${proof.to}`);
  return { ...proof, run: id };
}

/** The steps served to a resumed run: without the error that ended it, and with a failed outside call marked as in doubt. */
function toServe(run: RunRecord, steps: readonly Step[]): Step[] {
  const last = steps.at(-1);
  if (run.status !== "failed" || last?.state !== "error") return [...steps];
  const acted = (last.effect === "external" || last.effect === "notify") && last.attempts > 0;
  return [...steps.slice(0, -1), ...(acted ? [{ ...last, state: "intent" as const }] : [])];
}

async function prove(host: Host, run: RunRecord, steps: readonly Step[], pin: ScriptPin): Promise<Proof> {
  const proof = { run: run.id, from: run.pin.commit.slice(0, 12), to: pin.commit.slice(0, 12), steps: steps.length };
  if (pin.commit === run.pin.commit) return proof;
  const moved: RunRecord = { ...run, pin, status: "waiting", outcome: null, error: null };
  const findings = await obstaclesTo(moved, steps, host.world);
  if (findings.length === 0) return proof;
  throw new ClearedError(
    "HISTORY_DIVERGED",
    `${run.id} cannot continue with the code of ${proof.to}: ${findings.map((one) => one.slice(0, 500)).join("; ")}. It stays on ${proof.from}; change the new code to make the same calls up to here, or cancel the run and start it again.`,
    { data: { findings } },
  );
}

/** The agent's code at a revision: a commit, a branch, or HEAD of the configured branch. @throws RUN_STATUS, SCRIPT_MISSING, GIT_FAILED */
async function pinAt(host: Host, run: RunRecord, rev: string | undefined): Promise<ScriptPin> {
  if (execSource(run.cause) !== null)
    throw new ClearedError("RUN_STATUS", `${run.id} runs the text it was given by \`cleared exec\`; there is no other code to move it to.`);
  const commit = rev === undefined ? await host.git.head() : await commitOf(host.dir, rev);
  const file = agentFile(run.agent);
  const blob = await host.git.tree(commit).blob(file);
  if (blob === null) throw new ClearedError("SCRIPT_MISSING", `${file} is not in ${commit}.`);
  return { commit, blob, api: API };
}

/** @throws USAGE */
export async function commitOf(dir: string, rev: string): Promise<string> {
  const found = await tryGit(dir, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${rev}^{commit}`]);
  if (found.status !== 0) throw new ClearedError("USAGE", `"${rev}" is not a commit of this repository. Name one that \`git log\` shows.`);
  return found.stdout.toString().trim();
}

function note(host: Host, run: string, { by, reason }: Moving, what: string): void {
  const message = `${by ?? "An unidentified user"} ${what}${reason === "" ? "" : `: ${reason}`}`;
  logTo(host.database, run, host.clock.now(), { level: "info", message, by, reason });
}

export interface Movable extends Pick<RunRecord, "agent" | "reason" | "waitsFor" | "notBefore"> {
  run: string;
  from: string;
  to: string;
  /** Files that it runs with and that differ at HEAD. */
  differs: string[];
  /** True if it can move, or has moved. */
  moves: boolean;
  /** Recorded steps that HEAD's code repeats, or null. */
  steps: number | null;
  /** The first step where HEAD's code diverges, or another reason why the run cannot move. */
  why: string | null;
}

export interface Group {
  agent?: string;
  /** Only these; by default all that wait on older code. */
  runs?: readonly string[];
  by: string | null;
  reason: string;
  /** Only prove it. */
  dryRun: boolean;
}

/** Oldest first. With `dryRun` each is only proved; else those that can have been moved. @throws RUN_UNKNOWN */
export async function migrateRuns(host: Host, group: Group): Promise<Movable[]> {
  const { by, reason, dryRun } = group;
  const waiting = await waitingOn(host, group);
  const older = await olderThanHead(host, waiting);
  const move = async ({ run, differs, to }: (typeof older)[number]): Promise<Movable> => {
    const { id, agent, waitsFor, notBefore, pin } = run;
    const later = notBefore === undefined ? {} : { notBefore };
    const told = { run: id, agent, reason: run.reason, waitsFor, ...later, from: pin.commit, to, differs };
    try {
      const { steps } = await migrateRun(host, { run: id, to, by, reason, dryRun });
      return { ...told, moves: true, steps, why: null };
    } catch (error) {
      if (!(error instanceof ClearedError) || error.kind === "internal" || error.kind === "external") throw error;
      return { ...told, moves: false, steps: null, why: (error.data?.["findings"] as string[] | undefined)?.[0] ?? error.message };
    }
  };
  return inSlots(older, host.trust.sandbox.slots, move);
}

/** Runs that wait, including paused and scheduled ones: nothing executes them now. */
async function waitingOn(host: Host, { agent, runs }: Group): Promise<RunRecord[]> {
  if (runs !== undefined) return Promise.all(runs.map((id) => needRun(host.engine, id)));
  const open = await host.engine.list({ status: ["waiting", "queued"], limit: 100_000, ...(agent === undefined ? {} : { agent }) });
  const now = host.clock.now();
  return open
    .filter((run) => run.mode === "live" && run.reason !== "slow_call" && (run.status === "waiting" || (run.notBefore ?? now) > now))
    .filter((run) => execSource(run.cause) === null)
    .reverse();
}

/** Runs for which a file that they run with differs at HEAD. */
async function olderThanHead(host: Host, runs: readonly RunRecord[]) {
  const to = await host.git.head();
  const head = host.git.tree(to);
  const registry = await host.registry.whole();
  const closures = await closuresOf(head, await agentFiles(head), { sandbox: host.sandbox, names: registry.names() });
  const now = await codeOf(head);
  const since = new Kept<string, Promise<string[]>>(200);
  const differs = ({ agent, pin }: RunRecord) =>
    since.of(`${pin.commit} ${agent}`, async () => {
      const file = agentFile(agent);
      // A removed agent has no closure; for the others a change counts if it is reached.
      return differing(await codeOf(host.git.tree(pin.commit)), now).filter(
        (path) => path === file || reachedOf(closures, [path], registry).includes(file),
      );
    });
  const older = await Promise.all(runs.map(async (run) => ({ run, to, differs: await differs(run) })));
  return older.filter((one) => one.differs.length > 0);
}
