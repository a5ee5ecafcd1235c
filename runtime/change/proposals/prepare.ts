/**
 * Prepares a proposal for a decision: all checks, the rights it widens, the cases, and what it would have done to the recorded runs of each
 * agent it reaches. Made on the current HEAD; only the proposal's own report and state are written.
 */
import { count } from "../../kernel/text.ts";
import { type Check, STATIC_CHECKS, runChecks, sinceBase } from "../checks/pipeline.ts";
import type { Looked, Subject } from "../checks/findings.ts";
import { readScripts } from "../checks/read-scripts.ts";
import { type Compared, backtest, isMended } from "../evidence/backtest.ts";
import type { TrialEnvironment } from "../evidence/trial-environment.ts";
import { casesIn, noCases, ratchet, type Ratchet } from "../evidence/cases.ts";
import { createFreezer } from "../evidence/freeze.ts";
import { codeOver } from "../evidence/code.ts";
import { dryChecks, dryRunsOf } from "../evidence/synthetic.ts";
import type { BacktestReport, Code } from "../evidence/types.ts";
import { partingLine } from "../evidence/words.ts";
import { ClearedError } from "../../kernel/errors.ts";
import type { Tree } from "../../kernel/ports.ts";
import { AGENTS, agentFile } from "../../workspace/layout.ts";
import { treeOver } from "../../workspace/git/tree.ts";
import type { ApplyWorld } from "./apply.ts";
import { namesOf, stopOf } from "./card.ts";
import { claimsLooked } from "./claims.ts";
import { conflictOf, textsOf } from "./commit.ts";
import { differenceThatMatters, isOwnReport, rememberReport } from "./deciding.ts";
import { problemsOf } from "./paths.ts";
import type { Around } from "../widening/program.ts";
import { type Proof, type Vouch, proofOf, restsOn } from "./proof.ts";
import { type ProposalStore, UNDECIDED, createProposals } from "./store.ts";
import type { Proposal, ProposalDraft, ProposedFile, Report } from "../proposal-types.ts";
import { changesOf, demandsOf, movedIn } from "../widening/widening.ts";

/** What preparing needs of a workspace; the composition root makes it of its host. */
export type Preparing = ApplyWorld &
  TrialEnvironment & {
    around: Around;
    vouch: Vouch;
    /** The subject of the checks, with the agents that a change of these paths reaches. */
    subject(base: Tree, tree: Tree, paths: readonly string[]): Promise<Subject>;
    /** How many recorded runs and cases have been tried, and of how many. */
    progress(done: number, total: number): void;
  };

/** How far back runs are tried: a quarter contains every kind of month. */
export const BACKTEST_DAYS = 90;
const DAY_MS = 86_400_000;

/** Checks of proposals, by folder and id. `ended` is a logical time; absent while the check is running. */
const looks = new Map<string, { proposal: Promise<Proposal>; ended: number }>();
let moment = 0;
/** Calls that have not found their proposal yet; finished checks are kept for them. */
let coming = 0;

/**
 * Checks an undecided proposal: afterwards it is ready, or blocked with the reason. A call while a check is running shares its result.
 * `made`: the report that `judge` has just made, valid while HEAD is the same. @throws PROPOSAL_UNKNOWN, PROPOSAL_STATE
 */
export async function prepare(world: Preparing, id: string | number, made?: Report): Promise<Proposal> {
  const store = createProposals(world);
  const began = ++moment;
  coming++;
  const proposal = await store.get(id).finally(() => coming--);
  const key = `${world.dir} ${proposal.id}`;
  const known = looks.get(key);
  // A second check would make a new report, and an approval belongs to the report it was given on.
  if (known !== undefined && known.ended > began) return known.proposal;
  const look = { proposal: lookOnce(world, store, proposal, made), ended: Number.POSITIVE_INFINITY };
  looks.set(key, look);
  return look.proposal.finally(() => {
    look.ended = ++moment;
    if (coming === 0) for (const [other, { ended }] of looks) if (ended <= moment) looks.delete(other);
  });
}

