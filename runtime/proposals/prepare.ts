/**
 * What is known of a proposal before a person is asked: every check, what it widens, the cases, and what it would have done to the
 * recorded runs of each agent it reaches. Made on HEAD as it is now; nothing is written but the proposal's own report and state.
 */
import { type Check, type Looked, STATIC_CHECKS, type Subject, runChecks } from "../checks/pipeline.ts";
import { backtest } from "../evidence/backtest.ts";
import type { Bench } from "../evidence/bench.ts";
import { casesIn, ratchet, type Ratchet } from "../evidence/cases.ts";
import { freeze } from "../evidence/freeze.ts";
import { codeOver } from "../evidence/reached.ts";
import { dryChecks, dryRunsOf } from "../evidence/synthetic.ts";
import type { BacktestReport, Code } from "../evidence/types.ts";
import { partingLine } from "../evidence/words.ts";
import { ClearedError } from "../errors.ts";
import type { Tree } from "../ports.ts";
import { AGENTS } from "../workspace/layout.ts";
import { treeOver } from "../workspace/tree-over.ts";
import { type ApplyWorld, conflictOf } from "./apply.ts";
import { namesOf } from "./card.ts";
import { differenceThatMatters, isOwnReport, rememberReport } from "./deciding.ts";
import { problemsOf } from "./paths.ts";
import type { Around } from "./program.ts";
import { OPEN, type ProposalStore, createProposals } from "./store.ts";
import type { Proposal, Report } from "./types.ts";
import { demandsOf, wideningOf } from "./widening.ts";

/** What preparing needs of a workspace; the composition root makes it of its host. */
export interface Preparing extends ApplyWorld, Bench {
  world: Bench["world"];
  config: ApplyWorld["config"];
  cards: ApplyWorld["cards"];
  around: Around;
  /** What the checks look at, with the agents a change of these paths reaches. */
  subject(base: Tree, tree: Tree, paths: readonly string[]): Promise<Subject>;
  /** How many recorded runs and cases of how many are tried. */
  progress(done: number, total: number): void;
}

/** As far back as runs are tried: a quarter has every kind of month in it. */
const BACKTEST_DAYS = 90;

/** What this process looks at right now, by folder and id. */
const underway = new Map<string, Promise<Proposal>>();

/**
 * Looks at a proposal that is not decided: afterwards it is ready, or blocked with the reason. Whoever asks while it is looked at gets
 * what that comes to. @throws PROPOSAL_UNKNOWN, PROPOSAL_STATE
 */
export async function prepare(world: Preparing, id: string | number): Promise<Proposal> {
  const store = createProposals(world);
  const proposal = await store.get(id);
  const key = `${world.dir} ${proposal.id}`;
  const known = underway.get(key) ?? lookOnce(world, store, proposal).finally(() => underway.delete(key));
  underway.set(key, known);
  return known;
}

