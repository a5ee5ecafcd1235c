/**
 * Types only: what a change of code would have done to recorded runs. A *recording* is a run with its history; a *trial* is other code
 * executed against it without touching the world; *effects* are the result of either, by meaning.
 */
import type { At, WireError } from "../../kernel/errors.ts";
import type { Call, EntryStatus, Json, Outcome, RunRecord, RunStatus, Step, Tree } from "../../kernel/ports.ts";

export interface Recording {
  run: RunRecord;
  /** Oldest first, without a step that has no outcome. */
  steps: readonly Step[];
  /** Calls of the question at which the run ended by rejection or expiry, which no step records; null if it did not, absent if unknown. */
  refused?: readonly Call[] | null;
  /** The first step whose answer is different now; everything after it is computed. */
  holds?: number;
}

export interface Code {
  /** The agent, scripts/ and scripts/tools/ are read from here. It need not be a commit (treeOver). */
  tree: Tree;
  /** Changed files of config.yaml, policies/, importers/ and knowledge/ (or all, with onItsSettings), laid over the tree of the run's own commit. */
  changed: readonly string[];
}

export interface EntryEffect {
  id: string;
  date: string;
  status: EntryStatus;
  description: string;
  /** The reason or rule the script gave (tag `ev`), or "". */
  evidence: string;
  /** Who was paid or who paid, or "". */
  counterparty: string;
  /** Tags with information, such as confidence, note or reference; no ids or keys. */
  tags: Record<string, string>;
  /** In the order of the entry; amount is signed decimal text, debit positive. */
  legs: { account: string; amount: string; currency: string }[];
}

/** An act outside: a tool, a child agent, a plugin's external call. */
export interface CallEffect extends Call {
  /** True if a person's approval (or an approval profile) covered it. */
  approved: boolean;
}

export interface Effects {
  status: RunStatus;
  outcome: Outcome | null;
  error: WireError | null;
  result: Json;
  entries: EntryEffect[];
  /** Status changes and reversals of existing entries: id -> new status. */
  changed: Record<string, EntryStatus>;
  calls: CallEffect[];
  notices: { to: string; subject: string; text: string; channel?: string }[];
  /** Gates at which a person was asked. terms: the rest of the question: details, level, fields, time limit. */
  gates: { title: string; calls: Call[]; terms: Record<string, Json>; form?: true }[];
  /** The last state entered; null for an agent without states. */
  state: string | null;
  /** Facts and verdicts of policies, in order. policy: its name, "" for the agent's own. */
  verdicts: { policy: string; facts: Record<string, Json>; verdict: string }[];
  /** Cards for review, by entry id or title; asks: the question about rows of a statement. */
  reviews: { about: string; title: string; asks: string | null }[];
  events: { event: string; payload: Json }[];
  /** data/, documents and receipts written: path -> text; null removes. */
  files: Record<string, string | null>;
}

/** The first place at which two executions differ. `recorded` or `now` is null if that side had ended. */
export interface Divergence {
  step: number;
  recorded: Call | null;
  now: Call | null;
  at: At | null;
}

export interface Trial {
  effects: Effects;
  /** Null when the code makes exactly the recorded calls. */
  divergence: Divergence | null;
  /** A read that no recording answers, in words: the trial stopped there, so its effects are incomplete. */
  missing: string | null;
  /** Assumptions, in words: a new gate approved, a tool's answer simulated. */
  supposed: string[];
  /** Calls of the trial, in order, for people and for widening. */
  steps: readonly Step[];
  /** True if it repeats the recorded run step by step to the same end. */
  isRecorded: boolean;
  /** The last tool or primitive called that no recording was served for; "" for none. */
  last: string;
}

export type BacktestClass = "same" | "changed" | "worse" | "failed" | "not_replayable";

export interface MoneyDifference {
  account: string;
  /** YYYY-MM */
  month: string;
  currency: string;
  was: string;
  now: string;
  difference: string;
}

/** A parameter that differs: in how many acts, with the first difference, clipped. to: the new recipient or payee, for such a parameter. */
export interface ActField {
  key: string;
  to?: string;
  count: number;
  says: string;
}

