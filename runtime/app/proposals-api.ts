/**
 * Operations on proposals on a host: making, reading, withdrawing and checking them, exchanging them with other clones, and settling those that
 * agents request.
 */
import { resolve } from "node:path";
import { ClearedError, onCode, toWire } from "../kernel/errors.ts";
import { type Compared, backtest, idsOf } from "../change/evidence/backtest.ts";
import { codeOver } from "../change/evidence/code.ts";
import type { RunDifference } from "../change/evidence/types.ts";
import { gateOf } from "../change/proposals/deciding.ts";
import { type Made, proposeBranch, proposeEdits, proposeFolder } from "../change/proposals/make.ts";
import { textsOf } from "../change/proposals/commit.ts";
import { BACKTEST_DAYS, type Preparing, judge, prepare } from "../change/proposals/prepare.ts";
import { OPEN, createProposals } from "../change/proposals/store.ts";
import { type Proposal, type ProposalDraft, type ProposalState, type Report, WITHDRAWN, answeredCard } from "../change/proposal-types.ts";
import { createSideRefs } from "../workspace/git/proposal-refs.ts";
import type { Host } from "./host.ts";
import type { Subject } from "../change/checks/findings.ts";
import { nextTick } from "../outside/triggers/cron.ts";
import { cacheOf } from "../workspace/own-folders.ts";
import { noteSubject, subjectOf } from "./check-api.ts";
import { NOBODY } from "../kernel/text.ts";
import { holdersHere, signAs } from "./identity.ts";
import { type IntakeRules, admit, settleDrafts } from "../change/proposals/intake.ts";
import { problemsOf } from "../change/proposals/paths.ts";
import type { Decision, ProposalRequest, RunRecord, Tree } from "../kernel/ports.ts";

/** Input of `cleared propose`. `by`: the person whose key the caller has; `from` is an absolute path. */
export interface Proposing {
  title: string;
  reason: string;
  by?: string;
  despite?: string;
  paths: string[];
  from?: string;
  branch?: string;
}

export interface ShownProposal {
  proposal: Proposal;
  /** The name of its card. */
  name: string;
  /** Earlier proposals on the same files that were rejected, with reasons. */
  rejected: Proposal[];
  timezone: string;
}

/** Records a proposal and checks it. @throws what runtime/change/proposals/make.ts throws, APPROVAL_IDENTITY, USAGE */
export async function propose(host: Host, { paths, from, branch, by, ...said }: Proposing): Promise<Made & ShownProposal> {
  if (said.despite !== undefined && by === undefined)
    throw new ClearedError("APPROVAL_IDENTITY", "Only a person whose key is here can say that a change is worse on purpose (--despite).");
  if ([...(from === undefined ? [] : [1]), ...(branch === undefined ? [] : [1]), ...(paths.length === 0 ? [] : [1])].length > 1)
    throw new ClearedError("USAGE", "Take a proposal from one place: --from DIR, --branch NAME, or the paths that are edited here.");
  const wording = { ...said, by: by ?? NOBODY };
  let shown: Promise<ShownProposal> | null = null;
  const check = (proposal: Proposal) => (shown ??= supersede(host, proposal).then(() => checkProposal(host, proposal.id)));
  // Edits leave for the last commit's files; with a config.yaml there that cannot be read, no command could show or decide the proposal.
  if (branch === undefined && from === undefined) await host.config(host.git.tree(await host.git.head()));
  const made =
    branch !== undefined
      ? await proposeBranch(host, wording, branch)
      : from !== undefined
        ? await proposeFolder(host, wording, resolve(from))
        : await proposeEdits(host, wording, paths, check);
  return { ...made, ...(await check(made.proposal)) };
}

/** Records a proposal of these files on HEAD or another commit, and checks it. `report`: just made by `judgeFiles`. @throws PROPOSAL_* */
export async function proposeFiles(
  host: Host,
  draft: ProposalDraft,
  { base, report }: { base?: string; report?: Report } = {},
): Promise<Proposal> {
  const { proposal } = await createProposals(host).create(draft, base ?? (await host.git.head()));
  await supersede(host, proposal);
  return prepareProposal(host, proposal.id, report).catch(async (error: unknown) => {
    // If it was withdrawn during the check, its author is told and it is not made again.
    const now = await createProposals(host).get(proposal.id);
    if (toWire(error).code === "PROPOSAL_STATE" && now.state === "superseded") return now;
    throw error;
  });
}

