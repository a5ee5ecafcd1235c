/**
 * The ratchet: on new code every case must reproduce what it states, and nothing of its run may become worse. What the base fails as well is
 * open (a correction that no script has learned yet) and blocks nothing. Invariant: a case that cannot be tried (its recording is missing, or
 * has no answer to a call of the new code) has neither passed nor failed, and is reported with the reason.
 */
import { type Code as ErrorCode, ClearedError, unlessInternal } from "../../kernel/errors.ts";
import type { Tree } from "../../kernel/ports.ts";
import { CASES, agentFile, agentOf } from "../../workspace/layout.ts";
import { type Found, findingsIn } from "../checks/findings.ts";
import type { Check } from "../checks/pipeline.ts";
import { agentFiles } from "../checks/reached.ts";
import { treeOver } from "../../workspace/git/tree.ts";
import { recordingOf } from "./backtest.ts";
import type { TrialEnvironment } from "./trial-environment.ts";
import { type Case, casePath, isCaseOf, readCase } from "./case-file.ts";
import { compareEffects } from "./compare.ts";
import { likeTried } from "./code.ts";
import { effectsOf } from "./effects.ts";
import { type Broken, brokenIn } from "./kept.ts";
import { type Left, leftOf } from "./left.ts";
import { editsOf } from "./freeze.ts";
import { canonicalJson } from "../../kernel/canonical.ts";
import { apart } from "./partings.ts";
import { inSlots } from "../../kernel/turns.ts";
import { tryRun, tryRunOrToday } from "./trial.ts";
import type { CasesTold, Code, Effects, Recording } from "./types.ts";

export interface CaseResult {
  /** `ingest/run_x` */
  name: string;
  /** open: the base fails it as well; fixed: the base fails it, the new code passes; untried: undecidable. */
  status: "passed" | "failed" | "open" | "fixed" | "untried";
  /** What was expected and what happened, one line each; or why it cannot be tried. Empty for a pass. */
  why: string[];
}

/** What `Report` states about the cases, and all results except plain passes. */
export type Ratchet = Required<CasesTold> & { results: CaseResult[] };

export const noCases = (): Ratchet => ({ passed: 0, failed: [], open: [], fixed: [], untried: [], results: [] });

/** `ingest/run_x` of `cases/ingest/run_x.yaml`. */
export const caseName = (path: string): string => path.slice(CASES.length).replace(/\.yaml$/, "");

/**
 * Paths of the cases in a tree: all, or those that a change must pass: cases of the agents it reaches, of an agent whose file it changes or
 * deletes, and the cases it adds itself.
 */
export async function casesIn(tree: Tree, change?: { agents: readonly string[]; paths: readonly string[] }): Promise<string[]> {
  const paths = (await tree.list(CASES)).map(({ path }) => path).filter((path) => path.endsWith(".yaml"));
  if (change === undefined) return paths;
  const touched = new Set([...change.agents.map(agentFile), ...change.paths]);
  return paths.filter((path) => touched.has(path) || touched.has(agentFile(casePath(path)?.agent ?? "")));
}

/**
 * Tries the cases of the candidate's tree on the candidate. If one fails, or has a correction that was still open, the base shows whether the
 * failure is new: a case with an open correction still protects everything else in it.
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
    // A case that is not accepted yet must be valid and match its recording; an accepted case that is damaged does not block unrelated changes.
    const isNew = (await base.tree.blob(path)) !== (await candidate.tree.blob(path));
    if (one instanceof ClearedError) return add(isNew ? "failed" : "untried", [one.message]);
    const now = await judge(one, candidate, candidate.tree, bench);
    const comparable = now.kept.length > 0 || now.worse.length > 0 || one.from.correction !== undefined;
    // The base has no result for an agent that does not exist there.
    const existed = comparable && (await base.tree.blob(agentFile(one.agent))) !== null;
    const then = existed ? await judge(one, before, candidate.tree, bench, now.trial) : NOTHING;
    // A failure of the base cancels only one of two equal failures of the candidate.
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
 * The check of case files, without trying them: each can be parsed, and what it names exists. It covers all cases if every agent is under
 * check, else those that the change must pass.
 */
