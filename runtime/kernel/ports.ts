/**
 * The outside world as the core sees it: types, and the constants that some of them are derived from. May be imported everywhere.
 * Implementations: workspace/* (git, books, config), engine/store/sqlite.ts (runs), sandbox/pool.ts (scripts).
 * Size: the contracts refer to each other and are read together.
 */
import type { z } from "zod";
import type { At, WireError } from "./errors.ts";
import type { verdictShape } from "./verdict.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** What was done and must not be done again without a person, kept where the workspace's own files cannot change it (settings/sent.ts). */
export interface Once {
  has(what: string): boolean;
  /** @throws FOLDER_UNSAFE */
  keep(what: string): void;
}

export interface Pause {
  /** Null: all agents. */
  agent: string | null;
  /** The person whose key the command held, or null. */
  by: string | null;
  reason: string;
  at: number;
}

/** The open pauses as kept where the workspace's own files cannot change them. */
export interface PausesBeside {
  read(): readonly Pause[];
  /** @throws FOLDER_UNSAFE */
  write(open: readonly Pause[]): void;
}

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
}

// ---------------------------------------------------------------- git

export interface TreeEntry {
  path: string;
  blob: string;
}

/** The files of one commit. */
export interface Tree {
  commit: string;
  /** Text of a file, or null when the commit has no such file. */
  read(path: string): Promise<string | null>;
  /** Blob id of a file, or null. */
  blob(path: string): Promise<string | null>;
  /** All files below a folder (`agents/`), sorted by path. */
  list(folder: string): Promise<TreeEntry[]>;
  /** Any entry at a path, also folders (40000), links (120000) and submodules (160000). Missing on a tree that is not a commit. */
  item?(path: string): Promise<Item | null>;
  /** Texts derived from its files, cached for the next process. */
  kept?: { get(...key: string[]): string | null; put(text: string, ...key: string[]): void };
}

/** A file or folder as a tree names it: mode in git's octal text. */
export interface Item {
  mode: string;
  oid: string;
}

/** A path that differs between two commits; null where it is not in the commit. */
export interface Difference {
  path: string;
  was: Item | null;
  now: Item | null;
}

/** The objects of a repository, unchecked: anyone's clone may have made them. */
export interface Objects {
  /** By id or by a name that git resolves; null when there is none. @throws FILE_TOO_LARGE, about `path`, for more than `most` bytes */
  find(name: string, most?: number, path?: string): Promise<{ oid: string; type: string; bytes: Buffer } | null>;
  /** A commit with its time in ms; null when there is none of this name. */
  commit(name: string): Promise<{ parents: string[]; at: number; message: string } | null>;
  tree(commit: string): Tree;
  /** Files, links and submodules in which two commits differ. @throws GIT_FAILED, FILE_TOO_LARGE for too many */
  changes(from: string, to: string): Promise<Difference[]>;
}

/** Content to write, by path; null removes the file. */
export type Files = Map<string, string | null>;

export interface CommitRequest {
  /** Subject and body, without trailers. */
  message: string;
  trailers: Record<string, string>;
  /**
   * Called with the tree at HEAD of the branch, again after each lost compare-and-swap. Returns the new content by path
   * (null removes the file); unchanged files may be included and are skipped. It may throw: then nothing is committed.
   */
  build(head: Tree): Promise<Files>;
  /** Called right before the branch moves; throws when this process no longer owns the workspace. */
  guard?(): void;
}

export type CommitResult =
  /** `kept`: files that a person changed during the commit; the commit is valid and their version of the file is left alone. */
  | { status: "committed"; commit: string; paths: string[]; kept?: string[] }
  | { status: "unchanged" }
  /** A person has edited these files (work tree or index differ from HEAD): nothing was committed. */
  | { status: "user_edit"; paths: string[] }
  /** Another branch is checked out, a merge or rebase is in progress: nothing was committed. */
  | { status: "blocked"; reason: string };

export interface LogEntry {
  commit: string;
  date: string;
  author: string;
  subject: string;
  trailers: Record<string, string>;
}

export interface Git {
  /** Commit at HEAD of the configured branch. */
  head(): Promise<string>;
  tree(commit: string): Tree;
  objects: Objects;
  /** True for HEAD of the branch and its ancestors. */
  isOnBranch(commit: string): Promise<boolean>;
  commit(request: CommitRequest): Promise<CommitResult>;
  /** The commit after `since` on the branch that carries `Run: run` and `Step: step`, or null. */
  find(run: string, step: number, since: string): Promise<string | null>;
  log(options: { limit: number; path?: string }): Promise<LogEntry[]>;
  /** Null when commits may be made; else a sentence with the reason (branch, merge, rebase). */
  blockedBy(): Promise<string | null>;
  /** Paths among these whose work tree or index content differs from HEAD. */
  edited(paths: string[]): Promise<string[]>;
  /** Holds a commit against garbage collection: refs/cleared/pins/<sha>. */
  pin(commit: string): Promise<void>;
  unpin(commit: string): Promise<void>;
  close(): Promise<void>;
}

// ---------------------------------------------------------------- runs

export type RunStatus = "queued" | "running" | "waiting" | "done" | "failed" | "diverged" | "canceled";
export type WaitReason =
  | "approval"
  | "input"
  | "escalation"
  | "timer"
  | "child"
  | "in_doubt"
  | "slow_call"
  | "user_edit"
  | "paused"
  // A remote task: it is working, or waits for its own people.
  | "remote"
  | "remote_gate";
export type Outcome = "completed" | "rejected" | "expired" | "blocked";
export type RunMode = "live" | "dry" | "backtest";

/** Where a run's code comes from: git commit, blob of the agent file, version of the primitive contract. */
export interface ScriptPin {
  commit: string;
  blob: string;
  api: number;
}

/** Why a run exists. `key` makes it unique: the same (kind, agent, key) never starts two runs. */
export interface Cause {
  kind: "command" | "watch" | "schedule" | "event" | "webhook" | "a2a" | "mcp" | "exec" | "agent" | "fork" | "migrate";
  key: string;
  detail?: Json;
}

/** What a caller passes with a run besides its input. Untrusted: it can only narrow what the run may do, or name tools under the address policy. */
export interface Given {
  /** A policy document: JSON rules are evaluated too and the stricter verdict wins; prose means that approval is required. */
  policy?: string;
  /** Address of an MCP endpoint for this run only. */
  tools?: string;
  /** The run may read and compute, nothing else. */
  readOnly?: boolean;
}

