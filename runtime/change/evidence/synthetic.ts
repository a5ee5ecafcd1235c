/**
 * The dry run of a change: each agent it reaches is executed on its newest recorded runs or, without any, on synthetic inputs and
 * statements. It is a trial like any other (trial.ts): nothing is written, sent or asked, and a read without an answer ends it.
 * Invariant: an error after a simulated answer never fails the check.
 */
import { count, shortJson } from "../../kernel/text.ts";
import { rm } from "node:fs/promises";
import type { Check } from "../checks/pipeline.ts";
import { type Found, type Looked, type Subject, onceEach } from "../checks/findings.ts";
import { type AgentScripts, readScripts } from "../checks/read-scripts.ts";
import type { ScriptToCheck } from "../checks/lint.ts";
import { dayIn, type Header } from "../../scripts/header.ts";
import { type WireError, kindOf, onCode } from "../../kernel/errors.ts";
import type { Json, RunRecord, RunStatus, Tree } from "../../kernel/ports.ts";
import { triedRun } from "../../engine/replay.ts";
import type { Config } from "../../workspace/settings/config.ts";
import { AGENTS, SCRIPTS } from "../../workspace/layout.ts";
import { monthFiles } from "../../workspace/books/months.ts";
import { scratchFolder } from "../../workspace/git/leftovers.ts";
import { isLarge, recordingOf } from "./backtest.ts";
import type { TrialEnvironment } from "./trial-environment.ts";
import { onItsSettings } from "./code.ts";
import { effectLines } from "./effects.ts";
import { inputsOf, writeStatements } from "./synthetic-inputs.ts";
import { tryRun, tryRunOrToday } from "./trial.ts";
import type { Code, Recording, Trial } from "./types.ts";

export interface DryRun {
  agent: string;
  /** What it would have done, for readers. */
  lines: string[];
  findings: Found[];
  /** Number of recorded runs or synthetic inputs. */
  tried: number;
  recorded: boolean;
}

const NEWEST = 3;
// A larger run takes longer than a person waits for a check; the backtest covers it.
const MOST_STEPS = 2000;
const MOST_LARGE = 2;
// Stop early: a script that exhausts its limits will do so every time.
const PATIENCE_MS = 3000;

/** The checks "dry_run" and "invariants": one execution, findings separated by kind. */
export function dryChecks(bench: TrialEnvironment): Check[] {
  const look = async (subject: Subject, own: (code: string) => boolean): Promise<Looked> => {
    const runs = await dryRunsOf(subject, bench);
    const tried = runs.reduce((sum, run) => sum + run.tried, 0);
    const recorded = runs.filter((run) => run.recorded).reduce((sum, run) => sum + run.tried, 0);
    const findings = runs.flatMap((run) => run.findings).filter(({ code }) => own(code));
    const says = [recorded > 0 && count(recorded, "recorded run"), tried > recorded && count(tried - recorded, "made up input")];
    return {
      says: says.filter((one) => one !== false).join(", ") || "nothing to try",
      findings,
      skipped: runs.length === 0 && subject.files.length > 0,
    };
  };
  const isBooks = (code: string) => code.startsWith("JOURNAL_");
  return [
    { name: "dry_run", look: (subject) => look(subject, (code) => !isBooks(code)) },
    { name: "invariants", look: (subject) => look(subject, isBooks) },
  ];
}

const kept = new WeakMap<Subject, Promise<DryRun[]>>();

/** One dry run for each agent of the subject whose scripts compile; cached. */
export function dryRunsOf(subject: Subject, bench: TrialEnvironment): Promise<DryRun[]> {
  return kept.getOrInsertComputed(subject, () => runAll(subject, bench));
}

async function runAll(subject: Subject, bench: TrialEnvironment): Promise<DryRun[]> {
  const { agents } = await readScripts(subject);
  // Settings that cannot be parsed prevent any run; the check "config" reports them.
  const isRead = subject.config(subject.tree).then(() => true);
  if (!(await isRead.catch(onCode("CONFIG_INVALID", () => false)))) return [];
  const code: Code = {
    tree: subject.tree,
    changed: subject.edited.filter((path) => !path.startsWith(AGENTS) && !path.startsWith(SCRIPTS)),
  };
  /** The base, for an agent whose scripts the change does not touch. */
  const untouched = (scripts: readonly ScriptToCheck[]): Code | null =>
    subject.paths.length === 0 || scripts.some(({ file }) => subject.paths.includes(file)) ? null : { tree: subject.base, changed: [] };
  const runs = agents.flatMap((one) =>
    one.scripts === null || one.header === null ? [] : [dryRun(one, one.header, one.scripts, code, untouched(one.scripts), bench)],
  );
  return Promise.all(runs);
}

