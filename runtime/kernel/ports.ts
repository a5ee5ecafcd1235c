/**
 * The outside world as the core sees it: types, and the words one of them is made of. To be imported everywhere.
 * Implementations: workspace/* (git, books, config), engine/store/sqlite.ts (runs), sandbox/pool.ts (scripts).
 * Size: the contracts refer to each other, and a reader takes them in as one picture.
 */
import type { z } from "zod";
import type { At, WireError } from "./errors.ts";
import type { verdictShape } from "./verdict.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

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
  /** Any entry at a path with git's mode, also folders (40000), links (120000) and submodules (160000); a tree that is no commit cannot tell. */
  item?(path: string): Promise<{ mode: string; oid: string } | null>;
  /** Texts made of its files, kept for the next process. */
  kept?: { get(...key: string[]): string | null; put(text: string, ...key: string[]): void };
}

/** What is written, by path; null removes the file. */
export type Files = Map<string, string | null>;

export interface CommitRequest {
  /** Subject and body, without trailers. */
  message: string;
  trailers: Record<string, string>;
  /**
   * Called with the tree at HEAD of the branch, again after each lost compare-and-swap. Answers the new content by path
   * (null removes the file); unchanged files may be in it and are skipped. It may throw: then nothing is committed.
   */
  build(head: Tree): Promise<Files>;
  /** Called right before the branch moves; throws when this process no longer owns the workspace. */
  guard?(): void;
}

export type CommitResult =
  /** `kept`: files a person changed in the very moment of the commit; the commit stands and their version of the file is left alone. */
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
  /** Text of a blob, or null where the repository does not have it. */
  text(blob: string): Promise<string | null>;
  /** The commit that one was made on; null for a first one, and for one the repository does not have. */
  parent(commit: string): Promise<string | null>;
  /** True for HEAD of the branch and what it stands on. */
  isOnBranch(commit: string): Promise<boolean>;
  commit(request: CommitRequest): Promise<CommitResult>;
  /** The commit after `since` on the branch that carries `Run: run` and `Step: step`, or null. */
  find(run: string, step: number, since: string): Promise<string | null>;
  log(options: { limit: number; path?: string }): Promise<LogEntry[]>;
  /** Null when commits may be made; else a sentence that says why not (branch, merge, rebase). */
  blockedBy(): Promise<string | null>;
  /** Paths among these whose work tree or index content differs from HEAD. */
  edited(paths: string[]): Promise<string[]>;
  /** Hold a commit against garbage collection: refs/cleared/pins/<sha>. */
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
  // A task elsewhere: it is at work, or waits for its own people.
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

/** What a caller gives with a run beside its input. Untrusted: it can only narrow what the run may do, or name tools under the address policy. */
export interface Given {
  /** A policy document: JSON rules are evaluated too and the stricter verdict wins; prose means approval required. */
  policy?: string;
  /** Address of an MCP endpoint for this run only. */
  tools?: string;
  /** The run may read and compute, nothing else. */
  readOnly?: boolean;
}

export interface RunSpec {
  agent: string;
  given?: Given;
  /** Who started it: a person of trust.yaml whose key the command held, when there is one. */
  by?: string;
  pin: ScriptPin;
  input: Json;
  cause: Cause;
  mode: RunMode;
  parent?: string;
  /** Higher first; 0 unless told. */
  priority?: number;
  /** Not before this time, ms. */
  notBefore?: number;
}

