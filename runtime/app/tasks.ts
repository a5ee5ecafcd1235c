/**
 * Tasks of other agents: create, read, list, cancel and follow, each only by its owner. A task is a run of an agent with trigger: a2a, and
 * before that a conversation about its input. Invariants: one message starts one run, however often it is sent and whenever this process dies;
 * nothing a caller writes is an approval; the caller's view of a task is a projection (task-view.ts) that is never stored.
 */
import { createHash, randomUUID } from "node:crypto";
import { createWatch } from "../engine/store/rows.ts";
import { canonicalJson } from "../kernel/canonical.ts";
import { ClearedError, kindOf, toWire } from "../kernel/errors.ts";
import type { Json } from "../kernel/ports.ts";
import { createKeyedTurns } from "../kernel/turns.ts";
import { judgeFields } from "../rules/privacy/judge.ts";
import { redactJson } from "../rules/privacy/scan.ts";
import { type Fields, isObject } from "../rules/tools/shape.ts";
import { variables } from "../workspace/settings/variables.ts";
import { type Caller, LOCAL, createCallers } from "./callers.ts";
import type { Host } from "./host.ts";
import { type Followed, createFollower, createList } from "./task-follow.ts";
import { type Draft, EMPTY, type Large, type Offer, askedBy, clearlyFor, goesOn, namedIn, takeIn, tooLarge } from "./task-intake.ts";
import { createPushes } from "./task-push.ts";
import { type Said, type TaskRow, createTaskStore, type TaskMessage, type TaskState, textIn } from "../engine/store/tasks.ts";
import { type TaskView, hasEnded, isParked } from "./task-view.ts";

export type Tasks = ReturnType<typeof createTasks>;

/** Messages per task; a reader reads all of them. */
const LONGEST = 200;
const DAY_MS = 86_400_000;
interface TaskRequest {
  message: Omit<TaskMessage, "role">;
  /** Metadata of the request, besides that of the message. */
  metadata: Json;
  task?: string | undefined;
  context?: string | undefined;
  /** The caller's own id for the task (tasks/send). */
  alias?: string | undefined;
  /** Idempotency-Key. */
  key?: string | undefined;
  /** Only the beginning of a large message is here. */
  large?: Large | null;
}

/** The result of a message: its run, or why there is none yet. */
type Place = Pick<TaskRow, "id" | "context"> & { key: string | null };
type Admitted = { run: string | null; also: Said | null; draft: string };

const gone = (message: string): ClearedError => new ClearedError("TASK_UNKNOWN", message, { data: { rpc: -32001 } });
const unknown = (id: string): ClearedError => gone(`There is no task "${id.slice(0, 80)}" here that is yours.`);
const misplaced = (message: string, rpc: number): ClearedError => new ClearedError("TASK_STATUS", message, { data: { rpc } });

const shared = new WeakMap<Host, ReturnType<typeof createTasks>>();

/** The tasks of a host: followers see every message, whichever way it arrived. */
export const tasksOf = (host: Host): Tasks => shared.getOrInsertComputed(host, createTasks);