async function lookOnce(world: Preparing, store: ProposalStore, proposal: Proposal, made?: Report): Promise<Proposal> {
  const checking = await store.update(proposal.id, { state: "checking" }, { from: UNDECIDED });
  try {
    return await look(world, store, checking, made);
  } catch (error) {
    const isOurs = !(error instanceof ClearedError) || error.kind === "internal";
    const why = `It could not be checked: ${isOurs ? `an error of Cleared itself. \`cleared proposals check ${proposal.number}\` tries again.` : error.message}`;
    // Also after an error of Cleared itself, or every later owner would run into it again.
    const blocked = await store.update(proposal.id, { state: "blocked", why }, { from: ["checking"] });
    if (isOurs) throw error;
    return blocked;
  }
}

/** The report that this change would get, before a proposal exists. @throws PROPOSAL_PATH, PROPOSAL_EMPTY */
export async function judge(world: Preparing, draft: ProposalDraft, base: string): Promise<Report> {
  const store = createProposals(world);
  const on = await world.git.head();
  const head = world.git.tree(on);
  const { id } = await store.placeOf(draft, base);
  const changed = Object.entries(draft.files).map(async ([path, text]): Promise<ProposedFile> => {
    return { path, change: text === null ? "removed" : (await head.blob(path)) === null ? "added" : "changed" };
  });
  const at = world.clock.now();
  const proposal: Proposal = {
    ...{ id, number: 0, title: draft.title, reason: draft.reason, by: draft.by, at, since: at, base, commit: base },
    ...{ files: await Promise.all(changed), state: "draft", why: null, despite: draft.despite ?? null, asked: draft.asked ?? null },
    ...{ report: null, decisions: [], applied: null, reverted: null },
  };
  const tree = treeOver(head, new Map(Object.entries(draft.files)));
  return reportOf({ ...world, vouch: () => null }, store, proposal, { on, base: head, tree, files: draft.files });
}

async function look(world: Preparing, store: ProposalStore, proposal: Proposal, known?: Report): Promise<Proposal> {
  const on = await world.git.head();
  const base = world.git.tree(on);
  const conflict = await conflictOf(world, proposal, base);
  if (conflict !== null) return store.update(proposal.id, { state: "blocked", why: conflict }, { from: ["checking"] });
  const files = await textsOf(world.git, proposal, base);
  const tree = treeOver(base, new Map(Object.entries(files)));
  const change = { on, base, tree, files };
  const made =
    known?.on === on
      ? { ...known, ...(await proofFor(world, store, proposal, change, known)) }
      : await reportOf(world, store, proposal, change);
  // Decisions on the previous report stay valid for a report that says the same.
  const goesOn = isOwnReport(world.database, proposal) && differenceThatMatters(proposal.report as Report, made) === null;
  const report: Report = goesOn ? { ...made, since: proposal.report?.since ?? proposal.report?.at ?? made.at } : made;
  const why = obstacle(proposal, report);
  const unproven = report.unproven ?? [];
  const state = why !== null ? "blocked" : unproven.length > 0 ? "unproven" : "ready";
  rememberReport(world.database, proposal.id, why === null ? report : null);
  return store.update(proposal.id, { state, why: why ?? (unproven.join(" ") || null), report }, { from: ["checking"] });
}

/** The change applied to HEAD. */
interface Change {
  on: string;
  base: Tree;
  tree: Tree;
  files: Record<string, string | null>;
}

async function reportOf(world: Preparing, store: ProposalStore, proposal: Proposal, { on, base, tree, files }: Change): Promise<Report> {
  const paths = Object.keys(files);
  const [was, code]: [Code, Code] = [{ tree: base, changed: [] }, codeOver(base, new Map(Object.entries(files)))];
  const subject = await world.subject(base, tree, paths);
  const form: Check = {
    name: "paths",
    look: async () => ({ says: count(paths.length, "file"), findings: await problemsOf(files, { ...proposal, head: base }) }),
  };
  let before: Promise<Subject> | undefined;
  const own = sinceBase([...STATIC_CHECKS, ...dryChecks(world)], () => (before ??= world.subject(base, base, paths)));
  const checks = await runChecks(subject, [form, ...own]);
  const compiles = checks.every(({ check, status }) => status !== "failed" || !["paths", "config", "header", "lint"].includes(check));
  // An agent that this change does not touch may not compile either; it can run neither before nor after.
  const readable = (await readScripts(subject)).agents.filter(({ scripts, header }) => scripts !== null && header !== null);
  const agents = compiles ? readable.map(({ agent }) => agent) : [];
  const { widening, changes } = await changesOf(base, tree, paths, world.around);

  // Only scripts that compile can be tried.
  let held = noCases();
  const fresh: BacktestReport[] = [];
  const freezes: Record<string, string> = {};
  const mended: string[] = [];
  const reached = subject.files.map((path) => ({ path, change: "changed" as const }));
  const names = await namesOf([...proposal.files, ...reached], base, tree);
  if (compiles) {
    held = await ratchet(was, code, await casesIn(tree, { agents, paths }), world, world.progress);
    // Counted from when it was proposed, however long it has waited.
    const days = BACKTEST_DAYS + Math.max(0, Math.ceil((world.clock.now() - proposal.at) / DAY_MS));
    for (const agent of agents) {
      const { look: freeze, chosen } = createFreezer(code, proposal, world);
      const compared = async (one: Compared) => {
        if (isMended(one)) mended.push(one.recording.run.id);
        await freeze(one);
      };
      const options = { name: proposal.id, progress: world.progress, compared };
      fresh.push(await backtest(agent, code, was, { days }, world, options));
      Object.assign(freezes, (await chosen()).files);
    }
  }
  const { backtests, ...proof } = await proofFor(world, store, proposal, { on, base, tree, files }, { names, backtests: fresh });
  if (compiles)
    checks.push(...(await runChecks(subject, [casesCheck(held), backtestCheck([...new Set([...backtests, ...fresh])], proposal)])));
  const { asked = null } = proposal;
  if (compiles && asked !== null) {
    const judged = { base, tree, paths, changed: { widening, changes }, backtests: fresh, mended };
    checks.push(...(await runChecks(subject, [{ name: "claims", look: () => claimsLooked(asked, judged, world.around) }])));
  }
  const { results: _, ...cases } = held;
  return {
    on,
    at: world.clock.now(),
    names,
    checks,
    widening,
    changes,
    backtests,
    ...proof,
    rests: await restsOn(world, agents),
    cases,
    dryRun: await dryRunOf(subject, world),
    ...(mended.length === 0 ? {} : { mended: mended.sort() }),
    // Only for a proposal that may be approved.
    freezes: checks.some(({ status }) => status === "failed") ? {} : freezes,
    ...demandsOf(widening, world.trust, (await world.config(tree)).policy, asked),
  };
}

async function proofFor(
  world: Preparing,
  store: ProposalStore,
  proposal: Proposal,
  { on, base, tree, files }: Change,
  { names = {}, backtests }: Pick<Report, "names" | "backtests">,
): Promise<Proof> {
  const isKnown = async (agent: string) =>
    (await store.list()).some(
      ({ id, report }) => id !== proposal.id && report?.backtests.some((one) => one.agent === agent && one.runs > 0),
    );
  const moved = await movedIn(base, tree, Object.keys(files));
  const nameOf = (agent: string) => names[agentFile(agent)] ?? agent;
  return proofOf({ ...world, isKnown }, proposal, backtests, { base, head: on, moved, nameOf });
}

/** For a proposed new agent only its own dry run: other agents that its files reach are not what the person decides about. */
async function dryRunOf(subject: Subject, bench: TrialEnvironment): Promise<Report["dryRun"]> {
  const { base, paths } = subject;
  const isNew = await Promise.all(paths.map(async (path) => path.startsWith(AGENTS) && (await base.blob(path)) === null));
  return (await dryRunsOf(subject, bench))
    .filter(({ agent }) => !isNew.includes(true) || paths.includes(agentFile(agent)))
    .map(({ agent, lines }) => ({ agent, lines }));
}

function casesCheck({ passed, failed, untried, results }: Ratchet): Check {
  const findings = results.flatMap(({ name, status, why }) => {
    if (status !== "failed" && status !== "untried") return [];
    const told = { at: { file: `cases/${name}.yaml` }, message: why.slice(0, 3).join(" ") };
    return [status === "failed" ? { ...told, code: "CASE_BROKEN" } : { ...told, code: "CASE_UNTRIED", remark: true as const }];
  });
  const says = `${passed}/${passed + failed.length}${untried.length === 0 ? "" : `, ${untried.length} not tried`}`;
  return looked("cases", { says, findings });
}

/** A change that makes runs worse passes only if a person declared it intended; one that makes them fail never does. */
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

/** Why nobody may approve it, and where to find the findings. */
function obstacle(proposal: Proposal, report: Report): string | null {
  if (report.checks.every(({ status }) => status !== "failed")) return null;
  return `${stopOf({ ...proposal, report })}. \`cleared proposals show ${proposal.number} --details\` has the findings.`;
}
