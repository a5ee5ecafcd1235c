/**
 * What callers over MCP may do: start agents that allow it, read the state of runs and open cards, and trace an entry. A call is a task
 * (tasks.ts), so owners, privacy and one run per message work the same; one function decides who sees a run (`seen`). Nothing here decides a
 * card: the answer names the place where a person does.
 */
import { createHash, randomUUID } from "node:crypto";
import { canonicalJson } from "../kernel/canonical.ts";
import { ClearedError, didYouMean } from "../kernel/errors.ts";
import type { Card, Json, RunRecord } from "../kernel/ports.ts";
import { createKeyedTurns } from "../kernel/turns.ts";
import { callsOf, titleOf } from "../rules/edits.ts";
import { validateInput } from "../scripts/fields.ts";
import { isEntryId } from "../workspace/books/entry-id.ts";
import { plain } from "../workspace/books/ledger.ts";
import { findEntry } from "../workspace/books/months.ts";
import { ALL_OPEN, type Caller, createSeats, LOCAL } from "./callers.ts";
import type { Host } from "./host.ts";
import { starter } from "./identity.ts";
import { stepsOf, toStepFact } from "./look.ts";
import { type TaskView, failureOf, hasEnded, leftParts, refusalOf } from "./task-view.ts";
import { textIn } from "../engine/store/tasks.ts";
import { tasksOf } from "./tasks.ts";

type Of = { caller: Caller };
export type McpApi = ReturnType<typeof createMcpApi>;

/** The operations where only calls by name are possible: over the socket, or in a host opened per call. */
export function mcpOver(call: (p: { name: keyof McpApi; params: never }) => Promise<unknown>): McpApi {
  return new Proxy({} as McpApi, { get: (_, name) => (params: never) => call({ name: name as keyof McpApi, params }) });
}

/** Every call goes through here, many per request or pipe; calls answered at once need no place. @throws USAGE, TASK_LIMIT */
export function createMcpCalls(host: Host): (p: { name: keyof McpApi; params: never }) => Promise<unknown> {
  const operations = createMcpApi(host);
  const { limits } = tasksOf(host);
  const hold = createSeats(async () => (await limits()).open, ALL_OPEN);
  return async ({ name, params }) => {
    if (!Object.hasOwn(operations, name)) throw new ClearedError("USAGE", `MCP has no operation "${name}" here.`);
    const { caller, waitMs = 0 } = params as Of & { waitMs?: number };
    const free = waitMs === 0 ? null : await hold(caller.owner, "calls", "Wait for one of them to be answered.");
    return operations[name](params).finally(() => free?.());
  };
}