export interface RunRecord extends RunSpec {
  id: string;
  status: RunStatus;
  reason: WaitReason | null;
  /** What a waiting run waits for, in words: a card's gate, a file, a call. */
  waitsFor: string | null;
  outcome: Outcome | null;
  result: Json | null;
  /** What is told beside the result: process, policy, writes and their verification, approvals, duration. Null until the run ends. */
  meta: Json | null;
  error: WireError | null;
  /** How often the run was claimed; 1 is the first execution. */
  attempt: number;
  createdAt: number;
  startedAt: number | null;
  endedAt: number | null;
  /** Its history, its input and its result are not kept any more. */
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

/**
 * The engine port: durable runs. SQLite in process implements it; a distributed engine must pass the same contract tests.
 * Nothing of an engine leaks through it.
 */
export interface Working {
  /** Answers whether nothing that was begun is under way any more. */
  stop(graceMs: number): Promise<boolean>;
}

export interface Engine {
  /** `also`: what is stored in the same transaction, told the run's id. */
  start(spec: RunSpec, also?: (run: string) => void): Promise<{ id: string; created: boolean }>;
  /** The signal list of a gate is append-only and unique by key; it may be filled before the run waits. Closed: the gate is decided or the run over. */
  signal(
    run: string,
    gate: string,
    payload: Json,
    key: string,
    /** Written with the answer or not at all: what the answers so far, this one last, come to. */
    settle?: (given: readonly Signal[]) => void,
  ): Promise<"accepted" | "duplicate" | "closed">;
  /** What a gate was told so far, oldest first. */
  signals(run: string, gate: string): Promise<Signal[]>;
  cancel(run: string, reason: string): Promise<boolean>;
  /** Put a failed, diverged or waiting run back into the queue. A call that failed is tried again; one that may have acted outside is in doubt. */
  retry(run: string): Promise<void>;
  get(run: string): Promise<RunRecord | null>;
  list(query: RunQuery): Promise<RunRecord[]>;
  steps(run: string, from?: number): Promise<Step[]>;
  events(run: string, from: number, options?: { follow?: boolean; abort?: AbortSignal }): AsyncIterable<RunEvent>;
  /** Resolves when the run is done, failed, diverged, canceled or (unless `ended`) waiting for a person. */
  result(run: string, options?: { timeoutMs?: number; ended?: boolean }): Promise<RunRecord>;
  /** A new run that has the first `steps` steps of this one as its history, on its own or another pin. It inherits no approval. `by`: who asks for it. */
  fork(run: string, steps: number, pin?: ScriptPin, by?: string): Promise<string>;
  /** Move a run that is not done and not executing to other code; the next execution proves that its history still holds. */
  migrate(run: string, pin: ScriptPin): Promise<void>;
  /** Execute queued runs until stopped; at most `concurrency` at a time. */
  work(execute: (log: RunLog) => Promise<void | { later: Promise<void> }>, options: { concurrency: number }): Working;
  close(): Promise<void>;
}

/** What one execution of a run may do to its record. Every method throws OWNER_FENCED once another process owns the run. */
export interface RunLog {
  readonly run: RunRecord;
  /** The recorded history, oldest first; grows with `record`. */
  readonly steps: readonly Step[];
  readonly abort: AbortSignal;
  /** Append an answered step. Buffered until the next flush, or `durable` when this returns. */
  record(step: Step, durable?: boolean): void;
  /** Append a step that is about to act outside; durable when this returns. */
  intent(step: Step): void;
  /** The outcome of the intent at the end of the history; durable within some ms, and before the run acts again, waits or commits. */
  settle(step: Step): void;
  event(type: "log" | "commit" | "signal", body: Json): void;
  /** Everything recorded so far is durable when this returns. */
  flush(): void;
  signals(gate: string): Signal[];
  /** When the card of the gate at this step was opened, or null. */
  openedAt(seq: number): number | null;
  /** Cards to open and events to let out, written in one transaction with the next flush. */
  release(items: Released[]): void;
  /** `seen`: how many signals of the gate were looked at before: one more wakes the run at once; so does a `child` that has ended. */
  wait(reason: WaitReason, waitsFor: string, options?: { until?: number; gate?: string; seen?: number; child?: string }): void;
  /** `unanswered`: the gate that ran out of time. Where it has its decision by now, the run is queued again instead. */
  end(
    end: (
      | { status: "done"; outcome: Outcome; result: Json; unanswered?: string | null }
      | { status: "failed" | "diverged"; error: WireError }
    ) & { meta?: Json },
  ): void;
  /** Back to the queue at once: an answer that the run was waiting for is recorded. */
  requeue(): void;
}

/** What a commit or a gate lets out of a run, by a unique key: a repeat changes nothing. `seen`: the gate's signals that were looked at. */
export type Released =
  | { kind: "card"; key: string; card: CardDraft; seen?: number }
  /** A card of this key, released with it, asks about what was taken back before it was committed. */
  | { kind: "withdrawn"; key: string }
  | { kind: "event"; key: string; event: string; payload: Json }
  /** The run goes on by this decision: its gate's card shows it, if it is still open. */
  | { kind: "decided"; gate: string; decision: Decision };

/**
 * Where the histories of closed runs lie for good, many to a bundle: immutable bytes, named by their content. In git they travel with a
 * clone, a push of refs/cleared/ and a backup.
 */
export interface Archive {
  /** Null for one that is not here. */
  read(name: string): Promise<Uint8Array | null>;
  /** All there are, also those of other clones. */
  names(): Promise<string[]>;
  /**
   * Keeps fresh bundles, and of the others those that `needed` names: asked once nobody else can move the archive unseen. Durable when it
   * settles; answers the names of the fresh ones. `commits`: what their runs stand on, held as long as any bundle is. `guard` throws when
   * this process no longer owns the workspace.
   */
  keep(
    fresh: readonly Uint8Array[],
    more: { needed(): string[]; commits: readonly string[]; message: string; guard(): void },
  ): Promise<string[]>;
}

// ---------------------------------------------------------------- cards and decisions

/**
 * `same`: are rows of a statement the same as entries of the books. `gone`: rows of a statement that are no longer in the books. `rule`:
 * whether a correction becomes a rule, and entries like it are moved as well.
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
  /** The rank or functional role of the ladder that the decision needs, or null. */
  level: string | null;
  /** All ranks and roles that must stand behind the yes, by one person or several; `level` is their one word. */
  levels?: string[];
  /** ms, or null. */
  expires: number | null;
  /** Different people who must say yes; 1 unless told. */
  approvals?: number;
  /** Who may not decide: the person the run was started by, where the policy or the number of people bars them. */
  not_by?: string;
  /** Who gave the run to be done, in words: a person, another agent and who asked that one, the owner of a task. */
  started_by?: string;
  /** Where the run's machine stands, with the line its header gives that state: `APPROVAL_GATE: a manager looks`. */
  state?: string;
  /** The approval brief, as document_build makes it. */
  brief?: Json;
  /** The calls belong together and can only be approved as they are. */
  fixed?: true;
  /** What a no covers instead: the rejection, told where it belongs. */
  otherwise?: Call[];
  /** For a form: what is asked for, by field, as in a header's `input:`. */
  fields?: Json;
  /** While it is open, those who may decide are reminded every so many ms. */
  remind?: number;
  /** What a yes is asked for by now, where somebody has edited the calls, and whose yes to it counts so far. */
  edited?: Call[] | undefined;
  said?: string[] | undefined;
  /** Once it says something else than when it was opened: how often so far, counted from 1, who changed it last if a person, and how. */
  restated?: { version: number; by?: string | undefined; what: string } | undefined;
}

