/** Proposals that passed their checks, for the tests of what comes after: decide, apply, undo. */
import type { Host } from "../../runtime/app/host.ts";
import { asked } from "../../runtime/app/decide.ts";
import { signAs } from "../../runtime/app/identity.ts";
import { type DecidedProposal, type Prepare, decideProposal } from "../../runtime/change/proposals/apply.ts";
import { rememberReport } from "../../runtime/change/proposals/deciding.ts";
import { createProposals } from "../../runtime/change/proposals/store.ts";
import type { Proposal, ProposalDraft, Report } from "../../runtime/change/proposal-types.ts";
import type { Card, Decision } from "../../runtime/kernel/ports.ts";

export const script = (n: number | string): string => `/*\nname: Hello\nuses: [ctx]\n*/\nctx_log("${n}");\n"${n}"\n`;

export const reportOn = (on: string, at: number, more: Partial<Report> = {}): Report => ({
  on,
  at,
  checks: [],
  widening: [],
  backtests: [],
  cases: { passed: 0, failed: [], open: [], fixed: [] },
  dryRun: [],
  freezes: {},
  level: null,
  levels: [],
  approvals: 1,
  ...more,
});

/** A check that finds what it is told to. */
export function checking(owner: Host, more: Partial<Report> = {}, state: "ready" | "blocked" = "ready"): Prepare {
  return async (id) => {
    const store = createProposals(owner);
    await store.update(id, { state: "checking" }, { from: ["draft", "ready", "blocked"] });
    const report = reportOn(await owner.git.head(), owner.clock.now(), more);
    await store.update(id, { state, report, ...(state === "blocked" ? { why: "types: 1 finding" } : {}) }, { from: ["checking"] });
    rememberReport(owner.database, id, state === "ready" ? report : null);
  };
}

/** A proposal on HEAD that waits for a person. */
export async function ready(
  owner: Host,
  files: ProposalDraft["files"],
  more: Partial<ProposalDraft> = {},
  report: Partial<Report> = {},
): Promise<Proposal> {
  const store = createProposals(owner);
  const draft = { title: "Say it better", reason: "It was unclear.", by: "agent:learner", files, ...more };
  const { proposal } = await store.create(draft, await owner.git.head());
  await checking(owner, report)(proposal.id);
  return store.get(proposal.id);
}

export function cardOf(owner: Host, { number }: Proposal): Card {
  const card = owner.cards.get(number);
  if (card === null) throw new Error(`no card ${number}`);
  return card;
}

/** What the workspace's person says to the proposal, signed. */
export function says(owner: Host, proposal: Proposal, decision: Decision["decision"], more: Partial<Decision> = {}): Decision {
  const card = cardOf(owner, proposal);
  return signAs(owner.dir, owner.trust, { ...asked(card), decision, at: owner.clock.now(), ...more });
}

export function decide(
  owner: Host,
  proposal: Proposal,
  decision: Decision["decision"] = "approved",
  more: Partial<Decision> = {},
): Promise<DecidedProposal> {
  return decideProposal(owner, cardOf(owner, proposal), says(owner, proposal, decision, more), checking(owner, {}));
}

/** The code and message a call ends with. */
export async function failure(work: Promise<unknown>): Promise<{ code: string; message: string }> {
  return work.then(
    () => ({ code: "none", message: "" }),
    (error: { code?: string; message: string }) => ({ code: error.code ?? "?", message: error.message }),
  );
}

/** An approval on the report that it has now. */
export const approvalOf = ({ report }: Proposal): { since: number; last: string } => ({ since: report?.at ?? 0, last: "" });
