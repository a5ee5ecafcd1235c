/**
 * Which cases an accepted change adds: some of the runs it changed, with what it was about, and a sample of those it left alone in which a
 * person has decided something. They are chosen while the backtest has each run at hand. What another case of the run keeps already is not
 * kept twice. Deterministic: the same runs freeze the same.
 */
import { createHash } from "node:crypto";
import type { Tree } from "../../kernel/ports.ts";
import { CASES, caseFile } from "../../workspace/layout.ts";
import { sourceBlob } from "../../workspace/git/tree.ts";
import { type Compared, sizeOf } from "./backtest.ts";
import { type TrialEnvironment, changedFiles } from "./trial-environment.ts";
import { readCase, unfit, caseText } from "./case-file.ts";
import { caseOf, commitsOf, unsafe } from "./corrections.ts";
import { type Kept, changedIn, decidedIn, keepsNothing, together, without } from "./kept.ts";
import { leftOf } from "./left.ts";
import type { Code, RunDifference } from "./types.ts";

// DESIGN.md 8: enough to hold what the change was for, few enough to be read.
const CHANGED = 10;
const UNCHANGED = 3;

/** A case that may be added. order: those that come first are taken. fault: why it may not after all, or null. */
interface Choice {
  file: string;
  text: string;
  order: string;
  fault(): Promise<string | null>;
}

export interface Freezer {
  /** Looks at a run of the agent as the backtest has compared it. */
  look(one: Compared): Promise<void>;
  /** The chosen cases by path, and why runs that would have been chosen have none. */
  chosen(): Promise<{ files: Record<string, string>; left: string[] }>;
}

/** `code`: what is to be accepted; `id` and `title`: the proposal's. */
export function createFreezer(code: Code, { id, title }: { id: string; title: string }, bench: TrialEnvironment): Freezer {
  const changed = new Map<string, Choice[]>();
  let unchanged: Choice[] = [];

  return {
    async look({ recording, was, trial, difference }) {
      const { run, steps } = recording;
      if (difference.class === "failed" || difference.class === "not_replayable" || trial.missing !== null) return;
      const isSame = difference.class === "same";
      const people = leftOf(run.id, code.tree, bench.cards);
      const order = isSame ? createHash("sha256").update(run.id).digest("hex") : `${String(sizeOf(steps)).padStart(12, "0")} ${run.id}`;
      const places = isSame ? unchanged : (changed.get(kindOf(difference)) ?? []);
      const last = places[(isSame ? UNCHANGED : CHANGED) - 1];
      if (last !== undefined && last.order < order) return;
      // Most runs hold nothing that somebody decided: what those did is not read.
      if (isSame && people.decided().size === 0) return;
      const decided = await decidedIn(trial.effects, people);
      const keeps = isSame ? decided : together(changedIn(was(), trial.effects, difference), decided);
      const rest = await fresh(keeps, code.tree, run.agent, run.id);
      if (keepsNothing(rest)) return;
      const file = caseFile(run.agent, `${run.id}-${id}`);
      const why = `${title}: ${isSame ? "this stays as it was" : (difference.why[0] ?? "this changes")}`;
      const text = caseText(caseOf(recording, { why, proposal: id, over: await overOf(code), keeps: rest }));
      const commits = commitsOf(run, steps);
      const fault = async () => (await unsafe(run.id, commits, bench.git)) ?? unfit(text, file);
      const next = [...places, { file, text, order, fault }].sort((a, b) => (a.order < b.order ? -1 : 1));
      if (isSame) unchanged = next.slice(0, UNCHANGED);
      else changed.set(kindOf(difference), next.slice(0, CHANGED));
    },
    async chosen() {
      const kinds = [...changed].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, choices]) => choices);
      // One of each kind of change after the other, the smallest recordings first.
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

const overs = new WeakMap<Code, Promise<Record<string, string | null>>>();

/** Blobs of the settings of the change, by path. */
function overOf(code: Code): Promise<Record<string, string | null>> {
  const known = overs.get(code) ?? changedFiles(code).then(blobs);
  overs.set(code, known);
  return known;

  function blobs(files: ReadonlyMap<string, string | null>) {
    return Object.fromEntries([...files].map(([path, text]) => [path, text === null ? null : sourceBlob(text)]));
  }
}

/** What no case of the run keeps yet. */
async function fresh(keeps: Kept, tree: Tree, agent: string, run: string): Promise<Kept> {
  let rest = keeps;
  for (const { path } of await tree.list(`${CASES}${agent}/`)) {
    if (!path.startsWith(`${CASES}${agent}/${run}`)) continue;
    const known = readCase((await tree.read(path)) ?? "", path);
    if (known !== null && known.from.run === run) rest = without(rest, known.keeps);
  }
  return rest;
}

/** Equal for runs that change in the same way: which accounts entries leave and reach, and which call is the first that differs. */
function kindOf({ entries, divergence }: RunDifference): string {
  const accounts = (legs: readonly { account: string }[] | undefined) => (legs ?? []).map((leg) => leg.account).join("+");
  const moves = new Set(entries.map(({ was, now }) => `${accounts(was?.legs)}>${accounts(now?.legs)}`));
  return [divergence?.now?.tool ?? "", divergence?.recorded?.tool ?? "", ...[...moves].sort()].join("\n");
}
