/**
 * The ratchet: every case must come out on new code as it is expected to. What fails on the code before as well is open (a correction
 * that no script has learnt yet) and blocks nobody. Invariant: a case that cannot be tried has failed; nothing is supposed to be right.
 */
import { canonicalJson } from "../engine/canonical.ts";
import { ClearedError } from "../errors.ts";
import type { Call, Json, RunRecord, Tree } from "../ports.ts";
import { API } from "../primitive.ts";
import { CASES, agentFile } from "../workspace/layout.ts";
import { treeOver } from "../workspace/tree-over.ts";
import type { Bench } from "./bench.ts";
import { type Case, casePath, parseCase } from "./case-file.ts";
import { differenceOf } from "./differences.ts";
import { inSlots } from "./slots.ts";
import { tryRun } from "./trial.ts";
import type { Code, Effects, EntryEffect, Recording, RunDifference } from "./types.ts";

export interface CaseResult {
  /** `ingest/run_x` */
  name: string;
  /** open: fails on the code before as well; fixed: failed there, passes now. */
  status: "passed" | "failed" | "open" | "fixed";
  /** What was expected and what came, a line each; empty when it passes. */
  why: string[];
  difference: RunDifference | null;
}

export interface RunOptions {
  progress?: ((done: number, total: number) => void) | undefined;
}

/** What proposals.ts `Report` says of the cases, and the results behind it except for those that simply pass. */
export interface Ratchet {
  passed: number;
  failed: string[];
  open: string[];
  fixed: string[];
  results: CaseResult[];
}

/** `ingest/run_x` of `cases/ingest/run_x.yaml`. */
export const caseName = (path: string): string => path.slice(CASES.length).replace(/\.yaml$/, "");

/**
 * Paths of the cases of a tree: all of them, or those a change must pass: of the agents it reaches, of an agent whose file it touches or takes
 * away, and what it brings itself.
 */
export async function casesIn(tree: Tree, change?: { agents: readonly string[]; paths: readonly string[] }): Promise<string[]> {
  const paths = (await tree.list(CASES)).map(({ path }) => path).filter((path) => path.endsWith(".yaml"));
  if (change === undefined) return paths;
  const touched = new Set([...change.agents.map(agentFile), ...change.paths]);
  return paths.filter((path) => touched.has(path) || touched.has(agentFile(casePath(path)?.agent ?? "")));
}

/** The run that a case holds, as if it had just ended. */
function recordedIn({ agent, from, started, cause, given, by, input, steps, ended }: Case): Recording {
  const { refused, ...end } = ended;
  const run: RunRecord = {
    id: from.run,
    agent,
    pin: { commit: from.commit, blob: from.blob, api: API },
    input,
    cause,
    mode: "live",
    ...(given === undefined ? {} : { given }),
    ...(by === undefined ? {} : { by }),
    ...end,
    reason: null,
    waitsFor: null,
    meta: null,
    attempt: 1,
    createdAt: started,
    startedAt: started,
    endedAt: steps.at(-1)?.at ?? started,
  };
  return { run, steps, ...(refused === undefined ? {} : { refused }) };
}

/**
 * Tries cases of the candidate's tree on the candidate. Where something of one fails, and where a correction was not learnt yet, the base
 * tells whether that is new: a case with an open correction still guards all the rest of it.
 */
export async function ratchet(
  base: Code,
  candidate: Code,
  paths: readonly string[],
  bench: Bench,
  options: RunOptions = {},
): Promise<Ratchet> {
  const before: Code = { tree: base.tree, changed: candidate.changed };
  const sum: Ratchet = { passed: 0, failed: [], open: [], fixed: [], results: [] };
  const look = async (path: string): Promise<void> => {
    const now = await tryCase(candidate, path, candidate, bench);
    const comparable = now.failures.length > 0 || now.corrects;
    // An agent that is not there yet has failed nothing before.
    const existed = comparable && (await base.tree.blob(agentFile(casePath(path)?.agent ?? ""))) !== null;
    const then = existed ? await tryCase(candidate, path, before, bench) : null;
    // One for one: of two equal expectations, one that failed before hides only itself.
    const known = then?.failures.map((one) => one.what) ?? [];
    const hadFailed = known.length > 0;
    const isFresh = ({ what }: Failure) => !known.includes(what) || known.splice(known.indexOf(what), 1).length === 0;
    // A text that nobody accepted yet must be a case; one that is spoilt already blocks no change of something else.
    const isNew = now.unreadable && (await base.tree.blob(path)) !== (await candidate.tree.blob(path));
    const fresh = isNew ? now.failures : now.failures.filter(isFresh);
    const shown = fresh.length > 0 ? fresh : now.failures;
    const status = fresh.length > 0 ? "failed" : shown.length > 0 ? "open" : hadFailed ? "fixed" : "passed";
    if (shown.length === 0) sum.passed++;
    if (status === "passed") return;
    sum[status].push(now.name);
    sum.results.push({ name: now.name, status, why: shown.flatMap((one) => one.why), difference: now.difference });
  };
  await inSlots(paths, bench.trust.sandbox.slots, look, options.progress);
  for (const list of [sum.failed, sum.open, sum.fixed]) list.sort();
  sum.results.sort((a, b) => (a.name < b.name ? -1 : 1));
  return sum;
}