/** Differing acts of one kind and target. */
export interface ActDifference {
  kind: "call" | "notice" | "question" | "review" | "event";
  /** The tool, recipient or event; "" for questions and reviews. */
  what: string;
  /** How many, and the sum of their amounts if they have any. */
  was: { count: number; sum: string | null };
  now: { count: number; sum: string | null };
  /** How many have other words or parameters, and a bounded sample of those: payees first, then amounts. */
  differ: number;
  fields: ActField[];
}

/** Something worse. confirmed: differs from a decision of a person; unseen, undecided, unasked: no longer shown to anybody; again: done twice. */
export interface Harm {
  kind: "confirmed" | "unseen" | "undecided" | "unasked" | "again" | "without_yes" | "after_no" | "books" | "fails";
  /** What it is about, for readers: an entry, a tool, a question, an error. */
  about: string;
  /** In detail, with ids and values. */
  line: string;
}

export interface FileDifference {
  path: string;
  kind: "file" | "bank file";
  /** What differs, one line each. */
  says: string[];
}

export interface RunDifference {
  run: string;
  class: BacktestClass;
  /** Why it is worse, failed or not replayable; else what changed, one line each. */
  why: string[];
  divergence: Divergence | null;
  /** Entries that come out differently; `was` null: new, `now` null: gone. */
  entries: { was: EntryEffect | null; now: EntryEffect | null }[];
  money: MoneyDifference[];
  /** Facts that a policy was given with other values. */
  facts: FactDifference[];
  acts?: ActDifference[];
  files?: FileDifference[];
  /** Why it is worse or fails, by kind. */
  harm?: Harm[];
  supposed: string[];
  /** How many cards for review it opens. */
  reviews?: { was: number; now: number };
  /** Entries and lines that a report omits; `cleared proposals show N --all` shows them. */
  omitted?: { entries: number; lines: number };
}

/** A fact of a verdict; null where that side did not have it. */
export interface FactDifference {
  name: string;
  was: Json;
  now: Json;
}

export interface BacktestReport {
  agent: string;
  /** Commit, or words, that name the code under test. */
  code: string;
  runs: number;
  days: number | null;
  counts: Record<BacktestClass, number>;
  /** Sums over all runs; accounts with an unchanged sum are omitted. */
  money: MoneyDifference[];
  /** Sum of all differences per currency; "0.00" when only the accounts change. */
  net: Record<string, string>;
  /** One line per kind of change: how many entries move between which accounts, and their sum. */
  moves: { from: string; to: string; entries: number; amount: string; currency: string }[];
  /** Facts given to policies with other values: in how many runs, with the first difference. */
  facts: (FactDifference & { runs: number; run: string })[];
  /** How many cards for review all runs open. */
  reviews?: { was: number; now: number };
  /** How many entries differ in all. */
  entries: number;
  /** Differences outside of the books, over all runs. */
  acts?: ActDifference[];
  /** What is worse, over all runs: for each kind a count and one example. */
  harm?: { kind: Harm["kind"]; count: number; about: string }[];
  /** Runs that are not the same, the worst first: a bounded sample (sums.ts); `runs`, `counts` and the sums cover all. */
  differences: RunDifference[];
  /** Waiting runs: whether the new code could continue them, and why not. */
  waiting: { run: string; moves: boolean; why: string | null }[];
  /** Where models were asked again. */
  asked?: AskedAnew;
}

/** Results of the cases, by name. untried: undecidable, because the recording is missing or has no answer. */
export interface CasesTold {
  passed: number;
  failed: string[];
  open: string[];
  fixed: string[];
  untried?: string[];
}

export interface AskedAnew {
  /** US dollars: the upper limit and the actual cost, counted as `cleared costs` does. */
  budget: string;
  usd: string;
  /** Questions answered, those with a recorded answer to compare, those of them with the same answer, and those not answered. */
  asked: number;
  compared: number;
  same: number;
  left: number;
  /** A sample of different answers. */
  differ: { run: string; call: string; was: string; now: string }[];
}

/** Which recorded runs of an agent. */
export type Which = { all: true } | { days: number } | { runs: readonly string[] };
