/** `cleared cases run` and `add` on a host: the cases as they lie in the work tree, on the code as it lies there, against HEAD's. */
import { callableIn } from "../engine/script.ts";
import { ClearedError, didYouMean } from "../kernel/errors.ts";
import { unfit } from "../change/evidence/case-file.ts";
import { caseText } from "../change/evidence/case-text.ts";
import { type Ratchet, caseName, casesIn, ratchet } from "../change/evidence/cases.ts";
import { caseOf, recordingFor } from "../change/evidence/corrections.ts";
import { effectsOf } from "../change/evidence/effects.ts";
import { allOf } from "../change/evidence/kept.ts";
import { codeOver } from "../change/evidence/reached.ts";
import { caseFile } from "../workspace/layout.ts";
import { withRecordings } from "./check-api.ts";
import type { Host } from "./host.ts";
import { workChanges } from "./work-tree.ts";

export interface TriedCases extends Ratchet {
  total: number;
  /** Case files that are links or larger than a proposal may hold; they are not tried. */
  odd: string[];
}

/** Tries cases, all unless some are named. @throws CASE_UNKNOWN */
export async function tryCases(host: Host, names: readonly string[]): Promise<TriedCases> {
  const head = host.git.tree(await host.git.head());
  const { files, odd } = await workChanges(host.dir, head);
  const code = codeOver(head, files);
  const paths = pickCases(await casesIn(code.tree), names);
  const progress = () => void host.progress.calls++;
  const tried = await withRecordings(host, (bench) => ratchet({ tree: head, changed: [] }, code, paths, bench, { progress }));
  return { ...tried, total: paths.length, odd: odd.filter((path) => path.startsWith("cases/")) };
}

/** Those of the paths that are meant: by name, path, or run. @throws CASE_UNKNOWN */
export function pickCases(paths: readonly string[], names: readonly string[]): string[] {
  if (names.length === 0) return [...paths];
  return names.flatMap((name) => {
    const found = paths.filter((path) => path === name || caseName(path) === name || path.endsWith(`/${name}.yaml`));
    if (found.length > 0) return found;
    throw new ClearedError(
      "CASE_UNKNOWN",
      `There is no case "${name.slice(0, 80)}".${didYouMean(name, paths.map(caseName))} \`cleared cases\` lists them.`,
    );
  });
}

/** The case that a recorded run becomes: what it booked, called and answered shall come of it again. @throws RUN_UNKNOWN, CASE_IMPOSSIBLE */
export async function caseOfRun(host: Host, { run: id, why }: { run: string; why: string }): Promise<{ file: string; text: string }> {
  return withRecordings(host, async (bench) => {
    if ((await bench.engine.get(id)) === null) throw new ClearedError("RUN_UNKNOWN", `There is no run "${id.slice(0, 40)}".`);
    const recording = await recordingFor(bench, id);
    const refuse = (reason: string) => new ClearedError("CASE_IMPOSSIBLE", `No case can be made of ${id.slice(0, 40)}: ${reason}.`);
    if ("why" in recording) throw refuse(recording.why);
    const { run, steps } = recording;
    const file = caseFile(run.agent, run.id);
    if ((await host.git.tree(await host.git.head()).read(file)) !== null) throw refuse(`it has one, ${file}`);
    const expect = await effectsOf(run, steps, callableIn(host.world, await host.script(run)));
    const text = caseText(caseOf(recording, { why, keeps: allOf(expect) }));
    const fault = unfit(text, file);
    if (fault !== null) throw refuse(fault);
    return { file, text };
  });
}
