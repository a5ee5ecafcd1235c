/**
 * Types only: what a change of code would have done to runs that are recorded. A *recording* is a run with its history; a *trial* is
 * other code executed against it, without touching the world; *effects* are what either leaves behind, told by meaning.
 */
import type { At, WireError } from "../../kernel/errors.ts";
import type { Call, EntryStatus, Json, Outcome, RunRecord, RunStatus, Step, Tree } from "../../kernel/ports.ts";

export interface Recording {
  run: RunRecord;
  /** Oldest first, without a step that has no outcome. */
  steps: readonly Step[];
  /** The calls of the question at which the run was ended by a no or by time, which is in no step; null when it was not, absent when that is not known. */
  refused?: readonly Call[] | null;
  /** The first step whose answer is another one now: what follows is computed anew. */
  holds?: number;
}

/** The code to try. */
export interface Code {
  /** The agent, scripts/ and scripts/tools/ are read here. It need not be a commit (treeOver). */
  tree: Tree;
  /** Files of config.yaml, policies/, importers/ and knowledge/ that the change touches (or all, onItsSettings, and data files that came later): they lie over the tree of the run's own commit. */
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
  /** Other tags that tell something about it: how sure the code was, its note, its reference. Ids and keys are not among them. */
  tags: Record<string, string>;
  /** In the order of the entry; amount is signed decimal text, debit positive. */
  legs: { account: string; amount: string; currency: string }[];
}

/** An act outside: a tool, a child agent, a plugin's external call. */
export interface CallEffect extends Call {
  /** True when a person's yes (or a profile's) covered it. */
  approved: boolean;
}

export interface Effects {
  status: RunStatus;
  outcome: Outcome | null;
  error: WireError | null;
  result: Json;
  entries: EntryEffect[];
  /** Status changes and reversals of entries that were there before: id -> new status. */
  changed: Record<string, EntryStatus>;
  calls: CallEffect[];
  notices: { to: string; subject: string; text: string; channel?: string }[];
  /** Gates a person was asked at. terms: what else the question says: details, level, fields, how long it stays open. */
  gates: { title: string; calls: Call[]; terms: Record<string, Json>; form?: true }[];
  /** The last state that was entered; null for an agent without states. */
  state: string | null;
  /** What a policy was told and said, in order. policy: its name, "" for the agent's own. */
  verdicts: { policy: string; facts: Record<string, Json>; verdict: string }[];
  /** Cards for review, by entry id or title; asks: what is asked about rows of a statement. */
  reviews: { about: string; title: string; asks: string | null }[];
  events: { event: string; payload: Json }[];
  /** data/, documents and receipts written: path -> text; null removes. */
  files: Record<string, string | null>;
}

/** Where two executions part for the first time. `recorded` or `now` is null where that side had ended. */
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
  /** A read that no recording answers, in words: the trial stopped there and its effects are not to be believed. */
  missing: string | null;
  /** What had to be supposed, in words: a new gate answered yes, a tool's answer simulated. */
  supposed: string[];
  /** Calls of the trial, in order, for people and for widening. */
  steps: readonly Step[];
  /** True when it is the recorded run again, step by step, to the same end. */
  isRecorded: boolean;
  /** The tool or primitive that it called last and no recording was served for; "" for none. */
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

/** A parameter that differs: in how many acts, with the first of them, clipped. to: who is told or paid now, where it says that. */
export interface ActField {
  key: string;
  to?: string;
  count: number;
  says: string;
}

/** Acts of one kind and target in which two executions differ. */
export interface ActDifference {
  kind: "call" | "notice" | "question" | "review" | "event";
  /** The tool, who is told, the event; "" for questions and reviews. */
  what: string;
  /** How many, and what they come to where they have amounts. */
  was: { count: number; sum: string | null };
  now: { count: number; sum: string | null };
  /** How many are made with other words or parameters, and in which of them they differ: who is paid first, then amounts; a bounded sample. */
  differ: number;
  fields: ActField[];
}

/** One thing that is worse. confirmed: what a person decided is another; unseen, undecided, unasked: goes to nobody any more; again: done twice. */
export interface Harm {
  kind: "confirmed" | "unseen" | "undecided" | "unasked" | "again" | "without_yes" | "after_no" | "books" | "fails";
  /** What it is about, for people: an entry, a tool, a question, an error. */
  about: string;
  /** With ids and values. */
  line: string;
}

export interface FileDifference {
  path: string;
  kind: "file" | "bank file";
  /** What differs in it, a line each. */
  says: string[];
}

export interface RunDifference {
  run: string;
  class: BacktestClass;
  /** Why it is worse, failed or not replayable; else what changed, each in one line. */
  why: string[];
  divergence: Divergence | null;
  /** Entries that come out differently; `was` null: new, `now` null: gone. */
  entries: { was: EntryEffect | null; now: EntryEffect | null }[];
  money: MoneyDifference[];
  /** Facts that a policy was told otherwise. */
  facts: FactDifference[];
  acts?: ActDifference[];
  files?: FileDifference[];
  /** Why it is worse or fails, in kinds. */
  harm?: Harm[];
  supposed: string[];
  /** How many cards for review it opens. */
  reviews?: { was: number; now: number };
  /** Entries and lines that a report leaves out of its sample; `cleared proposals show N --all` tells them. */
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
  /** Commit or words that say which code was tried. */
  code: string;
  runs: number;
  days: number | null;
  counts: Record<BacktestClass, number>;
  /** Summed over all runs; accounts whose sum did not change are left out. */
  money: MoneyDifference[];
  /** Sum of all differences per currency; "0.00" when only the accounts change. */
  net: Record<string, string>;
  /** One line per kind of change: how many entries go from which accounts to which, and how much they sum to. */
  moves: { from: string; to: string; entries: number; amount: string; currency: string }[];
  /** Facts that policies were told otherwise: in how many runs, with the first of them. */
  facts: (FactDifference & { runs: number; run: string })[];
  /** How many cards for review all the runs open. */
  reviews?: { was: number; now: number };
  /** How many entries come out differently in all. */
  entries: number;
  /** What is done differently outside of the books, of all runs. */
  acts?: ActDifference[];
  /** What is worse in all runs: of each kind how many, and one of them. */
  harm?: { kind: Harm["kind"]; count: number; about: string }[];
  /** Runs that are not the same, the worst first: a bounded sample (sums.ts); `runs`, `counts` and the sums are of all. */
  differences: RunDifference[];
  /** Runs that wait now: how many the new code could take over, and why not the others. */
  waiting: { run: string; moves: boolean; why: string | null }[];
  /** Where models were asked anew. */
  asked?: AskedAnew;
}

/** What became of the cases, by name. untried: nobody can tell whether they hold, because their recording is not here or does not answer. */
export interface CasesTold {
  passed: number;
  failed: string[];
  open: string[];
  fixed: string[];
  untried?: string[];
}

export interface AskedAnew {
  /** US dollars: the most it may cost, and what it cost, counted as `cleared costs` does. */
  budget: string;
  usd: string;
  /** Questions that were answered, those with a recorded answer to compare with, those of them with the same answer, and those not answered. */
  asked: number;
  compared: number;
  same: number;
  left: number;
  /** Some of those answered otherwise. */
  differ: { run: string; call: string; was: string; now: string }[];
}

/** Which recorded runs of an agent. */
export type Which = { all: true } | { days: number } | { runs: readonly string[] };
