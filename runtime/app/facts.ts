/**
 * What the status page shows and what a person can do there, through the same operations as the commands. A decision is signed with a paired
 * browser's key, or with the user's. All of it may contain text from banks and scripts; the page escapes it.
 */
import { countRuns } from "../engine/store/run-queries.ts";
import { ableTo } from "../engine/authority.ts";
import { pauseWords } from "../engine/store/pauses.ts";
import { openAlerts } from "../outside/notices/alerts.ts";
import { listensTo } from "../outside/triggers/events.ts";
import type { Account, Card, RunRecord, Tree } from "../kernel/ports.ts";
import { ASKING } from "../change/proposals/store.ts";
import type { Proposal } from "../change/proposal-types.ts";
import type { Header } from "../scripts/header.ts";
import { type Balances, toBalances } from "../workspace/books/amounts.ts";
import { totalsOf } from "../workspace/books/assertions.ts";
import { plain } from "../workspace/books/ledger.ts";
import { ifWhole, loadChart, loadMonth, monthFiles, monthOfId } from "../workspace/books/months.ts";
import { verifyBooks } from "../workspace/books/verify.ts";
import { ClearedError, formatAt } from "../kernel/errors.ts";
import type { Api } from "./api.ts";
import { seenOf } from "./card-facts.ts";
import { agreed, asked } from "./decide.ts";
import { signAs, starter } from "./identity.ts";
import type { Host } from "./host.ts";
import { markWords } from "./marks.ts";
import { eventsOf, stepsOf, toStepFact } from "./look.ts";
import { pairedPerson, redeem, signAsBrowser } from "./sessions.ts";
import { callsOf, changedOf } from "../rules/edits.ts";

/** Number of open cards on a page. */
const CARDS = 50;
/** Number of requests that have a page. */
const ASKS = 200;

export interface Answer {
  decision: "approved" | "rejected";
  reason?: string;
  /** The reason for approving a proposal although it is unproven. */
  despite?: string;
  /** Entry cards only: the number of the account chosen instead of the booked one. */
  account?: string;
  /** Contents of the fields: of calls by path, of a form by name. */
  set?: Record<string, string>;
  /** That amounts equal to a changed one stay as they are. */
  keep?: true;
  /** `seenOf` the card as the page showed it. */
  seen?: string;
}

export type Facts = ReturnType<typeof createFacts>;
/** The result of one of them. */
export type Fact<K extends keyof Facts> = Awaited<ReturnType<Facts[K]>>;

/** The result of `verify` at a head; null if it was not checked yet. */
type Books = { ok: true; entries: number } | { ok: false; findings: string[] } | null;

