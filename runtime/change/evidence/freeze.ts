/**
 * Creates cases from recorded runs. A correction by a person creates one: the run concerned, with its entry as they left it or its call as they
 * edited it; correction and case are one commit, so that a revert removes both. An accepted change adds some: of the runs it changed, with what
 * it was about, and a sample of unchanged runs in which a person decided something, chosen while the backtest has each run in memory. What
 * another case of the run states already is not repeated, and a run whose commits could be lost gets no case. Deterministic: the same runs
 * give the same cases.
 */
import { createHash } from "node:crypto";
import { ClearedError } from "../../kernel/errors.ts";
import type { Call, Entry, Git, RunRecord, Step, Tree } from "../../kernel/ports.ts";
import { asCorrected, correctionsOf } from "../../workspace/books/decisions.ts";
import { parseJournal } from "../../workspace/books/journal-text.ts";
import { findEntry } from "../../workspace/books/months.ts";
import { monthsOf } from "../../workspace/books/invariants.ts";
import { sourceBlob, treeOver } from "../../workspace/git/tree.ts";
import { CASES, caseFile } from "../../workspace/layout.ts";
import { SETTINGS, isIn } from "./code.ts";
import { type Compared, recordingOf, sizeOf } from "./backtest.ts";
import { type Case, isCaseOf, readCase, recordingHash, unfit, caseText } from "./case-file.ts";
import { changesIn, legLines } from "./effects.ts";
import { type Kept, NOTHING_KEPT, changedIn, decidedIn, keepsNothing, together, without } from "./kept.ts";
import { leftOf } from "./left.ts";
import { type TrialEnvironment, changedFiles } from "./trial-environment.ts";
import type { Code, Recording, RunDifference } from "./types.ts";

// DESIGN.md 8: enough to show what the change was for, few enough to read.
const CHANGED = 10;
const UNCHANGED = 3;

/** A candidate for a case. order: lower ones are taken first. fault: why it cannot be added after all, or null. */
interface Choice {
  file: string;
  text: string;
  order: string;
  fault(): Promise<string | null>;
}

/** `code`: the code to be accepted; `id` and `title`: those of the proposal. */
export function createFreezer(code: Code, { id, title }: { id: string; title: string }, bench: TrialEnvironment) {
  const changed = new Map<string, Choice[]>();
  let unchanged: Choice[] = [];

  return {
    /** Considers a run of the agent that the backtest has just compared. */
    async look({ recording, was, trial, code: tried, difference }: Compared): Promise<void> {
      const { run, steps } = recording;
      if (difference.class === "failed" || difference.class === "not_replayable" || trial.missing !== null) return;
      const isSame = difference.class === "same";
      const people = leftOf(run.id, code.tree, bench.cards);
      const order = isSame ? createHash("sha256").update(run.id).digest("hex") : `${String(sizeOf(steps)).padStart(12, "0")} ${run.id}`;
      const places = isSame ? unchanged : (changed.get(kindOf(difference)) ?? []);
      const last = places[(isSame ? UNCHANGED : CHANGED) - 1];
      if (last !== undefined && last.order < order) return;
      // Most runs contain no decision of a person; their effects need not be read.
      if (isSame && people.decided().size === 0) return;
      const decided = await decidedIn(trial.effects, people);
      const keeps = isSame ? decided : together(changedIn(was(), trial.effects, difference), decided);
      const rest = await fresh(keeps, code.tree, recording);
      if (keepsNothing(rest)) return;
      const file = await freeFile(code.tree, caseFile(run.agent, `${run.id}-${id}`));
      const why = `${title}: ${isSame ? "this stays as it was" : (difference.why[0] ?? "this changes")}`;
      const text = caseText(caseOf(recording, { why, proposal: id, over: await overOf(tried), keeps: rest }));
      const commits = commitsOf(run, steps);
      const fault = async () => (await unsafe(run.id, commits, bench.git)) ?? unfit(text, file);
      const next = [...places, { file, text, order, fault }].sort((a, b) => (a.order < b.order ? -1 : 1));
      if (isSame) unchanged = next.slice(0, UNCHANGED);
      else changed.set(kindOf(difference), next.slice(0, CHANGED));
    },
    /** The chosen cases by path, and why some runs that would have been chosen have none. */
    async chosen(): Promise<{ files: Record<string, string>; left: string[] }> {
      const kinds = [...changed].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, choices]) => choices);
      // One of each kind of change in turn, smallest recordings first.
      const turns = Array.from({ length: CHANGED }, (_, turn) => kinds.flatMap((choices) => choices[turn] ?? []));
      const files: Record<string, string> = {};
      const left: string[] = [];
      for (const { file, text, fault } of [...turns.flat().slice(0, CHANGED), ...unchanged]) {
        const why = await fault();
        if (why === null) files[file] = text;
        else left.push(why);
      }
      return { files, left };
    },
  };
}

/** A free file name; a proposal may have added a case under the usual one. */
async function freeFile(tree: Tree, file: string, n = 2): Promise<string> {
  const next = file.replace(/(?:-\d+)?\.yaml$/, `-${n}.yaml`);
  return (await tree.blob(file)) === null ? file : freeFile(tree, next, n + 1);
}