export interface Card extends CardDraft {
  id: number;
  /** By which it is decided: its number, with the version once it was restated. */
  name: string;
  key: string;
  at: number;
  decision: Decision | null;
}

export interface Call {
  tool: string;
  params: Json;
}

/** What was asked at a gate, under which name, and what people have signed to it. */
export interface Answers {
  gate: string;
  question: Json;
  /** In the order they came; none where a profile of trust.yaml answered. */
  signed: Decision[];
}

export interface Decision {
  card: number;
  /** RUN/GATE of the card: the gate's name holds a hash of the question, so a signed yes cannot be moved to another one. */
  gate?: string;
  /** Hash of what the person was shown; what the run asks must be the same. */
  shown?: string;
  decision: "approved" | "rejected" | "expired" | "edited";
  by: string;
  at: number;
  reason?: string;
  /** Why a proposal is approved although it is unproven. */
  despite?: string;
  /** What the person changed, for a card of an entry: the account's number. */
  account?: string;
  /** What a yes is given to, where it is not the card's own calls: as this person or one before them has edited them. */
  calls?: Call[];
  /** For a card in doubt that is approved: what the call answered when it happened. For a form: its fields. */
  result?: Json;
  /** All who said yes, where the gate asked for several; `by` then names them in words. */
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
   * In the order of their numbers. `open`: those that wait for a person; the card of a proposal does so once its body's `state` is "ready" or
   * "unproven". `decided`: those that have a decision. `first`, `last`: at most so many from that end.
   */
  list(query?: { open?: boolean; decided?: true; kind?: CardKind; run?: string; first?: number; last?: number }): Card[];
  /** How many wait for a person. */
  waiting(): number;
  /** A key that is open already changes nothing. */
  open(key: string, card: CardDraft, at: number): void;
  /** @throws CARD_CLOSED when it has a decision already */
  decide(id: number, decision: Decision): void;
  /** What an open card shows of the answers so far. */
  revise(id: number, shown: { edited: Call[]; said: string[] }): void;
  /** What a card is about has moved on. */
  restate(id: number, card: { title: string; body: Json }): void;
}

// ---------------------------------------------------------------- models

export const LLM_ROLES = ["small", "large", "judge"] as const;
export type LlmRole = (typeof LLM_ROLES)[number];
/** How an answer ended. Never an error: a refusal is an answer. */
export type LlmStop = "end" | "tools" | "max_tokens" | "refusal" | "context_exceeded" | "stop_sequence";

/** `opaque`: what a backend wants back unchanged (thinking), bound to its model; nothing else may read it. */
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

/** Tokens. `input` counts those that came from the cache or went into it as well. */
export interface LlmUsage {
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
}