export function createFacts(host: Host, api: Api) {
  const { engine, cards, git, database, trust, clock, dir } = host;
  let checked: { head: string; books: Books } | null = null;

  /** The books are verified once per head, not per request. */
  const booksAt = async (head: string): Promise<Books> => {
    if (checked?.head !== head) {
      const { findings, entries } = await verifyBooks(git.tree(head), await host.config());
      const said = findings.map((one) => `${formatAt(one.at)} ${one.message}`);
      checked = { head, books: findings.length === 0 ? { ok: true, entries } : { ok: false, findings: said } };
    }
    return checked.books;
  };

  /** Who decides with this browser's cookie; with null, the user who runs this process. Null: nobody, until a browser is paired. */
  const person = async (session: string | null): Promise<string | null> => {
    if (session !== null) return pairedPerson(host, session);
    // If trust.yaml has one person, programs of this user act as that person, as on the command line.
    return trust.people.length > 1 ? null : (starter(trust).by ?? null);
  };

  return {
    async state() {
      const config = await host.config();
      const head = await git.head();
      const broken = (await host.agents()).filter((one) => one.error !== null).map((one) => `${one.file}: ${one.error?.message}`);
      return {
        business: config.business.name,
        timezone: config.timezone,
        branch: config.branch,
        head,
        /** Why nothing can be committed now, or null. */
        blocked: await git.blockedBy(),
        books: await booksAt(head),
        /** Other remarks: agents with invalid headers, failed deliveries. */
        notices: [...broken, ...openAlerts(host.database, host.clock.now())],
      };
    },
    agents: async () =>
      (await api.agents()).map(({ name, header, error, paused, nextRun, lastRun, checked: mark }) => ({
        name,
        title: header?.name ?? name,
        description: header?.description ?? "",
        /** In words: "watches import/", "schedule 0 6 * * *", "on demand". */
        triggers: header === null ? [] : triggerWords(header),
        last: lastRun === null ? null : { run: lastRun.id, status: lastRun.status, outcome: lastRun.outcome, at: lastRun.createdAt },
        paused: paused === null ? null : pauseWords(paused),
        next: nextRun,
        problem: error,
        unchecked: markWords(mark),
      })),
    /** Newest first. The page sorts by urgency, so every failed, diverged and waiting run within the limit is included. */
    async runs(limit: number): Promise<RunRecord[]> {
      const [urgent, latest] = await Promise.all([
        engine.list({ status: ["failed", "diverged", "waiting"], limit }),
        engine.list({ limit }),
      ]);
      const all = new Map([...urgent, ...latest].map((run) => [run.id, run]));
      return [...all.values()].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit);
    },
    run: (id: string) => engine.get(id),
    /** Oldest first: `limit` of them from step `from` on (the first is 0); without `from` the last `limit`. */
    async steps(run: string, { from, limit }: { from?: number; limit: number }) {
      const steps = await stepsOf(engine, run, from);
      return (from === undefined ? steps.slice(-limit) : steps.slice(0, limit)).map(toStepFact);
    },
    /** Oldest first, from event `from` on (the first is 1). */
    async events(run: string, { from, limit }: { from: number; limit: number }) {
      const record = await engine.get(run);
      return record === null ? [] : eventsOf(engine, record, from, limit);
    },
    /** Open cards, oldest first, up to the limit; for a run: all of its cards. */
    cards: async (run?: string) => cards.list(run === undefined ? { open: true, first: CARDS } : { run }),
    waiting: async () => cards.waiting(),
    /** Those of the cards that this person may not decide. That a call in doubt has happened anybody may say. */
    async othersOf(shown: readonly Card[], person: string): Promise<ReadonlySet<number>> {
      const { policy } = await host.config();
      const isOthers = (card: Card) => card.kind !== "in_doubt" && !ableTo(card, trust.people, policy).includes(person);
      return new Set(shown.filter(isOthers).map(({ id: number }) => number));
    },
    card: async (id: number) => cards.get(id),
    /** Entries in the books at HEAD; ids that do not exist are omitted. */
    async entries(ids: readonly string[]) {
      const tree = git.tree(await git.head());
      const found = await Promise.all(ids.map(async (id) => (await loadMonth(tree, monthOfId(id)))?.byId.get(id)));
      return new Map(found.flatMap((entry) => (entry === undefined ? [] : [[entry.id, plain(entry)]])));
    },
    /** All readable proposals: open ones first, then newest first. */
    proposals: async () => (await api.proposals()).proposals,
    /** With the other contents of its page, and its card while a decision is open; null if it does not exist. */
    async proposal(number: number) {
      const found = (await api.proposals()).proposals.find((one) => one.number === number);
      if (found === undefined) return null;
      const { proposal, rejected } = await api.proposal({ id: found.id });
      const card = cards.get(number);
      return {
        ...{ proposal, rejected, patch: await api.patch({ id: found.id }) },
        excerpts: await excerptsOf(git.tree(proposal.commit), proposal),
        card: card === null || card.decision !== null || !ASKING.includes(proposal.state) ? null : card,
      };
    },
    /**
     * Every account in chart order, including those without a balance. `balances`: decimal text by currency; null if an entry of the books cannot
     * be read, so that a sum would be incomplete. `seal`: until this day a bank account ties to the bank's balance to the cent.
     */
    async balances(): Promise<{ account: Account; balances: Balances[string] | null; seal: Seal | null }[]> {
      const tree = git.tree(await git.head());
      const [{ accounts }, totals] = [await loadChart(tree), await ifWhole(async () => toBalances(await totalsOf(tree)))];
      // A stated balance that no longer holds proves nothing.
      const seals = (await booksAt(tree.commit))?.ok === true ? await lastSeals(tree) : new Map<string, Seal>();
      return accounts.map((account) => ({
        account,
        balances: totals === null ? null : (totals[account.name] ?? {}),
        seal: seals.get(account.id) ?? null,
      }));
    },
    person,
    /** Requests to the meta-agent, newest first. */
    asks: () => api.asks({ limit: ASKS }),
    async ask(id: number) {
      return (await api.asks({ limit: ASKS })).some((one) => one.id === id) ? api.watchAsk({ id, from: 1, wait: false }) : null;
    },
    /** A new request, or with a number the answer to its question; returns the number. @throws LLM_UNCONFIGURED, ASK_UNKNOWN, APPROVAL_IDENTITY */
    async request({ text, id }: { text: string; id?: number }, session: string | null) {
      const by = await person(session);
      const who = by === null ? {} : { by };
      return (await (id === undefined ? api.ask({ text, ...who }) : api.continueAsk({ id, answer: text, ...who }))).id;
    },
    /** Redeems a code of `cleared pair` once and returns the cookie. @throws APPROVAL_IDENTITY */
    pair: async (code: string) => redeem(database, code, clock.now()),
    /** Opens a card that asks where a confirmed entry belongs; returns its number. @throws JOURNAL_ENTRY_MISSING, JOURNAL_STATUS */
    correction: async (entry: string) => (await api.correction({ entry })).id,
    /** Where a rule for a moved entry is offered: a card, or a request. @throws USAGE */
    async rule(entry: string, session: string | null): Promise<{ card: number } | { ask: number }> {
      const by = await person(session);
      const made = await api.rule({ entry, ...(by === null ? {} : { by }) });
      return "ask" in made ? { ask: made.ask.id } : { card: made.card.id };
    },
    /** @throws CARD_UNKNOWN, CARD_CLOSED, APPROVAL_*, RUN_INPUT, USAGE */
    async decide(id: number, { set = {}, keep, seen, ...answer }: Answer, session: string | null) {
      const card = cards.get(id);
      if (card === null) throw new ClearedError("CARD_UNKNOWN", `There is no card ${id}.`);
      if (seen !== undefined && seen !== seenOf(card))
        throw new ClearedError("CARD_CHANGED", `Card ${id} has changed since this page was loaded. Refresh the page, then decide.`);
      const meant = card.kind === "form" || keep === true ? set : changedOf(callsOf(card), set);
      const self = trust.people.length === 1 ? { self: true } : {};
      const said = { ...asked(card), at: clock.now(), ...self, ...answer, ...(answer.decision === "approved" ? agreed(card, meant) : {}) };
      if (session === null && trust.people.length > 1)
        throw new ClearedError("APPROVAL_IDENTITY", "This browser is not paired: run `cleared pair`, and enter its code at /pair.");
      await api.decide({ decision: session === null ? signAs(dir, trust, said) : signAsBrowser(host, session, said) });
    },
  };
}