/** One thing that a case expects and that does not come out. */
interface Failure {
  /** The same for the same expectation; WHOLE where none of them could be looked at. */
  what: string;
  why: string[];
}

const WHOLE = "whole";

interface Tried {
  name: string;
  failures: Failure[];
  difference: RunDifference | null;
  unreadable: boolean;
  /** A person's correction is in it. */
  corrects: boolean;
}

/** The case as `holder` has it, on the code. */
async function tryCase(holder: Code, path: string, code: Code, bench: Bench): Promise<Tried> {
  const tried: Tried = { name: caseName(path), failures: [], difference: null, unreadable: false, corrects: false };
  try {
    const one = parseCase((await holder.tree.read(path)) ?? "", path);
    return { ...tried, corrects: one.from.correction !== undefined, ...(await judge(one, code, bench)) };
  } catch (error) {
    if (!(error instanceof ClearedError) || error.kind === "internal") throw error;
    return { ...tried, failures: [{ what: WHOLE, why: [error.message] }], unreadable: error.code === "CASE_INVALID" };
  }
}

/** What of the case does not come out on the code; nothing when all does. */
async function judge(one: Case, code: Code, bench: Bench): Promise<Pick<Tried, "failures" | "difference">> {
  const { corrected, expect } = one;
  const recording = recordedIn(one);
  const trial = await tryRun(recording, codeWith(code, one.over), bench);
  if (trial.missing !== null) return { failures: [{ what: WHOLE, why: [`It cannot be tried: ${trial.missing}.`] }], difference: null };
  const failures = [
    ...corrected.entries.flatMap((entry) => entryFailure(entry, trial.effects)),
    ...corrected.asked.flatMap((call) => askedFailure(call, trial.effects)),
  ];
  if (expect === null) return { failures: withError(failures, trial.effects), difference: null };
  // What a person corrected since is expected as they left it, and not as it came out then: neither the entry, nor who was asked about it,
  // nor an answer that counts it.
  const ids = new Set(corrected.entries.map((entry) => entry.id));
  const rest = (effects: Effects): Effects => ({
    ...effects,
    entries: effects.entries.filter((entry) => !ids.has(entry.id)),
    reviews: effects.reviews.filter((review) => !ids.has(review.about)),
    result: ids.size === 0 ? effects.result : null,
  });
  const [was, now] = [rest(expect), rest(trial.effects)];
  // Most cases come out to the letter; only the others are compared by meaning.
  if (JSON.stringify(was) === JSON.stringify(now)) return { failures, difference: null };
  const difference = differenceOf(recording.run, was, { ...trial, effects: now }, new Map());
  if (difference.class === "same") return { failures, difference: null };
  return { failures: [...failures, ...difference.why.map((line) => ({ what: subjectOf(line), why: [line] }))], difference };
}

/** What a line of a difference is about, without the values: `2026-09-30 GITHUB`, `result`. */
const subjectOf = (line: string): string => line.split(": ")[0] ?? line;

/** Where the code failed, that is why nothing came out. */
function withError(failures: Failure[], { error }: Effects): Failure[] {
  if (error === null) return failures;
  return failures.map((one) => ({ ...one, why: [...one.why, `It fails with ${error.code}: ${error.message}`] }));
}

const codes = new WeakMap<Code, Map<string, Code>>();

/** The code with the files of the change that froze a case, where it does not change them itself; one object for equal files. */
function codeWith(code: Code, over: Case["over"]): Code {
  const files = Object.entries(over).filter(([path]) => !code.changed.includes(path));
  if (files.length === 0) return code;
  const known = codes.get(code) ?? new Map<string, Code>();
  codes.set(code, known);
  const key = JSON.stringify(files);
  const found = known.get(key) ?? { tree: treeOver(code.tree, new Map(files)), changed: [...code.changed, ...files.map(([path]) => path)] };
  known.set(key, found);
  return found;
}

const legs = (entry: EntryEffect): string[] => entry.legs.map(({ account, amount, currency }) => `${account} ${amount} ${currency}`);

function entryFailure(wanted: EntryEffect, { entries }: Effects): Failure[] {
  const found = entries.find((entry) => entry.id === wanted.id);
  if (found !== undefined && canonicalJson(legs(found).sort()) === canonicalJson(legs(wanted).sort())) return [];
  const now = found === undefined ? "it is not booked" : `it comes out as ${legs(found).join(", ")}`;
  const why = `${wanted.date} ${wanted.description}: a person left it as ${legs(wanted).join(", ")}; ${now}.`;
  return [{ what: wanted.id, why: [why] }];
}

/** A person edited what they were asked for; a script that has learnt asks for that by itself. */
function askedFailure(wanted: Call, { gates }: Effects): Failure[] {
  const asked = gates.flatMap((gate) => gate.calls);
  if (asked.some((call) => canonicalJson(call) === canonicalJson(wanted))) return [];
  const same = asked.filter(({ tool }) => tool === wanted.tool).map(({ params }) => JSON.stringify(params satisfies Json));
  const now = same.length === 0 ? "nobody is asked for it" : `it asks for ${same.join(" and ")}`;
  return [{ what: canonicalJson(wanted), why: [`${wanted.tool}: a person made it ${JSON.stringify(wanted.params)}; ${now}.`] }];
}