function createTasks(host: Host) {
  const { database, engine, clock } = host;
  const store = createTaskStore(database);
  const watch = createWatch();
  const { caller, starterOf, owners, limits, hold, room } = createCallers(host);
  const follower = createFollower(host, store, watch);
  const { view: viewOf, changes } = follower;
  const list = createList(store, viewOf);
  /** Messages of one conversation are admitted in turn: two answers to one question start one run. */
  const inTurn = createKeyedTurns();

  const need = ({ owner }: Caller, id: string, alias = false): TaskRow => {
    const row = (alias ? store.byAlias(owner, id) : undefined) ?? store.find(owner, id);
    if (row === undefined) throw unknown(id);
    return row;
  };

  const offers = async (caller: Caller | null): Promise<Offer[]> =>
    (await host.agents()).flatMap(({ name, header }) =>
      (header?.trigger.includes("a2a") || (caller?.via !== undefined && header?.trigger.includes(caller.via))) &&
      (caller === null || caller.agents === null || caller.agents.includes(name))
        ? [{ name, header }]
        : [],
    );

  /** Admits the message and starts the run if nothing is missing. `keep` stores both: the run in one transaction with its task. */
  const admit = async (caller: Caller, place: Place, draft: Draft, request: TaskRequest, keep: (told: Admitted) => void): Promise<void> => {
    if (request.large != null) return keep({ run: null, also: tooLarge(request.large), draft: kept(draft) });
    const metadata = metadataOf(request);
    const refused = (text: string, state: TaskState = "rejected") =>
      keep({ run: null, also: { state, parts: [{ text }] }, draft: kept(draft) });
    const { privacy } = await host.config();
    const judged = judgeFields(request.message.parts as unknown as Json, { direction: "inbound", policy: privacy });
    if (judged.verdict === "refuse") return refused(`PRIVACY_REFUSED: ${judged.message ?? ""}`);
    const earlier = store.runsIn(caller.owner, place.context).map((one) => ({ ...one, input: objectOf(JSON.parse(one.input) as Json) }));
    const intake = await takeIn(draft, request.message.parts, metadata, await offers(caller), host, earlier);
    // A started run needs no draft.
    const known = kept("ask" in intake ? intake.draft : { ...EMPTY, agent: intake.start.agent });
    if ("ask" in intake) return keep({ run: null, also: { state: "input-required", parts: intake.ask }, draft: known });
    const { agent, input } = intake.start;
    const { continued } = intake;
    // A message without input of its own is about the running task, which must not be done twice.
    const open = continued === undefined ? null : await engine.get(continued.run);
    if (open?.endedAt === null)
      return refused(`${agent} is at work on that (${open.id}). Ask for its task, send this again at its end, or with its own input.`);
    const { tools } = variables();
    const given = { ...(tools === null ? {} : { tools }), ...intake.draft.given };
    let told = false;
    try {
      const after = continued === undefined ? {} : { continues: continued.run };
      const also = continued === undefined ? null : goesOn(agent, continued);
      const detail = { task: place.id, owner: caller.owner, context: place.context, ...after };
      // The message's own key: an older store does not know the task when the message comes again.
      const cause = { kind: caller.via ?? ("a2a" as const), key: place.key ?? place.id, detail };
      await host.start(agent, { cause, input, ...starterOf(caller), ...(Object.keys(given).length === 0 ? {} : { given }) }, (run) => {
        told = true;
        keep({ run, also, draft: known });
      });
    } catch (error) {
      const { code, message } = toWire(error);
      if (told || kindOf(code) === "internal") throw error;
      refused(`${code}: ${message}`, kindOf(code) === "policy" ? "rejected" : "failed");
    }
  };

  // Without its id, which belongs to the sender.
  const messageOf = ({ message: { id, ...said } }: TaskRequest): TaskMessage => ({
    ...(redactJson(said as unknown as Json) as unknown as Pick<TaskMessage, "parts" | "metadata">),
    ...{ id, role: "user" },
  });

  const begin = async (caller: Caller, request: TaskRequest, key: string | null, content: string, context: string): Promise<TaskView> => {
    const id = randomUUID();
    const row = { id, owner: caller.owner, context, alias: request.alias ?? null };
    const first: Said = { state: "submitted", message: messageOf(request), content };
    await admit(caller, { ...row, key }, EMPTY, request, ({ run, also, draft }) =>
      store.create({ ...row, draft, run, at: clock.now() }, { key, first, also }),
    );
    return viewOf(need(caller, id));
  };

  /** Another message for a task whose input is being asked for. */
  const answer = async (caller: Caller, row: TaskRow, request: TaskRequest, key: string | null, content: string): Promise<TaskView> => {
    const said: Said = { state: "working", message: messageOf(request), content };
    await admit(caller, { ...row, key }, JSON.parse(row.draft) as Draft, request, ({ run, also, draft }) => {
      if (!store.say(row, clock.now(), also === null ? [said] : [said, also], { key, draft, run }))
        throw misplaced("The task was ended or answered meanwhile. Ask for it to see how it stands.", -32004);
    });
    watch.changed(row.id);
    return viewOf(need(caller, row.id));
  };

  /** A message to a task that waits for a decision: stored, and answered that it decides nothing. */
  const note = async (caller: Caller, row: TaskRow, view: TaskView, request: TaskRequest, key: string | null, content: string) => {
    const parts = view.status.message?.parts ?? [{ text: "A person of this business decides this." }];
    store.say(row, clock.now(), [{ state: view.status.state, message: messageOf(request), parts, content }], { key });
    watch.changed(row.id);
    return viewOf(need(caller, row.id));
  };

  const resume = async (caller: Caller, row: TaskRow, view: TaskView, request: TaskRequest, key: string | null, content: string) => {
    const { state } = view.status;
    if (request.context !== undefined && request.context !== row.context)
      throw new ClearedError("TASK_REQUEST", `The task "${row.id}" belongs to another context.`, { data: { rpc: -32602 } });
    if (hasEnded(state))
      throw misplaced(`The task is ${state}; it takes no more messages. Send one without its id for another task.`, -32004);
    if (view.history.length >= LONGEST) throw misplaced(`The task has ${LONGEST} messages already. Begin another one.`, -32004);
    if (!isParked(state)) throw misplaced("The task is at work; a message can be sent to it when it asks for one.", -32004);
    return row.run === null ? answer(caller, row, request, key, content) : note(caller, row, view, request, key, content);
  };

  const deliver = async (caller: Caller, request: TaskRequest, key: string | null, content: string): Promise<TaskView> => {
    const seen = key === null ? undefined : store.byKey(key);
    if (seen === undefined) await room(store.stored(caller.owner));
    if (seen !== undefined) {
      if (seen.content !== content)
        throw new ClearedError("TASK_REQUEST", "This Idempotency-Key came with another message before.", { data: { rpc: -32602 } });
      if (seen.row.removed === null) return viewOf(seen.row);
      const { id } = seen.row;
      throw gone(
        `This message came before, as task ${id}, which has ended and is no longer stored. Send it under a new id to have it done again.`,
      );
    }
    const { owner } = caller;
    if (request.task !== undefined) {
      const row = need(caller, request.task);
      return resume(caller, row, await viewOf(row), request, key, content);
    }
    const same = request.alias === undefined ? undefined : store.byAlias(owner, request.alias);
    const context = same?.context ?? request.context;
    for (const row of same === undefined ? (context === undefined ? [] : store.openIn(owner, context)) : [same]) {
      const view = await viewOf(row);
      const { state } = view.status;
      if (same !== undefined && !hasEnded(state)) return resume(caller, row, view, { ...request, context: row.context }, key, content);
      if (isParked(state) && !(await isAnother(caller, row, request))) return resume(caller, row, view, request, key, content);
    }
    return begin(caller, request, key, content, context ?? randomUUID());
  };

  /** True if the message names, or clearly is for, another agent than the waiting one: a separate process. Also if that agent only reads. */
  const isAnother = async (caller: Caller, row: TaskRow, request: TaskRequest): Promise<boolean> => {
    const named = namedIn(request.message.parts, metadataOf(request));
    const draft = JSON.parse(row.draft) as Draft;
    if (draft.agent === undefined) return false;
    const offered = await offers(caller);
    const clear = named ?? (await clearlyFor(host, textIn(request.message.parts), offered))?.name ?? null;
    if (clear === null) return false;
    return clear !== draft.agent || offered.some((one) => one.name === named && one.header.mutates === false);
  };

  return {
    caller,
    limits,
    hold,
    business: async (): Promise<string> => (await host.config()).business.name,
    offers,
    /** @throws TASK_UNKNOWN, TASK_STATUS, TASK_REQUEST */
    send(caller: Caller, request: TaskRequest): Promise<TaskView> {
      const { task, context, alias } = request;
      const { content, key } = sameMessage(caller.owner, request, askedBy(metadataOf(request)));
      const known = task === undefined ? alias && store.byAlias(caller.owner, alias) : need(caller, task);
      const place = known ? known.context : (alias ?? context ?? key);
      const work = () => deliver(caller, request, key, content);
      const turn = () => (place === null ? work() : inTurn(`${caller.owner} ${place}`, work));
      // One key may arrive with several contexts at once.
      return request.key === undefined ? turn() : inTurn(`key ${key}`, turn);
    },
    /** `id`: the task's, or with `alias` the caller's own. @throws TASK_UNKNOWN */
    get: async (caller: Caller, id: string, alias?: boolean): Promise<TaskView> => viewOf(need(caller, id, alias)),
    list,
    /** @throws TASK_UNKNOWN, TASK_STATUS */
    cancel(caller: Caller, id: string): Promise<TaskView> {
      const row = need(caller, id);
      return inTurn(`${caller.owner} ${row.context}`, async () => {
        const now = need(caller, id);
        const { state } = (await viewOf(now)).status;
        if (hasEnded(state) && state !== "canceled") throw misplaced(`The task is ${state} already.`, -32002);
        const steps = state !== "working" || now.run === null ? [] : await engine.steps(now.run);
        if (steps.at(-1)?.state === "intent")
          throw misplaced(
            "An act outside has begun and cannot be taken back. Ask for the task, and cancel it then if it still works.",
            -32002,
          );
        if (now.run === null && state !== "canceled") store.say(now, clock.now(), [{ state: "canceled" }]);
        // It may have started meanwhile.
        const { run } = need(caller, id);
        if (run !== null) await engine.cancel(run, `${caller.owner === LOCAL ? "its caller" : caller.owner} canceled the task`);
        watch.changed(id);
        const view = await viewOf(need(caller, id));
        if (view.status.state !== "canceled") throw misplaced(`The task is ${view.status.state} already.`, -32002);
        return view;
      });
    },
    /** @throws TASK_UNKNOWN */
    row: (caller: Caller, id: string): TaskRow => need(caller, id),
    /** Ends tasks that nobody answers and removes those that ended long ago; returns how many, at most `most` of each. */
    async letGo(most: number): Promise<number> {
      const [now, days] = [clock.now(), (await limits()).keep_days];
      const text = `Nobody answered within ${days} days. Send the message again under a new id to have it done.`;
      const ended = store.endUnanswered(now - days * DAY_MS, now, { state: "rejected", parts: [{ text }] }, most);
      for (const id of ended) watch.changed(id);
      return ended.length + store.removeEnded(now - days * DAY_MS, now, most);
    },
    pushes: createPushes(host, follower, owners),
    /** Changes after number `from`, as they happen, until the task ends or nobody listens. */
    changes(asking: Caller, id: string, from: number, abort: AbortSignal): AsyncGenerator<Followed> {
      // A stream may be open for days; it ends with its token.
      const again = () => need(asking.token === null ? asking : caller(asking.token, () => false), id);
      return changes(again, from, abort);
    },
  };
}