export interface LlmRequest {
  /** Which model config.yaml gives this role; or `model`, a string as in `models:` of config.yaml. Exactly one of them. */
  role?: LlmRole;
  model?: string;
  /** The stable part: rules, typings, outline. What follows it is not cached. */
  system: string;
  messages: LlmMessage[];
  tools?: LlmTool[];
  /** JSON Schema of the answer, which is then JSON text. Never with `tools` where a server cannot do both. */
  schema?: Json;
  /** The answer has to call a tool; a model that cannot be made to is only told. */
  must_call?: true;
  /** Little thought is wanted: a class, a few fields. */
  brief?: true;
  max_tokens: number;
  abort: AbortSignal;
  /** Whose budgets this counts against. */
  spender: LlmSpender;
  /** The text as it comes, to be shown; only the final message counts. May not throw. */
  onText?(delta: string): void;
}

/** A call counts for all that are named. A run's agent is always named with it. */
export interface LlmSpender {
  run?: string;
  agent?: string;
  /** A request of the meta-agent, or the proposal it became. */
  proposal?: string;
}

export interface LlmAnswer {
  content: LlmPart[];
  /** What `schema` asked for, checked by it; only with the stop "end". */
  value?: Json;
  stop: LlmStop;
  usage: LlmUsage;
  /** `ENTRY/ID`: the entry of trust.yaml and the model as it names itself. */
  model: string;
  /** The budget was nearly used up: the small model answered instead of this role's. */
  lowered?: LlmRole;
  /** Requests that were sent for it; each is a row of the costs. */
  attempts: number;
  /** What all of them cost, decimal text in US dollars; null where the catalogue has no price. */
  cost: string | null;
}

export interface Llm {
  /** `ENTRY/ID` of the model that would be asked. @throws LLM_UNCONFIGURED */
  modelOf(asked: { role: LlmRole } | { model: string }): Promise<string>;
  /** @throws LLM_* (runtime/kernel/errors.ts): nothing configured, budget used up, server gone, answer that is none */
  generate(request: LlmRequest): Promise<LlmAnswer>;
}

/** What a run gives to an agent elsewhere. */
export interface RemoteCall {
  agent: string;
  text?: string | undefined;
  data?: Json | undefined;
  skill?: string | undefined;
  timeoutMs?: number | undefined;
}

/** Where a remote task stands: over, waiting, asking something, given up before, or nobody knows whether it was ever taken. */
export type RemoteStep =
  | { is: "ended"; task: string; state: string; text: string; data: Json }
  | { is: "waits"; parked: boolean; title: string }
  | { is: "asks"; id: string; text: string; data: Json }
  | { is: "given_up" }
  | { is: "unknown"; sent: number };

/** Agents elsewhere, as trust.yaml names them. */
export interface RemoteAgents {
  /** @throws REMOTE_UNKNOWN */
  classOf(agent: string, skill?: string): Promise<"read" | "mutate">;
  /** Gives the task, once for a key, or joins it again, and follows it for a while. @throws REMOTE_* */
  follow(
    call: RemoteCall,
    options: { key: string; inDoubt: boolean; abort: AbortSignal; leaving?: (() => void) | undefined },
  ): Promise<RemoteStep>;
  /** Answers its question; a repeat is the same message. @throws REMOTE_* */
  answer(call: RemoteCall, options: { key: string; question: string; values: Record<string, Json>; abort: AbortSignal }): Promise<void>;
  /** From here on another does it, whatever becomes of the remote task. */
  giveUp(agent: string, key: string): Promise<void>;
}

/** What was said in the session of a task before it, and its runs, the oldest first. */
export interface Session {
  turns: { role: "user" | "agent"; text: string }[];
  /** Of longer sessions: the sentences of older turns that hold a figure, an id or a name. */
  earlier: string;
  runs: { run: string; agent: string; input: Json; status: RunStatus; outcome: Outcome | null }[];
}

