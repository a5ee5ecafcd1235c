/**
 * The weather apart from the change: runs since a change are tried on the code before it. What that does to them as well (a server that is
 * down, a statement full of unknown vendors, an input nobody can use) is not the change's doing.
 */
import { ClearedError } from "../../kernel/errors.ts";
import { recordingOf } from "../evidence/backtest.ts";
import type { TrialEnvironment } from "../evidence/trial-environment.ts";
import { codeOver } from "../evidence/reached.ts";
import { tryRun } from "../evidence/trial.ts";
import type { Ended } from "./guard-metrics.ts";
import type { Proposal } from "../proposal-types.ts";

// Trying takes a part of a second each; the newest tell enough.
const TRIED = 50;

/**
 * The runs as the code before would have left them, and as they are where that is the change's doing. One that cannot be tried is charged to
 * the change: it asks what the code before did not.
 */
export async function onCodeBefore(
  bench: TrialEnvironment,
  { files }: Proposal,
  applied: string,
  runs: readonly Ended[],
): Promise<{ was: Ended[]; now: Ended[] }> {
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