const overs = new WeakMap<Code, Promise<Record<string, string | null>>>();

/** Blobs of the changed settings, by path. */
function overOf(code: Code): Promise<Record<string, string | null>> {
  return overs.getOrInsertComputed(code, async () => {
    // Accounts have no blob in this repository; like later data files, they are today's whenever the case is tried.
    const files = [...(await changedFiles(code))].filter(([path]) => isIn(path, SETTINGS));
    return Object.fromEntries(files.map(([path, text]) => [path, text === null ? null : sourceBlob(text)]));
  });
}

/** The part that no case of the run states yet. */
async function fresh(keeps: Kept, tree: Tree, recording: Recording): Promise<Kept> {
  const { agent, id } = recording.run;
  let rest = keeps;
  for (const { path } of await tree.list(`${CASES}${agent}/`)) {
    if (!path.startsWith(`${CASES}${agent}/${id}`)) continue;
    const known = readCase((await tree.read(path)) ?? "", path);
    if (!(known instanceof ClearedError) && isCaseOf(known.from, recording)) rest = without(rest, known.keeps);
  }
  return rest;
}

/** Equal for runs that change in the same way: same accounts before and after, and the same first differing call. */
function kindOf({ entries, divergence }: RunDifference): string {
  const accounts = (legs: readonly { account: string }[] | undefined) => (legs ?? []).map((leg) => leg.account).join("+");
  const moves = new Set(entries.map(({ was, now }) => `${accounts(was?.legs)}>${accounts(now?.legs)}`));
  return [divergence?.now?.tool ?? "", divergence?.recorded?.tool ?? "", ...[...moves].sort()].join("\n");
}

/** Where recorded runs are read; the host satisfies it. */
export type Recorded = Pick<TrialEnvironment, "engine" | "cards"> & { git: Pick<Git, "isOnBranch"> };

/** A case that may be added, or, as half a sentence about the run, why there is none. */
export type CorrectionCase = { file: string; text: string } | { why: string };

/** The recording of a run from which a case can be made, or why it cannot. */
export async function recordingFor(recorded: Recorded, id: string): Promise<Recording | { why: string }> {
  const run = await recorded.engine.get(id);
  if (run === null) return { why: `the history of ${id} is gone` };
  if (run.status !== "done" && run.status !== "failed") return { why: `${id} has not ended` };
  const recording = await recordingOf(id, recorded);
  if (recording === null) return { why: `${id} is not a recorded run of an agent` };
  const why = await unsafe(id, commitsOf(run, recording.steps), recorded.git);
  return why === null ? recording : { why };
}

/** The commits that a recording depends on: the one it started at and those it made. */
function commitsOf({ pin }: RunRecord, steps: readonly Step[]): string[] {
  return [pin.commit, ...changesIn(steps, "committed").map(({ commit }) => commit)];
}

/** Why the run might become impossible to replay (a commit it depends on could be lost), or null. */
export async function unsafe(run: string, commits: readonly string[], git: Recorded["git"]): Promise<string | null> {
  for (const commit of commits)
    if (!(await git.isOnBranch(commit))) return `commit ${commit.slice(0, 7)}, which ${run} is based on, is not on the branch`;
  return null;
}

type Freezing = Pick<Case, "why" | "keeps"> & Partial<Pick<Case, "over">> & Pick<Case["from"], "proposal" | "correction">;

export function caseOf({ run, steps }: Recording, { why, keeps, over = {}, ...from }: Freezing): Case {
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

/** The run's case with this correction added: its case at `head`, else a new one. */
export async function correctionCaseOf(
  head: Tree,
  recording: Recording,
  { by, why, keeps }: { by: string; why: string; keeps: Kept },
): Promise<CorrectionCase> {
  const { agent, id } = recording.run;
  // A proposal may have added a file under the run's name; if it is no case of this recording, it would never be tried.
  const places = ["", "-corrected"].map(async (more) => {
    const file = caseFile(agent, id + more);
    const text = await head.read(file);
    const known = text === null ? caseOf(recording, { why, correction: by, keeps }) : readCase(text, file);
    return known instanceof ClearedError || !isCaseOf(known.from, recording) ? [] : [{ file, known }];
  });
  const [place] = (await Promise.all(places)).flat();
  if (place === undefined) return { why: `${caseFile(agent, id)} already exists and is not a case of this run` };
  const { file, known } = place;
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

/** The correction case of an entry that a decision has just made `user-corrected`; null for any other. `files`: what the decision writes. */
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
  const texts = changesIn(steps, "entries").filter(({ text }) => text.includes(id));
  return texts.flatMap(({ text }) => parseJournal(text, "").entries).find((entry) => entry.id === id);
}

/** Calls that people edited before approving them, and by whom: what the script should have requested. */
export function editsOf(steps: readonly Step[]): { seq: number; by: string; calls: readonly Call[] }[] {
  return steps.flatMap((step) =>
    changesIn([step], "decided").flatMap(({ decision, by, calls }) => (decision === "edited" ? [{ seq: step.seq, by, calls }] : [])),
  );
}
