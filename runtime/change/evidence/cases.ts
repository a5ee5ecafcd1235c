/**
 * The ratchet: every case must come out on new code as it keeps it, and nothing of its run may become worse. What the code before does not
 * keep either is open (a correction that no script has learnt yet) and blocks nobody. Invariant: a case that cannot be tried (its recording
 * is not here, or does not answer what the code asks) has neither passed nor failed, and is told with the reason.
 */
import { type Code as ErrorCode, ClearedError } from "../../kernel/errors.ts";
import type { Tree } from "../../kernel/ports.ts";
import { AGENTS, CASES, agentFile } from "../../workspace/layout.ts";
import { type Found, findingsIn } from "../checks/findings.ts";
import type { Check } from "../checks/pipeline.ts";
import { agentFiles } from "../checks/reached.ts";
import { treeOver } from "../../workspace/git/tree.ts";
import { recordingOf } from "./backtest.ts";
import type { TrialEnvironment } from "./trial-environment.ts";
import { type Case, casePath, isCaseOf, readCase } from "./case-file.ts";
import { compareEffects } from "./compare.ts";
import { effectsOf } from "./effects.ts";
import { type Broken, brokenIn } from "./kept.ts";
import { type Left, leftOf } from "./left.ts";
import { editsOf } from "./freeze.ts";
import { canonicalJson } from "../../kernel/canonical.ts";
import { apart } from "./partings.ts";
import { inSlots } from "../../kernel/turns.ts";
import { tryRunOrToday } from "./trial.ts";
import type { CasesTold, Code, Effects, Recording } from "./types.ts";

export interface CaseResult {
  /** `ingest/run_x` */
  name: string;
  /** open: not kept on the code before either; fixed: not kept there, kept now; untried: nobody can tell. */
  status: "passed" | "failed" | "open" | "fixed" | "untried";
  /** What was kept and what came, a line each; or why it cannot be tried. Empty when it passes. */
  why: string[];
}

/** What `Report` says of the cases, and the results behind it except for those that simply pass. */
export type Ratchet = Required<CasesTold> & { results: CaseResult[] };

export const noCases = (): Ratchet => ({ passed: 0, failed: [], open: [], fixed: [], untried: [], results: [] });

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

/**
 * Tries cases of the candidate's tree on the candidate. Where something of one is not kept, and where a correction was not learnt yet, the
 * base tells whether that is new: a case with an open correction still guards all the rest of it.
 */
export async function ratchet(
  base: Code,
  candidate: Code,
  paths: readonly string[],
  bench: TrialEnvironment,
  progress?: (done: number, total: number) => void,
): Promise<Ratchet> {
  const before: Code = { tree: base.tree, changed: candidate.changed };
  const sum = noCases();
  const look = async (path: string): Promise<void> => {
    const name = caseName(path);
    const add = (status: Exclude<CaseResult["status"], "passed">, why: string[]): void => {
      sum[status].push(name);
      sum.results.push({ name, status, why });
    };
    const one = readCase((await candidate.tree.read(path)) ?? "", path);
    // What nobody accepted yet must be a case, of the recording that it names; one that is spoilt already blocks no change of something else.
    const isNew = (await base.tree.blob(path)) !== (await candidate.tree.blob(path));
    if (one instanceof ClearedError) return add(isNew ? "failed" : "untried", [one.message]);
    const now = await judge(one, candidate, candidate.tree, bench);
    const comparable = now.kept.length > 0 || now.worse.length > 0 || one.from.correction !== undefined;
    // An agent that is not there yet has kept nothing before.
    const existed = comparable && (await base.tree.blob(agentFile(one.agent))) !== null;
    const then = existed ? await judge(one, before, candidate.tree, bench) : NOTHING;
    // Of two equal ones, one that was there before hides only itself.
    const beyond = (kind: "worse" | "kept") => apart(then[kind], now[kind], whatOf)[1];
    const fresh = [...beyond("worse"), ...beyond("kept")];
    const reasons = (broken: readonly Broken[]) => broken.map(({ why }) => why);
    if (fresh.length > 0) return add("failed", reasons(fresh));
    if (isNew && now.isHeard === false) {
      const claim = `It says that ${one.from.correction} corrected this run, and neither the books nor the run's approvals have such a correction of what it keeps.`;
      return add("failed", [`${claim} Leave out "correction:".`]);
    }
    if (now.untried !== null) return add(isNew && now.isOther === true ? "failed" : "untried", [now.untried]);
    if (now.kept.length > 0) return add("open", reasons(now.kept));
    sum.passed++;
    if (then.kept.length > 0) add("fixed", []);
  };
  await inSlots(paths, bench.trust.sandbox.slots, look, progress);
  for (const list of [sum.failed, sum.open, sum.fixed, sum.untried]) list.sort();
  sum.results.sort((a, b) => (a.name < b.name ? -1 : 1));
  return sum;
}

/**
 * The check of cases as files, which tries none: each can be read, and what it names is here. Of all where every agent is under check, else of those
 * that a change must pass.
 */
