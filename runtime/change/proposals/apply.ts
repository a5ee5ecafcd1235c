/**
 * A person's decision on a proposal, and the one commit it becomes. Order: the state ref says approved (durable, signed), then the
 * committer makes the commit, then the state says applied. Killed in between, `settleApproved` finds the commit by its trailer or makes it.
 */
import { type Tally, tally } from "../../engine/approval.ts";
import { createAuthority } from "../../engine/authority.ts";
import { closed } from "../../engine/store/cards.ts";
import { ClearedError, onCode } from "../../kernel/errors.ts";
import type { Card, Decision, Engine, Once, Tree } from "../../kernel/ports.ts";
import type { Config, Trust } from "../../workspace/settings/config.ts";
import { authorOf } from "./author.ts";
import { conflictOf, filesOf, messageOf } from "./commit.ts";
import {
  type Approval,
  approvalsHere,
  countedOf,
  forgetApproval,
  differenceThatMatters,
  isOwnReport,
  lastWord,
  questionOf,
  rememberApproval,
} from "./deciding.ts";
import { hasMoved } from "./proof.ts";
import { ASKING, type ProposalStore, type ProposalWorld, UNDECIDED, createProposals } from "./store.ts";
import type { Proposal, ProposalState, Report } from "../proposal-types.ts";
import { demandsOf } from "../widening/widening.ts";

/** What deciding needs of a workspace; `Host` (app/host.ts) provides it. */
export interface ApplyWorld extends ProposalWorld {
  trust: Trust;
  engine: Pick<Engine, "list">;
  config(tree?: Tree): Promise<Config>;
  world: { sent: Once };
}

/** Checks a proposal on HEAD; afterwards its state is ready or blocked, with a new report. */
export type Prepare = (id: string) => Promise<unknown>;

export interface DecidedProposal {
  proposal: Proposal;
  /** The commit on the branch, once the decision has led to one. */
  commit: string | null;
  /** The approvals so far, while more are needed; else null. */
  open: Tally | null;
}

export interface Settled {
  applied: Proposal[];
  waiting: { proposal: Proposal; why: string }[];
}

/** The world, its proposals, and how one is checked. */
type Applying = ApplyWorld & { store: ProposalStore; prepare: Prepare };

/** Ids whose approval this process, the workspace's only owner, is recording or checking again now. */
const underway = new Set<string>();

const notNow = (message: string): ClearedError => new ClearedError("PROPOSAL_STATE", message);

/**
 * Decides the proposal of a card. The signature has been verified by the caller; everything else is checked here.
 * @throws CARD_CLOSED (who decided, and when), PROPOSAL_STATE, APPROVAL_*, GIT_STATE, USAGE
 */
export async function decideProposal(world: ApplyWorld, card: Card, decision: Decision, prepare: Prepare): Promise<DecidedProposal> {
  const store = createProposals(world);
  const { proposal: id = "" } = card.body as { proposal?: string };
  let proposal = await store.get(id);
  const decided = lastWord(proposal, card);
  if (decided !== null) throw closed(card.id, decided);
  if (decision.decision !== "approved" && decision.decision !== "rejected")
    throw new ClearedError("USAGE", `Proposal ${card.id} is approved or rejected as it is; to change it, propose again.`);
  const authority = createAuthority(world.trust.people, (await world.config()).policy);
  const author = await authorOf(world, proposal);
  const assertCounts = () => {
    const objection = authority.objection(questionOf({ ...proposal, author }, world.trust.people.length), decision);
    if (objection !== null) throw objection;
  };
  assertCounts();
  // An approval refers to the report shown last; a report made meanwhile is compared with it.
  const approval = { since: proposal.report?.since ?? proposal.report?.at ?? 0, last: decision.signature ?? "" };
  const { since } = approval;
  try {
    if (decision.decision === "rejected") {
      const change = { state: "rejected" as const, why: decision.reason ?? null, by: decision.by, decisions: [decision] };
      return { proposal: await store.update(id, change, { from: UNDECIDED }), commit: null, open: null };
    }
    assertReady(proposal, decision);
    await assertFree(world, proposal);
    proposal = await onToday({ ...world, store, prepare }, proposal);
    assertReady(proposal, decision);
    assertCounts();
    const question = questionOf({ ...proposal, author }, world.trust.people.length);
    const count = (now: Proposal) => tally(question, countedOf(now, since, decision.signature ?? "", decision), authority);
    if (count(proposal).decision === null) {
      const change = { state: proposal.state, by: decision.by, says: `${decision.by} approved` };
      const known = proposal.decisions.some((one) => one.by === decision.by && one.at >= since);
      if (!known) proposal = await store.update(id, { ...change, decisions: [decision] }, { from: ASKING });
      const open = count(proposal);
      if (open.decision === null) return { proposal, commit: null, open };
    }
    underway.add(id);
    rememberApproval(world.database, proposal, approval);
    const recorded = proposal.decisions.some((one) => one.signature === decision.signature);
    const change = { state: "approved" as const, by: decision.by, decisions: recorded ? [] : [decision] };
    proposal = await store.update(id, change, { from: ASKING });
  } catch (error) {
    // Somebody else was faster: the second person is told who, and when.
    const now = await store.get(id);
    const first = lastWord(now, card);
    throw first !== null && error instanceof ClearedError && error.code === "PROPOSAL_STATE" ? closed(card.id, first) : error;
  } finally {
    underway.delete(id);
  }
  const applied = await applyApproved({ ...world, store, prepare }, proposal, approval);
  return { proposal: applied, commit: applied.applied, open: null };
}