/** Models as a run may ask them, and what people have made of their answers so far. */
export interface RunLlm extends Llm {
  /** How often people decided about a class that this site gave, and how often they left it as it was. */
  decided(site: string, name: string): Promise<{ decided: number; confirmed: number }>;
  /** How a text begins that a model wrote in this run with figures nobody gave it, where this JSON text holds it; else null. */
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
  /** Without `status`, which is the field above; values are one line of text. */
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
  /** The bank's text as it is, without control characters. Part of the row's identity. */
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

/** An account of a bank that nobody has said an account of the books for; `match`: what config.yaml would recognise its statements by. */
export type UnknownAccount = {
  match: { bank_account?: string; dialect?: string; file?: string };
  card: boolean;
  /** The first rows of the statement, a line each. */
  rows: string[];
};

/** A row that may be an entry of the books under another name. */
export interface AskedRow {
  /** Rows of one question are decided together: a hash of their ids. */
  question: string;
  /** The entry is of the same day, of a day near, or an equal row that the bank's balance says there is one more of. */
  why: "day" | "near" | "twin";
  /** Id of the entry that it may be. */
  entry: string;
  /** Id and import key of the entry that it becomes if it is another payment. */
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
  /** Booked and unlike any other row of the statement. */
  new: number;
  /** In the books before this import. */
  known: number;
  /** Booked although equal to another row of the same day: two coffees are two entries. */
  twin: number;
  refused: Refused[];
  /** Rows the script parsed but did not book, by reference. */
  unbooked: string[];
  /** Rows that a person is asked about; nothing of them is booked until then. */
  asked: AskedRow[];
  /** Ids of entries that rows were and that were deleted by hand since; they are not booked again by themselves. */
  removed: string[];
  /** Rows that the next run takes: a run books only so many. Left out when there are none. */
  later?: number;
  /** Hash of the statement that this one begins with: its file was written on after it was taken. Left out when there is none. */
  earlier?: string;
  /** Balance before the first and after the last row, decimal text, or null when the statement does not say. */
  opening: string | null;
  closing: string | null;
  /** closing as the bank says minus closing as the books say, when known and not zero. */
  gap: string | null;
}

/** What a person is asked about rows of the statement with this hash: by the question on its receipt, or by the ids of entries that are gone. */
export type RowsQuestion =
  | { kind: "same"; hash: string; question: string }
  | { kind: "gone"; hash: string; ids: string[] }
  /** Of all statements of this account, of which `hash` is the one that asked. */
  | { kind: "account"; hash: string; match: UnknownAccount["match"]; card: boolean };

/**
 * What a step changed in the run's view. Recorded with the step, so that a resumed run has the same view again;
 * applied as data to HEAD by the commit.
 */
export type Change =
  /** Entries to add, as canonical journal text. */
  | { op: "entries"; text: string }
  | { op: "status"; id: string; status: EntryStatus }
  /** An opening or closing assertion that a later one of the same step supersedes. */
  | { op: "remove"; id: string }
  /** Import keys a call used although their entries exist: the next use of the same row is a second entry. */
  | { op: "known"; keys: string[] }
  | { op: "file"; path: string; text: string | null; base: string | null }
  /** The step's result holds the rows of a statement; `meta` is what the rows do not carry. */
  | { op: "rows"; name: string; hash: string; meta: Json }
  | { op: "processed"; name: string; hash: string }
  /** Something for a person, released with the commit: about an entry, about a refused row of a statement, or just a note. */
  | {
      op: "review";
      title: string;
      body: Json;
      entry: string | null;
      row?: { hash: string; line: number };
      rows?: RowsQuestion;
      /** Lines that say what it is about without the books. */
      booked?: string[];
    }
  | { op: "emit"; event: string; payload: Json }
  /** A change of files that a person shall decide; becomes a proposal once it is released. `base`: the commit the run reads. */
  | { op: "propose"; title: string; reason: string; by: string; files: Record<string, string | null>; base: string; evidence: Json }
  | { op: "committed"; commit: string }
  /** A gate was decided; the approved calls may now act outside, each once. `given`: what proves it, counted again before they do. */
  | {
      op: "decided";
      decision: Decision["decision"];
      by: string;
      calls: Call[];
      /** A no that has calls of its own: the run goes on with those alone. */
      instead?: true;
      people?: Decision["people"];
      self?: boolean;
      given?: Answers;
    }
  /** A form was filled in. */
  | { op: "answered"; by: string; values: Json }
  /** The run's state machine moved. `machine` is the hash of the state list it moved in. */
  | { op: "entered"; state: State; machine: string; why?: string }
  /** `declared`: names of the facts that its policies know; `currency`: of amounts that name none. */
  | { op: "verdict"; verdict: Verdict; declared?: string[]; currency?: string }
  /** What the answer says of the case where the run ends before its script does. */
  | { op: "about"; about: { [field: string]: Json } }
  /** A script was called whose header names a way of working. */
  | { op: "strategy"; strategy: string }
  /** A write outside was read back. */
  | { op: "verified"; write: VerifiedWrite }
  /** A person has looked at the writes so far that are not verified, and lets the run go on. */
  | { op: "accepted"; by: string }
  /** A model was asked. `site`: what people's decisions about its answers are counted by. `doubtful`: a text with figures nobody gave it. */
  | { op: "asked"; model: string; cost: string | null; attempts: number; site?: string; lowered?: true }
  /** A model wrote a text with figures that nobody gave it. */
  | { op: "doubtful"; text: string };

// ---------------------------------------------------------------- states, policy, tools

/** The ten states of a process (spec/worker.md 2.1); runtime/kernel/states.ts has what each allows. */
export type State =
  | "DECOMPOSE"
  | "ASSESS"
  | "COMPUTE"
  | "POLICY_CHECK"
  | "APPROVAL_GATE"
  | "MUTATE"
  | "SCHEDULE_NOTIFY"
  | "COMPLETE"
  | "ESCALATE"
  | "FAILED";

export type Verdict = z.output<typeof verdictShape>;
export type VerdictWord = Verdict["verdict"];

export type ToolClass = "read" | "compute" | "mutate";

export interface ToolInfo {
  /** `SERVER/NAME`, as scripts and cards call it. */
  tool: string;
  server: string;
  name: string;
  description: string;
  input_schema: Json;
  class: ToolClass;
  /** What made it this class: trust.yaml, the server's annotation, or its name. */
  why: string;
}

export type Verification = "VERIFIED" | "MISMATCH" | "WRITE_FAILED" | "UNVERIFIABLE";

/** A write outside and its read-back. `diff`: field -> what was expected and what is there. */
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
  /** What the tool answered, cut for people. */
  answer: string;
  /** What takes it back, where trust.yaml says so and it may stand. */
  undo?: { agent: string; input: Record<string, Json> };
}