export const caseFiles = (bench: TrialEnvironment): Check => ({
  name: "cases",
  async look({ tree, paths, files }) {
    const isAll = (await agentFiles(tree)).length === files.length;
    const cases = await casesIn(tree, isAll ? undefined : { agents: files.map((file) => file.slice(AGENTS.length, -3)), paths });
    const findings: Found[] = [];
    await inSlots(cases, bench.trust.sandbox.slots, async (file) => {
      const text = (await tree.read(file)) ?? "";
      const one = readCase(text, file);
      if (one instanceof ClearedError) return void findings.push(...findingsIn(one, file));
      const say = (key: string, message: string, code: ErrorCode): void => {
        const line = text.split("\n").findIndex((each) => each.trim().startsWith(`${key}:`)) + 1;
        const told = `${message} Restore what is missing, or retire the case: \`git rm ${file}\`, then \`cleared propose --reason WHY\`.`;
        // A clone has not all recordings, and holds nothing against who works in it.
        findings.push({ code, at: { file, line }, message: told, ...(code === "CASE_UNTRIED" ? { remark: true } : {}) });
      };
      if ((await tree.blob(agentFile(one.agent))) === null)
        say("agent", `It is a case of ${one.agent}, and there is no ${agentFile(one.agent)}.`, "CASE_INVALID");
      try {
        await recordedOf(one, bench);
        await codeWith({ tree, changed: [] }, one.over, bench);
      } catch (error) {
        if (!(error instanceof ClearedError) || error.kind === "internal") throw error;
        say(error.code === "GIT_FAILED" ? "over" : "run", error.message, error.code === "CASE_INVALID" ? error.code : "CASE_UNTRIED");
      }
    });
    return {
      says: cases.length === 0 ? "none is touched" : `${cases.length} read`,
      findings: findings.sort((a, b) => a.at.file.localeCompare(b.at.file)),
    };
  },
});

const whatOf = ({ what }: Broken): string => what;

interface Judged {
  /** What the case keeps and the code does not. */
  kept: Broken[];
  /** What the code does worse than was recorded, whatever the case keeps. */
  worse: Broken[];
  /** Why nothing more can be said, or null. */
  untried: string | null;
  /** The run is here, and is not what the case says. */
  isOther?: boolean;
  /** Somebody has corrected what it keeps, where it says so. */
  isHeard?: boolean;
}

const NOTHING: Judged = { kept: [], worse: [], untried: null };

async function judge(one: Case, code: Code, books: Tree, bench: TrialEnvironment): Promise<Judged> {
  try {
    const recording = await recordedOf(one, bench);
    const { run, steps } = recording;
    const { trial } = await tryRunOrToday(recording, await codeWith(code, one.over, bench), bench);
    const left = leftOf(run.id, books, bench.cards);
    const kept = await brokenIn(one.keeps, trial.effects, left, trial.missing === null);
    // What the case keeps is told as the case has it, and not as it came out then.
    const own = new Set(one.keeps.books.map(({ id }) => id));
    const rest = (effects: Effects): Effects => ({
      ...effects,
      entries: effects.entries.filter(({ id }) => !own.has(id)),
      reviews: effects.reviews.filter(({ about }) => !own.has(about)),
    });
    const compared = async () => {
      const was = await effectsOf(run, steps, bench.world);
      return compareEffects(rest(was), { ...trial, effects: rest(trial.effects) }, left);
    };
    const { worse, failed } = trial.isRecorded ? { worse: [], failed: [] } : await compared();
    return {
      kept,
      worse: [...worse, ...failed].map(({ line }) => ({ what: line, why: line })),
      untried: trial.missing === null ? null : `It cannot be tried: ${trial.missing}.`,
      isHeard: one.from.correction === undefined || (await isCorrected(one.keeps, left, steps)),
    };
  } catch (error) {
    if (!(error instanceof ClearedError) || error.kind === "internal") throw error;
    return { ...NOTHING, untried: `It cannot be tried: ${error.message}`, isOther: error.code === "CASE_INVALID" };
  }
}

/** Whether a person has corrected an entry, or edited a call, that the case keeps. */
async function isCorrected({ books, asks }: Case["keeps"], left: Left, steps: Recording["steps"]): Promise<boolean> {
  const found = await left.entries(books.map(({ id }) => id));
  const calls = asks.map((call) => canonicalJson(call));
  const edited = editsOf(steps).flatMap((one) => one.calls);
  return [...found.values()].some((one) => one?.status === "user-corrected") || edited.some((call) => calls.includes(canonicalJson(call)));
}

/** @throws RUN_UNKNOWN when the recording is not here, CASE_INVALID when it is another one */
async function recordedOf({ agent, from }: Case, bench: TrialEnvironment): Promise<Recording> {
  const gone = (why: string, code = "CASE_INVALID" as ErrorCode) => new ClearedError(code, `The recording of ${from.run} ${why}.`);
  const isHere = (await bench.engine.get(from.run)) !== null;
  if (!isHere) throw gone("is not here; a clone has only those that were fetched with it", "RUN_UNKNOWN");
  const recording = await recordingOf(from.run, bench);
  if (recording === null) throw gone("has not ended");
  if (recording.run.agent !== agent) throw gone(`is one of ${recording.run.agent}`);
  if (!isCaseOf(from, recording)) throw gone("is not the one that the case was made from");
  return recording;
}

const codes = new WeakMap<Code, Map<string, Promise<Code>>>();

/** The code with the files of the change that froze a case, where it does not change them itself; one object for equal files. */
function codeWith(code: Code, over: Case["over"], { git }: TrialEnvironment): Promise<Code> | Code {
  const files = Object.entries(over).filter(([path]) => !code.changed.includes(path));
  if (files.length === 0) return code;
  return codes.getOrInsertComputed(code, () => new Map()).getOrInsertComputed(JSON.stringify(files), laid);

  async function laid(): Promise<Code> {
    const texts = await Promise.all(files.map(async ([path, blob]) => [path, blob === null ? null : await textOf(path, blob)] as const));
    return { tree: treeOver(code.tree, new Map(texts)), changed: [...code.changed, ...files.map(([path]) => path)] };
  }

  async function textOf(path: string, blob: string): Promise<string> {
    const text = await git.text(blob);
    if (text === null)
      throw new ClearedError("GIT_FAILED", `${path} as it was when the case was made (${blob.slice(0, 7)}) is not in this repository.`);
    return text;
  }
}
