/**
 * The operations on a workspace: the same whether a command owns it for a moment or talks to the owner over the socket.
 * All parameters and results are JSON.
 */
import { randomUUID } from "node:crypto";
import { pauseOf } from "../engine/store/pauses.ts";
import { type At, ClearedError, type WireError, toWire } from "../kernel/errors.ts";
import type { Given, Decision, Json, Pause, RunRecord, RunStatus } from "../kernel/ports.ts";
import { callPrimitive, contextAlone } from "../kernel/primitive.ts";
import { listensTo } from "../outside/triggers/events.ts";
import { isObject } from "../rules/tools/shape.ts";
import { totalsOf } from "../workspace/books/assertions.ts";
import { loadChart } from "../workspace/books/months.ts";
import { toBalances } from "../workspace/books/amounts.ts";
import { decideCard } from "./decide.ts";
import type { AgentAtHead } from "./agents-at-head.ts";
import type { Host } from "./host.ts";
import { personNamed } from "./identity.ts";
import { NOBODY } from "../kernel/text.ts";
import type { McpApi, createMcpCalls } from "./mcp-api.ts";
import { type Mark, marksOf } from "./marks.ts";
import type { Pairing } from "./sessions.ts";
import { needRun } from "./look.ts";
import type { Moving, Group } from "./move-run.ts";
import type { Proposing } from "./proposals-api.ts";

export interface AgentFact extends AgentAtHead {
  /** Null also while it is paused. */
  nextRun: number | null;
  /** Who paused it, or all agents; null if it is not paused. */
  paused: Pause | null;
  lastRun: RunRecord | null;
  /** The result of checking its code; null: not checked yet. */
  checked: Mark;
}

export interface ExecResult {
  status: RunStatus;
  result?: Json;
  error?: { code: string; message: string; at: At };
  steps: number;
}

// Modules that few commands need are loaded on demand.
const moving = () => import("./move-run.ts");
const proposing = () => import("./proposals-api.ts");
const undoing = () => import("../change/proposals/undo.ts");
const asking = () => import("./asks.ts");
const trying = () => import("./evidence-api.ts");

type By = { by?: string };
type Id = { id: string | number };

export type Api = ReturnType<typeof createApi>;