/** The lines at which a proposal's findings point, by `file:line`. */
async function excerptsOf(tree: Tree, { report }: Proposal): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const { at } of (report?.checks ?? []).flatMap(({ findings }) => findings)) {
    const line = at.line === undefined ? undefined : (await tree.read(at.file))?.split("\n")[at.line - 1];
    if (line !== undefined) found.set(`${at.file}:${at.line}`, line);
  }
  return found;
}

interface Seal {
  through: string;
}

/** By account number the last closing balance asserted in the books: until then they tie to the bank to the cent. */
async function lastSeals(tree: Tree): Promise<Map<string, Seal>> {
  const seals = new Map<string, Seal>();
  for (const file of await monthFiles(tree)) {
    for (const entry of (await loadMonth(tree, file))?.entries ?? []) {
      const account = /^closing:([^:]+):/.exec(entry.tags["key"] ?? "")?.[1];
      if (account !== undefined) seals.set(account, { through: entry.date });
    }
  }
  return seals;
}

function triggerWords(header: Header): string[] {
  return [
    ...(listensTo(header, "schedule")
      ? [`schedule ${header.schedule ?? ""}${header.timezone === undefined ? "" : ` (${header.timezone})`}`]
      : []),
    ...(listensTo(header, "file_watch") ? [`watches ${header.watch ?? "import/"}`] : []),
    ...(listensTo(header, "webhook") ? [`POST /hooks/${header.webhook ?? ""}`] : []),
    ...(listensTo(header, "a2a") ? ["A2A tasks"] : []),
    ...(listensTo(header, "a2a") || listensTo(header, "mcp") ? ["MCP tools"] : []),
    ...(listensTo(header, "event") ? [`on ${header.on_event ?? ""}`] : []),
    "on demand",
  ];
}

export type Figures = ReturnType<typeof figuresOf>;

/** Counts of the workspace and of this process, never estimates: `/metrics` for Prometheus, `/rl/status` as in the seeds. */
export function figuresOf({ database, cards, progress }: Pick<Host, "database" | "cards" | "progress">) {
  const runs = countRuns(database);
  const sum = (counts: (one: (typeof runs)[number]) => boolean) => runs.filter(counts).reduce((all, { n }) => all + n, 0);
  const successes = sum(({ outcome }) => outcome === "completed");
  const failures = sum(({ status }) => status === "failed" || status === "diverged");
  const total = sum(({ status }) => status !== "queued" && status !== "running" && status !== "waiting");
  const metrics = [
    "# HELP cleared_runs Runs by where they stand.\n# TYPE cleared_runs gauge",
    ...runs.map(({ status, outcome, n }) => `cleared_runs{status="${status}",outcome="${outcome ?? ""}"} ${n}`),
    `# HELP cleared_cards_open Cards that wait for a person.\n# TYPE cleared_cards_open gauge\ncleared_cards_open ${cards.waiting()}`,
    `# HELP cleared_calls_total Calls of scripts, by this process.\n# TYPE cleared_calls_total counter\ncleared_calls_total ${progress.calls}`,
  ];
  return { metrics: `${metrics.join("\n")}\n`, status: { status: "ok", total_cases: total, case_log: { total, successes, failures } } };
}