export const caseFiles = (bench: TrialEnvironment): Check => ({
  name: "cases",
  async look({ tree, paths, files }) {
    const isAll = (await agentFiles(tree)).length === files.length;
    const cases = await casesIn(tree, isAll ? undefined : { agents: files.map(agentOf), paths });
    const findings: Found[] = [];
    await inSlots(cases, bench.trust.sandbox.slots, async (file) => {
      const text = (await tree.read(file)) ?? "";
      const one = readCase(text, file);
      if (one instanceof ClearedError) return void findings.push(...findingsIn(one, file));
      const say = (key: string, message: string, code: ErrorCode): void => {
        const line = text.split("\n").findIndex((each) => each.trim().startsWith(`${key}:`)) + 1;
        const told = `${message} Restore what is missing, or retire the case: \`git rm ${file}\`, then \`cleared propose --reason WHY\`.`;
        // A clone does not have every recording, so a missing one is only a remark.
        findings.push({ code, at: { file, line }, message: told, ...(code === "CASE_UNTRIED" ? { remark: true } : {}) });
      };
      if ((await tree.blob(agentFile(one.agent))) === null)
        say("agent", `It is a case of ${one.agent}, and there is no ${agentFile(one.agent)}.`, "CASE_INVALID");
      const found = recordedOf(one, bench).then(() => codeWith({ tree, changed: [] }, one.over, bench));
      await found.catch(
        unlessInternal(({ code, message }) =>
          say(code === "GIT_FAILED" ? "over" : "run", message, code === "CASE_INVALID" ? code : "CASE_UNTRIED"),
        ),
      );
    });
    return {
      says: cases.length === 0 ? "none is touched" : `${cases.length} read`,
      findings: findings.sort((a, b) => a.at.file.localeCompare(b.at.file)),
    };
  },
});

const whatOf = ({ what }: Broken): string => what;

interface Judged {
  /** What the case states and the code does not reproduce. */
  kept: Broken[];
  /** What the code does worse than recorded, whether or not the case states it. */
  worse: Broken[];
  /** Why the rest cannot be determined, or null. */
  untried: string | null;
  /** The run exists, but does not match the case. */
  isOther?: boolean;
  /** A person has since corrected what the case states. */
  isHeard?: boolean;
  /** The code that was tried, and with the settings of its trial. */
  trial?: Record<"code" | "tried", Code>;
}

const NOTHING: Judged = { kept: [], worse: [], untried: null };

/** `like`: the trial of the candidate, for its base. */
async function judge(one: Case, code: Code, books: Tree, bench: TrialEnvironment, like?: Judged["trial"]): Promise<Judged> {
  try {
    const recording = await recordedOf(one, bench);
    const { run, steps } = recording;
    const laid = await codeWith(code, one.over, bench);
    const same = like && (await likeTried(laid, like.tried, like.code, bench.git.tree(run.pin.commit)));
    const { trial, code: tried } =
      same === undefined || same === laid
        ? await tryRunOrToday(recording, laid, bench)
        : { trial: await tryRun(recording, same, bench), code: same };
    const left = leftOf(run.id, books, bench.cards);
    const kept = await brokenIn(one.keeps, trial.effects, left, trial.missing === null);
    // What the case states is reported as the case has it, not as it was recorded.
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
      trial: { code: laid, tried },
      isHeard: one.from.correction === undefined || (await isCorrected(one.keeps, left, steps)),
    };
  } catch (error) {
    if (!(error instanceof ClearedError) || error.kind === "internal") throw error;
    return { ...NOTHING, untried: `It cannot be tried: ${error.message}`, isOther: error.code === "CASE_INVALID" };
  }
}

/** Whether a person has corrected an entry, or edited a call, that the case states. */
async function isCorrected({ books, asks }: Case["keeps"], left: Left, steps: Recording["steps"]): Promise<boolean> {
  const found = await left.entries(books.map(({ id }) => id));
  const calls = asks.map((call) => canonicalJson(call));
  const edited = editsOf(steps).flatMap((one) => one.calls);
  return [...found.values()].some((one) => one?.status === "user-corrected") || edited.some((call) => calls.includes(canonicalJson(call)));
}

/** @throws RUN_UNKNOWN when the recording is not here, CASE_INVALID when the run's recording is a different one */
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

/** The code with the files of the change that froze a case, unless the code changes them itself; the same object for equal files. */
function codeWith(code: Code, over: Case["over"], { git }: TrialEnvironment): Promise<Code> | Code {
  const files = Object.entries(over).filter(([path]) => !code.changed.includes(path));
  if (files.length === 0) return code;
  return codes.getOrInsertComputed(code, () => new Map()).getOrInsertComputed(JSON.stringify(files), laid);

  async function laid(): Promise<Code> {
    const texts = await Promise.all(files.map(async ([path, blob]) => [path, blob === null ? null : await textOf(path, blob)] as const));
    return { tree: treeOver(code.tree, new Map(texts)), changed: [...code.changed, ...files.map(([path]) => path)] };
  }

  async function textOf(path: string, blob: string): Promise<string> {
    const found = await git.objects.find(blob);
    if (found?.type !== "blob")
      throw new ClearedError("GIT_FAILED", `${path} as it was when the case was made (${blob.slice(0, 7)}) is not in this repository.`);
    return found.bytes.toString("utf8");
  }
}
