/**
 * What the status page shows, and what a person can do there: pair a browser, decide a card, ask for a correction. facts.ts implements it;
 * a test writes one by hand. Everything in it may carry text from banks and scripts: the page escapes it.
 */
import { shownOf } from "../engine/authority.ts";
import type { HookRequest } from "../outside/triggers/webhook.ts";
import type { Account, Card, Change, Effect, Entry, Outcome, RunEvent, RunRecord, RunStatus, Step } from "../kernel/ports.ts";
import type { WireError } from "../kernel/errors.ts";
import type { Proposal } from "../change/proposal-types.ts";
import type { Ask, WatchedAsk } from "./asks.ts";

/** How many open cards a page shows. */
export const CARDS = 50;
/** Requests that have a page. */
export const ASKS = 200;
/** How long a paired browser may decide: 30 days. */
export const SESSION_MS = 30 * 86_400_000;

/** Starts the agents that listen to a webhook. @throws WEBHOOK_REFUSED, RUN_INPUT */
export type Hooks = (request: HookRequest) => Promise<{ runs: string[]; created: boolean }>;

export interface Facts {
  state(): Promise<StateFact>;
  agents(): Promise<AgentFact[]>;
  /** Newest first. The page sorts by urgency, so the list must hold every failed, diverged and waiting run within the limit. */
  runs(limit: number): Promise<RunFact[]>;
  run(id: string): Promise<RunFact | null>;
  /** Oldest first: `limit` of them from step `from` on (the first is 0), without `from` the last `limit`. See `toStepFact`. */
  steps(run: string, options: { from?: number; limit: number }): Promise<StepFact[]>;
  /** Oldest first, from event `from` on (the first is 1). */
  events(run: string, options: { from: number; limit: number }): Promise<RunEvent[]>;
  /** Open cards, oldest first, as many as are shown; of a run: all of them. */
  cards(run?: string): Promise<Card[]>;
  /** How many are open. */
  waiting(): Promise<number>;
  /** Those of the cards that this person may not decide. */
  othersOf(cards: readonly Card[], person: string): Promise<ReadonlySet<number>>;
  card(id: number): Promise<Card | null>;
  /**
   * The entries of these ids as the books at HEAD have them: what a card of an entry is about. Ids that are not there are left out.
   */
  entries(ids: readonly string[]): Promise<Map<string, Entry>>;
  /** Every proposal that can be read: those on their way first, then the newest. */
  proposals(): Promise<Proposal[]>;
  /** One by its number, with what its page tells beside it; null when there is none. */
  proposal(number: number): Promise<ProposalFact | null>;
  /** Every account in the order of the chart, also those without a balance. */
  balances(): Promise<BalanceFact[]>;
  /** Who decides with this browser's cookie; with null, as the user who runs this process. Null: nobody before a browser is paired. */
  person(session: string | null): Promise<string | null>;
  /** Takes a code of `cleared pair` once and answers the cookie. @throws APPROVAL_IDENTITY */
  pair(code: string): Promise<string>;
  /** Asks where a confirmed entry belongs; answers the card's number. @throws JOURNAL_ENTRY_MISSING, JOURNAL_STATUS */
  correction(entry: string): Promise<number>;
  /** Where a rule of a moved entry is offered: a card, or a request. @throws USAGE */
  rule(entry: string, session: string | null): Promise<{ card: number } | { ask: number }>;
  /** @throws CARD_UNKNOWN, CARD_CLOSED, APPROVAL_*, RUN_INPUT, USAGE */
  decide(id: number, answer: Answer, session: string | null): Promise<void>;
  /** Requests to the meta-agent, newest first. */
  asks(limit: number): Promise<(Ask & { cost: string | null })[]>;
  ask(id: number): Promise<WatchedAsk | null>;
  /** A new request, or with its number the answer to its question; answers the number. @throws LLM_UNCONFIGURED, ASK_UNKNOWN, APPROVAL_IDENTITY, USAGE */
  request(one: { text: string; id?: number }, session: string | null): Promise<number>;
}

export interface ProposalFact {
  proposal: Proposal;
  /** Earlier ones on the same files that were rejected, newest first. */
  rejected: Proposal[];
  /** The change as git writes it. */
  patch: string;
  /** The lines that findings point at, by `file:line`. */
  excerpts: ReadonlyMap<string, string>;
  /** While a person is asked. */
  card: Card | null;
}

export interface Answer {
  decision: "approved" | "rejected";
  reason?: string;
  /** Why a proposal is approved although it is unproven. */
  despite?: string;
  /** Entry cards only: number of the account the person chose instead of the booked one. */
  account?: string;
  /** What stood in the fields: of the calls by path, of a form by name. */
  set?: Record<string, string>;
  /** `seenOf` the card that the page showed. */
  seen?: string;
}

export interface StateFact {
  /** config.yaml `business.name`. */
  business: string;
  timezone: string;
  branch: string;
  /** Commit at HEAD of the branch. */
  head: string;
  /** Why nothing may be committed now (Git.blockedBy), or null. */
  blocked: string | null;
  /** Does the whole of the books hold: `verify` at this head, or null while it has not been checked. */
  books: { ok: true; entries: number } | { ok: false; findings: string[] } | null;
  /** Other things a person should know: an agent whose header is broken, a trust.yaml that changed. */
  notices: string[];
}

export interface AgentFact {
  name: string;
  /** The header's `name:`. */
  title: string;
  description: string;
  /** In words: "watches import/", "schedule 0 6 * * *", "on demand". */
  triggers: string[];
  last: { run: string; status: RunStatus; outcome: Outcome | null; at: number } | null;
  /** ms; null when nothing is planned. */
  next: number | null;
  /** Who paused it, since when and why, in words. */
  paused?: string | null;
  /** The header or the script is broken at HEAD. */
  problem: WireError | null;
  /** "unchecked", or what its checks found; null for code that has passed. */
  unchecked?: string | null;
}

export type RunFact = Omit<RunRecord, "given" | "parent" | "priority" | "notBefore" | "dropped">;

export interface StepFact {
  seq: number;
  name: string;
  effect: Effect;
  state: Step["state"];
  /** Beginning of the JSON text. */
  params: string;
  result: string | null;
  error: WireError | null;
  at: number;
  /** What it did to the run: states, verdict, decisions, writes that were read back. */
  changes: Change[];
}

export interface BalanceFact {
  account: Account;
  /** Decimal text by currency; null when an entry of the books cannot be read, so that a sum would lack it. */
  balances: Record<string, string> | null;
  /** Bank accounts with a statement: until this day they tie to the bank's balance to the cent. */
  seal: { through: string } | null;
}

// One step may carry 4 MiB of rows; a page shows how it begins, and `cleared runs show` has all of it.
const SHOWN = 600;

/** What the page needs of a recorded step. */
export function toStepFact(step: Step): StepFact {
  const { seq, name, effect, state, error, at } = step;
  const changes = step.changes.filter(({ op }) => op === "entered" || op === "verdict" || op === "decided" || op === "verified");
  return { seq, name, effect, state, error, at, changes, params: cut(step.params), result: step.result === null ? null : cut(step.result) };
}

function cut(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)} … (${text.length} characters)` : text;
}

/** What the page has shown of a card: a yes to something else by now is no yes. */
export const seenOf = (card: Card): string => `${card.name} ${shownOf(card)}`;