export function createApi(host: Host) {
  const { engine, git } = host;
  let mcp: Promise<ReturnType<typeof createMcpCalls>> | undefined;

  const settled = async (id: string, wait: boolean): Promise<RunRecord> => {
    const run = await needRun(engine, id);
    return wait ? engine.result(id) : run;
  };

  /** An operation that is a single function of host and parameters. */
  const of =
    <P, R>(load: () => Promise<(on: Host, p: P) => Promise<R>>) =>
    async (p: P): Promise<R> =>
      (await load())(host, p);

  const startedBy = (by: string | undefined): By => (by === undefined || by === NOBODY ? {} : { by: personNamed(host.trust, by) });
  const startsRun = (by: string | undefined) => ({ by: startedBy(by).by ?? NOBODY });
  /** @throws APPROVAL_IDENTITY */
  const named = <P extends { by: string | null }>(p: P): P => {
    if (p.by !== null) startedBy(p.by);
    return p;
  };
  /** For what decides at once, so that nobody is asked to agree: by a person where trust.yaml has any. @throws APPROVAL_IDENTITY */
  const decided = <P extends { by: string }>(p: P): P => {
    if (host.trust.people.length > 0) personNamed(host.trust, p.by);
    return named(p);
  };

  return {
    /** `by`: the person whose key the caller has, here and below; over the socket with their signature (identity.ts). @throws APPROVAL_IDENTITY when trust.yaml does not name them */
    async run(p: { agent: string; input: Json; key?: string; dry?: boolean; given?: Given; by?: string; again?: string[]; wait: boolean }) {
      const { agent, input, key = randomUUID(), dry, given, wait, by, again } = p;
      const { id } = await host.start(agent, {
        cause: again === undefined ? { kind: "command", key } : await (await import("./imports.ts")).filesAgain(host, agent, again, key),
        input,
        mode: dry === true ? "dry" : "live",
        ...startsRun(by),
        ...(given === undefined ? {} : { given }),
      });
      return settled(id, wait);
    },

    /** `check`: language, names, capabilities and types first; the sandbox is safe without it. */
    async exec(p: { file: string; text: string; input: Json; live: boolean; check: boolean; by?: string }): Promise<ExecResult> {
      const { file, text, input, live, check, by } = p;
      const name = (file.split("/").at(-1) ?? file).replace(/\.ts$/, "");
      const told = ({ code, message, at }: WireError) => ({ code, message, at: at ?? { file } });
      try {
        if (check) await (await import("./check-api.ts")).checkSource(host, file, text);
        const { id } = await host.start(name, {
          cause: { kind: "exec", key: randomUUID(), detail: { file, text, lint: check } },
          input,
          mode: live ? "live" : "dry",
          ...startsRun(by),
        });
        const run = await settled(id, true);
        const steps = (await engine.steps(id)).length;
        if (run.error !== null) return { status: run.status, error: told(run.error), steps };
        return { status: run.status, ...(run.status === "done" ? { result: run.result } : {}), steps };
      } catch (error) {
        if (!(error instanceof ClearedError) || error.kind === "internal") throw error;
        return { status: "failed", error: told(toWire(error)), steps: 0 };
      }
    },

    async call({ calls }: { calls: { name: string; params: Json }[] }) {
      const commit = await git.head();
      const { detachedLog, triedRun } = await import("../engine/replay.ts");
      // A run that exists only for this call.
      const run = triedRun({ id: "run_trying", agent: "call", input: {}, commit, why: "call", now: host.clock.now() });
      const log = detachedLog(run);
      const view = await host.world.view(run, log, () => host.clock.now());
      const answers: ({ result: Json } | { error: WireError })[] = [];
      const callable = await host.callableAt(git.tree(commit), new Set(calls.map(({ name }) => name)));
      for (const { name, params } of calls) {
        const ctx = contextAlone({
          ...{ ports: view.ports, run: { id: run.id, agent: run.agent, mode: "dry" }, key: `${run.id}/${answers.length}` },
          ...{ now: host.clock.now(), today: view.today(host.clock.now()), abort: log.abort },
          gate: async () => ({ card: 0, decision: "approved", by: "dry run", at: host.clock.now() }),
          commit: async () => view.check().then(() => null),
        });
        try {
          const primitive = await callable.primitive(name);
          const given = primitive.bare !== null && !isObject(params) ? { [primitive.bare]: params } : params;
          answers.push({ result: await callPrimitive(primitive, given, ctx) });
        } catch (error) {
          answers.push({ error: toWire(error) });
        }
      }
      return answers;
    },

    async agents(): Promise<AgentFact[]> {
      const timezone = (await host.config()).timezone;
      const marks = await marksOf(host.dir, git.tree(await git.head()));
      return Promise.all(
        (await host.agents()).map(async (agent) => ({
          ...agent,
          paused: pauseOf(host.database, agent.name),
          nextRun: await nextRunOf(host, agent, timezone),
          lastRun: (await engine.list({ agent: agent.name, limit: 1 }))[0] ?? null,
          checked: marks.get(agent.name) ?? null,
        })),
      );
    },

    /** The run as it is, or with `wait` once it has ended or waits for a person. @throws RUN_UNKNOWN */
    status: ({ run, wait }: { run: string; wait: boolean }) => settled(run, wait),

    async resume({ run, at, wait }: { run: string; at?: string; wait: boolean }) {
      if (at === undefined) await engine.retry(run);
      else await (await moving()).migrateRun(host, { run, to: at, by: null, reason: "resumed there", dryRun: false });
      return settled(run, wait);
    },

    cancel: ({ run, reason }: { run: string; reason: string }) => engine.cancel(run, reason),

    /** Copies a run up to a step. @throws HISTORY_DIVERGED, RUN_STATUS */
    async fork({ wait, ...change }: Moving & { at?: number; head: boolean; wait: boolean }) {
      const proof = await (await moving()).forkRun(host, named(change));
      return { proof, run: await settled(proof.run, wait) };
    },

    /** Moves a run to other code; `run` is null if it was only proved that it could move. @throws HISTORY_DIVERGED, RUN_STATUS */
    async migrate({ wait, ...change }: Moving & { to?: string; dryRun: boolean; wait: boolean }) {
      const proof = await (await moving()).migrateRun(host, named(change));
      return { proof, run: change.dryRun ? null : await settled(proof.run, wait) };
    },

    /** The same for all runs waiting on older code, or those named. With `wait`, returns once the moved runs are at rest. @throws RUN_UNKNOWN */
    async migrateRuns({ wait, ...group }: Group & { wait: boolean }) {
      const runs = await (await moving()).migrateRuns(host, named(group));
      if (wait && !group.dryRun) for (const { run, moves } of runs) if (moves) await engine.result(run);
      return runs;
    },

    /** Ends the pause of one agent, or with null all pauses. @throws AGENT_UNKNOWN, RUN_PAUSED */
    resumeAgents: async (p: { agent: string | null; by: string | null }) => (await import("./pause.ts")).resumeAgents(host, named(p)),

    async replay({ run }: { run: string }) {
      const record = await settled(run, false);
      return (await import("../engine/replay.ts")).replayRun(record, await engine.steps(run), host.world);
    },

    /**
     * The decision is signed with the caller's key; the owner verifies it against trust.yaml. `offer`: the card that was opened to make a rule of
     * a correction and to move similar entries.
     */
    async decide({ decision }: { decision: Decision }) {
      const done = await decideCard(host, decision);
      const { entry } = (done.card.body ?? {}) as { entry?: string };
      const moved = entry !== undefined && decision.account !== undefined && done.commit !== null;
      const offer = moved ? await (await import("./learn.ts")).offerRule(host, entry) : null;
      return { ...done, offer };
    },
    /** Stores a code of `cleared pair`. @throws APPROVAL_IDENTITY */
    async pair({ name, pairing }: { name: string; pairing: Pairing }) {
      host.assertTrust();
      (await import("./sessions.ts")).keepPairing(host.database, host.trust, host.clock.now(), name, pairing);
      return null;
    },
    /** Ends a person's pairings; returns how many. */
    unpair: async ({ by }: { by: string }) => (await import("./sessions.ts")).endPairings(host, by),
    import: async (p: { files: string[]; dryRun: boolean; again: boolean; by?: string }) =>
      (await import("./imports.ts")).importFiles(host, { ...p, ...startsRun(p.by) }),

    /** Adopts closed runs that are in git and not in the store. */
    reindex: async () => ({ runs: await (await import("../engine/store/packing.ts")).adoptBundles(host.packing) }),
    /** Books manually deleted rows again, or excludes them permanently. @throws USAGE, GIT_STATE, JOURNAL_* */
    revive: async (p: { names: string[]; leave: boolean; by: string }) => {
      const revived = await (await import("./rows.ts")).revive(host, decided(p));
      await (await import("./reconcile.ts")).reconcileCards(host);
      return revived;
    },
    /** Opens a card that asks where a confirmed entry belongs; it is decided like any other. @throws JOURNAL_*, ACCOUNT_UNKNOWN */
    correction: async (p: { entry: string; account?: string }) => (await import("./rows.ts")).askCorrection(host, p),

    /** Makes four small requests to each model with a role; costs a little. @throws LLM_UNCONFIGURED */
    testModels: async () => (await import("./models.ts")).testModels(host),

    async balances() {
      const tree = git.tree(await git.head());
      const totals = toBalances(await totalsOf(tree));
      return (await loadChart(tree)).accounts
        .map((account) => ({ account, balance: totals[account.name] ?? {} }))
        .filter(({ balance }) => Object.keys(balance).length > 0);
    },

    progress: async () => ({ ...host.progress }),
    /** What callers over MCP may call: an operation of McpApi by name. */
    mcp: async (p: { name: keyof McpApi; params: never }) =>
      (await (mcp ??= import("./mcp-api.ts").then((found) => found.createMcpCalls(host))))(p),

    // Changes of the code: checking, proposing, trying on recorded runs, undoing. Each throws what the called function throws.
    /** A request to the meta-agent; work continues until it ends, whether or not anybody watches. */
    ask: async ({ text, by }: { text: string } & By) => (await asking()).beginAsk(host, { text, ...startedBy(by) }),
    /** Answers its question, or continues an interrupted request; only for whoever asked. */
    continueAsk: async ({ by, ...p }: { id?: number; answer?: string } & By) =>
      (await asking()).continueAsk(host, { ...p, ...startedBy(by) }),
    watchAsk: of(async () => (await asking()).watchAsk),
    stopAsk: of(async () => (await asking()).stopAsk),
    asks: of(async () => (await asking()).listAsks),
    askPrompt: async () => (await asking()).showPrompt(host),
    rule: async ({ entry, by }: { entry: string } & By) => (await import("./learn.ts")).makeRule(host, { entry, ...startedBy(by) }),
    bisect: async ({ name }: { name: string }) => (await trying()).bisectRun(host, name),
    /** The plan of undoing a proposal, a run, "import" or an undo. */
    planUndo: async ({ target }: { target: string }) => (await undoing()).planUndo(host, target),
    /** Undoes it. `seen`: from the plan that was shown; another plan is refused. */
    async undo({ target, ...how }: { target: string; by: string; reason?: string; seen?: string }) {
      const done = await (await undoing()).undo(host, target, decided(how));
      await (await import("./reconcile.ts")).reconcileCards(host);
      return done;
    },
    backtest: of(async () => (await trying()).backtestAgent),
    /** Records a proposal and checks it; its edits leave the working tree. */
    propose: async ({ by, ...p }: Proposing) => (await proposing()).propose(host, { ...p, ...startedBy(by) }),
    proposals: async () => (await proposing()).listProposals(host),
    /** By number or id, here and below. */
    proposal: async ({ id }: Id) => (await proposing()).showProposal(host, id),
    /** What its report omits, a few runs at a time. */
    differences: of(async () => (await proposing()).differencesOf),
    patch: async ({ id }: Id) => (await proposing()).patchOf(host, id),
    async withdraw({ id, by, reason }: Id & { by: string; reason: string }) {
      const done = await (await proposing()).withdrawProposal(host, id, decided({ by }).by, reason);
      await (await import("./reconcile.ts")).reconcileCards(host);
      return done;
    },
    checkProposal: async ({ id }: Id) => (await proposing()).checkProposal(host, id),
    syncProposals: async ({ remote }: { remote: string }) => (await import("../change/proposals/sync.ts")).syncProposals(host, remote),
    /** Tries cases of the work tree on its code; all by default. */
    tryCases: async ({ names }: { names: string[] }) => (await trying()).tryCases(host, names),
    caseOfRun: of(async () => (await trying()).caseOfRun),
    tools: of(async () => (await import("./tool-list.ts")).listTools),
    /** Checks files (text by path, null removes) laid over HEAD; every agent with `all`, or if there are no files. */
    check: async (p: { files: Record<string, string | null>; all: boolean; only?: string[] }) =>
      (await import("./check-api.ts")).checkFiles(host, p),
  };
}

/** The next scheduled start of an agent, ms; null without a schedule or while it is paused. */
async function nextRunOf({ database, clock }: Host, { name, header }: AgentAtHead, timezone: string): Promise<number | null> {
  if (pauseOf(database, name) !== null || !listensTo(header, "schedule") || header.schedule === undefined) return null;
  const { nextTick } = await import("../outside/triggers/cron.ts");
  return nextTick({ agent: name, expression: header.schedule, timezone: header.timezone ?? timezone }, clock.now());
}