export interface RunSpec {
  agent: string;
  given?: Given;
  /** Who started it: the person of trust.yaml whose key the command held, if any. */
  by?: string;
  pin: ScriptPin;
  input: Json;
  cause: Cause;
  mode: RunMode;
  parent?: string;
  /** Higher first. Default: 0. */
  priority?: number;
  /** Not before this time, ms. */
  notBefore?: number;
  /** Its input comes from a run, or a row of the store, that nothing proves to be this user's: no policy decides alone in it. */
  doubted?: boolean;
  /** It may have been started before, and elsewhere: what it does outside is in doubt. */
  elsewhere?: boolean;
}

export interface RunRecord extends RunSpec {
  id: string;
  status: RunStatus;
  reason: WaitReason | null;
  /** What a waiting run waits for, in words: a card's gate, a file, a call. */
  waitsFor: string | null;
  outcome: Outcome | null;
  result: Json | null;
  /** Returned beside the result: process, policy, writes and their verification, approvals, duration. Null until the run ends. */
  meta: Json | null;
  error: WireError | null;
  /** How often the run was claimed; 1 is the first execution. */
  attempt: number;
  createdAt: number;
  startedAt: number | null;
  endedAt: number | null;
  /** Its history, input and result are no longer stored. */
  dropped?: true;
}

/** One recorded primitive call. `params` and `result` are JSON text as it crossed the door. */
export interface Step {
  seq: number;
  name: string;
  effect: Effect;
  params: string;
  state: "intent" | "ok" | "error";
  /** JSON text; null for intent and error. */
  result: string | null;
  error: WireError | null;
  /** What the call changed in the run's view of the workspace. */
  changes: Change[];
  /** Logical time of the answer, ms: the script's clock after this call. */
  at: number;
  attempts: number;
}

export interface RunEvent {
  run: string;
  /** Gapless from 1 per run. */
  seq: number;
  type: "created" | "status" | "step" | "log" | "signal" | "commit" | "ended";
  at: number;
  body: Json;
}

export interface Signal {
  gate: string;
  key: string;
  payload: Json;
  at: number;
}

export interface RunQuery {
  agent?: string;
  status?: RunStatus[];
  reason?: WaitReason;
  cause?: Pick<Cause, "kind" | "key">;
  limit?: number;
  /** Runs created before this run id (paging). */
  before?: string;
}

/** The engine port: durable runs. SQLite in process implements it; a distributed engine must pass the same contract tests. */
export interface Working {
  /** Resolves to true when nothing that was begun is still running. */
  stop(graceMs: number): Promise<boolean>;
}

export interface Engine {
  /** `also`: stores more in the same transaction; called with the run's id. */
  start(spec: RunSpec, also?: (run: string) => void): Promise<{ id: string; created: boolean }>;
  /** Appends to the signals of a gate, unique by key, also before the run waits for it. Closed: the gate is decided or the run has ended. */
  signal(
    run: string,
    gate: string,
    payload: Json,
    key: string,
    /** Stored with the answer or not at all: the consequence of all answers so far, this one last. */
    settle?: (given: readonly Signal[]) => void,
  ): Promise<"accepted" | "duplicate" | "closed">;
  /** The signals of a gate so far, oldest first. */
  signals(run: string, gate: string): Promise<Signal[]>;
  /** True when this user's own processes wrote the run's history and, of a run that another has called, what it answered. */
  isProven(run: string): Promise<boolean>;
  cancel(run: string, reason: string): Promise<boolean>;
  /** Puts a failed, diverged or waiting run back into the queue. A failed call is tried again; one that may have acted outside is in doubt. */
  retry(run: string): Promise<void>;
  get(run: string): Promise<RunRecord | null>;
  list(query: RunQuery): Promise<RunRecord[]>;
  steps(run: string, from?: number): Promise<Step[]>;
  events(run: string, from: number, options?: { follow?: boolean; abort?: AbortSignal }): AsyncIterable<RunEvent>;
  /** Resolves when the run is done, failed, diverged, canceled or (unless `ended`) waiting for a person. */
  result(run: string, options?: { timeoutMs?: number; ended?: boolean }): Promise<RunRecord>;
  /** A new run with the first `steps` steps of this one as history, on the same or another pin. Inherits no approval. `by`: who requests it. */
  fork(run: string, steps: number, pin?: ScriptPin, by?: string): Promise<string>;
  /** Moves a run that is not done and not executing to other code; the next execution proves that its history still holds. */
  migrate(run: string, pin: ScriptPin): Promise<void>;
  /** Executes queued runs until stopped, at most `concurrency` at a time. */
  work(execute: (log: RunLog) => Promise<void | { later: Promise<void> }>, options: { concurrency: number }): Working;
  close(): Promise<void>;
}

/** A keyed hash. A row of the store that carries it was written by this user on this machine; it did not come with the workspace. */
export type Sealer = (...parts: readonly (string | number)[]) => string;

/** What one execution of a run may do to its record. Every method throws OWNER_FENCED once another process owns the run. */
export interface RunLog {
  readonly run: RunRecord;
  /** The recorded history, oldest first; grows with `record`. */
  readonly steps: readonly Step[];
  /** False when the history was not written by this user on this machine, or was changed since; or what a run it called answered. */
  ours: boolean;
  /** False when it was not started by this user in this folder: nothing here knows what was sent by it. */
  readonly here: boolean;
  readonly abort: AbortSignal;
  /** Appends an answered step. Buffered until the next flush, or if `durable`, stored when this returns. */
  record(step: Step, durable?: boolean): void;
  /** Appends a step that is about to act outside; durable when this returns. */
  intent(step: Step): void;
  /** Records the outcome of the intent at the end of the history; durable within some ms, and before the run acts again, waits or commits. */
  settle(step: Step): void;
  event(type: "log" | "commit" | "signal", body: Json): void;
  /** Everything recorded so far is durable when this returns. */
  flush(): void;
  signals(gate: string): Signal[];
  /** When the card of the gate at this step was opened, or null. */
  openedAt(seq: number): number | null;
  /** Cards to open and events to emit, written in one transaction with the next flush. */
  release(items: Released[]): void;
  /** `seen`: how many signals of the gate were read before: one more wakes the run at once; so does a `child` that has ended. */
  wait(reason: WaitReason, waitsFor: string, options?: { until?: number; gate?: string; seen?: number; child?: string }): void;
  /** `unanswered`: the gate that expired. If it has its decision in the meantime, the run is queued again instead. */
  end(
    end: (
      | { status: "done"; outcome: Outcome; result: Json; unanswered?: string | null }
      | { status: "failed" | "diverged"; error: WireError }
    ) & { meta?: Json },
  ): void;
  /** Back to the queue at once: the answer that the run was waiting for is recorded. */
  requeue(): void;
}

