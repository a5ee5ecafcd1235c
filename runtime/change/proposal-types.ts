/**
 * A proposal is a change that waits for a person. Its content is a commit on refs/cleared/proposals/<id>/change, its life
 * (report, decisions, state) a chain of commits on refs/cleared/proposals/<id>/state, so both can be read and pushed with plain git.
 */
import { z } from "zod";
import type { CheckResult } from "./checks/findings.ts";
import type { BacktestReport, CasesTold } from "./evidence/types.ts";
import type { Decision, Json } from "../kernel/ports.ts";
import { WIDENINGS, type WideningKind } from "../workspace/settings/people.ts";

export type { CheckFinding, CheckName, CheckResult } from "./checks/findings.ts";

export const PROPOSAL_STATES = [
  "draft", // recorded, not looked at yet
  "checking",
  "ready", // passed: waits for a person
  "unproven", // passed, and no recorded run proves it: waits for a person who says so
  "blocked", // a check failed: waits for its proposer
  "approved", // decided, its commit is about to be made
  "rejected",
  "superseded", // by another proposal, or withdrawn
  "applied",
  "reverted",
] as const;
export type ProposalState = (typeof PROPOSAL_STATES)[number];

export interface ProposedFile {
  path: string;
  /** What becomes of the file; a rename is one removed and one added. */
  change: "added" | "changed" | "removed";
}

/** What a claim may be about: what a change adds, what it does otherwise to recorded runs, what it widens; or that there is nothing else. */
const CLAIM_KINDS = [
  ...(["agent_added", "agent_changed", "agent_removed", "tool_added", "rule", "threshold", "run_mended"] as const),
  ...(["entries_changed", "calls_changed", "notices_changed", "nothing_else"] as const),
  ...WIDENINGS,
] as const;
export type ClaimKind = (typeof CLAIM_KINDS)[number];

const claimText = z.string().max(300);
/** What a proposer says of a change, as data: it is compared with what is computed (proposals/claims.ts). */
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

/** What a change brings with it that a model wrote for a request (runtime/meta/). */
export const askedSchema = z.strictObject({
  /** Number of the request in the workspace that made it. */
  request: z.int().min(1),
  /** When it was asked, ms: requests of two clones have the same number. */
  at: z.int().exactOptional(),
  model: claimText,
  claims: z.array(claimSchema).max(50),
  /** The model's own words. */
  says: z.string().max(2000),
  /** Where text from outside of the business stood in its conversation. */
  outside: z.array(claimText).max(20),
  /** What became of each computation when it was derived a second time. */
  derived: z.array(claimText).max(50).exactOptional(),
});
export type AskedFor = z.output<typeof askedSchema>;

export interface Proposal {
  /** prop_ and 10 base32 letters. */
  id: string;
  /** Number of its card in this workspace's store, which is what people type. Another clone may count differently. */
  number: number;
  title: string;
  /** Why it is proposed, in the proposer's words; "" when not told. */
  reason: string;
  /** A person of trust.yaml, `agent:NAME`, or "somebody without a key". */
  by: string;
  /** Who started the run in which an agent proposed it; null: no person did. */
  starter?: string | null;
  at: number;
  /** When it came into the state it is in, ms. */
  since: number;
  /** Commit it was made on, and its own commit, whose parent that is. */
  base: string;
  commit: string;
  files: ProposedFile[];
  state: ProposalState;
  /** Why it is in this state, in one sentence; null when there is nothing to add. */
  why: string | null;
  /** Null: no model wrote it. */
  asked?: AskedFor | null;
  /** The proposer's reason for a change that makes recorded runs come out worse on purpose; only a person can give one. */
  despite: string | null;
  report: Report | null;
  decisions: Decision[];
  /** The commit on the branch, once applied; the one that took it back, once reverted. */
  applied: string | null;
  reverted: string | null;
  /** Waits for an answer on a report that was not made here. */
  isForeign?: true;
}

export type { WideningKind };

/** What a change says otherwise, when it widens nothing. */
export type ChangeKind = WideningKind | "account" | "rate" | "value" | "condition" | "text" | "header" | "code";

/** Lines of these come first, and never stand behind "and N more" of what is milder. */
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

/** What the files of a change say otherwise than before: what of it widens, and the rest. */
export interface Changed {
  widening: Widening[];
  changes: TextChange[];
}

/** What is known of a proposal: everything its card is written from. */
export interface Report {
  /** Commit of the branch it was checked on. */
  on: string;
  at: number;
  checks: CheckResult[];
  widening: Widening[];
  /** What else its files say otherwise. */
  changes?: TextChange[];
  /** One for each agent the change reaches. */
  backtests: BacktestReport[];
  cases: CasesTold;
  /** What the dry run would have done, by agent, in lines; for people. */
  dryRun: { agent: string; lines: string[] }[];
  /** Names that the agents of the change have in their headers, by path (card.ts `namesOf`). */
  names?: Record<string, string>;
  /** Recorded runs that failed and come to a good end on it. */
  mended?: string[];
  /** Cases that approving it adds: path -> text of the file. */
  freezes: Record<string, string>;
  /** Why no recorded run proves it, a sentence each; a yes to it then says so. */
  unproven?: string[];
  /** Agents whose backtest was made in another clone, and who vouches for it, by agent (proof.ts). */
  elsewhere?: string[];
  vouched?: Record<string, Decision>;
  /** What it rests on beside the commit: when one of the digests is another, it is looked at again. */
  rests?: { people: string; runs: string };
  /** Since when a yes counts for it: that of the report it continues without a difference that matters. */
  since?: number;
  /** Rank or role that must decide, by trust.yaml `changes:`, and how many people; null and 1 unless told. */
  level: string | null;
  levels: string[];
  approvals: number;
}

/** What somebody asks for: files as they shall be. */
export interface ProposalDraft {
  title: string;
  reason: string;
  by: string;
  /** Text by path; null removes the file. */
  files: Record<string, string | null>;
  despite?: string;
  /** Kept with it: the run and step that asked. */
  from?: Json;
  /** Whoever started that run, for a person with a key. */
  starter?: string | undefined;
  asked?: AskedFor;
}
