/**
 * The guard after an approval: compares what agents do with an applied change to what they did before, and reverts a change that makes things
 * worse, in one commit, with the reason in words. Invariants: it reverts a change once at most, never what a person has restored, never over a
 * later edit, and never for results that the previous code gives as well or that the card predicted. What has happened is read from the branch,
 * so the next check completes what a kill interrupted.
 */
import { type Alert, tell, type Ended, type Metrics, type Side, brokenBooks, endedRuns, measure, onCodeBefore } from "./guard-metrics.ts";
import { alertCard } from "../../engine/store/card-queries.ts";
import { ClearedError } from "../../kernel/errors.ts";
import { Kept } from "../../kernel/kept.ts";
import type { TrialEnvironment } from "../evidence/trial-environment.ts";
import { haveSame, reachedBy } from "../evidence/code.ts";
import type { Sandbox } from "../../kernel/ports.ts";
import type { Registry } from "../../kernel/registry.ts";
import type { Config } from "../../workspace/settings/config.ts";
import { arrivalOf, placesOn, commitNamed, commitsSaying } from "../../workspace/git/past.ts";
import { isOwnReport } from "./deciding.ts";
import { runsKnown } from "./proof.ts";
import { createProposals } from "./store.ts";
import type { Proposal } from "../proposal-types.ts";
import { type UndoWorld, undo } from "./undo.ts";

/** config.yaml `changes.auto_revert`. */
export type GuardLimits = Exclude<Config["changes"]["auto_revert"], "off">;

/** What guarding needs of a workspace; `Host` (app/host.ts) provides it. */
export type GuardWorld = UndoWorld & TrialEnvironment & { sandbox: Pick<Sandbox, "compile">; registry: { whole(): Promise<Registry> } };

/** The name in `Undone-by:` of a revert without a person. */
const RUNTIME = "runtime";
const HOUR = 3_600_000;
// Older runs are not compared.
const ALONG_MS = 90 * 24 * HOUR;

/**
 * Why a change must be reverted, or null. At once for a run that broke an invariant where none did before. Else after `at_least` ended runs of
 * the agent: if there are two or more review items (failed runs), and more than `reviews` (`errors`) times the number expected from the runs
 * before, with a minimum of one. predicted: review items per run according to the card that was approved.
 */
export function judgeChange(agent: string, before: Metrics, after: Metrics, limits: GuardLimits, predicted = 0): string | null {
  if (after.broken !== null) return after.broken;
  if (after.runs < limits.at_least || before.runs === 0) return null;
  const judged = [
    [after.failed, before.failed, limits.errors, "failed runs", 0],
    [after.reviews, before.reviews, limits.reviews, "review items", predicted],
  ] as const;
  for (const [now, then, times, what, said] of judged) {
    const expected = Math.max(Math.max(then, 1) / before.runs, said) * after.runs;
    if (now >= 2 && now > times * expected)
      return `${now} ${what} in ${after.runs} runs of ${agent} since, where the ${before.runs} before had ${then}: more than ${times} times as many`;
  }
  return null;
}