/** What a commit or a gate releases from a run, each with a unique key: a repeat changes nothing. `seen`: number of the gate's signals read. */
export type Released =
  | { kind: "card"; key: string; card: CardDraft; seen?: number }
  /** The card with this key, released together with it, is about something that was taken back before the commit. */
  | { kind: "withdrawn"; key: string }
  | { kind: "event"; key: string; event: string; payload: Json; doubted: boolean }
  /** The run continues with this decision: the gate's card shows it, if still open. */
  | { kind: "decided"; gate: string; decision: Decision };

/** Permanent storage of closed runs' histories, many to a bundle: immutable, named by their content, pushed and backed up with git. */
export interface Archive {
  /** Null when it is not here. */
  read(name: string): Promise<Uint8Array | null>;
  /** All stored names, also those of other clones. */
  names(): Promise<string[]>;
  /**
   * Stores fresh bundles, and keeps those of the others that `needed` names: called once nobody else can change the archive unnoticed. Durable
   * when it settles; returns the names of the fresh ones. `commits`: the pins of their runs, held as long as any bundle is. `guard` throws
   * when this process no longer owns the workspace.
   */
  keep(
    fresh: readonly Uint8Array[],
    more: { needed(): string[]; commits: readonly string[]; message: string; guard(): void },
  ): Promise<string[]>;
}

// ---------------------------------------------------------------- cards and decisions

/**
 * `same`: whether rows of a statement equal entries in the books. `gone`: rows of a statement that are no longer in the books. `rule`:
 * whether a correction becomes a rule and similar entries are moved as well.
 */
export type CardKind =
  | "approval"
  | "escalation"
  | "form"
  | "in_doubt"
  | "entry"
  | "row"
  | "same"
  | "gone"
  | "account"
  | "correction"
  | "rule"
  | "note"
  | "proposal";

/** Something a person must decide, as a self-contained document that can travel in git. */
export interface CardDraft {
  kind: CardKind;
  title: string;
  /** Facts shown to the person, in order; plain text from untrusted sources. */
  body: Json;
  run: string | null;
  gate: string | null;
  calls: Call[];
  /** The rank or functional role of the ladder that the decision requires, or null. */
  level: string | null;
  /** All ranks and roles that must approve, held by one person or several; `level` sums them up in one word. */
  levels?: string[];
  /** ms, or null. */
  expires: number | null;
  /** How many different people must approve. Default: 1. */
  approvals?: number;
  /** Who may not decide: the person who started the run, where the policy or the number of people excludes them. */
  not_by?: string;
  /** Who else may not decide: the ids, at a tool server, of whoever requested the case, as its record says. */
  requesters?: string[];
  /** The tool servers that these ids are from, if that is known. */
  requested_at?: string[];
  /** Who requested the run, in words: a person, another agent and its own requester, or the owner of a task. */
  started_by?: string;
  /** Current state of the run's machine, with the header's line for it: `APPROVAL_GATE: a manager looks`. */
  state?: string;
  /** The approval brief, as document_build returns it. */
  brief?: Json;
  /** The calls belong together, or the script cannot take others back: they can only be approved unchanged. */
  fixed?: true;
  /** Paths of fields that name a record the run has read and its policy has judged: an approval cannot change them. */
  records?: string[];
  /** What a rejection covers instead: the calls that report it. */
  otherwise?: Call[];
  /** For a form: the requested fields, as in a header's `input:`. */
  fields?: Json;
  /** While the card is open, those who may decide are reminded at this interval in ms. */
  remind?: number;
  /** The calls an approval now covers, after a person edited them, and whose approvals of them count so far. */
  edited?: Call[] | undefined;
  said?: string[] | undefined;
  /** Set once it differs from when it was opened: how often so far, counted from 1, who changed it last if a person, and how. */
  restated?: { version: number; by?: string | undefined; what: string } | undefined;
}

export interface Card extends CardDraft {
  id: number;
  /** The name by which it is decided: its number, with the version once it was restated. */
  name: string;
  key: string;
  at: number;
  decision: Decision | null;
}

export interface Call {
  tool: string;
  params: Json;
}

/** What was asked at a gate, by name, and what people have signed for it. */
export interface Answers {
  gate: string;
  question: Json;
  /** In order of arrival; empty where a profile of trust.yaml answered. */
  signed: Decision[];
}

export interface Decision {
  card: number;
  /** RUN/GATE of the card: the gate's name holds a hash of the question, so a signed approval cannot be moved to another one. */
  gate?: string;
  /** Hash of what the person was shown; must equal the hash of what the run asks. */
  shown?: string;
  decision: "approved" | "rejected" | "expired" | "edited";
  by: string;
  at: number;
  reason?: string;
  /** Why a proposal is approved although it is unproven. */
  despite?: string;
  /** What the person changed, for a card of an entry: the account's number. */
  account?: string;
  /** The approved calls, where they are not the card's own: as this person or an earlier one edited them. */
  calls?: Call[];
  /** For a card in doubt that is approved: the result of the call that happened. For a form: its fields. */
  result?: Json;
  /** Everyone who approved, where the gate required several; `by` then names them in words. */
  people?: { by: string; at: number; self?: boolean }[];
  /** True when the person deciding also started the run and is the workspace's only one (DESIGN.md ruling 15). */
  self?: boolean;
  /** Of a paired browser: its public key, and the person's signature over {session, by, until}. It then signs the decision. */
  session?: { key: string; until: number; signature: string };
  /** Ed25519 over the canonical JSON of the decision without this field, base64. */
  signature?: string;
}

export interface Cards {
  get(id: number): Card | null;
  /**
   * In the order of their numbers. `open`: cards that wait for a person; a proposal's card does so once its body's `state` is "ready" or
   * "unproven". `decided`: cards that have a decision. `first`, `last`: at most that many from that end.
   */
  list(query?: { open?: boolean; decided?: true; kind?: CardKind; run?: string; first?: number; last?: number }): Card[];
  /** How many cards wait for a person. */
  waiting(): number;
  /** Does nothing when a card with this key is open. */
  open(key: string, card: CardDraft, at: number): void;
  /** @throws CARD_CLOSED when it has a decision already */
  decide(id: number, decision: Decision): void;
  /** Updates the answers so far that an open card shows. */
  revise(id: number, shown: { edited: Call[]; said: string[] }): void;
  /** Updates an open card whose subject has changed. */
  restate(id: number, card: { title: string; body: Json }): void;
}

