/**
 * Cases made from decisions: a corrected entry becomes one in the decision's own commit; a call that was edited before approval becomes one
 * when its run has ended. Runs awaited for this are recorded by name, so that the next owner completes it after a crash.
 */
import { getFact, setFact } from "../engine/store/facts.ts";
import type { CorrectionCase } from "../change/evidence/freeze.ts";
import type { Tree } from "../kernel/ports.ts";
import type { Host } from "./host.ts";

// Few decisions make a case; the others do not load this code.
const evidence = () => import("../change/evidence/freeze.ts");

type Teaching = Pick<Host, "engine" | "cards" | "git" | "database">;

/** For building a commit: the case of an entry that it corrects. */
export async function correctionCaseFor(
  host: Teaching,
  { run, entry, by, reason }: { run: string; entry: string; by: string; reason?: string },
): Promise<(head: Tree, files: ReadonlyMap<string, string | null>) => Promise<CorrectionCase | null>> {
  const { recordingFor, entryLesson } = await evidence();
  const recording = await recordingFor(host, run);
  return (head, files) => entryLesson(head, files, { id: entry, recording, by, reason });
}

const AWAITED = "lessons";

const awaited = ({ database }: Pick<Host, "database">): string[] => JSON.parse(getFact(database, AWAITED) ?? "[]") as string[];

/** A person edited a call of this run: when the run has ended, it becomes a case. */
export function expectCorrectionCase(host: Pick<Host, "database">, run: string): void {
  setFact(host.database, AWAITED, JSON.stringify([...new Set([...awaited(host), run])]));
}

/** Writes cases of edited calls whose runs have ended; if git cannot commit now, it is tried again when the next run rests. */
export async function settleCorrectionCases(host: Teaching): Promise<void> {
  for (const id of awaited(host)) {
    const run = await host.engine.get(id);
    const ended = run === null || ["done", "failed", "canceled"].includes(run.status);
    if (!ended || !(await teachEdits(host, id))) continue;
    setFact(host.database, AWAITED, JSON.stringify(awaited(host).filter((one) => one !== id)));
  }
}

/** False if it must be tried again. A case removed since is not made again: its commit is found by its trailers. */
async function teachEdits(host: Teaching, id: string): Promise<boolean> {
  const { recordingFor, editsOf, correctionCaseOf } = await evidence();
  const { NOTHING_KEPT } = await import("../change/evidence/kept.ts");
  const recording = await recordingFor(host, id);
  if ("why" in recording) return true;
  const { run, steps } = recording;
  const edits = editsOf(steps);
  const [first] = edits;
  if (first === undefined || (await host.git.find(id, first.seq, run.pin.commit)) !== null) return true;
  const by = [...new Set(edits.map((one) => one.by))].join(", ");
  const calls = edits.flatMap((one) => one.calls);
  const why = `${by} edited ${[...new Set(calls.map((call) => call.tool))].join(" and ")} before approving.`;
  const result = await host.git.commit({
    message: `learn: an edited call of ${run.agent} is a case`,
    trailers: { Run: id, Step: String(first.seq), Agent: `${run.agent}@${run.pin.blob.slice(0, 12)}` },
    build: async (head) => {
      const lesson = await correctionCaseOf(head, recording, { by, why, keeps: { ...NOTHING_KEPT, asks: [...calls] } });
      return "file" in lesson ? new Map([[lesson.file, lesson.text]]) : new Map();
    },
  });
  return result.status === "committed" || result.status === "unchanged";
}