/**
 * Completes an approval that was interrupted before its commit, or a commit before its state. Called when an owner starts and before any
 * command about proposals. Returns what it applied, and what it could not and why.
 */
export async function settleApproved(world: ApplyWorld, prepare: Prepare): Promise<Settled> {
  const { applied, waiting }: Settled = { applied: [], waiting: [] };
  const here = approvalsHere(world.database);
  if (here.size === 0 || (await world.git.blockedBy()) !== null) return { applied, waiting };
  const store = createProposals(world);
  for (const proposal of await store.list()) {
    const approval = here.get(proposal.id);
    if (approval?.commit !== proposal.commit) continue;
    if (underway.has(proposal.id)) continue;
    if (proposal.state !== "approved") {
      forgetApproval(world.database, proposal);
      continue;
    }
    const waits = onCode(["CONFIG_INVALID", "GIT_STATE", "PROPOSAL_STATE"], ({ message: why }) => void waiting.push({ proposal, why }));
    const done = await applyApproved({ ...world, store, prepare }, proposal, approval).catch(waits);
    if (done !== undefined) applied.push(done);
  }
  return { applied, waiting };
}

function assertReady(proposal: Proposal, { despite = "" }: Decision): void {
  const { number, state, report, why } = proposal;
  if (state === "unproven" && despite.trim() === "")
    throw notNow(
      `Proposal ${number} is unproven: ${why ?? ""} Approve it where its recorded runs are, or, to approve it although it is unproven, \`cleared approve ${number} --despite REASON\`.`,
    );
  if (ASKING.includes(state) && report !== null) return;
  const no = (what: string, todo: string) => notNow(`Proposal ${number} ${what} and cannot be approved. ${todo}`);
  if (state === "superseded")
    throw no(
      `is closed without a decision${why === null ? "" : `: ${why.replace(/\.$/, "")};`}`,
      "Propose it again if it is still wanted.",
    );
  if (state === "blocked")
    throw no(
      `is blocked${why === null ? "" : `: ${why.replace(/\.$/, "")};`}`,
      `\`cleared proposals show ${number}\` has the findings; propose again when they are dealt with.`,
    );
  const what = state === "checking" ? "is being checked" : "has not been checked yet";
  throw no(what, `\`cleared proposals check ${number}\` looks at it now; then decide.`);
}

/** Refuses a decision whose commit could not be made now, or that no check could confirm. @throws GIT_STATE, CONFIG_INVALID */
async function assertFree({ git, config }: ApplyWorld, proposal: Proposal): Promise<void> {
  const blocked = await git.blockedBy();
  if (blocked !== null) throw new ClearedError("GIT_STATE", blocked);
  await config(git.tree(await git.head()));
  const edited = await git.edited(pathsOf(proposal));
  if (edited.length > 0)
    throw new ClearedError(
      "GIT_STATE",
      `${edited.join(", ")} has uncommitted edits of yours, and proposal ${proposal.number} changes it. Commit or undo them, or propose them, then decide again. Nothing was changed.`,
    );
}

const pathsOf = ({ files, report }: Proposal): string[] => [...files.map(({ path }) => path), ...Object.keys(report?.freezes ?? {})];

/** The proposal on HEAD: as checked, or checked again if the code has moved or the report was not made here. @throws PROPOSAL_STATE */
async function onToday(world: Applying, proposal: Proposal): Promise<Proposal> {
  const { store, prepare } = world;
  const head = await world.git.head();
  const conflict = await conflictOf(world, proposal, world.git.tree(head));
  if (conflict !== null) throw await block(store, proposal, conflict, ASKING);
  const report = proposal.report as Report;
  if (isOwnReport(world.database, proposal) && !(await hasMoved(world, report, head))) return proposal;
  await prepare(proposal.id);
  const now = await store.get(proposal.id);
  const other = whyDifferent(report, now);
  if (other === null) return now;
  throw notNow(
    `Proposal ${now.number} looks different on today's code than when it was last shown (${other}). Look at it again with \`cleared proposals show ${now.number}\`, then decide it as ${world.cards.get(now.number)?.name ?? now.number}.`,
  );
}