// ---------------------------------------------------------------- models

export const LLM_ROLES = ["small", "large", "judge"] as const;
export type LlmRole = (typeof LLM_ROLES)[number];
/** How an answer ended. Not an error: a refusal is an answer. */
export type LlmStop = "end" | "tools" | "max_tokens" | "refusal" | "context_exceeded" | "stop_sequence";

/** `opaque`: content that a backend wants back unchanged (thinking), bound to its model; nothing else may read it. */
export type LlmPart =
  | { type: "text"; text: string }
  | { type: "tool_call"; id: string; tool: string; params: Json }
  | { type: "tool_result"; id: string; text: string; failed?: true }
  | { type: "opaque"; model: string; body: Json };

export interface LlmMessage {
  role: "user" | "assistant";
  content: string | LlmPart[];
}

export interface LlmTool {
  name: string;
  description: string;
  /** JSON Schema of its parameters: flat, closed, small. */
  schema: Json;
}

/** Tokens. `input` includes those read from the cache and written to it. */
export interface LlmUsage {
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
}

export interface LlmRequest {
  /** The role, whose model config.yaml names; or `model`, a string as in `models:` of config.yaml. Exactly one of them. */
  role?: LlmRole;
  model?: string;
  /** The stable part: rules, typings, outline. Anything after it is not cached. */
  system: string;
  messages: LlmMessage[];
  tools?: LlmTool[];
  /** JSON Schema of the answer, which is then JSON text. Not together with `tools` where a server cannot do both. */
  schema?: Json;
  /** The answer must call a tool; a model that cannot be forced to is only instructed. */
  must_call?: true;
  /** Needs little reasoning: a class, a few fields. */
  brief?: true;
  max_tokens: number;
  abort: AbortSignal;
  /** Whose budgets this is charged to. */
  spender: LlmSpender;
  /** The text as it arrives, for display; only the final message counts. Must not throw. */
  onText?(delta: string): void;
}

/** A call is charged to all that are named. A run's agent is always named with it. */
export interface LlmSpender {
  run?: string;
  agent?: string;
  /** A request of the meta-agent, or the proposal it became. */
  proposal?: string;
}

export interface LlmAnswer {
  content: LlmPart[];
  /** The value that `schema` describes, validated; only with the stop "end". */
  value?: Json;
  stop: LlmStop;
  usage: LlmUsage;
  /** `ENTRY/ID`: the entry of trust.yaml and the model's own name. */
  model: string;
  /** The budget was nearly used up: the small model answered instead of the one for this role. */
  lowered?: LlmRole;
  /** Number of requests sent; each is a row of the costs. */
  attempts: number;
  /** Cost of all of them, decimal text in US dollars; null where the catalogue has no price. */
  cost: string | null;
}

export interface Llm {
  /** `ENTRY/ID` of the model that would be used. @throws LLM_UNCONFIGURED */
  modelOf(asked: { role: LlmRole } | { model: string }): Promise<string>;
  /** @throws LLM_* (runtime/kernel/errors.ts): not configured, budget used up, server down, unusable answer */
  generate(request: LlmRequest): Promise<LlmAnswer>;
}

/** What a run sends to an external agent. */
export interface RemoteCall {
  agent: string;
  text?: string | undefined;
  data?: Json | undefined;
  skill?: string | undefined;
  timeoutMs?: number | undefined;
}

/** Progress of a remote task: ended, waiting, asking, given up earlier, or unknown whether it was ever accepted. */
export type RemoteStep =
  | { is: "ended"; task: string; state: string; text: string; data: Json }
  | { is: "waits"; parked: boolean; title: string }
  | { is: "asks"; id: string; text: string; data: Json }
  | { is: "given_up" }
  | { is: "unknown"; sent: number };

/** External agents, as trust.yaml names them. */
export interface RemoteAgents {
  /** @throws REMOTE_UNKNOWN */
  classOf(agent: string, skill?: string): Promise<"read" | "mutate">;
  /** Sends the task, once for a key, or rejoins it, and follows it for a while. @throws REMOTE_* */
  follow(
    call: RemoteCall,
    options: { key: string; inDoubt: boolean; abort: AbortSignal; leaving?: (() => void) | undefined },
  ): Promise<RemoteStep>;
  /** Answers the task's question; a repeat sends the same message. @throws REMOTE_* */
  answer(call: RemoteCall, options: { key: string; question: string; values: Record<string, Json>; abort: AbortSignal }): Promise<void>;
  /** From here on someone else does it, whatever becomes of the remote task. */
  giveUp(agent: string, key: string): Promise<void>;
}

/** What was said earlier in the session of a task, and the session's runs, oldest first. */
export interface Session {
  turns: { role: "user" | "agent"; text: string }[];
  /** For longer sessions: the sentences of older turns that contain a figure, an id or a name. */
  earlier: string;
  runs: { run: string; agent: string; input: Json; status: RunStatus; outcome: Outcome | null }[];
}

/** Models as a run may use them, and people's decisions about their answers so far. */
export interface RunLlm extends Llm {
  /** How many decisions people made about a class that this site assigned, and how many left it unchanged. */
  decided(site: string, name: string): Promise<{ decided: number; confirmed: number }>;
  /** The beginning of a model's text in this run with figures that it was not given, if this JSON text contains it; else null. */
  doubtful(json: string): string | null;
}

// ---------------------------------------------------------------- a run's view of the workspace

export const ENTRY_STATUSES = [
  "pending-review",
  "auto-confirmed",
  "user-confirmed",
  "user-corrected",
  "bootstrap-confirmed",
  "voided",
] as const;
export type EntryStatus = (typeof ENTRY_STATUSES)[number];

export interface Posting {
  /** Full account name, `Expenses:Software`. */
  account: string;
  /** Signed plain decimal text; debit positive. */
  amount: string;
  currency: string;
  /** Total price in another currency (`@@`), positive text. */
  cost?: { amount: string; currency: string };
  /** Balance assertion after this posting, plain decimal text in the same currency. */
  assertion?: string;
}

export interface Entry {
  id: string;
  /** YYYY-MM-DD */
  date: string;
  status: EntryStatus;
  /** Empty when unknown. */
  counterparty: string;
  description: string;
  /** Without `status`, which is the field above; each value is one line of text. */
  tags: Record<string, string>;
  postings: Posting[];
}