interface Attempt {
  label: string;
  /** A value that a person might enter, as opposed to one that is only allowed. */
  usual: boolean;
  make(code: Code): Promise<Trial>;
}

async function dryRun(
  { agent, file }: AgentScripts,
  header: Header,
  scripts: readonly ScriptToCheck[],
  code: Code,
  before: Code | null,
  bench: TrialEnvironment,
): Promise<DryRun> {
  const recordings = await newest(agent, bench);
  const found: Found[] = [];
  const told = new Map<string, string[]>();
  const began = performance.now();
  let tried = 0;
  const failing: { label: string; error: WireError }[] = [];
  const ended: (WireError | null)[] = [];
  let whole = 0;
  const sources = scripts.map(({ source }) => source);
  await withStatements(header, sources, code, bench, async (prepared) => {
    const onRun = (one: Recording): Attempt => {
      return { label: one.run.id, usual: one.run.error === null, make: (of) => tryNow(one, of, bench) };
    };
    const onInput = ({ input, usual }: { input: Json; usual: boolean }, n: number): Attempt => {
      const make = (of: Code) => tryRun({ run: madeUp(agent, of, n, input, bench), steps: [] }, of, prepared);
      return { label: shortJson(input, 120), usual, make };
    };
    const attempts = recordings.length > 0 ? recordings.map(onRun) : inputsOf(header, sources).map(onInput);
    for (const { label, usual, make } of attempts) {
      if (performance.now() - began > PATIENCE_MS) break;
      tried++;
      const { effects, missing, last } = await make(code);
      const stopped = recordings.length > 0 ? missing : `${last} is not reachable from a check, and has not answered a recorded run`;
      const lines = [...effectLines(effects), ...(missing === null ? [] : [`not tried further: ${stopped}`])].join("\n");
      told.set(lines, [...(told.get(lines) ?? []), label]);
      const { error } = effects;
      if (usual && recordings.length === 0) ended.push(missing === null && effects.calls.length === 0 ? error : null);
      if (recordings.length > 0 && usual) whole++;
      if (recordings.length > 0 && usual && missing === null && error !== null) failing.push({ label, error });
      if (error === null || !isHeldAgainst(error, usual, effects.calls.length > 0)) continue;
      // An agent that the change does not touch may have failed like this before.
      const isOld = before !== null && (await make(before)).effects.error?.code === error.code;
      found.push({
        ...(isOld ? { remark: true as const } : {}),
        code: error.code,
        at: error.at ?? { file },
        message: `${error.message} The dry run met it with ${recordings.length > 0 ? label : `the input ${label}`}.`,
      });
    }
  });
  const now = failsNow(failing, whole, file);
  return {
    agent,
    lines: [...told].flatMap(([lines, labels]) => [
      labelled(labels, recordings.length > 0),
      ...lines.split("\n").map((line) => `  ${line}`),
    ]),
    // A finding that all inputs share is reported once.
    findings: onceEach([...(failing.length === whole ? [...now, ...found] : [...found, ...now]), ...neverEnds(ended, file)]),
    tried,
    recorded: recordings.length > 0,
  };
}

/** Recorded runs that ended well and fail now: if all do, the change is at fault; if some do, it may be intended. */
function failsNow(failing: readonly { label: string; error: WireError }[], of: number, file: string): Found[] {
  const [first] = failing;
  if (first === undefined) return [];
  const { code, message, at } = first.error;
  const words = failing.length < of ? `${failing.length} of the ${of}` : of === 1 ? "The one" : `Each of the ${of}`;
  const runs = of === 1 ? "recorded run that was tried" : "newest recorded runs";
  const remark = failing.length < of ? { remark: true as const } : {};
  return [{ code, at: at ?? { file }, message: `${words} ${runs} now fails, ${first.label} with: ${message}`, ...remark }];
}

/** A remark only: synthetic inputs may not be realistic. */
function neverEnds([first = null, ...others]: readonly (WireError | null)[], file: string): Found[] {
  if (first === null || others.includes(null)) return [];
  const message = `None of the ${others.length + 1} inputs that were tried came to its end, the first with: ${first.message}`;
  return [{ code: first.code, at: first.at ?? { file }, message, remark: true }];
}