/** A guard caches what it knows about commits, which never changes. */
export function createGuard(world: GuardWorld) {
  // A failed read must not be cached.
  const agents = new Kept<string, Promise<string[]>>(1000);
  const left = new Set<string>();
  const weather = new Set<string>();
  const books = brokenBooks(world);

  const reached = ({ files }: Proposal, applied: string): Promise<string[]> => {
    const paths = files.map(({ path }) => path);
    return agents.of(applied, () => reachedBy(paths, world.git.tree(applied), world));
  };

  async function reasonOf(proposal: Proposal, applied: string, all: readonly Proposal[], limits: GuardLimits): Promise<string | null> {
    const branch = await branchOf(world);
    const own = await branch.spanOf(proposal);
    if (own === null) return null;
    const others = new Map<string, Span[]>();
    for (const other of all) {
      if (other.id === proposal.id || other.applied === null || proposal.at - other.at > ALONG_MS) continue;
      const span = await branch.spanOf(other);
      // Later changes are judged on their own, and reverted ones are no baseline.
      if (span === null || (span.to === null && span.from > own.from)) continue;
      for (const agent of await reached(other, other.applied)) others.set(agent, [...(others.get(agent) ?? []), span]);
    }
    const sideOf =
      (agent: string): Side =>
      (commit) => {
        const place = branch.places.get(commit);
        if (place === undefined || (others.get(agent) ?? []).some((span) => isWithin(place, span))) return null;
        return place <= own.from ? "after" : "before";
      };
    const changed = await reached(proposal, applied);
    for (const agent of changed) {
      const { before, after } = endedRuns(world.database, agent, sideOf(agent));
      const known = new Set(before.map(({ code }) => code));
      const predicted = await predictedBy(world, proposal, agent);
      const judge = (then: Metrics, now: readonly Ended[]) => judgeChange(agent, then, measure(agent, now, known), limits, predicted);
      const alarm = judge(measure(agent, before), after);
      // Nothing has happened since that could change the answer.
      const seen = `${applied} ${agent} ${after[0]?.id}`;
      if (alarm === null || weather.has(seen)) continue;
      const { was, now } = await onCodeBefore(world, proposal, applied, after);
      if (judge(measure(agent, was), now) !== null) return `${alarm}; the code before it does not, on the same runs`;
      weather.add(seen);
    }
    return books(changed, sideOf);
  }

  /** Why a person must decide, or null: a change that the runtime reverted and that is back on the branch was restored by somebody. */
  async function putBack(proposal: Proposal, applied: string, all: readonly Proposal[]): Promise<boolean> {
    const head = await world.git.head();
    const commit = await commitNamed(world.dir, head, applied);
    if (commit?.trailers["Proposal"] !== proposal.id) return true;
    const undone = await commitsSaying(world.dir, head, `Undone-by: ${RUNTIME}`, proposal.base);
    for (const { trailers } of undone) {
      const earlier = trailers["Undone-by"] === RUNTIME ? await commitNamed(world.dir, head, trailers["Reverts"] ?? "") : null;
      if (earlier?.trailers["Proposal"] === proposal.id) return true;
    }
    for (const other of all) {
      if (other.id === proposal.id || (await takenBack(world, other)) === null) continue;
      const paths = [...proposal.files, ...other.files].map(({ path }) => path);
      if (await haveSame(world.git.tree(proposal.commit), world.git.tree(other.commit), paths)) return true;
    }
    return false;
  }

  async function takeBack(proposal: Proposal, applied: string, reason: string): Promise<string> {
    const what = `Proposal ${proposal.number} "${proposal.title}"`;
    try {
      const { commit } = await undo(world, proposal.id, { by: RUNTIME, reason });
      return tell(world, revertAlert(proposal, commit, reason));
    } catch (error) {
      if (!(error instanceof ClearedError) || (error.code !== "UNDO_REFUSED" && error.code !== "GIT_STATE")) throw error;
      // An edit that is in the way may disappear; a later change is for a person to judge.
      const waits = error.code === "GIT_STATE";
      if (!waits) left.add(applied);
      const then = waits
        ? "It is taken back as soon as that is possible"
        : `Decide yourself: \`cleared undo ${proposal.number}\` shows what is in the way`;
      const title = `${what} makes things worse and was not taken back: ${reason}. ${error.message} ${then}.`;
      return tell(world, { key: `guard:${applied}`, title, about: { proposal: proposal.id, why: reason, not_because: error.message } });
    }
  }

  return {
    /** Checks every recent change, reverts those that made things worse, and returns what it did, one sentence each. One call at a time. */
    async look(): Promise<string[]> {
      const { auto_revert: limits } = (await world.config()).changes;
      if (limits === "off") return [];
      const all = await createProposals(world).list();
      const done: string[] = [];
      for (const proposal of all) {
        const { applied, state } = proposal;
        // With a clock that was set back a change looks newer, never older.
        if (applied === null || world.clock.now() - decidedAt(proposal) >= limits.hours * HOUR) continue;
        if (state === "reverted") {
          const commit = await takenBack(world, proposal);
          if (commit !== null && alertCard(world.database, `guard:${commit.commit}`) === undefined)
            done.push(tell(world, revertAlert(proposal, commit.commit, commit.trailers["Reason"] ?? "")));
        }
        if (state !== "applied" || left.has(applied)) continue;
        const reason = await reasonOf(proposal, applied, all, limits);
        if (reason === null) continue;
        if (await putBack(proposal, applied, all)) left.add(applied);
        else done.push(await takeBack(proposal, applied, reason));
      }
      return done.filter((one) => one !== "");
    },
  };
}

/** The part of the branch on which a change was in force, counted from HEAD backwards, so `from` is the larger number. */
interface Span {
  from: number;
  /** Where it was reverted, or null. */
  to: number | null;
}

const isWithin = (place: number, { from, to }: Span): boolean => place <= from && (to === null || place > to);

async function branchOf({ dir, git }: GuardWorld) {
  const head = await git.head();
  const places = await placesOn(dir, head);
  const placeOf = async (commit: string) => places.get(commit) ?? places.get((await arrivalOf(dir, head, commit)) ?? "") ?? null;
  return {
    places,
    async spanOf({ applied, reverted }: Proposal): Promise<Span | null> {
      const from = applied === null ? null : await placeOf(applied);
      return from === null ? null : { from, to: reverted === null ? null : await placeOf(reverted) };
    },
  };
}

/** Review items per run of the agent, from the backtest on the card; a report that nobody vouches for predicts nothing. */
async function predictedBy({ git, trust, database }: GuardWorld, proposal: Proposal, agent: string): Promise<number> {
  const { report } = proposal;
  const isKnown = (await runsKnown(git, trust.people, proposal, report, isOwnReport(database, proposal))) > 0;
  const test = isKnown ? report?.backtests.find((one) => one.agent === agent) : undefined;
  return test?.reviews === undefined || test.runs === 0 ? 0 : test.reviews.now / test.runs;
}

function decidedAt({ decisions, at }: Proposal): number {
  return decisions.reduce((latest, decision) => Math.max(latest, decision.at), at);
}

/** The commit in which the runtime reverted it, or null. */
async function takenBack({ dir, git }: GuardWorld, { reverted }: Proposal) {
  const commit = reverted === null ? null : await commitNamed(dir, await git.head(), reverted);
  return commit?.trailers["Undone-by"] === RUNTIME ? commit : null;
}

function revertAlert({ id, number, title }: Proposal, commit: string, reason: string): Alert {
  const short = commit.slice(0, 7);
  return {
    key: `guard:${commit}`,
    title: `Proposal ${number} "${title}" was taken back: ${reason}. "git revert ${short}" or \`cleared undo ${short}\` brings it back, and then it stays; or propose it again, better.`,
    about: { proposal: id, commit, why: reason },
  };
}