export interface Account {
  /** The number scripts use, "5020"; text. */
  id: string;
  name: string;
  type: "asset" | "liability" | "equity" | "income" | "expense";
}

/** One row of a statement, as scripts see it. Amounts are decimal text, negative = money out. */
export interface Row {
  /** Row id: the entry id this row gets. */
  id: string;
  /** YYYY-MM-DD */
  date: string;
  /** The bank's text with white space collapsed. */
  description: string;
  /** The bank's text unchanged, without control characters. Part of the row's identity. */
  raw_description: string;
  amount: string;
  currency: string;
  /** The bank's own id, else the row id; never empty. */
  reference: string;
  /** The bank's word for the kind of row, or "". */
  type: string;
  /** Account number of the statement, from config.yaml. */
  account: string;
  counterparty?: string;
  /** Running balance after this row. */
  balance?: string;
}

export interface Refused {
  line: number;
  code: string;
  message: string;
  /** With STATEMENT_ACCOUNT: which account it is about. */
  account?: UnknownAccount;
}

/** A bank account without an assigned account of the books; `match`: how config.yaml would recognise its statements. */
export type UnknownAccount = {
  match: { bank_account?: string; bank?: string; dialect?: string; file?: string; content?: string; currency?: string };
  card: boolean;
  /** The first rows of the statement, a line each. */
  rows: string[];
};

/** A row that may be an entry of the books under another name. */
export interface AskedRow {
  /** Rows of one question are decided together: a hash of their ids. */
  question: string;
  /** The entry has the same day, a day near it, or is an equal row of which the bank's balance proves one more. */
  why: "day" | "near" | "twin";
  /** Id of the entry that it may equal. */
  entry: string;
  /** Id and import key of the entry that it becomes if it is a different payment. */
  id: string;
  key: string;
  date: string;
  amount: string;
  currency: string;
  description: string;
  reference: string;
}

/** What one import did; the content of import/receipts/<hash>.yaml and of `cleared import --json`. */
export interface Receipt {
  file: string;
  hash: string;
  dialect: string;
  account: string;
  currency: string;
  rows: number;
  /** Booked, and unlike any other row of the statement. */
  new: number;
  /** In the books before this import. */
  known: number;
  /** Booked although equal to another row of the same day: two coffees are two entries. */
  twin: number;
  refused: Refused[];
  /** Rows the script parsed but did not book, by reference. */
  unbooked: string[];
  /** Rows that wait for a person's answer; none of them is booked before it. */
  asked: AskedRow[];
  /** Ids of entries for rows that were deleted by hand since; they are not booked again automatically. */
  removed: string[];
  /** Rows left for the next run, because a run books a limited number. Absent when there are none. */
  later?: number;
  /** Hash of the earlier statement that this one begins with: its file was extended after the import. Absent when there is none. */
  earlier?: string;
  /** Balance before the first and after the last row, decimal text, or null when the statement does not say. */
  opening: string | null;
  closing: string | null;
  /** The bank's closing balance minus that of the books, when known and not zero. */
  gap: string | null;
}

/** What a person is asked about rows of the statement with this hash: by the question on its receipt, or by the ids of missing entries. */
export type RowsQuestion =
  | { kind: "same"; hash: string; question: string }
  | { kind: "gone"; hash: string; ids: string[] }
  /** For all statements of this account; `hash` is the one that asked. */
  | { kind: "account"; hash: string; match: UnknownAccount["match"]; card: boolean };

/** What a step changed in the run's view. Recorded, so that a resumed run has the same view; the commit applies it as data to HEAD. */
export type Change =
  /** Entries to add, as canonical journal text. */
  | { op: "entries"; text: string }
  | { op: "status"; id: string; status: EntryStatus }
  /** An opening or closing assertion that a later one of the same step supersedes. */
  | { op: "remove"; id: string }
  /** Import keys a call used although their entries exist: the next use of the same row is a second entry. */
  | { op: "known"; keys: string[] }
  | { op: "file"; path: string; text: string | null; base: string | null }
  /** The step's result holds the rows of a statement; `meta` is what the rows do not contain. */
  | { op: "rows"; name: string; hash: string; meta: Json }
  | { op: "processed"; name: string; hash: string }
  /** Something for a person, released with the commit: about an entry, about a refused row of a statement, or only a note. */
  | {
      op: "review";
      title: string;
      body: Json;
      entry: string | null;
      row?: { hash: string; line: number };
      rows?: RowsQuestion;
      /** A remark on this statement (its hash): the same remark of a later run over it is the same note. */
      statement?: string;
      /** Lines that describe it without the books. */
      booked?: string[];
    }
  | { op: "emit"; event: string; payload: Json }
  /** A change of files for a person to decide; becomes a proposal once released. `base`: the commit that the run reads. */
  | { op: "propose"; title: string; reason: string; by: string; files: Record<string, string | null>; base: string; evidence: Json }
  | { op: "committed"; commit: string }
  /** A gate was decided; the approved calls may now act outside, each once. `given`: the proof, verified again before they do. */
  | {
      op: "decided";
      decision: Decision["decision"];
      by: string;
      calls: Call[];
      /** The rejection has calls of its own: the run continues with those only. */
      instead?: true;
      people?: Decision["people"];
      self?: boolean;
      given?: Answers;
      /** Why, where nothing else keeps it. */
      reason?: string;
    }
  /** A form was filled in. */
  | { op: "answered"; by: string; values: Json }
  /** The run's state machine moved. `machine` is the hash of the state list it moved in. */
  | { op: "entered"; state: State; machine: string; why?: string }
  /**
   * `declared`: names of the facts that its policies declare; `most`: what they ask for with any facts; `currency`: the currency of amounts that
   * name none.
   */
  | { op: "verdict"; verdict: Verdict; declared?: string[]; most?: Demanded; currency?: string }
  /** What the answer says about the case where the run ends before its script does. */
  | { op: "about"; about: { [field: string]: Json } }
  /** A script whose header names a `strategy:` was called. */
  | { op: "strategy"; strategy: string }
  /** A write outside was read back. */
  | { op: "verified"; write: VerifiedWrite }
  /** A person has checked the unverified writes so far, and lets the run continue. */
  | { op: "accepted"; by: string }
  /** A model was asked. `site`: the key by which people's decisions about its answers are counted. */
  | { op: "asked"; model: string; cost: string | null; attempts: number; site?: string; lowered?: true }
  /** A model wrote a text with figures that it was not given. */
  | { op: "doubtful"; text: string };

// ---------------------------------------------------------------- states, policy, tools