/** The report that such a proposal would get, without making it. @throws PROPOSAL_PATH, PROPOSAL_EMPTY */
export async function judgeFiles(host: Host, draft: ProposalDraft, base: string): Promise<Report> {
  return withPreparing(host, (world) => judge(world, draft, base));
}

/** Replaces a blocked proposal, or an open one of the same person and title, that touches no other files, so that a repaired one leaves no broken one. */
async function supersede(host: Host, proposal: Proposal): Promise<void> {
  const { id, number, title, by, files } = proposal;
  const store = createProposals(host);
  const paths = files.map(({ path }) => path);
  const from: readonly ProposalState[] = OPEN.filter((state) => state !== "approved");
  for (const old of await store.list()) {
    if (old.id === id || old.by !== by || !from.includes(old.state) || !old.files.every(({ path }) => paths.includes(path))) continue;
    // The answer to a card is not replaced by the answer to another one.
    if (answeredCard(old) !== answeredCard(proposal) || (old.title !== title && old.state !== "blocked")) continue;
    const why = `Proposal ${number} replaces it.`;
    await store.update(old.id, { state: "superseded", by, why, decisions: ownNo(host, old, why) }, { from });
  }
}

/** Checks a proposal on HEAD; afterwards it is ready or blocked. @throws PROPOSAL_UNKNOWN */
export async function checkProposal(host: Host, id: string | number): Promise<ShownProposal> {
  return showProposal(host, (await prepareProposal(host, id)).id);
}

/** @throws PROPOSAL_UNKNOWN */
export async function showProposal(host: Host, id: string | number): Promise<ShownProposal> {
  const store = createProposals(host);
  const proposal = await store.get(id);
  const rejected = (await store.rejectedOn(proposal.files.map(({ path }) => path))).filter((one) => one.id !== proposal.id);
  const name = host.cards.get(proposal.number)?.name ?? String(proposal.number);
  return { proposal, name, rejected, timezone: (await host.config()).timezone };
}

export async function listProposals(host: Host): Promise<{ proposals: Proposal[]; unreadable: { id: string; why: string }[] }> {
  const store = createProposals(host);
  return { proposals: await store.list(), unreadable: await store.unreadable() };
}

/** What a report omits: everything that would change in a recorded run, as lines. */
export type RunLines = Pick<RunDifference, "run" | "class" | "why">;

// A large import has thousands of lines.
const RUNS_AT_ONCE = 5;

/**
 * What a proposal would change in an agent's recorded runs on HEAD, a few at a time, newest first; unchanged runs are omitted.
 * `next`: where to continue, or null. @throws PROPOSAL_UNKNOWN
 */
export async function differencesOf(
  host: Host,
  { id, agent, from }: { id: string | number; agent: string; from: number },
): Promise<{ runs: RunLines[]; next: number | null }> {
  const proposal = await createProposals(host).get(id);
  const tree = host.git.tree(await host.git.head());
  const code = codeOver(tree, new Map(Object.entries(await textsOf(host.git, proposal, tree))));
  const ids = await idsOf(agent, { days: BACKTEST_DAYS }, host);
  const runs: RunLines[] = [];
  const compared = async ({ difference: { run, class: kind, why } }: Compared) => {
    if (kind !== "same") runs.push({ run, class: kind, why });
  };
  const which = { runs: ids.slice(from, from + RUNS_AT_ONCE) };
  await backtest(agent, code, { tree, changed: [] }, which, host, { name: proposal.id, compared });
  runs.sort((a, b) => ids.indexOf(a.run) - ids.indexOf(b.run));
  return { runs, next: from + RUNS_AT_ONCE < ids.length ? from + RUNS_AT_ONCE : null };
}

/** The change of a proposal as a patch. @throws PROPOSAL_UNKNOWN */
export async function patchOf(host: Host, id: string | number): Promise<string> {
  return createSideRefs(host.dir).patch(await createProposals(host).commitOf(id));
}