function createMcpApi(host: Host) {
  const { engine, cards, clock } = host;
  const tasks = tasksOf(host);
  const inTurn = createKeyedTurns();

  const isLocal = ({ owner }: Caller): boolean => owner === LOCAL;
  const assertLocal = (caller: Caller): void => {
    if (isLocal(caller)) return;
    throw new ClearedError("TASK_TOKEN", "Only programs of the user of this workspace ask for this; a token has its own runs.");
  };
  const link = (path: string): string | undefined => (host.page === null ? undefined : `${host.page}${path}`);

  const seen = async (caller: Caller, id: string): Promise<RunRecord> => {
    const run = await engine.get(id);
    if (run !== null && (isLocal(caller) || ownerOf(run) === caller.owner)) return run;
    throw new ClearedError("RUN_UNKNOWN", `There is no run "${id.slice(0, 60)}" that is yours.`);
  };

  /** A run as shown to its caller; fields that do not apply are omitted. */
  const told = (run: RunRecord) => {
    const { id, agent, status, outcome, result, meta } = run;
    const card = status === "waiting" ? cards.list({ run: id }).findLast((one) => one.decision === null) : undefined;
    const where = host.page === null ? `\`cleared approve ${card?.name}\`` : "review_url";
    const message =
      card !== undefined
        ? `Waits: ${titleOf(card)}. A person decides card ${card.id} (${where}); no tool does.`
        : status === "waiting"
          ? `Waits: ${run.waitsFor ?? run.reason}.`
          : status === "failed" || status === "diverged"
            ? textIn([{ text: failureOf(run.error?.code ?? "INTERNAL", run) }, ...leftParts(run)])
            : outcome !== null && outcome !== "completed"
              ? textIn(refusalOf(outcome, run))
              : undefined;
    const review_url = link(card === undefined ? `/runs/${id}` : `/#card-${card.id}`);
    const ended = status === "done" ? { outcome, answer: result, facts: meta ?? undefined } : {};
    return { run: id, agent, status, message, card: card?.id, review_url, ...ended };
  };

  /** With its origin and its last hundred calls. */
  const whole = async (run: RunRecord) => ({
    ...told(run),
    started: run.cause.kind,
    script: { commit: run.pin.commit, blob: run.pin.blob },
    steps: (await stepsOf(engine, run.id)).slice(-100).map(toStepFact),
  });

  const toldCard = (caller: Caller, card: Card) => {
    const { id, kind, body, run, level, expires, decision } = card;
    return {
      ...{ card: id, kind, title: titleOf(card), run, level, expires: expires === null ? null : timeOf(expires) },
      decided: decision && { decision: decision.decision, by: decision.by, at: timeOf(decision.at), reason: decision.reason ?? null },
      ...(isLocal(caller) ? { about: body, calls: callsOf(card) } : {}),
      review_url: link(`/#card-${id}`),
    };
  };

  /** Cards about a run are visible to whoever sees the run, other cards to the user. */
  const sees = async (caller: Caller, { run }: Card): Promise<boolean> =>
    isLocal(caller) || (run !== null && ownerOf(await engine.get(run)) === caller.owner);

  /** The run of a call, or what is answered if there is none. */
  const begin = async (caller: Caller, agent: string, input: Json, key: string | undefined) => {
    const content = createHash("sha256").update(canonicalJson([agent, input, key ?? null]));
    const context = `mcp-${content.digest("hex").slice(0, 32)}`;
    // The same input while its run is open is the same request: from a client that lost an answer, or a model that asks again.
    const openRun = ({ run, status }: TaskView) => (hasEnded(status.state) ? null : run);
    const [open = null] = key === undefined ? (await tasks.list(caller, { context, limit: 1 }, openRun)).tasks : [];
    if (open !== null) return { ...told(await seen(caller, open)), repeated: true };
    const message = { id: randomUUID(), parts: [{ data: { input } }] };
    const task = await tasks.send(caller, { message, metadata: { skill: agent }, context, key });
    return task.run ?? { run: null, agent, status: "refused" as const, message: textIn(task.status.message?.parts ?? []) };
  };

  return {
    /** The agents that are tools for this caller. */
    async agents({ caller }: Of) {
      const offers = await tasks.offers({ ...caller, via: "mcp" });
      return offers.map(({ name, header }) => {
        return { name, title: header.name, description: header.description, input: header.input, readOnly: header.mutates === false };
      });
    },

    /** Starts a run and waits at most `waitMs`. @throws AGENT_UNKNOWN, RUN_INPUT, TASK_REQUEST for a key used with another input */
    async call({ caller, agent, input, key, waitMs }: Of & { agent: string; input: Json; key?: string | undefined; waitMs: number }) {
      const mine: Caller = { ...caller, via: "mcp" };
      const offers = await tasks.offers(mine);
      const offer = offers.find(({ name }) => name === agent);
      const names = offers.map(({ name }) => name);
      if (offer === undefined)
        throw new ClearedError("AGENT_UNKNOWN", `There is no agent "${agent.slice(0, 80)}" for you here.${didYouMean(agent, names)}`);
      const checked = validateInput(offer.header, input);
      // In turn, so that two equal calls at once give one run.
      const begun = await inTurn(`${caller.owner} ${agent}`, () => begin(mine, agent, checked, key));
      return typeof begun === "string" ? told(await engine.result(begun, { timeoutMs: waitMs })) : begun;
    },

    /** @throws RUN_UNKNOWN, also for somebody else's run, here and below */
    async run({ caller, run, waitMs }: Of & { run: string; waitMs: number }) {
      const { id } = await seen(caller, run);
      return told(await engine.result(id, { timeoutMs: waitMs }));
    },

    /** The most recent ones, newest first. */
    async runs({ caller, limit }: Of & { limit: number }) {
      if (isLocal(caller)) return (await engine.list({ limit })).map(told);
      const { tasks: own } = await tasks.list(caller, { limit }, ({ run }) => run);
      return Promise.all(own.flatMap((run) => (run === null ? [] : [seen(caller, run).then(told)])));
    },

    /** @throws RUN_UNKNOWN, RUN_STATUS, TASK_STATUS, also once an act outside has begun */
    async cancel({ caller, run }: Of & { run: string }) {
      const found = await seen(caller, run);
      if (ownerOf(found) === caller.owner) await tasks.cancel(caller, String((found.cause.detail as { task?: string }).task));
      else if (!(await engine.cancel(run, "canceled over MCP"))) throw new ClearedError("RUN_STATUS", `The run ${run} has ended already.`);
      return told(await seen(caller, run));
    },

    /** Open cards. */
    async cards({ caller }: Of) {
      const open = cards.list({ open: true });
      const mine = await Promise.all(open.map((one) => sees(caller, one)));
      return open.filter((_, i) => mine[i]).map((one) => toldCard(caller, one));
    },

    /** @throws CARD_UNKNOWN */
    async card({ caller, card }: Of & { card: number }) {
      const found = cards.get(card);
      if (found !== null && (await sees(caller, found))) return toldCard(caller, found);
      throw new ClearedError("CARD_UNKNOWN", `There is no card ${card} that is yours.`);
    },

    /** A run with its calls. @throws RUN_UNKNOWN, TASK_TOKEN for a caller with a token, here and below */
    async why({ caller, run }: Of & { run: string }) {
      assertLocal(caller);
      return whole(await seen(caller, run));
    },

    /** An entry of the books with its run and who decided it. @throws JOURNAL_ENTRY_MISSING */
    async entry({ caller, entry }: Of & { entry: string }) {
      assertLocal(caller);
      const found = isEntryId(entry) ? await findEntry(host.git.tree(await host.git.head()), entry) : null;
      if (found === null) throw new ClearedError("JOURNAL_ENTRY_MISSING", `No entry of the books has the id "${entry.slice(0, 40)}".`);
      const run = await engine.get(found.tags["run"] ?? "");
      const isAbout = ({ kind, body }: Card) => kind !== "entry" || (body as { entry?: string } | null)?.entry === entry;
      const decided = run === null ? [] : cards.list({ run: run.id }).filter((one) => one.decision !== null && isAbout(one));
      return {
        entry: plain(found),
        run: run === null ? null : await whole(run),
        decisions: decided.map((one) => toldCard(caller, one)),
      };
    },

    /** Starts a request to the meta-agent, answers its question, or reads its state. @throws LLM_UNCONFIGURED, ASK_UNKNOWN, USAGE */
    async ask({ caller, text, request, waitMs }: Of & { text?: string | undefined; request?: number | undefined; waitMs: number }) {
      assertLocal(caller);
      const { beginAsk, continueAsk, watchAsk } = await import("./asks.ts");
      // Whoever asks is the proposer, who may not be allowed to approve.
      const by = starter(host.trust);
      const id = request ?? (await beginAsk(host, { text: text ?? "", ...by })).id;
      if (request !== undefined && text !== undefined) await continueAsk(host, { id, answer: text, ...by });
      const until = clock.now() + waitMs;
      for (let from = 1; ; ) {
        const { ask, rows, cost } = await watchAsk(host, { id, from, wait: clock.now() < until });
        from = (rows.at(-1)?.n ?? from - 1) + 1;
        const { end } = ask;
        if (end === null && clock.now() < until) continue;
        return {
          request: id,
          status: end?.kind ?? "working",
          end,
          cost,
          review_url: end?.kind === "card" ? link(`/proposals/${end.number}`) : undefined,
        };
      }
    },
  };
}

/** The owner of a task's run, from its start; null if it was not started from outside. */
function ownerOf(run: RunRecord | null): string | null {
  const { kind, detail } = run?.cause ?? {};
  return kind === "a2a" || kind === "mcp" ? String((detail as { owner?: string } | undefined)?.owner) : null;
}

const timeOf = (at: number): string => new Date(at).toISOString();