/** The states in the order in which a process passes through them; ESCALATE and FAILED may be entered from every state. */
export const ORDER = ["DECOMPOSE", "ASSESS", "COMPUTE", "POLICY_CHECK", "APPROVAL_GATE", "MUTATE", "SCHEDULE_NOTIFY", "COMPLETE"] as const;
/** The ten states of a process (spec/worker.md 2.1); runtime/kernel/states.ts has what each allows. */
export type State = (typeof ORDER)[number] | "ESCALATE" | "FAILED";

export type Verdict = z.output<typeof verdictShape>;
export type VerdictWord = Verdict["verdict"];
/** Who must approve. */
export type Demanded = Pick<Verdict, "level" | "levels" | "approvals" | "distinct_from_requester">;

export type ToolClass = "read" | "compute" | "mutate";

export interface ToolInfo {
  /** `SERVER/NAME`, as scripts and cards call it. */
  tool: string;
  server: string;
  name: string;
  description: string;
  input_schema: Json;
  class: ToolClass;
  /** The source of the class: trust.yaml, the server's annotation, or its name. */
  why: string;
}

export type Verification = "VERIFIED" | "MISMATCH" | "WRITE_FAILED" | "UNVERIFIABLE";

/** A write outside and its read-back. `diff`: field -> expected and actual value. */
export interface VerifiedWrite {
  tool: string;
  params: Json;
  status: Verification;
  /** The tool that read it back, with its parameters. */
  read: Call | null;
  expected: Record<string, Json>;
  before: Json;
  after: Json;
  diff: Record<string, { expected: Json; actual: Json }>;
  /** The tool's answer, cut for display. */
  answer: string;
  /** What takes it back, where trust.yaml declares it and the write may have happened. */
  undo?: { agent: string; input: Record<string, Json> };
}

/** Tools of MCP servers and plain HTTP endpoints, as one run may use them. Every method throws TOOL_* (runtime/kernel/errors.ts). */
export interface Tools {
  list(server?: string): Promise<ToolInfo[]>;
  /** Listed tools nearest to a description, best first. */
  find(wish: string, limit: number): Promise<ToolInfo[]>;
  /** One tool by `SERVER/NAME`. @throws TOOL_UNKNOWN with the nearest name, TOOL_DOWN */
  get(tool: string): Promise<ToolInfo>;
  /**
   * Makes the call once, with arguments checked against the tool's schema before anything is sent; a read may be repaired and repeated, a
   * write never is. `leaving` is called right before a write is sent, and may throw. `writes`: the run's earlier writes: repeating one of them is
   * intended; any other write is not sent when its record already shows it, when it adds one that exists with another amount,
   * or when its record differs from what the run has `seen` of it.
   */
  call(
    call: Call,
    options: {
      key: string;
      now: number;
      abort: AbortSignal;
      leaving?: (() => void) | undefined;
      writes?: readonly VerifiedWrite[] | undefined;
      seen?: ((read: Call) => Json | undefined) | undefined;
      /** An earlier attempt of this call may have happened. */
      inDoubt?: boolean;
    },
  ): Promise<ToolAnswer>;
  /** All pages of a reading tool. */
  fetchAll(
    call: Call,
    options: { where?: Record<string, Json>; abort: AbortSignal },
  ): Promise<{ records: Json[]; complete: boolean; pages: number; duplicates: number; reason: string | null }>;
  /** After a crash: whether the write with this key happened, by its `verify` spec; null when unknown, or when trust.yaml declared it otherwise then. */
  readBack(
    call: Call,
    options: { key: string; abort: AbortSignal },
  ): Promise<{ happened: boolean; harmless?: true; withinMs: number } | null>;
  /** The write with the call that takes it back. Contacts no server: one whose answer was lost may be down. */
  undoable(write: VerifiedWrite): Promise<VerifiedWrite>;
}

export interface ToolAnswer {
  result: Json;
  /** For a write: the result of its read-back. */
  write: VerifiedWrite | null;
  /** What was repaired: renamed columns, repeats. */
  notes: string[];
}

/** The policy packs of the run's commit, and the policy passed with the run. */
export interface Policies {
  /** `own` judges too, so that naming another pack never softens the verdict; may be missing unless `required`. @throws POLICY_* */
  evaluate(name: string, facts: Record<string, Json>, own?: { name: string; required: boolean }): Promise<Verdict>;
}

export interface EntryDraft {
  date: string;
  description: string;
  counterparty?: string | undefined;
  /** Bank reference of a row parsed in this run, or any text to store as a tag. */
  reference?: string | undefined;
  /** Import key for entries that do not come from a statement. */
  key?: string | undefined;
  status: EntryStatus;
  /** Extra tags: conf, ev, note. */
  tags: Record<string, string>;
  /** Accounts by number or name. */
  legs: {
    account: string;
    debit?: string | undefined;
    credit?: string | undefined;
    currency?: string | undefined;
    cost?: { amount: string; currency: string } | undefined;
  }[];
}

export interface EntryFilter {
  status?: EntryStatus | undefined;
  year?: number | undefined;
  month?: number | undefined;
  account?: string | undefined;
  id?: string | undefined;
  text?: string | undefined;
  limit?: number | undefined;
}

export interface Books {
  accounts(): Promise<Account[]>;
  add(drafts: EntryDraft[]): Promise<{ entry_id: string; known: boolean }[]>;
  /** Id of the entry that the run's last `add` returned (also a known one), for `entry_id: "pending"`; null before the first. */
  last(): string | null;
  query(filter: EntryFilter): Promise<Entry[]>;
  /** A confirmed entry gets a reversing entry; returns its id. */
  void(id: string, reason: string): Promise<{ void_entry_id: string }>;
  setStatus(id: string, status: EntryStatus): Promise<void>;
  /** Balance per currency of an account and its sub-accounts through a day (inclusive), decimal text. */
  balance(account: string, through?: string): Promise<Record<string, string>>;
}

export interface Imports {
  /** Complete files in import/ without a receipt at HEAD. */
  scan(): Promise<{ name: string; size: number; modified: string }[]>;
  parse(name: string, options: { all: boolean }): Promise<Row[]>;
  markProcessed(name: string): Promise<Receipt>;
  /** The rows that are not in the books. */
  deduplicate(rows: Row[]): Promise<Row[]>;
}

export interface DataFiles {
  /** Text of a file, or null; `path` begins with data/. @throws FILE_INVALID */
  read(path: string): Promise<string | null>;
  write(path: string, text: string): Promise<void>;
}