/** Withdraws an undecided proposal; only its proposer can. @throws PROPOSAL_STATE, APPROVAL_IDENTITY */
export async function withdrawProposal(host: Host, id: string | number, by: string, reason: string): Promise<ShownProposal> {
  const store = createProposals(host);
  const proposal = await store.get(id);
  if (proposal.by !== by)
    throw new ClearedError(
      "APPROVAL_IDENTITY",
      `Proposal ${proposal.number} is by ${proposal.by}, and only its proposer can withdraw it. \`cleared reject ${proposal.number} --reason ...\` rejects it.`,
    );
  const from = OPEN.filter((state) => state !== "approved");
  const why = reason === "" ? `${WITHDRAWN}${proposal.by}.` : `${WITHDRAWN}${proposal.by}: ${reason}`;
  const change = { state: "superseded" as const, by: proposal.by, why, decisions: ownNo(host, proposal, why) };
  await store.update(proposal.id, { ...change, says: `withdrawn by ${proposal.by}` }, { from });
  return showProposal(host, proposal.id);
}

/** The proposer's signed rejection, which proves the withdrawal to other clones; none for a proposer without a key, such as an agent. */
function ownNo({ dir, trust, clock }: Host, proposal: Proposal, reason: string): Decision[] {
  if (!holdersHere(trust).some(({ person }) => person.name === proposal.by)) return [];
  const no = { card: proposal.number, gate: gateOf(proposal), decision: "rejected" as const, at: clock.now(), reason };
  return [signAs(dir, trust, no, proposal.by)];
}

/** Checks a proposal on HEAD in this process: afterwards it is ready or blocked. @throws PROPOSAL_UNKNOWN, PROPOSAL_STATE */
export async function prepareProposal(host: Host, id: string | number, report?: Report): Promise<Proposal> {
  return withPreparing(host, async (world, looked) => {
    const proposal = await prepare(world, id, report);
    const subject = looked();
    // Once it is applied, its code is marked as checked.
    if (subject !== null && proposal.report !== null) await noteSubject(host, subject, proposal.report.checks);
    return proposal;
  });
}

/** `looked`: what the checks have covered so far. */
async function withPreparing<T>(host: Host, work: (world: Preparing, looked: () => Subject | null) => Promise<T>): Promise<T> {
  const cache = cacheOf(host.dir);
  let looked: Subject | null = null;
  const world: Preparing = {
    ...host,
    around: { sandbox: host.sandbox, registry: host.registry, trust: host.trust, cache, nextTick },
    async subject(base, tree, paths) {
      const subject = await subjectOf(host, base, tree, paths);
      if (tree !== base) looked = subject;
      return subject;
    },
    vouch: (gate) => {
      try {
        return signAs(host.dir, host.trust, { card: 0, gate, decision: "approved", at: host.clock.now() });
      } catch (error) {
        // Without a key of a person of trust.yaml, the results count in this clone only.
        return onCode("APPROVAL_IDENTITY", () => null)(error);
      }
    },
    progress: (done, total) => void (host.progress.tried = { done, total }),
  };
  try {
    return await work(world, () => looked);
  } finally {
    delete host.progress.tried;
  }
}

type Wishing = Pick<Host, "dir" | "clock" | "git" | "database" | "cards" | "config">;

async function rulesOf(host: Pick<Host, "config">): Promise<IntakeRules> {
  const { changes, timezone } = await host.config();
  return { ...changes, timezone };
}

/** Outside a live run only the paths are checked: a trial leaves no trace and meets no limit. */
export async function admitWish(
  host: Wishing,
  { run, base }: { run: RunRecord; base: Tree },
  wish: ProposalRequest,
  own: number,
): Promise<{ accepted: boolean; proposal: string | null; reason: string }> {
  const draft = { ...wish, by: `agent:${run.agent}` };
  if (run.mode === "live") return admit(host, { base: base.commit, draft }, await rulesOf(host), { own });
  const problems = await problemsOf(draft.files, { by: draft.by, head: base, reason: draft.reason });
  return { accepted: problems.length === 0, proposal: null, reason: problems.map(({ message }) => message).join(" ") };
}

/** Turns requests that runs have released into checked proposals; `note` is called for each. One call at a time. */
export async function settleProposals(host: Host, note: (message: string) => void): Promise<void> {
  const check = (id: string) => prepareProposal(host, id);
  const made = await settleDrafts(host, () => rulesOf(host), check);
  for (const one of made) note(`${one.by} proposes: ${one.title}. \`cleared proposals show ${one.number}\``);
}
