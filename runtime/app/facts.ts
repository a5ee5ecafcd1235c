/** The facts of the status page, from the same operations the commands use. A decision there is signed by a paired browser's key, or by the user's. */
import { ableTo } from "../engine/authority.ts";
import { pauseWords } from "../engine/pauses.ts";
import { openAlerts } from "../outside/notices/alerts.ts";
import { listensTo } from "../outside/triggers/events.ts";
import { ASKS, CARDS, seenOf, type AgentFact, type BalanceFact, type Facts, type StateFact, toStepFact } from "./page-facts.ts";
import type { Tree } from "../kernel/ports.ts";
import { ASKING } from "../change/proposals/store.ts";
import type { Proposal } from "../change/proposal-types.ts";
import type { Header } from "../scripts/header.ts";
import { type Balances, toBalances } from "../workspace/books/amounts.ts";
import { totalsOf } from "../workspace/books/assertions.ts";
import { plain } from "../workspace/books/ledger.ts";
import { loadChart, loadMonth, monthFiles, monthOfId } from "../workspace/books/months.ts";
import { verifyBooks } from "../workspace/books/verify.ts";
import { ClearedError, formatAt } from "../kernel/errors.ts";
import type { Api } from "./api.ts";
import { agreed, asked } from "./decide.ts";
import { signAs, starter } from "./identity.ts";
import type { Host } from "./host.ts";
import { markWords } from "./marks.ts";
import { eventsOf, stepsOf } from "./look.ts";
import { pairedPerson, redeem, signAsBrowser } from "./sessions.ts";