/** A message to a person or channel. */
export interface Notice {
  /** Unique in the workspace: a key is sent once, whatever a repeat contains. */
  key: string;
  /** A mail address, a channel of a chat, or a person's name: the channel interprets it. */
  to: string;
  subject: string;
  text: string;
  /** `smtp`, `page` or a webhook of trust.yaml. Default: config.yaml `notify.default`. */
  channel?: string | undefined;
  /** Not delayed by quiet hours. */
  urgent?: boolean | undefined;
  run: string;
  agent: string;
}

/** queued; sending: a mail is on its way; doubt: it may have been sent; dead: given up; dropped: discarded by a person. */
export type NoticeState = "queued" | "sending" | "sent" | "doubt" | "dead" | "dropped";

/** The outbox, and runs that start later. `live: false` checks and plans the same, and stores nothing. */
export interface Notices {
  /** Durable when it returns; delivered by whoever owns the workspace. `due`: ms. @throws NOTICE_CHANNEL, NOTICE_ADDRESS */
  send(
    notice: Notice,
    options: { now: number; live: boolean },
  ): Promise<{ notice: string; channel: string; state: NoticeState; due: number }>;
  /** One run of an agent, not before `at` (ms). A key starts one run: a repeat returns that run and its time. @throws AGENT_UNKNOWN, RUN_INPUT */
  schedule(
    once: { agent: string; at: number; input: Json; key: string; by: string },
    options: { live: boolean },
  ): Promise<{ run: string; at: number; created: boolean }>;
}

/** A line of the audit record, as committed. */
export interface AuditLine {
  /** The day in the workspace's time zone; the moment in UTC, ISO. */
  date: string;
  at: string;
  agent: string;
  run: string;
  subject: string;
  text: string;
  refs: string[];
}

/** Runs that a run starts as its own steps. */
export interface Children {
  /** True for an agent whose header says `mutates: false`; for a started child, as of its start. @throws AGENT_UNKNOWN */
  readOnly(agent: string, key: string): Promise<boolean>;
  /** Starts the child, once for a key, and returns how it ended; null while it is running. @throws AGENT_UNKNOWN, AGENT_DEPTH, RUN_INPUT */
  run(call: { agent: string; input: Record<string, Json>; key: string }): Promise<{
    run: string;
    ended: { status: RunStatus; outcome: Outcome | null; result: Json; error: { code: string; message: string } | null } | null;
  }>;
}

/** A change that a script requests: whole files by path, null removes. */
export interface ProposalRequest {
  title: string;
  reason: string;
  files: Record<string, string | null>;
  /** Facts that justify it, stored with it. */
  evidence: Json;
}

/** Rules derived from corrections. */
export interface RuleOffers {
  /** Cards that were opened; 0 for a card that a trial or dry run would open. */
  offered: number[];
  /** Corrected entries that no words separate from entries that people left elsewhere. */
  unclear: string[];
}

/** What becomes of a task that no agent carries out: the agent that can do it after all, or the request for one; else neither, and why. */
export interface ProcessWish {
  agent: string | null;
  request: number | null;
  says: string;
}

/** Everything that a primitive can reach, as one run sees it: HEAD plus the run's writes so far. */
export interface PrimitivePorts {
  books: Books;
  imports: Imports;
  files: DataFiles;
  /** Value of a dotted key of config.yaml at the run's commit, or undefined. */
  config(key: string): Promise<Json | undefined>;
  /** All dotted keys, for "did you mean". */
  configKeys(): Promise<string[]>;
  review(item: { title: string; body: Json; entry: string | null; row?: { hash: string; line: number } }): void;
  pending(): Promise<Card[]>;
  /** Proposes a change for the run's agent; released with the run's commit. Returns a refusal with its reason, never throws it. */
  propose(wish: ProposalRequest): Promise<{ accepted: boolean; proposal: string | null; reason: string }>;
  /** Requests to the workspace as a whole: carried out immediately, once, and never by a trial or dry run. */
  wishes: { rules(): Promise<RuleOffers>; process(task: string): Promise<ProcessWish> };
  log(message: string): void;
  emit(event: string, payload: Json): void;
  gitLog(options: { limit: number; path?: string }): Promise<LogEntry[]>;
  notices: Notices;
  /** Adds a line to the audit record, committed with the run. A key is added once. */
  audit(line: AuditLine, key: string): Promise<{ id: string; file: string }>;
  tools: Tools;
  policies: Policies;
  children: Children;
  llm: RunLlm;
  session(): Promise<Session>;
  agents: RemoteAgents;
}

/** The view that the engine holds for one execution of a run. */
export interface WorkspaceView {
  ports: PrimitivePorts;
  /** The day of a moment in the time zone of config.yaml at the run's commit, YYYY-MM-DD. */
  today(ms: number): string;
  /** Applies the changes of a recorded step again, on resume. */
  restore(step: Step): void;
  /** Changes of the step that just ran; empties the list. */
  takeChanges(): Change[];
  /** True when a commit would have something to write. */
  dirty(): boolean;
  /** Dry run of a commit: checks the invariants of what would be written. @throws JOURNAL_* */
  check(): Promise<void>;
  /** Commits what is not yet committed, as data on HEAD, after checking the invariants. @throws JOURNAL_*, WORKSPACE_CONFLICT */
  commit(message: string, trailers: Record<string, string>, guard: () => void): Promise<CommitResult>;
  /** Counts everything written so far as committed by this commit. */
  committed(commit: string): void;
  /** After a commit: moves statement files whose receipt has no open row to import/processed/. Repeatable. */
  tidy(): Promise<void>;
}

// ---------------------------------------------------------------- sandbox

export interface Limits {
  memory_mb: number;
  /** Every call, recorded or live, adds 0.1 ms to this and to wall_ms: 1 s per 10,000 (DESIGN.md 6). */
  cpu_ms: number;
  wall_ms: number;
  calls: number;
  call_bytes: number;
  answer_bytes: number;
  total_bytes: number;
  source_bytes: number;
}

