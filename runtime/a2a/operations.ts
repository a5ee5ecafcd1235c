/** The operations of A2A, independent of their encoding: the methods of JSON-RPC (rpc.ts) and the paths of REST (rest.ts) both end here. */
import type { Asked, Operation } from "./request.ts";
import type { Followed } from "../app/task-follow.ts";
import { type TaskView, hasEnded } from "../app/task-view.ts";
import type { TaskState } from "../engine/store/tasks.ts";
import { cardOf } from "./card.ts";
import { PUSH_OPERATIONS, pushWish } from "./push.ts";
import { countOf, eventOf, fieldsOf, firstEvent, closes, readMessage, readState, rests, taskJson, textOf, wrong } from "./wire.ts";

/** A request is not held open longer than this; the caller can subscribe, or ask again. */
const PATIENCE_MS = 120_000;
const PAGE = 50;

async function deliver({ tasks, caller, dialect, params, key, large }: Asked): Promise<TaskView> {
  const metadata = fieldsOf(params["metadata"], "params.metadata");
  const config = fieldsOf(params["configuration"], "params.configuration");
  const wish = pushWish(params, config);
  if (wish !== null) await tasks.pushes.admit(wish);
  // From the change that this message makes.
  const told = (view: TaskView): TaskView => {
    if (wish !== null) tasks.pushes.set(tasks.row(caller, view.id), dialect, wish, view.heard - 1);
    return view;
  };
  const { message, task, context } = readMessage(dialect, params["message"]);
  const same = { message, metadata, large, ...(key === undefined ? {} : { key }) };
  if (dialect !== "0.1") return told(await tasks.send(caller, { ...same, task, context }));
  const alias = textOf(params["id"], "params.id");
  if (alias === undefined) throw wrong(-32602, "params.id is missing: the id of the task.");
  const session =
    textOf(metadata["session_id"], "session_id") ?? textOf(metadata["sessionId"], "sessionId") ?? textOf(params["sessionId"], "sessionId");
  const own = { ...message, id: message.id === "" ? alias : message.id };
  return told(await tasks.send(caller, { ...same, message: own, alias, context: session ?? context }));
}

/** The task once it has ended, waits for somebody, or the time limit is reached. */
async function settled({ tasks, caller, abort }: Asked, view: TaskView): Promise<TaskView> {
  if (rests(view.status.state)) return view;
  const over = AbortSignal.any([abort, AbortSignal.timeout(PATIENCE_MS)]);
  for await (const { view: now } of tasks.changes(caller, view.id, view.generation, over)) if (rests(now.status.state)) break;
  return tasks.get(caller, view.id);
}

/** The task in its first state, then its changes. */
async function* eventsOf(
  { dialect }: Asked,
  changes: AsyncIterable<Followed>,
  first: TaskView | null,
  ends: (state: TaskState) => boolean,
) {
  let begun = first !== null;
  if (first !== null) yield firstEvent(dialect, first);
  if (first !== null && ends(first.status.state)) return;
  for await (const { change, view } of changes) {
    yield begun ? eventOf(dialect, view, change) : firstEvent(dialect, view);
    begun = true;
    if ("status" in change && ends(change.status.state)) return;
  }
}

const idOf = ({ params }: Asked): string => {
  const id = textOf(params["id"], "params.id");
  if (id === undefined) throw wrong(-32602, "params.id is missing: the id of the task.");
  return id;
};

/** The task of a request; in 0.1 by the id that its caller chose. */
const find = (asked: Asked): Promise<TaskView> => asked.tasks.get(asked.caller, idOf(asked), asked.dialect === "0.1");

export const OPERATIONS = {
  async send(asked) {
    const { dialect, params } = asked;
    const config = fieldsOf(params["configuration"], "params.configuration");
    const history = countOf(config["historyLength"] ?? params["historyLength"], "historyLength");
    const view = await deliver(asked);
    const now = config["returnImmediately"] === true || config["blocking"] === false ? view : await settled(asked, view);
    const task = taskJson(dialect, now, { history });
    return { value: dialect === "1.0" ? { task } : task };
  },
  async stream(asked) {
    const view = await deliver(asked);
    const { tasks, caller, abort } = asked;
    // From the message on, so that a run that has ended meanwhile is also reported change by change.
    return { events: eventsOf(asked, tasks.changes(caller, view.id, view.heard - 1, abort), null, closes) };
  },
  async get(asked) {
    const history = countOf(asked.params["historyLength"], "historyLength");
    return { value: taskJson(asked.dialect, await find(asked), { history }) };
  },
  async list({ tasks, caller, dialect, params }) {
    const limit = countOf(params["pageSize"], "pageSize", 1, 100) ?? PAGE;
    const after = textOf(params["statusTimestampAfter"], "statusTimestampAfter");
    const since = after === undefined ? undefined : Date.parse(after);
    if (Number.isNaN(since)) throw wrong(-32602, "statusTimestampAfter must be a time such as 2026-11-23T07:00:00Z.");
    const history = countOf(params["historyLength"], "historyLength") ?? 0;
    const artifacts = params["includeArtifacts"] === true || params["includeArtifacts"] === "true";
    const [context, page] = [textOf(params["contextId"], "contextId"), textOf(params["pageToken"], "pageToken")];
    const query = { context, state: readState(params["status"]), since, page, limit };
    const found = await tasks.list(caller, query, (view) => taskJson(dialect, view, { history, artifacts }));
    return { value: { tasks: found.tasks, nextPageToken: found.next, pageSize: limit, totalSize: found.total } };
  },
  async cancel(asked) {
    const { id } = await find(asked);
    return { value: taskJson(asked.dialect, await asked.tasks.cancel(asked.caller, id)) };
  },
  async subscribe(asked) {
    const { tasks, caller, abort, dialect } = asked;
    const view = await find(asked);
    if (dialect === "1.0" && hasEnded(view.status.state))
      throw wrong(-32004, `The task is ${view.status.state}; nothing more will happen to it.`);
    return { events: eventsOf(asked, tasks.changes(caller, view.id, view.generation, abort), view, hasEnded) };
  },
  ...PUSH_OPERATIONS,
  async card({ tasks, caller, dialect, url }) {
    const facts = { business: await tasks.business(), offers: await tasks.offers(caller), url };
    return { value: cardOf(facts, dialect === "1.0" ? "1.0" : "0.3", true) };
  },
} satisfies Record<string, Operation>;