/** Refusing an input is right. Failing on an input that the header allows is not, unless a simulated answer led there. */
function isHeldAgainst({ code, message, data }: WireError, usual: boolean, acted: boolean): boolean {
  if (code.startsWith("JOURNAL_")) return usual;
  if (kindOf(code) === "internal") return true;
  if (kindOf(code) !== "script") return false;
  // An error thrown by the script itself is its way of refusing an input.
  if (code === "SCRIPT_ERROR") return !acted && (data?.["engine"] !== undefined || /^(?:\w+Error: |\[DecimalError\])/.test(message));
  return true;
}

function labelled([first = "", ...others]: readonly string[], recorded: boolean): string {
  const more = others.length === 0 ? "" : `, and ${others.length} more alike`;
  return recorded ? `${first}${more}:` : `${first === "{}" ? "without input" : `with ${first}`}${more}:`;
}

/** The next run will use today's settings; a failure caused by them is reported. */
async function tryNow(one: Recording, code: Code, bench: TrialEnvironment): Promise<Trial> {
  const own = await tryRunOrToday(one, code, bench);
  const today = own.code === code ? await onItsSettings(code, bench.git.tree(one.run.pin.commit)) : null;
  const now = today === null ? own.trial : await tryRun(one, today, bench);
  // A month closed since then refuses what was booked before.
  const fails = now.missing === null && now.effects.error?.code.startsWith("JOURNAL_") === false;
  return fails ? now : own.trial;
}

/** The newest recorded runs of an agent; if all of them failed, earlier ones that did not come first. */
async function newest(agent: string, bench: TrialEnvironment): Promise<Recording[]> {
  const any = await newestOf(agent, ["done", "failed"], bench);
  return any.every(({ run }) => run.error !== null) ? [...(await newestOf(agent, ["done"], bench)), ...any] : any;
}

async function newestOf(agent: string, status: RunStatus[], bench: TrialEnvironment): Promise<Recording[]> {
  const ended = await bench.engine.list({ agent, status, limit: 20 });
  const recordings: Recording[] = [];
  let large = 0;
  for (const run of ended) {
    if (recordings.length === NEWEST || large === MOST_LARGE) break;
    const recording = await recordingOf(run.id, bench);
    if (recording === null) continue;
    if (recording.steps.length > MOST_STEPS || isLarge(recording)) large++;
    else recordings.push(recording);
  }
  return recordings;
}

/** One execution of an agent on an input, without acting: what it would have done. A question that only a server could answer ends it. */
export function tryOn(agent: string, input: Json, code: Code, bench: TrialEnvironment): Promise<Trial> {
  return tryRun({ run: madeUp(agent, code, 0, input, bench), steps: [] }, code, bench);
}

/** A run that starts now, on the candidate. */
const madeUp = (agent: string, { tree }: Code, n: number, input: Json, { clock }: TrialEnvironment): RunRecord =>
  triedRun({ id: `run_dry${n}`, agent, input, commit: tree.commit, why: "dry run", now: clock.now() });

/** The first month (YYYY-MM) after everything booked and closed: earlier rows would contradict proven balances. */
async function freeMonth(tree: Tree, { closed_through = "" }: Config, today: string): Promise<string> {
  const [, year = "", month = ""] = /(\d{4})\/(\d{2})\.journal$/.exec((await monthFiles(tree)).at(-1) ?? "") ?? [];
  const taken = [`${year}-${month}`, closed_through.slice(0, 7)].sort().at(-1) ?? "";
  if (taken < today.slice(0, 7)) return today.slice(0, 7);
  return new Date(Date.UTC(Number(taken.slice(0, 4)), Number(taken.slice(5)), 1)).toISOString().slice(0, 7);
}

/** For agents that import: an environment whose import folder holds synthetic statements while `work` runs. */
async function withStatements(
  header: Header,
  sources: readonly string[],
  code: Code,
  bench: TrialEnvironment,
  work: (prepared: TrialEnvironment) => Promise<void>,
): Promise<void> {
  if (!header.uses.includes("importer")) return work(bench);
  const config = await bench.config(code.tree);
  const dir = scratchFolder(bench.dir);
  try {
    const month = await freeMonth(code.tree, config, dayIn(config.timezone, bench.clock.now()));
    await writeStatements(dir, month, config, sources);
    await work({
      ...bench,
      viewAt: (run, log, now, place) => bench.viewAt(run, log, now, { ...place, dir }),
      world: {
        ...bench.world,
        // The synthetic statements belong to the trial, like the tree.
        primitive: async (name) => {
          const primitive = await bench.world.primitive(name);
          return primitive.domain === "importer" && primitive.effect === "read" ? { ...primitive, from: "tree" } : primitive;
        },
      },
    });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
