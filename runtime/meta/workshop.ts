/**
 * The meta-agent's workspace: one commit with its own edits over it. app/asks.ts builds it; it can read, check and try, and submit a change in
 * the same way as a person.
 */
import { z } from "zod";
import type { CheckResult } from "../change/checks/findings.ts";
import type { TrialEnvironment } from "../change/evidence/trial-environment.ts";
import type { Trial } from "../change/evidence/types.ts";
import type { Proposal, ProposalDraft, Report } from "../change/proposal-types.ts";
import { formatAt } from "../kernel/errors.ts";
import type { Cards, Finding, Json, LlmMessage, Tools, Tree } from "../kernel/ports.ts";
import type { Registry } from "../kernel/registry.ts";
import type { Ask, AskEnd, Asks } from "./requests.ts";

/** Text by path; null removes the file. */
export type Files = ReadonlyMap<string, string | null>;

/** What is returned to the writer before its request ends: nothing, findings, or findings and backtests, the default outside of evaluations. */
export const ARMS = ["none", "findings", "backtest"] as const;
export type Arm = (typeof ARMS)[number];

export interface Workshop {
  arm: Arm;
  /** The commit on which the request works. */
  base: Tree;
  /** The proposer: whoever asked. */
  by: string;
  /** The workspace with its recorded runs. */
  bench: TrialEnvironment & { cards: Pick<Cards, "list"> };
  asks: Asks;
  registry(): Promise<Registry>;
  /** Tools of the servers in trust.yaml. @throws TOOL_DOWN */
  tools(): ReturnType<Tools["list"]>;
  /** The tree of a commit of this branch. @throws USAGE */
  treeAt(commit: string): Promise<Tree>;
  /** Findings about one file of the draft, without running anything. */
  parse(files: Files, path: string): Promise<Finding[]>;
  check(files: Files): Promise<CheckResult[]>;
  /** Why these files cannot be one proposal. */
  problems(files: Files): Promise<Finding[]>;
  judge(draft: ProposalDraft): Promise<Report>;
  propose(draft: ProposalDraft, report: Report): Promise<Proposal>;
  proposals(): Promise<Proposal[]>;
  /** One question in a separate conversation, to the judge's model if that role is set; returns its text. @throws LLM_* */
  derive(system: string, text: string): Promise<string>;
  rejectedOn(paths: readonly string[]): Promise<Proposal[]>;
}

/** An execution that the writer has seen, by name. */
export interface Tried {
  /** All its input from the writer: the script, the draft, the input. */
  given: string;
  trial: Trial;
}

/** The state of a conversation; all but `tried` follows from its messages. */
export interface Situation {
  ask: Ask;
  model: string;
  files: Map<string, string | null>;
  tried: Map<string, Tried>;
  /** Submissions and answers that were returned, with their findings. */
  refused: string[][];
  messages: readonly LlmMessage[];
}

/** The result of a tool. */
export interface ToolResult {
  result: Json;
  /** A progress line: `reads agents/ingest.ts`. */
  note: string;
  failed?: true;
  /** Ends the request. */
  end?: AskEnd;
}

/** A tool of the meta-agent. */
interface Declared<P extends z.ZodType> {
  about: string;
  params: P;
  run(params: z.output<P>, at: Situation, shop: Workshop): Promise<ToolResult>;
}
export type Tool = Declared<z.ZodType>;

export const tool = <P extends z.ZodType>(one: Declared<P>): Tool => one as unknown as Tool;
export const words = (most: number) => z.string().min(1).max(most);

/** A refusal. */
export const no = (message: string, note: string): ToolResult => ({ result: { error: message }, note: `${note}: refused`, failed: true });

/** Findings as lines. */
export const told = (findings: readonly Finding[]): string[] =>
  findings.slice(0, 20).map(({ code, at, message }) => `${formatAt(at)} ${code}: ${message.slice(0, 600)}`);