export function createFacts(host: Host, api: Api): Facts {
  const { engine, cards, git, database, trust, clock, dir } = host;
  let checked: { head: string; books: StateFact["books"] } | null = null;

  /** The whole of the books is checked once for each head, not for each look. */
  const booksAt = async (head: string): Promise<StateFact["books"]> => {
    if (checked?.head !== head) {
      const { findings, entries } = await verifyBooks(git.tree(head), await host.config());
      const said = findings.map((one) => `${formatAt(one.at)} ${one.message}`);
      checked = { head, books: findings.length === 0 ? { ok: true, entries } : { ok: false, findings: said } };
    }
    return checked.books;
  };

  const person = async (session: string | null): Promise<string | null> => {
    if (session !== null) return pairedPerson(database, trust, session, clock.now());
    // With one person of trust.yaml, whoever runs programs as this user is that person, as on the command line.
    return trust.people.length > 1 ? null : (starter(dir, trust).by ?? null);
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
        blocked: await git.blockedBy(),
        books: await booksAt(head),
        notices: [...broken, ...openAlerts(host.database, host.clock.now())],
      };
    },
    agents: async () =>
      (await api.agents()).map(
        ({ name, header, error, paused, nextRun, lastRun, checked: mark }): AgentFact => ({
          name,
          title: header?.name ?? name,
          description: header?.description ?? "",
          triggers: header === null ? [] : triggerWords(header),
          last: lastRun === null ? null : { run: lastRun.id, status: lastRun.status, outcome: lastRun.outcome, at: lastRun.createdAt },
          paused: paused === null ? null : pauseWords(paused),
          next: nextRun,
          problem: error,
          unchecked: markWords(mark),
        }),
      ),
    async runs(limit) {
      const [urgent, latest] = await Promise.all([
        engine.list({ status: ["failed", "diverged", "waiting"], limit }),
        engine.list({ limit }),
      ]);
      const all = new Map([...urgent, ...latest].map((run) => [run.id, run]));
      return [...all.values()].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, limit);
    },
    run: (id) => engine.get(id),
    async steps(run, { from, limit }) {
      const steps = await stepsOf(engine, run, from);
      return (from === undefined ? steps.slice(-limit) : steps.slice(0, limit)).map(toStepFact);
    },
    async events(run, { from, limit }) {
      const record = await engine.get(run);
      return record === null ? [] : eventsOf(engine, record, from, limit);
    },
    cards: async (run) => cards.list(run === undefined ? { open: true, first: CARDS } : { run }),
    waiting: async () => cards.waiting(),
    async othersOf(shown, person) {
      const { policy } = await host.config();
      return new Set(shown.filter((card) => !ableTo(card, trust.people, policy).includes(person)).map(({ id: number }) => number));
    },
    card: async (id) => cards.get(id),
    async entries(ids) {
      const tree = git.tree(await git.head());
      const found = await Promise.all(ids.map(async (id) => (await loadMonth(tree, monthOfId(id)))?.byId.get(id)));
      return new Map(found.flatMap((entry) => (entry === undefined ? [] : [[entry.id, plain(entry)]])));
    },
    proposals: async () => (await api.proposals()).proposals,
    async proposal(number) {
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
    async balances() {
      const tree = git.tree(await git.head());
      const [{ accounts }, totals] = [await loadChart(tree), await totalsIfWhole(tree)];
      // A stated balance that does not hold any more ties nothing.
      const seals = (await booksAt(tree.commit))?.ok === true ? await lastSeals(tree) : new Map<string, BalanceFact["seal"]>();
      return accounts.map(
        (account): BalanceFact => ({
          account,
          balances: totals === null ? null : (totals[account.name] ?? {}),
          seal: seals.get(account.id) ?? null,
        }),
      );
    },
    person,
    asks: (limit) => api.asks({ limit }),
    async ask(id) {
      return (await api.asks({ limit: ASKS })).some((one) => one.id === id) ? api.watchAsk({ id, from: 1, wait: false }) : null;
    },
    async request({ text, id }, session) {
      const by = await person(session);
      const who = by === null ? {} : { by };
      return (await (id === undefined ? api.ask({ text, ...who }) : api.continueAsk({ id, answer: text, ...who }))).id;
    },
    pair: async (code) => redeem(database, code, clock.now()),
    correction: async (entry) => (await api.correction({ entry })).id,
    async rule(entry, session) {
      const by = await person(session);
      const made = await api.rule({ entry, ...(by === null ? {} : { by }) });
      return "ask" in made ? { ask: made.ask.id } : { card: made.card.id };
    },
    async decide(id, { set = {}, seen, ...answer }, session) {
      const card = cards.get(id);
      if (card === null) throw new ClearedError("CARD_UNKNOWN", `There is no card ${id}.`);
      if (seen !== undefined && seen !== seenOf(card))
        throw new ClearedError("CARD_CHANGED", `Card ${id} has changed since this page was loaded. Refresh the page, then decide.`);
      const self = trust.people.length === 1 ? { self: true } : {};
      const said = { ...asked(card), at: clock.now(), ...self, ...answer, ...(answer.decision === "approved" ? agreed(card, set) : {}) };
      if (session === null && trust.people.length > 1)
        throw new ClearedError("APPROVAL_IDENTITY", "This browser is not paired: run `cleared pair`, and enter its code at /pair.");
      await api.decide({ decision: session === null ? signAs(dir, trust, said) : signAsBrowser(database, session, said) });
    },
  };
}

/** The lines that a proposal's findings point at, by `file:line`. */
async function excerptsOf(tree: Tree, { report }: Proposal): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const { at } of (report?.checks ?? []).flatMap(({ findings }) => findings)) {
    const line = at.line === undefined ? undefined : (await tree.read(at.file))?.split("\n")[at.line - 1];
    if (line !== undefined) found.set(`${at.file}:${at.line}`, line);
  }
  return found;
}

async function totalsIfWhole(tree: Tree): Promise<Balances | null> {
  try {
    return toBalances(await totalsOf(tree));
  } catch (error) {
    if (!(error instanceof ClearedError) || error.code !== "JOURNAL_FORM") throw error;
    return null;
  }
}

/** Per account number the last closing balance that the books assert: until there they tie to the bank to the cent. */
async function lastSeals(tree: Tree): Promise<Map<string, { through: string; gap: null }>> {
  const seals = new Map<string, { through: string; gap: null }>();
  for (const file of await monthFiles(tree)) {
    for (const entry of (await loadMonth(tree, file))?.entries ?? []) {
      const account = /^closing:([^:]+):/.exec(entry.tags["key"] ?? "")?.[1];
      if (account !== undefined) seals.set(account, { through: entry.date, gap: null });
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