function whyDifferent(was: Report, { state, why, report }: Proposal): string | null {
  if (!ASKING.includes(state) || report === null) return `it is ${state}${why === null ? "" : `: ${why}`}`;
  if (report.at === was.at && report.on === was.on) return "it was not checked again";
  return differenceThatMatters(was, report);
}

async function block(store: ProposalStore, { id, number }: Proposal, why: string, from: readonly ProposalState[]): Promise<ClearedError> {
  await store.update(id, { state: "blocked", why }, { from });
  return notNow(`Proposal ${number} cannot be applied: ${why}`);
}

/** An approved proposal after HEAD moved: still approved if a new report says the same, else waiting again. @throws PROPOSAL_STATE */
async function approvedAnew({ store, prepare, database }: Applying, { id, number, report }: Proposal): Promise<Proposal> {
  underway.add(id);
  try {
    await store.update(id, { state: "ready", why: "It was approved, and is checked again before it is applied." }, { from: ["approved"] });
    await prepare(id);
    const now = await store.get(id);
    const other = whyDifferent(report as Report, now);
    if (other === null) return await store.update(id, { state: "approved" }, { from: ASKING });
    const why = `It was approved, and looks different on what is there today (${other}), so it was not applied. Decide it again.`;
    if (ASKING.includes(now.state)) await store.update(id, { state: now.state, why }, { from: [now.state] });
    forgetApproval(database, now);
    throw notNow(`Proposal ${number} is ${now.state}: ${why}`);
  } finally {
    underway.delete(id);
  }
}

/** Makes the commit of an approved proposal, once, and records it in its state. again: it was just rechecked. @throws GIT_STATE, PROPOSAL_STATE */
async function applyApproved(world: Applying, proposal: Proposal, approval: Approval, again = false): Promise<Proposal> {
  const { git, trust, store } = world;
  // The refs may come from another clone: their report and state are not trusted, and the approvals are counted again.
  const { policy } = await world.config(git.tree(await git.head()));
  const authority = createAuthority(trust.people, policy);
  const { report } = proposal;
  const once = `proposal ${proposal.id}`;
  if (proposal.applied === null && world.world.sent.has(once))
    throw await block(store, proposal, "it was applied before, and was taken back or is an older state. Propose it again.", ["approved"]);
  if (report === null || !isOwnReport(world.database, proposal))
    throw await block(store, proposal, "what it was approved on is not a report of this workspace. Propose it again.", ["approved"]);
  const now = demandsOf(report.widening, trust, policy, proposal.asked);
  const question = questionOf({ ...proposal, author: await authorOf(world, proposal) }, trust.people.length, now);
  const counted = tally(question, countedOf(proposal, approval.since, approval.last), authority);
  if (counted.decision === null)
    throw await block(store, proposal, "not enough of its approvals count under the present trust.yaml. Propose it again.", ["approved"]);
  const despite = proposal.decisions.flatMap((one) => (counted.people.includes(one.by) ? (one.despite ?? []) : []));
  // Runs end all the time; one more must not cause an endless series of checks.
  const { rests: _, ...code } = report;
  let [conflict, moved]: [string | null, boolean] = [null, false];
  const done = await git.commit({
    message: messageOf(proposal),
    trailers: {
      Proposal: proposal.id,
      "Proposed-by": proposal.by,
      ...(proposal.asked == null ? {} : { "Written-by": proposal.asked.model }),
      "Approved-by": counted.people.join(", "),
      ...(despite.length === 0 ? {} : { Despite: [...new Set(despite)].join("; ") }),
    },
    build: async (head) => {
      // Read again at each try: a commit with this trailer may have been made meanwhile.
      if ((await store.get(proposal.id)).applied !== null) return new Map();
      conflict = await conflictOf(world, proposal, head);
      moved = conflict === null && (await hasMoved(world, again ? code : report, head.commit));
      return conflict === null && !moved ? filesOf(git, proposal, head) : new Map();
    },
  });
  if (conflict !== null) throw await block(store, proposal, conflict, ["approved"]);
  if (moved) return applyApproved(world, await approvedAnew(world, proposal), approval, true);
  const waits = (why: string) =>
    new ClearedError(
      "GIT_STATE",
      `Proposal ${proposal.number} is approved and is applied as soon as it can be, with the next command or by \`cleared start\`: ${why}`,
    );
  if (done.status === "user_edit") throw waits(`${done.paths.join(", ")} has uncommitted edits of yours. Commit or undo them.`);
  if (done.status === "blocked") throw waits(done.reason);
  const commit = done.status === "committed" ? done.commit : (await store.get(proposal.id)).applied;
  if (commit === null) throw await block(store, proposal, "its files are already on the branch as proposed.", ["approved"]);
  const applied = await store.update(proposal.id, { state: "applied", applied: commit }, { from: ["approved", "applied"] });
  forgetApproval(world.database, applied);
  world.world.sent.keep(once);
  return applied;
}
