/**
 * Requests to the meta-agent: who asked what, every message, progress lines, and the one end.
 */
import type { Database } from "../engine/store/database.ts";
import { type AskRecord, type AskStore, createAskStore } from "../engine/store/asks.ts";
import type { LlmMessage, LlmPart } from "../kernel/ports.ts";

/** A figure in an answer, with its origin. */
export interface Figure {
  label: string;
  value: string;
  /** The execution that computed it (`try_1`), or a recorded run whose result contains it. */
  source: string;
  entries: { id: string; date: string; description: string; amount: string }[];
  /** How entries prove it: their sum on an account, or their number; null: a script computed it from them. */
  proof: string | null;
}

export type AskEnd =
  | { kind: "card"; proposal: string; number: number; title: string }
  | { kind: "answer"; text: string; figures: Figure[] }
  /** outside: where text from outside occurred that was read before the question. */
  | { kind: "question"; question: string; options: string[]; outside?: string[] }
  /** files: changed so far. findings: what failed. open: it may continue. */
  | { kind: "decline"; reason: string; findings: string[]; files: string[]; open: boolean };

/** A warning for whoever is asked: instructions in such a text may be behind the question. */
export const askedAfter = (outside: readonly string[]): string =>
  `Asked after reading text from outside (${outside.join(", ")}): answer only what you would tell a stranger, and never a password, a code or the number of a card or account.`;

export type Ask = AskRecord<AskEnd>;

/** It was started by a task from outside, through an agent: nobody waits for an answer, and it may add files but not change any. */
export const isByAgent = ({ by }: Pick<Ask, "by">): boolean => by?.startsWith("agent:") === true;

/** The run that such a request is about. */
export const runIn = ({ text }: Pick<Ask, "text">): string => /\brun_\w+/.exec(text)?.[0] ?? "";

/** Events in order: a message of the conversation, or a progress line. */
export interface AskRow {
  n: number;
  at: number;
  note?: string;
  message?: LlmMessage;
  /** It was cut off at the limit of tokens. */
  cut?: true;
  /** For an answer: the model that gave it, and its cost in US dollars; null without a known price. */
  model?: string;
  cost?: string | null;
}

type Call = Extract<LlmPart, { type: "tool_call" }>;
export type Result = Extract<LlmPart, { type: "tool_result" }>;

const partsOf = ({ content }: LlmMessage): LlmPart[] => (typeof content === "string" ? [] : content);

export const callsIn = (message: LlmMessage): Call[] => partsOf(message).filter((part) => part.type === "tool_call");
const resultsIn = (message: LlmMessage): Result[] => partsOf(message).filter((part) => part.type === "tool_result");

/** The calls that have a result, oldest first. Some servers reuse ids, so a result belongs to the answer right before it. */
export function callsMade(messages: readonly LlmMessage[]): { call: Call; result: Result }[] {
  return messages.flatMap((message, i) => {
    const next = messages[i + 1];
    const results = next === undefined ? [] : resultsIn(next);
    return callsIn(message).flatMap((call, n) => {
      const result = results[n];
      return result === undefined ? [] : [{ call, result }];
    });
  });
}

export type Asks = AskStore<AskEnd, AskRow>;

export const createAsks = (database: Database): Asks => createAskStore(database);
