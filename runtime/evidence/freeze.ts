/**
 * Which cases an accepted change adds: some of the runs it changed, as they come out now, and a sample of those it left alone. A run that
 * has a case keeps it as it is. Deterministic: the same report freezes the same runs.
 */
import { createHash } from "node:crypto";
import { caseFile } from "../workspace/layout.ts";
import { type Bench, changedFiles } from "./bench.ts";
import { readCase, unfit } from "./case-file.ts";
import { caseText } from "./case-text.ts";
import { caseOf, recordingFor } from "./corrections.ts";
import { tryRun } from "./trial.ts";
import type { BacktestReport, Code, RunDifference } from "./types.ts";

// DESIGN.md 8: enough to hold what the change was for, few enough to be read.
const CHANGED = 10;
const UNCHANGED = 3;
// Of so many newest runs the sample is drawn.
const RECENT = 200;

/** New cases by path, and why runs that would have been chosen have none. `code`: what was accepted. */
export async function freeze(
  report: BacktestReport,
  code: Code,
  { proposal, title }: { proposal: string; title: string },
  bench: Bench,
): Promise<{ files: Record<string, string>; left: string[] }> {
  const files: Record<string, string> = {};
  const left: string[] = [];
  const changed = report.differences.filter((one) => one.class === "changed" || one.class === "worse");
  const over = Object.fromEntries(await changedFiles(code));
  const keep = async (runs: AsyncIterable<{ run: string; why: string }>, most: number): Promise<void> => {
    let kept = 0;
    for await (const { run, why } of runs) {
      if (kept === most) return;
      const file = caseFile(report.agent, run);
      const there = await code.tree.read(file);
      const known = there === null ? null : readCase(there, file);
      // It blocks no change of something else; a person has to look at it.
      if (there !== null && known === null) {
        left.push(`${file} is there already and cannot be read`);
        continue;
      }
      // What is expected of it already must have come out; a case that only corrects learns the rest.
      if (known?.expect != null) continue;
      const recording = await recordingFor(bench, run);
      if ("why" in recording) {
        left.push(recording.why);
        continue;
      }
      const trial = await tryRun(recording, code, bench);
      if (trial.missing !== null) {
        left.push(`${run}: ${trial.missing}`);
        continue;
      }
      const made = caseOf(recording, { why: `${title}: ${why}`, proposal, over, expect: trial.effects });
      const text = caseText(known === null ? made : { ...known, over, expect: trial.effects });
      const fault = unfit(text, file);
      if (fault !== null) {
        left.push(`${run}: ${fault}`);
        continue;
      }
      files[file] = text;
      kept++;
    }
  };
  await keep(inTurn(changed, bench), CHANGED);
  await keep(sample(report, bench), UNCHANGED);
  return { files, left };
}

/** One of each kind of change after the other, the smallest recordings first. */
async function* inTurn(differences: readonly RunDifference[], bench: Bench): AsyncGenerator<{ run: string; why: string }> {
  const kinds = new Map<string, { run: string; why: string; size: number }[]>();
  for (const one of differences) {
    const size = (await bench.engine.steps(one.run)).reduce((sum, { params, result }) => sum + params.length + (result?.length ?? 0), 0);
    const kind = kindOf(one);
    kinds.set(kind, [...(kinds.get(kind) ?? []), { run: one.run, why: one.why[0] ?? "it comes out otherwise", size }]);
  }
  const queues = [...kinds.values()].map((runs) => runs.sort((a, b) => a.size - b.size || (a.run < b.run ? -1 : 1)));
  for (let turn = 0; queues.some((runs) => turn < runs.length); turn++)
    for (const runs of queues) if (runs[turn] !== undefined) yield runs[turn] as { run: string; why: string };
}

/** Equal for runs that change in the same way: which accounts entries leave and reach, and which call is the first that differs. */
function kindOf({ entries, divergence }: RunDifference): string {
  const accounts = (legs: readonly { account: string }[] | undefined) => (legs ?? []).map((leg) => leg.account).join("+");
  const moves = new Set(entries.map(({ was, now }) => `${accounts(was?.legs)}>${accounts(now?.legs)}`));
  return [divergence?.now?.tool ?? "", divergence?.recorded?.tool ?? "", ...[...moves].sort()].join("\n");
}

/** Recent runs that come out the same, in an order that has nothing to do with their age. */
async function* sample({ agent, differences }: BacktestReport, bench: Bench): AsyncGenerator<{ run: string; why: string }> {
  const other = new Set(differences.map((one) => one.run));
  const order = (id: string) => createHash("sha256").update(id).digest("hex");
  const runs = (await bench.engine.list({ agent, status: ["done"], limit: RECENT }))
    .filter((run) => run.mode === "live" && !other.has(run.id))
    .map((run) => ({ id: run.id, order: order(run.id) }))
    .sort((a, b) => (a.order < b.order ? -1 : 1));
  for (const { id } of runs.slice(0, UNCHANGED)) yield { run: id, why: "this stays as it was" };
}