/** A compiled script, cached by blob. */
export interface Compiled {
  /** agents/ingest.ts */
  file: string;
  blob: string;
  /** JavaScript to run in the realm. */
  code: string;
  /** For mapping a column back: on this line (1-based) columns of `code` from `fromCol` on are shifted by `shift` (cumulative). */
  shifts: { line: number; fromCol: number; shift: number }[];
  /** Names passed as literals to script_run. */
  scripts: string[];
  /**
   * Calls of primitives. keys: null when the argument is not an object literal. bare: the argument is certainly not an object.
   * given: parameters that are literal text, by key; "" for a bare one. fields: parameters that are objects, by key.
   */
  calls: {
    name: string;
    keys: string[] | null;
    bare: boolean;
    at: At;
    given: Record<string, string>;
    fields?: Record<string, KnownKeys>;
  }[];
  flow: { main: Flow; functions: Flow[] };
  /** Branches taken only on a certain day or for one odd value, with the calls in them. */
  guards?: { at: At; on: string; calls: number[] }[];
  /** Uses, after a gate, of a value that the gate's calls have under `key`; without a name: not known (scripts/planned.ts). */
  planned?: { at: At; name: string; key: string }[];
}

/** Keys an object may have; whole: it has no others. */
export interface KnownKeys {
  keys: string[];
  whole: boolean;
}

/**
 * The order in which a script may make its calls: allows every order of the script. A number is an index of `Compiled.calls`.
 * all: one after the other. one: one of them. loop: any number of times, or at most `once`. go: leaves the loop, the function, the run.
 * run: a function of the script, by index. later: a function passed on, which may run at any time from here on.
 */
export type Flow =
  | number
  | { all: Flow[] }
  | { one: Flow[] }
  | { loop: Flow; once?: true }
  | { go: "stop" | "return" | "end" }
  | { run: number }
  | { later: number };

/**
 * What the text of a script shows of what it can do (scripts/survey.ts): for comparing two versions. A *form* is an expression as one text
 * without comments, brackets and types; in it U+0001 encloses the script's own names, as FILE:NAME, U+0002 literals, and U+0003 the widths of a
 * step through a list. Two names are equal when their definitions are, whatever they are called.
 */
export interface Survey {
  /**
   * Texts, numbers and booleans. path: the names above it, from the nearest variable or call: `rules.confidence`. row: number of the
   * object that contains it, where that is one of a list. compared: only used in comparisons, as far as the text shows. decides: its
   * name is used in a comparison. tool: the literal `tool` of the call it is part of, or null. of: the nearest name it is assigned to.
   */
  literals: {
    value: string | number | boolean;
    path: string;
    row: number | null;
    compared: boolean;
    decides?: true;
    tool: string | null;
    of?: string;
    line: number;
  }[];
  /**
   * The assignments of each name of the script, in the order of the text. way: which part of the value; body: a function of several statements;
   * exact: with all its contents, where that is more; whole: as written; tests: the conditions of the assignment.
   */
  names: Record<string, NameGiven[]>;
  /** Computed values of keys, bare parameters of calls (path ends in "."), spreads into an object ("..."). fixed: literal in every case. */
  fields: { path: string; form: string; fixed: boolean; tool: string | null; line: number; shown: string }[];
  /** Values added to lists one by one. */
  puts: (Deed & { list: string })[];
  /** Lines that add keys to objects which the text does not name. */
  built: number[];
  /** By index of `Compiled.calls`. deeds: one for each way to the call. texts: literals in its arguments. */
  when: { deeds: Deed[]; texts: string[] }[];
}

/** handed: what a parameter of a function with one caller is given there. */
interface NameGiven {
  form: string;
  handed?: string;
  exact?: string;
  whole?: string;
  shown: string;
  line: number;
  way?: string;
  body?: true;
  tests?: readonly SurveyTest[];
}

/** An action. tests: its conditions. after: `NAME n/m`: n of the m alterations of a name it uses come before it. order: its place, outermost call first. */
export interface Deed {
  exact: string;
  order: number[];
  tests: SurveyTest[];
  after: string[];
  shown: string;
  line: number;
}

/** A condition; "not": it is false. each: how often a loop repeats. */
export interface SurveyTest {
  form: string;
  shown: string;
  kind: "if" | "not" | "each";
  line: number;
}

export interface Finding {
  code: string;
  at: At;
  message: string;
}

/** A call as it reaches the host. */
export interface DoorCall {
  /** Index in the history: 0 is the run's first call. */
  seq: number;
  name: string;
  /** JSON text, one object. */
  params: string;
  at?: At;
}

export type DoorAnswer =
  | { kind: "value"; json: string; now: number }
  | { kind: "error"; error: WireError; now: number }
  /** The context is disposed; nothing is thrown into the script. */
  | { kind: "suspend" };

/** A recorded call that the child answers itself before the first live call. */
export interface Served {
  name: string;
  params: string;
  result: string | null;
  error: WireError | null;
  at: number;
}

export interface Job {
  main: Compiled;
  /** Sub-scripts by name. */
  scripts: Record<string, Compiled>;
  /** Primitive name -> name of the parameter it takes bare, or null. */
  primitives: Record<string, string | null>;
  /** JSON text of the global `input`. */
  input: string;
  seed: string;
  /** Logical time at the start, ms. */
  startedAt: number;
  history: readonly Served[];
  limits: Limits;
  /** A run leaves nothing in its context, so the next run of the same script may reuse it. */
  sealed?: true;
  /** Each live call reports its place in the script, at a quarter of the call's time; else only a call that ends the run does. */
  places?: boolean;
  /** May reject: the run stops there and `execute` rejects with the same error. */
  call(call: DoorCall): Promise<DoorAnswer>;
  /** Aborting ends the child; the job ends suspended. */
  abort?: AbortSignal;
}

export type JobEnd =
  | { kind: "result"; json: string; calls: number; cpuMs: number }
  | { kind: "suspended"; calls: number }
  | { kind: "failed"; error: WireError; calls: number }
  /** The script's call (null: the script ended) differs from the recorded one. */
  | { kind: "diverged"; seq: number; recorded: { name: string; params: string }; actual: { name: string; params: string } | null; at?: At };

export interface Sandbox {
  /** Lints (if `lint`), strips and rewrites in a child that is replaced after a crash. Cached by blob, kind and lint. */
  compile(
    source: string,
    options: { file: string; blob: string; lint: boolean; primitives: readonly string[]; survey?: true },
  ): Promise<{ compiled: Compiled | null; findings: Finding[]; survey?: Survey }>;
  execute(job: Job): Promise<JobEnd>;
  /** Executes a job that a run waits for, in a slot of its level. Jobs wait only for lower levels, so that none waits for itself. */
  executeBeside(job: Job, level: number): Promise<JobEnd>;
  close(): Promise<void>;
}

// ---------------------------------------------------------------- primitives (the declaration is in primitive.ts)

export type Effect = "pure" | "read" | "write" | "external" | "notify" | "control";
export type Access = "context" | "pure" | "model" | "model_task" | "read" | "decide" | "ask" | "write" | "external" | "notify";
