/**
 * A proposal is a change that waits for a person. Its content is a commit on refs/cleared/proposals/<id>/change, its history (report,
 * decisions, state) a chain of commits on refs/cleared/proposals/<id>/state, so both can be read and pushed with plain git.
 */
import { z } from "zod";
import type { CheckResult } from "./checks/findings.ts";
import type { BacktestReport, CasesTold } from "./evidence/types.ts";
import type { Decision, Json } from "../kernel/ports.ts";
import { WIDENINGS, type WideningKind } from "../workspace/settings/people.ts";

export type { CheckFinding, CheckName, CheckResult } from "./checks/findings.ts";

export const PROPOSAL_STATES = [
  "draft", // recorded, not checked yet
  "checking",
  "ready", // passed: waits for a decision
  "unproven", // passed, but no recorded run proves it: the approval must say so
  "blocked", // a check failed: waits for its proposer
  "approved", // decided, its commit is about to be made
  "rejected",
  "superseded", // replaced by another proposal, or withdrawn
  "applied",
  "reverted",
] as const;
export type ProposalState = (typeof PROPOSAL_STATES)[number];

export interface ProposedFile {
  path: string;
  /** A rename is one removed and one added file. */
  change: "added" | "changed" | "removed";
}

/** What a claim may be about: an addition, a changed result of recorded runs, a widened right; or that there is nothing else. */
const CLAIM_KINDS = [
  ...(["agent_added", "agent_changed", "agent_removed", "tool_added", "rule", "threshold", "run_mended"] as const),
  ...(["entries_changed", "calls_changed", "notices_changed", "nothing_else"] as const),
  ...WIDENINGS,
] as const;
export type ClaimKind = (typeof CLAIM_KINDS)[number];

const claimText = z.string().max(300);
/** A proposer's statement about a change, as data; it is compared with the computed facts (proposals/claims.ts). */
export const claimSchema = z.strictObject({
  kind: z.enum(CLAIM_KINDS),
  /** An agent, a file, a rule's text, a setting's key, a tool. */
  subject: claimText,
  from: claimText.exactOptional(),
  to: claimText.exactOptional(),
  count: z.int().min(0).exactOptional(),
  amount: z
    .string()
    .regex(/^-?\d{1,20}(?:\.\d{1,18})?$/)
    .exactOptional(),
});
export type Claim = z.output<typeof claimSchema>;

/** What accompanies a change that a model wrote for a request (runtime/meta/). */
export const askedSchema = z.strictObject({
  /** Number of the request in the workspace that made it. */
  request: z.int().min(1),
  /** Time of the request, ms: requests of two clones may have the same number. */
  at: z.int().exactOptional(),
  model: claimText,
  claims: z.array(claimSchema).max(50),
  /** The model's own words. */
  says: z.string().max(2000),
  /** Places in its conversation where text from outside of the business occurred. */
  outside: z.array(claimText).max(20),
  /** The result of deriving each computation a second time. */
  derived: z.array(claimText).max(50).exactOptional(),
});
export type AskedFor = z.output<typeof askedSchema>;

/** The state in a word: a proposal that ended without a decision was withdrawn by its proposer, or replaced by another. */
export const stateWord = ({ state, why }: Pick<Proposal, "state" | "why">): string =>
  state !== "superseded" ? state : why?.startsWith(WITHDRAWN) ? "withdrawn" : "replaced";

/** The number of the card of which a proposal is the answer, found by its reason; 0 for other proposals. */
export const answeredCard = ({ reason }: Pick<Proposal, "reason">): number => Number(/ card (\d{1,9})\.$/.exec(reason)?.[1] ?? 0);

/** How the reason of a withdrawn one begins. */
export const WITHDRAWN = "Withdrawn by ";

export interface Proposal {
  /** prop_ and 10 base32 letters. */
  id: string;
  /** Number of its card in this workspace's store, which people type. Another clone may use another number. */
  number: number;
  title: string;
  /** The proposer's reason; "" if none was given. */
  reason: string;
  /** A person of trust.yaml, `agent:NAME`, or "somebody without a key". */
  by: string;
  /** Who started the run in which an agent proposed it; null: not a person. */
  starter?: string | null;
  /** The proposer's over the change (proposals/author.ts); null where their key was not at hand. */
  signature?: string | null;
  /** Who counts as having made it. Default: as its change says. */
  author?: string;
  at: number;
  /** When it entered its state, ms. */
  since: number;
  /** The commit it was made on, and its own commit, a child of that. */
  base: string;
  commit: string;
  files: ProposedFile[];
  state: ProposalState;
  /** Why it is in this state, in one sentence; null if there is nothing to add. */
  why: string | null;
  /** Null: no model wrote it. */
  asked?: AskedFor | null;
  /** The proposer's reason for making recorded runs worse on purpose; only a person can give one. */
  despite: string | null;
  report: Report | null;
  decisions: Decision[];
  /** Its commit on the branch once applied; the commit that reverted it. */
  applied: string | null;
  reverted: string | null;
  /** Waits for a decision on a report that was not made here. */
  isForeign?: true;
}

export type { WideningKind };

/** Kinds of differences that widen no right. */
export type ChangeKind = WideningKind | "account" | "rate" | "value" | "condition" | "text" | "header" | "code";

/** These lines come first and are never hidden behind "and N more". */
export const GRAVE: readonly ChangeKind[] = ["capability", "recipient", "tool", "host", "gate", "policy"];

/** One line for the card, in plain words. */
export interface TextChange {
  kind: ChangeKind;
  text: string;
  at: { file: string; line?: number } | null;
}

export interface Widening extends TextChange {
  kind: WideningKind;
}

/** The differences of a change's files: those that widen rights, and the rest. */
export interface Changed {
  widening: Widening[];
  changes: TextChange[];
}

/** What is known about a proposal: everything its card is made from. */
export interface Report {
  /** The commit it was checked on. */
  on: string;
  at: number;
  checks: CheckResult[];
  widening: Widening[];
  /** Differences of its files that widen no right. */
  changes?: TextChange[];
  /** One for each agent that the change reaches. */
  backtests: BacktestReport[];
  cases: CasesTold;
  /** What the dry run would have done, by agent, as lines. */
  dryRun: { agent: string; lines: string[] }[];
  /** Names that the agents of the change have in their headers, by path (card.ts `namesOf`). */
  names?: Record<string, string>;
  /** Recorded runs that failed and end well with it. */
  mended?: string[];
  /** Cases that are added with its approval: text by path. */
  freezes: Record<string, string>;
  /** Why no recorded run proves it, one sentence each; an approval must acknowledge this. */
  unproven?: string[];
  /** Agents whose backtest was made in another clone, and who vouches for it, by agent (proof.ts). */
  elsewhere?: string[];
  vouched?: Record<string, Decision>;
  /** Digests of what it depends on besides the commit; if one changes, the proposal is checked again. */
  rests?: { people: string; runs: string };
  /** The time from which approvals count: that of an earlier report without a relevant difference. */
  since?: number;
  /** Rank or role that must decide, by trust.yaml `changes:`, and how many people; null and 1 by default. */
  level: string | null;
  levels: string[];
  approvals: number;
}

/** What is requested: files as they should be. */
export interface ProposalDraft {
  title: string;
  reason: string;
  by: string;
  /** Text by path; null removes the file. */
  files: Record<string, string | null>;
  despite?: string;
  /** The run and step that requested it. */
  from?: Json;
  /** Who started that run, if that person has a key. */
  starter?: string | undefined;
  asked?: AskedFor;
}