async function lookOnce(world: Preparing, store: ProposalStore, proposal: Proposal): Promise<Proposal> {
  const from = OPEN.filter((state) => state !== "approved");
  const checking = await store.update(proposal.id, { state: "checking" }, { from });
  try {
    return await look(world, store, checking);
  } catch (error) {
    const isOurs = !(error instanceof ClearedError) || error.kind === "internal";
    const why = `It could not be checked: ${isOurs ? `an error of Cleared itself. \`cleared proposals check ${proposal.number}\` tries again.` : error.message}`;
    // Also after an error of ours, or the next owner would run into it by itself, again and again.
    const blocked = await store.update(proposal.id, { state: "blocked", why }, { from: ["checking"] });
    if (isOurs) throw error;
    return blocked;
  }
}

async function look(world: Preparing, store: ProposalStore, proposal: Proposal): Promise<Proposal> {
  const on = await world.git.head();
  const base = world.git.tree(on);
  const conflict = await conflictOf(world, proposal, base);
  if (conflict !== null) return store.update(proposal.id, { state: "blocked", why: conflict }, { from: ["checking"] });
  const files = await textsOf(proposal, world.git.tree(proposal.commit));
  const tree = treeOver(base, new Map(Object.entries(files)));
  const made = await reportOf(world, proposal, { on, base, tree, files });
  const why = obstacle(proposal, made);
  // Who has said yes to the same has not to say it again.
  const was = why === null && isOwnReport(world.database, proposal) ? proposal.report : null;
  const report = was === null || differenceThatMatters(was, made) !== null ? made : { ...made, since: was.since ?? was.at };
  rememberReport(world.database, proposal.id, why === null ? report : null);
  return store.update(proposal.id, { state: why === null ? "ready" : "blocked", why, report }, { from: ["checking"] });
}

async function textsOf({ files }: Proposal, target: Tree): Promise<Record<string, string | null>> {
  const texts = files.map(async ({ path, change }) => [path, change === "removed" ? null : await target.read(path)] as const);
  return Object.fromEntries(await Promise.all(texts));
}

/** The change as it lies over HEAD. */
interface Change {
  on: string;
  base: Tree;
  tree: Tree;
  files: Record<string, string | null>;
}

async function reportOf(world: Preparing, proposal: Proposal, { on, base, tree, files }: Change): Promise<Report> {
  const paths = Object.keys(files);
  const [was, code]: [Code, Code] = [{ tree: base, changed: [] }, codeOver(base, new Map(Object.entries(files)))];
  const subject = await world.subject(base, tree, paths);
  const form: Check = {
    name: "paths",
    look: async () => ({ says: count(paths.length, "file"), findings: await problemsOf(files, { ...proposal, head: base }) }),
  };
  const checks = await runChecks(subject, [form, ...STATIC_CHECKS, ...dryChecks(world)]);
  const compiles = checks.every(({ check, status }) => status !== "failed" || !["paths", "config", "header", "lint"].includes(check));
  const agents = compiles ? subject.files.map((file) => file.slice(AGENTS.length).replace(/\.ts$/, "")) : [];
  const widening = await wideningOf(base, tree, paths, world.around);

  // Tried only once the scripts compile: what cannot run has nothing to show.
  let held: Ratchet = { passed: 0, failed: [], open: [], fixed: [], results: [] };
  const backtests: BacktestReport[] = [];
  if (compiles) {
    held = await ratchet(was, code, await casesIn(tree, { agents, paths }), world, { progress: world.progress });
    for (const agent of agents)
      backtests.push(await backtest(agent, code, was, { days: BACKTEST_DAYS }, world, { name: proposal.id, progress: world.progress }));
    checks.push(...(await runChecks(subject, [casesCheck(held), backtestCheck(backtests, proposal)])));
  }
  // Only of what somebody may say yes to.
  const freezes: Record<string, string> = {};
  if (checks.every(({ status }) => status !== "failed"))
    for (const one of backtests)
      Object.assign(freezes, (await freeze(one, code, { proposal: proposal.id, title: proposal.title }, world)).files);
  return {
    on,
    at: world.clock.now(),
    names: await namesOf(proposal.files, base, tree),
    checks,
    widening,
    backtests,
    cases: { passed: held.passed, failed: held.failed, open: held.open, fixed: held.fixed },
    dryRun: (await dryRunsOf(subject, world)).map(({ agent, lines }) => ({ agent, lines })),
    freezes,
    ...demandsOf(widening, world.trust, (await world.config(tree)).policy),
  };
}

function casesCheck({ passed, failed, results }: Ratchet): Check {
  const findings = results
    .filter(({ status }) => status === "failed")
    .map(({ name, why }) => ({ code: "CASE_BROKEN", at: { file: `cases/${name}.yaml` }, message: why.slice(0, 3).join(" ") }));
  return looked("cases", { says: `${passed}/${passed + failed.length}`, findings });
}

/** A change whose runs come out worse passes only where a person has said that it is on purpose; what fails never does. */
function backtestCheck(reports: readonly BacktestReport[], { despite }: Proposal): Check {
  const findings = reports.flatMap(({ agent, differences }) =>
    differences
      .filter((one) => one.class === "worse" || one.class === "failed")
      .map(({ run, class: kind, why, divergence }) => ({
        code: "BACKTEST_WORSE",
        at: { file: `${AGENTS}${agent}.ts`, ...(divergence?.at?.line === undefined ? {} : { line: divergence.at.line }) },
        message: `${run} comes out ${kind}: ${why.slice(0, 2).join("; ")}${divergence === null ? "" : ` (${partingLine(divergence)})`}`,
        ...(kind === "worse" && despite !== null ? { remark: true as const } : {}),
      })),
  );
  const runs = reports.reduce((sum, one) => sum + one.runs, 0);
  return looked("backtest", { says: count(runs, "recorded run"), findings, skipped: runs === 0 });
}

const looked = (name: Check["name"], said: Looked): Check => ({ name, look: async () => said });

/** Why nobody may say yes to it, in one sentence. */
function obstacle({ number }: Proposal, { checks }: Report): string | null {
  const failed = checks.filter(({ status }) => status === "failed");
  if (failed.length === 0) return null;
  const first = failed[0]?.findings.find((one) => one.remark !== true);
  const where = first === undefined ? "" : ` ${first.at.file}${first.at.line === undefined ? "" : `:${first.at.line}`} ${first.code}`;
  const despite = failed.every(({ check }) => check === "backtest")
    ? ` If it is worse on purpose, propose it again with --despite and the reason.`
    : "";
  return `${failed.map(({ check }) => check.replace("_", " ")).join(", ")} failed:${where}. \`cleared proposals show ${number}\` tells what to mend; propose again then.${despite}`;
}

const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;