/** Tools of MCP servers and plain HTTP endpoints, as one run may use them. Every method throws TOOL_* (runtime/kernel/errors.ts). */
export interface Tools {
  list(server?: string): Promise<ToolInfo[]>;
  /** Listed tools nearest to a wish in words, best first. */
  find(wish: string, limit: number): Promise<ToolInfo[]>;
  /** One tool by `SERVER/NAME`. @throws TOOL_UNKNOWN with the nearest name, TOOL_DOWN */
  get(tool: string): Promise<ToolInfo>;
  /**
   * Makes the call once, arguments checked against the tool's schema before anything is sent; a read may be repaired and repeated, a write
   * never is. `leaving` is called right before a write is sent, and may throw; `writes` are those this run
   * has made: one of them again is meant so, any other that its record shows already, or adds one that is there with another amount, is not sent;
   * nor is one whose record is no longer what the run has `seen` of it.
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
    },
  ): Promise<ToolAnswer>;
  /** All pages of a reading tool. */
  fetchAll(
    call: Call,
    options: { where?: Record<string, Json>; abort: AbortSignal },
  ): Promise<{ records: Json[]; complete: boolean; pages: number; duplicates: number; reason: string | null }>;
  /** After a crash: whether the write with this key happened, by its `verify` spec; null when nobody can tell, harmless when a repeat is. */
  readBack(call: Call, options: { abort: AbortSignal }): Promise<boolean | "harmless" | null>;
  /** The write with what takes it back. Asks no server: one whose answer was lost may be gone. */
  undoable(write: VerifiedWrite): Promise<VerifiedWrite>;
}

export interface ToolAnswer {
  result: Json;
  /** For a write: what its read-back showed. */
  write: VerifiedWrite | null;
  /** What was repaired on the way: renamed columns, repeats. */
  notes: string[];
}

/** The policy packs of the run's commit, and the policy given with the run. */
export interface Policies {
  /**
   * `own` judges beside the named pack, so that naming another one never makes the verdict milder; when it is not `required` it may be
   * missing. @throws POLICY_INVALID, POLICY_UNKNOWN
   */
  evaluate(name: string, facts: Record<string, Json>, own?: { name: string; required: boolean }): Promise<Verdict>;
}

