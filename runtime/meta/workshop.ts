/**
 * What the meta-agent works with: the workspace at one commit with its own edits over it. app/asks.ts builds it; what is here can
 * look, check and try, and hand a change to the same place as a person does.
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

/** Text by path; null removes. */
export type Files = ReadonlyMap<string, string | null>;

/** What comes back to the writer before its request ends: nothing, findings, or findings and backtests, as always but in an evaluation. */
export const ARMS = ["none", "findings", "backtest"] as const;
export type Arm = (typeof ARMS)[number];

export interface Workshop {
  arm: Arm;
  /** The commit that the request works on. */
  base: Tree;
  /** Who proposes: whoever asked. */
  by: string;
  /** The workspace, with its recorded runs. */
  bench: TrialEnvironment & { cards: Pick<Cards, "list"> };
  asks: Asks;
  registry(): Promise<Registry>;
  /** What the servers of trust.yaml offer. @throws TOOL_DOWN */
  tools(): ReturnType<Tools["list"]>;
  /** The tree of a commit of this branch. @throws USAGE */
  treeAt(commit: string): Promise<Tree>;
  /** What is wrong with one file as it stands in the draft, without running anything. */
  parse(files: Files, path: string): Promise<Finding[]>;
  check(files: Files): Promise<CheckResult[]>;
  /** What keeps these files from being one proposal. */
  problems(files: Files): Promise<Finding[]>;
  judge(draft: ProposalDraft): Promise<Report>;
  propose(draft: ProposalDraft, report: Report): Promise<Proposal>;
  proposals(): Promise<Proposal[]>;
  /** One question in a conversation of its own, to another model where one plays the judge; its text. @throws LLM_* */
  derive(system: string, text: string): Promise<string>;
  rejectedOn(paths: readonly string[]): Promise<Proposal[]>;
}

/** An execution that the writer has seen, by its name. */
export interface Tried {
  /** All that the writer gave it: the script, its draft, the input. */
  given: string;
  trial: Trial;
}

/** Where a conversation stands; all but `tried` follows from its messages. */
export interface Situation {
  ask: Ask;
  model: string;
  files: Map<string, string | null>;
  tried: Map<string, Tried>;
  /** Changes and answers that were handed in and sent back, with what was found. */
  refused: string[][];
  messages: readonly LlmMessage[];
}

/** What a tool comes to. */
export interface ToolResult {
  result: Json;
  /** For whoever watches: `reads agents/ingest.ts`. */
  note: string;
  failed?: true;
  /** It ends the request. */
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

/** How it refuses. */
export const no = (message: string, note: string): ToolResult => ({ result: { error: message }, note: `${note}: refused`, failed: true });

/** Findings as lines. */
export const told = (findings: readonly Finding[]): string[] =>
  findings.slice(0, 20).map(({ code, at, message }) => `${formatAt(at)} ${code}: ${message.slice(0, 600)}`);