/** Without anything that must not be stored. */
function kept(draft: Draft): string {
  return JSON.stringify(redactJson(draft as unknown as Json));
}

/** The message's own metadata takes precedence. */
function metadataOf({ metadata, message }: TaskRequest): Fields {
  return { ...objectOf(metadata), ...objectOf(message.metadata ?? null) };
}

const objectOf = (value: Json): Fields => (isObject(value) ? value : {});

// Test suites and simple clients reuse ids; only an id that cannot occur twice by chance identifies a message.
const UNIQUE = /[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|(?<![0-9A-Z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Z])/i;

const digest = (...parts: unknown[]): string => createHash("sha256").update(canonicalJson(parts)).digest("hex");

/**
 * How a repeated message is recognized, also after a restart: its key, never shared between owners, and the content stored under it. `asked`: the
 * part of its metadata that is input. Without a key every message is new.
 */
function sameMessage(owner: string, request: TaskRequest, asked: Json): { content: string; key: string | null } {
  const { message, task, context, alias, large } = request;
  const content = digest(message.parts, asked, task ?? null, context ?? null, ...(large == null ? [] : [large.digest]));
  if (request.key !== undefined) return { content, key: digest("key", owner, request.key) };
  if (alias !== undefined) return { content, key: digest("alias", owner, alias, content) };
  return { content, key: UNIQUE.test(message.id) ? digest("message", owner, message.id, content) : null };
}