export interface EntryDraft {
  date: string;
  description: string;
  counterparty?: string | undefined;
  /** Bank reference of a row parsed in this run, or any text that is kept as a tag. */
  reference?: string | undefined;
  /** Import key for entries that come from no statement. */
  key?: string | undefined;
  status: EntryStatus;
  /** Extra tags: conf, ev, note. */
  tags: Record<string, string>;
  /** Accounts by number or name. */
  legs: {
    account: string;
    debit?: string;
    credit?: string;
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
  /** Id of the entry the last `add` of this run answered (also a known one), for `entry_id: "pending"`; null before the first. */
  last(): string | null;
  query(filter: EntryFilter): Promise<Entry[]>;
  /** Confirmed entries get a reversing entry; answers its id. */
  void(id: string, reason: string): Promise<{ void_entry_id: string }>;
  setStatus(id: string, status: EntryStatus): Promise<void>;
  /** Balance per currency of an account and its sub-accounts through a day (inclusive), decimal text. */
  balance(account: string, through?: string): Promise<Record<string, string>>;
}

export interface Imports {
  /** Whole files in import/ without a receipt at HEAD. */
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

/** Something to tell somebody. */
export interface Notice {
  /** Unique in the workspace: a key is told once, whatever a repeat says. */
  key: string;
  /** A mail address, a channel of a chat, a person's name: what the channel makes of it. */
  to: string;
  subject: string;
  text: string;
  /** `smtp`, `page` or a webhook of trust.yaml; config.yaml `notify.default` unless told. */
  channel?: string | undefined;
  /** Quiet hours do not hold it back. */
  urgent?: boolean | undefined;
  run: string;
  agent: string;
}

/** queued; sending: a mail is under way; doubt: it may have been sent; dead: given up; dropped: a person has let it be. */
export type NoticeState = "queued" | "sending" | "sent" | "doubt" | "dead" | "dropped";

/** The outbox, and runs that start later. `live: false` checks and plans the same, and keeps nothing. */
export interface Notices {
  /** Durable when it returns; delivered by whoever owns the workspace. `due`: ms. @throws NOTICE_CHANNEL, NOTICE_ADDRESS */
  send(
    notice: Notice,
    options: { now: number; live: boolean },
  ): Promise<{ notice: string; channel: string; state: NoticeState; due: number }>;
  /** One run of an agent, not before `at` (ms). A key starts one run: a repeat answers that one and its time. @throws AGENT_UNKNOWN, RUN_INPUT */
  schedule(
    once: { agent: string; at: number; input: Json; key: string; by: string },
    options: { live: boolean },
  ): Promise<{ run: string; at: number; created: boolean }>;
}

/** A line of the audit record, as it is committed. */
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

/** Runs that a run starts as steps of its own. */
export interface Children {
  /** True for an agent whose header says `mutates: false`; of a child that has started, as it was then. @throws AGENT_UNKNOWN */
  readOnly(agent: string, key: string): Promise<boolean>;
  /** Starts the child, once for a key, and tells how it ended; null while it goes on. @throws AGENT_UNKNOWN, AGENT_DEPTH, RUN_INPUT */
  run(call: { agent: string; input: Record<string, Json>; key: string }): Promise<{
    run: string;
    ended: { status: RunStatus; outcome: Outcome | null; result: Json; error: { code: string; message: string } | null } | null;
  }>;
}

/** What a script asks to be changed: whole files by path, null removes. */
export interface ProposalRequest {
  title: string;
  reason: string;
  files: Record<string, string | null>;
  /** Facts it rests on, kept with it. */
  evidence: Json;
}

/** Rules that corrections come to. */
export interface RuleOffers {
  /** Cards that were opened; 0 for one that a run that is only tried would open. */
  offered: number[];
  /** Corrected entries that no words separate from what people left elsewhere. */
  unclear: string[];
}

/** What becomes of a task that nothing carries out: the agent that does after all, or the request for one; neither where there is none, and why. */
export interface ProcessWish {
  agent: string | null;
  request: number | null;
  says: string;
}

/** Everything a primitive can reach, through one run's eyes: HEAD plus what the run has written so far. */
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
  /** Proposes a change for the run's agent; released with the run's commit. Refused with the reason, never thrown. */
  propose(wish: ProposalRequest): Promise<{ accepted: boolean; proposal: string | null; reason: string }>;
  /** What the workspace as a whole is asked for: done at once, once, and never by a run that is only tried. */
  wishes: { rules(): Promise<RuleOffers>; process(task: string): Promise<ProcessWish> };
  log(message: string): void;
  emit(event: string, payload: Json): void;
  gitLog(options: { limit: number; path?: string }): Promise<LogEntry[]>;
  notices: Notices;
  /** Adds a line to the audit record; lands with the run's commit. A key is added once. */
  audit(line: AuditLine, key: string): Promise<{ id: string; file: string }>;
  tools: Tools;
  policies: Policies;
  children: Children;
  llm: RunLlm;
  session(): Promise<Session>;
  agents: RemoteAgents;
}

/** The view the engine keeps for one execution of a run. */
export interface WorkspaceView {
  ports: PrimitivePorts;
  /** The day of a moment in the time zone of config.yaml at the run's commit, YYYY-MM-DD. */
  today(ms: number): string;
  /** Apply the changes of a recorded step again, on resume. */
  restore(step: Step): void;
  /** What the step that just ran changed; empties the list. */
  takeChanges(): Change[];
  /** True when a commit would have something to write. */
  dirty(): boolean;
  /** Dry run of a commit: check the invariants of what would be written. @throws JOURNAL_* */
  check(): Promise<void>;
  /** Commit what is not yet committed, as data on HEAD, after checking the invariants. @throws JOURNAL_*, WORKSPACE_CONFLICT */
  commit(message: string, trailers: Record<string, string>, guard: () => void): Promise<CommitResult>;
  /** Count everything written so far as committed by this commit. */
  committed(commit: string): void;
  /** After a commit: move statement files whose receipt has no open row to import/processed/. Repeatable. */
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
  /** For mapping a column back: on this line (1-based) columns of `code` from `fromCol` on are shifted by `shift` (they add up). */
  shifts: { line: number; fromCol: number; shift: number }[];
  /** Names passed as literals to script_run. */
  scripts: string[];
  /**
   * Calls of primitives. keys: null when the argument is not an object literal. bare: the argument is certainly no object.
   * given: parameters that are literal text, by key; "" is the bare one.
   */
  calls: { name: string; keys: string[] | null; bare: boolean; at: At; given: Record<string, string> }[];
  flow: { main: Flow; functions: Flow[] };
  /** Branches that are taken only on a day or for one odd value, with the calls in them. */
  guards?: { at: At; on: string; calls: number[] }[];
  /** Uses, after a gate, of a value that its calls have under `key` (scripts/planned.ts). */
  planned?: { at: At; name: string; key: string; fact?: boolean }[];
}

/**
 * In which order a script may make its calls; it allows every order the script has. A number is an index of `Compiled.calls`.
 * all: one after the other. one: one of them. loop: any number of times, or `once` at most. go: leaves the loop, the function, the run.
 * run: a function of the script, by index. later: a function handed on, which may run at any time from here on.
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
 * What a script's text shows of what it can do (scripts/survey.ts): for comparing two versions of it. A *form* is an expression as one text
 * without comments, brackets and types; the script's own names, as FILE:NAME, stand in it between two U+0001, literals between U+0002, widths of a step
 * through a list between U+0003. Two names are the same where their definitions are, whatever they are called.
 */
export interface Survey {
  /**
   * Texts, numbers and booleans. path: the names they stand under, from the nearest variable or call: `rules.confidence`. row: number of the
   * object they stand in, where that is one of a list. compared: only ever compared with, as far as the text tells. decides: their
   * name is compared with. tool: the literal `tool` whose call they are part of, or null. of: the nearest name that is given them.
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
   * What each name of the script is given, in the order of the text. way: which part of that; body: a function of several statements;
   * exact: with all that stands in it, where that is more; whole: as the text has that; tests: what decides that it is given that.
   */
  names: Record<string, NameGiven[]>;
  /** Computed values of keys, bare parameters of calls (path ends in "."), what is spread into an object ("..."). fixed: literal in every case. */
  fields: { path: string; form: string; fixed: boolean; tool: string | null; line: number; shown: string }[];
  /** What is put into lists, one by one. */
  puts: (Deed & { list: string })[];
  /** Lines that give objects keys which do not stand in the text. */
  built: number[];
  /** By index of `Compiled.calls`. deeds: one for each way to it. texts: literals in its arguments. */
  when: { deeds: Deed[]; texts: string[] }[];
}

interface NameGiven {
  form: string;
  exact?: string;
  whole?: string;
  shown: string;
  line: number;
  way?: string;
  body?: true;
  tests?: readonly SurveyTest[];
}

/**
 * Something that is done. tests: what decides it. after: `NAME n/m`, of what alters a name in it n of m times come before. order: where it
 * stands, outermost call first.
 */
export interface Deed {
  exact: string;
  order: number[];
  tests: SurveyTest[];
  after: string[];
  shown: string;
  line: number;
}

/** A condition; "not": it does not hold. each: how often a loop goes round. */
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

/** A call as it arrives at the host. */
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
  /** Dispose of the context; nothing is thrown into the script. */
  | { kind: "suspend" };

/** What the child serves by itself before the first live call. */
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
  /** Nothing of a run stays in its context, so the next one of the same script may have it. */
  sealed?: true;
  /** Each live call tells its place in the script, which takes a quarter of the call's time; else only one that ends the run does. */
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
  /** The script's call (null: it ended) is not the recorded one. */
  | { kind: "diverged"; seq: number; recorded: { name: string; params: string }; actual: { name: string; params: string } | null; at?: At };

export interface Sandbox {
  /**
   * Lint (unless told not to), strip and rewrite in a child that is recycled on a crash. Cached by blob, kind and lint.
   * survey: what the text shows is told, too.
   */
  compile(
    source: string,
    options: { file: string; blob: string; lint: boolean; primitives: readonly string[]; survey?: true },
  ): Promise<{ compiled: Compiled | null; findings: Finding[]; survey?: Survey }>;
  execute(job: Job): Promise<JobEnd>;
  /**
   * Executes what a run waits for while it holds its slot: in a slot of its own, one for each level. A job may wait for jobs of lower
   * levels only, so none ever waits for itself.
   */
  executeBeside(job: Job, level: number): Promise<JobEnd>;
  close(): Promise<void>;
}

// ---------------------------------------------------------------- primitives (the declaration is in primitive.ts)

export type Effect = "pure" | "read" | "write" | "external" | "notify" | "control";
export type Access = "context" | "pure" | "model" | "model_task" | "read" | "decide" | "ask" | "write" | "external" | "notify";
