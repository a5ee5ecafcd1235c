/**
 * Finds the commit that changed what a recorded run would do: a binary search over the commits since the run, each tried on the recording,
 * assuming that a single commit made the difference. The result is verified on both sides: the parent's code reproduces the recording, the
 * commit's code does not. Commits that cannot be tried are skipped and named.
 */
import { ClearedError } from "../../kernel/errors.ts";
import type { LogEntry, Tree } from "../../kernel/ports.ts";
import { stepsTouching } from "../../workspace/git/past.ts";
import { SCRIPTS, agentFile } from "../../workspace/layout.ts";
import { findEntry } from "../../workspace/books/months.ts";
import { recordingOf } from "./backtest.ts";
import type { TrialEnvironment } from "./trial-environment.ts";
import { SETTINGS, codeOf, differing, isIn } from "./code.ts";
import { differenceOf } from "./compare.ts";
import { effectsOf } from "./effects.ts";
import { NOBODY } from "./left.ts";
import { tryRun } from "./trial.ts";
import type { Recording, RunDifference } from "./types.ts";

export interface Bisection {
  run: string;
  agent: string;
  /** The entry that was asked about, or null. */
  entry: string | null;
  /** The commit the run was made on, and HEAD. */
  from: string;
  head: string;
  /**
   * `same`: HEAD's code reproduces the recording. `found`: the commit that changed the result. `between`: one of several commits, of which those
   * in between cannot be tried. `unproven`: the recording is not reproduced even where it should be.
   */
  verdict: "same" | "found" | "between" | "unproven";
  /** Commits since then that touch what the run reads, and how many executions the search took. */
  candidates: number;
  trials: number;
  /** The commit, or the possible ones, oldest first. */
  commits: LogEntry[];
  /** The difference it makes, with the first step at which the code diverges. */
  difference: RunDifference | null;
  skipped: { commit: string; subject: string; why: string }[];
  /** Why nothing is proven. */
  why: string | null;
}

/** @throws RUN_UNKNOWN, RUN_STATUS for a run that has not ended, JOURNAL_ENTRY_MISSING, USAGE for an entry that no run made */
export async function bisect(
  name: string,
  bench: TrialEnvironment,
  progress: (done: number, atMost: number) => void = () => undefined,
): Promise<Bisection> {
  const head = await bench.git.head();
  const entry = /^\d{6}-/.test(name) ? name : null;
  const id = entry === null ? name : await runOf(bench.git.tree(head), entry);
  const recording = await recordingOf(id, bench);
  if (recording === null)
    throw new ClearedError("RUN_STATUS", `${id} did not end on its own, or ran a text of its own; only a recorded end can be compared.`);
  const { run } = recording;
  const from = run.pin.commit;
  const steps = await stepsTouching(bench.dir, from, head, [agentFile(run.agent), SCRIPTS, ...SETTINGS]);
  const tries = await createTries(recording, bench, (done) => progress(done, Math.ceil(Math.log2(steps.length + 1)) + 3));

  const told = { run: id, agent: run.agent, entry, from, head, candidates: steps.length };
  const skipped: Bisection["skipped"] = [];
  const answer = (verdict: Bisection["verdict"], more: Partial<Bisection> = {}): Bisection => ({
    ...{ ...told, verdict, trials: tries.count(), commits: [], difference: null, skipped, why: null },
    ...more,
  });
  const judge = async (n: number): Promise<RunDifference | null> => {
    const { commit, subject } = steps[n] as LogEntry;
    const difference = await tries.at(commit);
    if (difference.class !== "not_replayable") return difference;
    skipped.push({ commit, subject, why: difference.why[0] ?? "it cannot be tried" });
    return null;
  };

  // The newest commit that can be tried; the files that the run reads are unchanged after the last candidate.
  let changed = steps.length - 1;
  let difference = steps.length === 0 ? await tries.at(head) : await judge(changed);
  while (difference === null && changed > 0) difference = await judge(--changed);
  if (difference === null) return answer("unproven", { why: "no commit since then can be tried" });
  if (difference.class === "same") return answer("same");
  if (steps.length === 0)
    return answer("unproven", {
      difference,
      why: "its own code does not do what was recorded, although no file that it reads has changed",
    });

  let kept = -1;
  const left = new Set(Array.from({ length: changed }, (_, n) => n));
  for (;;) {
    const middle = (kept + changed) / 2;
    const open = [...left].filter((n) => n > kept && n < changed).sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
    const [n] = open;
    if (n === undefined) break;
    left.delete(n);
    const found = await judge(n);
    if (found?.class === "same") kept = n;
    else if (found !== null) [changed, difference] = [n, found];
  }

  const parent = (await bench.git.objects.commit((steps[kept + 1] as LogEntry).commit))?.parents[0];
  const before = await tries.at(parent ?? from);
  const commits = steps.slice(kept + 1, changed + 1);
  if (before.class !== "same")
    return answer("unproven", {
      ...{ commits, difference: before },
      why: `the code before ${commits[0]?.commit.slice(0, 7)} does not do what was recorded either: the branch was rewritten, or the recording cannot be reproduced`,
    });
  return answer(commits.length === 1 ? "found" : "between", { commits, difference });
}

/** Executes the recording on a commit, at most once each. */
async function createTries(recording: Recording, bench: TrialEnvironment, tried: (count: number) => void) {
  const { run, steps } = recording;
  const recorded = await effectsOf(run, steps, bench.world);
  const own = await codeOf(bench.git.tree(run.pin.commit));
  const made = new Map<string, RunDifference>();
  return {
    count: () => made.size,
    async at(commit: string): Promise<RunDifference> {
      const known = made.get(commit);
      if (known !== undefined) return known;
      const tree = bench.git.tree(commit);
      const changed = differing(own, await codeOf(tree)).filter((path) => isIn(path, SETTINGS));
      const difference = await differenceOf(run, recorded, await tryRun(recording, { tree, changed }, bench), NOBODY);
      made.set(commit, difference);
      tried(made.size);
      return difference;
    },
  };
}

async function runOf(head: Tree, id: string): Promise<string> {
  const entry = await findEntry(head, id);
  if (entry === null)
    throw new ClearedError(
      "JOURNAL_ENTRY_MISSING",
      `No entry ${id.slice(0, 40)} is in the books at HEAD. Name the run that made it instead.`,
    );
  const run = entry.tags["run"];
  if (run === undefined)
    throw new ClearedError("USAGE", `Entry ${id} was written by hand: no run made it, so no commit of an agent changed it.`);
  return run;
}
