/**
 * What a person corrects becomes a case: the run that did it, and its entry as they left it or its call as they edited it. The correction
 * of an entry and its case are one commit, so that a revert takes both away. No case is made of a run whose commits could get lost.
 */
import type { Call, Entry, Git, RunRecord, Step, Tree } from "../../kernel/ports.ts";
import { caseFile } from "../../workspace/layout.ts";
import { parseJournal } from "../../workspace/books/journal-text.ts";
import { asCorrected, correctionsOf } from "../../workspace/books/correct-entry.ts";
import { findEntry } from "../../workspace/books/months.ts";
import { monthsOf } from "../../workspace/books/reversals.ts";
import { treeOver } from "../../workspace/git/tree.ts";
import { recordingOf } from "./backtest.ts";
import type { TrialEnvironment } from "./trial-environment.ts";
import { type Case, readCase, recordingHash, unfit, caseText } from "./case-file.ts";
import { legLines } from "./effects.ts";
import { type Kept, NOTHING_KEPT, together } from "./kept.ts";
import type { Recording } from "./types.ts";

/** Where recorded runs are read from; the host satisfies it. */
export type Recorded = Pick<TrialEnvironment, "engine" | "cards"> & { git: Pick<Git, "isOnBranch"> };

/** A case that may be added, or why there is none: half a sentence about the run. */
export type CorrectionCase = { file: string; text: string } | { why: string };

/** A run that a case can be made of, or why not. */
export async function recordingFor(recorded: Recorded, id: string): Promise<Recording | { why: string }> {
  const run = await recorded.engine.get(id);
  if (run === null) return { why: `the history of ${id} is gone` };
  if (run.status !== "done" && run.status !== "failed") return { why: `${id} has not come to its end` };
  const recording = await recordingOf(id, recorded);
  if (recording === null) return { why: `${id} is no recorded run of an agent` };
  const why = await unsafe(id, commitsOf(run, recording.steps), recorded.git);
  return why === null ? recording : { why };
}

/** The commits that a recording stands on: the one it began at, and those it made. */
export function commitsOf({ pin }: RunRecord, steps: readonly Step[]): string[] {
  return [pin.commit, ...steps.flatMap((step) => step.changes.flatMap((change) => (change.op === "committed" ? [change.commit] : [])))];
}

/** Why a run could not be tried for ever, or null: what it stands on could get lost. */
export async function unsafe(run: string, commits: readonly string[], git: Recorded["git"]): Promise<string | null> {
  for (const commit of commits)
    if (!(await git.isOnBranch(commit))) return `commit ${commit.slice(0, 7)}, which ${run} stands on, is not on the branch`;
  return null;
}

/** A case of a recording. */
export function caseOf(
  { run, steps }: Recording,
  {
    why,
    keeps,
    over = {},
    ...from
  }: Pick<Case, "why" | "keeps"> & Partial<Pick<Case, "over">> & Pick<Case["from"], "proposal" | "correction">,
): Case {
  const { agent, pin, createdAt } = run;
  return {
    agent,
    why: why.replace(/\s+/g, " ").trim().slice(0, 500),
    from: {
      run: run.id,
      recording: recordingHash(steps),
      commit: pin.commit,
      day: new Date(createdAt).toISOString().slice(0, 10),
      ...from,
    },
    over,
    keeps,
  };
}

/** The run's case with this correction in it: the one it has at `head`, else a new one. */
export async function correctionCaseOf(
  head: Tree,
  recording: Recording,
  { by, why, keeps }: { by: string; why: string; keeps: Kept },
): Promise<CorrectionCase> {
  const file = caseFile(recording.run.agent, recording.run.id);
  const text = await head.read(file);
  const known = text === null ? caseOf(recording, { why, correction: by, keeps }) : readCase(text, file);
  if (known === null) return { why: `${file} is there already and cannot be read` };
  const { from } = known;
  const people = from.correction === undefined || from.correction.includes(by) ? (from.correction ?? by) : `${from.correction}, ${by}`;
  const written = caseText({
    ...known,
    why: known.why.includes(why) ? known.why : `${known.why} ${why}`.slice(0, 500),
    from: { ...from, correction: people },
    keeps: together(known.keeps, keeps),
  });
  const fault = unfit(written, file);
  return fault === null ? { file, text: written } : { why: fault };
}

/** The lesson of an entry that a decision has just changed to be `user-corrected`; null when it has not. `files`: what the decision writes. */
export async function entryLesson(
  head: Tree,
  files: ReadonlyMap<string, string | null>,
  { id, recording, by, reason }: { id: string; recording: Recording | { why: string }; by: string; reason?: string | undefined },
): Promise<CorrectionCase | null> {
  if (![...files.values()].some((text) => text?.includes(id))) return null;
  const tree = treeOver(head, files);
  const found = await findEntry(tree, id);
  const entry = found === null ? null : asCorrected(found, await correctionsOf(found, monthsOf(tree)));
  if (entry?.status !== "user-corrected") return null;
  if (!("run" in recording)) return recording;
  const booked = bookedIn(recording.steps, id);
  if (booked === undefined) return { why: `${recording.run.id} did not book this entry itself` };
  const moved = (from: Entry, to: Entry) =>
    [...new Set(from.postings.map((one) => one.account))]
      .filter((account) => !to.postings.some((one) => one.account === account))
      .join(" and ");
  const why = `${by} moved "${entry.description}" from ${moved(booked, entry)} to ${moved(entry, booked)}${reason === undefined ? "" : `: ${reason}`}.`;
  const kept = { id, about: `${entry.date} ${entry.description}`, legs: legLines(entry.postings) };
  return correctionCaseOf(head, recording, { by, why, keeps: { ...NOTHING_KEPT, books: [kept] } });
}

function bookedIn(steps: readonly Step[], id: string): Entry | undefined {
  const texts = steps.flatMap((step) =>
    step.changes.flatMap((change) => (change.op === "entries" && change.text.includes(id) ? [change.text] : [])),
  );
  return texts.flatMap((text) => parseJournal(text, "").entries).find((entry) => entry.id === id);
}

/** The calls people changed before they said yes to them, with who did: what the script should have asked for. */
export function editsOf(steps: readonly Step[]): { seq: number; by: string; calls: readonly Call[] }[] {
  return steps.flatMap((step) =>
    step.changes.flatMap((change) =>
      change.op === "decided" && change.decision === "edited" ? [{ seq: step.seq, by: change.by, calls: change.calls }] : [],
    ),
  );
}
