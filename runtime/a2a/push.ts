/**
 * Push notifications: how each generation of A2A registers them, and how they are sent. An address given by a caller is untrusted: it is
 * contacted only if trust.yaml allows it, redirects are not followed, and of the answer only the status is used.
 */
import { keepLooking } from "../app/looks.ts";
import type { Push, PushConfig } from "../app/task-push.ts";
import type { TaskChange, TaskView } from "../app/task-view.ts";
import type { Tasks } from "../app/tasks.ts";
import { toWire } from "../kernel/errors.ts";
import type { Json } from "../kernel/ports.ts";
import { oneLine } from "../kernel/text.ts";
import type { Fetch } from "../outside/mcp/addresses.ts";
import type { Asked, Operation } from "./request.ts";
import { type Dialect, eventOf, fieldsOf, firstEvent, taskJson, textOf, wrong } from "./wire.ts";
import { type Fields, isObject } from "../rules/tools/shape.ts";

// Fields in which a message carries its registration: 1.0, 0.3, and `tasks/send`.
const INLINE = ["taskPushNotificationConfig", "pushNotificationConfig", "pushNotification"];

/** The registration that came with a message, or none. @throws TASK_REQUEST */
export function pushWish(params: Fields, config: Fields): PushConfig | null {
  const found = INLINE.flatMap((name) => config[name] ?? params[name] ?? []).at(0);
  return found === undefined ? null : readConfig(fieldsOf(found, "the push configuration"));
}

/** @throws TASK_REQUEST naming the field */
function readConfig(from: Fields): PushConfig {
  const nested = from["pushNotificationConfig"] ?? from["config"];
  const value = isObject(nested) ? nested : from;
  const address = value["url"];
  const url = typeof address === "string" && address.length <= 2048 ? URL.parse(address) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "")
    throw wrong(-32602, "url of a push configuration is an http or https address without user name and password.");
  url.hash = "";
  const header = (field: Json | undefined, name: string): string | null => {
    const text = field == null || field === "" ? null : field;
    // A line break would start another header.
    if (text !== null && (typeof text !== "string" || !/^[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?$/.test(text)))
      throw wrong(-32602, `${name} of a push configuration is one line of at most 4096 plain characters.`);
    return text;
  };
  const given = fieldsOf(value["authentication"], "authentication");
  const schemes = given["schemes"];
  const scheme = header(given["scheme"] ?? (Array.isArray(schemes) ? schemes[0] : undefined), "authentication.scheme");
  const credentials = header(given["credentials"], "authentication.credentials");
  if (scheme !== null && !/^[\w!#$%&'*+.^`|~-]+$/.test(scheme)) throw wrong(-32602, "authentication.scheme is one word, such as Bearer.");
  const authentication = scheme === null || credentials === null ? null : { scheme, credentials };
  return { id: textOf(value["id"], "id") ?? "", url: url.href, token: header(value["token"], "token"), authentication };
}

/** What its owner may read again: everything except the credentials. */
function configJson(dialect: Dialect, view: TaskView, { id, url, token, authentication }: PushConfig): Json {
  const own = { id, url, ...(token === null ? {} : { token }) };
  const scheme = authentication?.scheme;
  if (dialect === "1.0") return { ...own, taskId: view.id, ...(scheme === undefined ? {} : { authentication: { scheme } }) };
  const pushNotificationConfig = { ...own, ...(scheme === undefined ? {} : { authentication: { schemes: [scheme] } }) };
  return dialect === "0.3" ? { taskId: view.id, pushNotificationConfig } : { id: view.alias ?? view.id, pushNotificationConfig };
}

/** The task and configuration of a request: 1.0 calls them taskId and id, earlier versions id and pushNotificationConfigId. */
async function found(asked: Asked): Promise<{ view: TaskView; id: string | undefined }> {
  const { params, dialect, tasks, caller } = asked;
  const [own, task] = [textOf(params["id"], "id"), textOf(params["taskId"], "taskId")?.replace(/^tasks\//, "")];
  const name = task ?? own;
  if (name === undefined) throw wrong(-32602, "The id of the task is missing.");
  const id = textOf(params["pushNotificationConfigId"], "pushNotificationConfigId") ?? (task === undefined ? undefined : own);
  return { view: await tasks.get(caller, name, dialect === "0.1"), id };
}

const rowOf = ({ tasks, caller }: Pick<Asked, "tasks" | "caller">, { id }: TaskView) => tasks.row(caller, id);

export const PUSH_OPERATIONS = {
  async pushSet(asked) {
    const config = readConfig(asked.params);
    await asked.tasks.pushes.admit(config);
    const { view } = await found(asked);
    const set = asked.tasks.pushes.set(rowOf(asked, view), asked.dialect, config, view.generation);
    return { value: configJson(asked.dialect, view, set) };
  },
  async pushGet(asked) {
    const { view, id } = await found(asked);
    const all = asked.tasks.pushes.list(rowOf(asked, view));
    const one = id === undefined ? all[0] : all.find((config) => config.id === id);
    if (one === undefined) throw wrong(-32001, "The task has no such push configuration.");
    return { value: configJson(asked.dialect, view, one) };
  },
  async pushList(asked) {
    const { view } = await found(asked);
    const configs = asked.tasks.pushes.list(rowOf(asked, view)).map((one) => configJson(asked.dialect, view, one));
    return { value: asked.dialect === "1.0" ? { configs, nextPageToken: "" } : configs };
  },
  async pushDelete(asked) {
    const { view, id } = await found(asked);
    if (id === undefined) throw wrong(-32602, "The id of the push configuration is missing.");
    asked.tasks.pushes.delete(rowOf(asked, view), id);
    return { value: asked.dialect === "1.0" ? {} : null };
  },
} satisfies Record<string, Operation>;

/** 1.0 receives the change itself, earlier versions the task at that time. */
function bodyOf(dialect: Dialect, view: TaskView, change: TaskChange): Json {
  if (dialect !== "1.0") return taskJson(dialect, view);
  return change.generation === 1 ? firstEvent(dialect, view) : eventOf(dialect, view, change);
}

const EVERY_MS = 500;
const PATIENCE_MS = 10_000;
/** Concurrent notifications of one owner to one server, and in total. A server that hangs delays nobody else. */
const LANE = 4;
const LANES = 32;

/** Sends until stopped. `may`: throws if this process may no longer act. `note`: called once for each address that is given up. */
export function keepPushing(
  { pushes }: Pick<Tasks, "pushes">,
  { fetch, may, note, onError }: { fetch: Fetch; may(): void; note(message: string): void; onError(error: unknown): void },
) {
  const underway = new Map<string, { lane: string; work: Promise<void> }>();
  const ending = new AbortController();

  /** Null if it was accepted, else why not. */
  const post = async (push: Push, view: TaskView, change: TaskChange): Promise<{ why: string; never: boolean } | null> => {
    const { url, authentication, token } = push.config;
    try {
      may();
      const answer = await fetch(url, {
        method: "POST",
        headers: {
          "content-type": push.dialect === "1.0" ? "application/a2a+json" : "application/json",
          "a2a-version": push.dialect,
          "idempotency-key": `${view.id}-${change.generation}`,
          ...(authentication === null ? {} : { authorization: `${authentication.scheme} ${authentication.credentials}` }),
          ...(token === null ? {} : { "x-a2a-notification-token": token }),
        },
        body: JSON.stringify(bodyOf(push.dialect as Dialect, view, change)),
        signal: AbortSignal.any([ending.signal, AbortSignal.timeout(PATIENCE_MS)]),
      });
      await answer.body?.cancel();
      // A page for people, such as a login, does not accept notifications.
      const page = /^text\/html/i.test(answer.headers.get("content-type") ?? "") && answer.status !== 204;
      if (answer.ok && !page) return null;
      return { why: answer.ok ? "it answered with a page of HTML" : `it answered ${answer.status}`, never: answer.status === 410 };
    } catch (error) {
      const { code, message } = toWire(error);
      return { why: oneLine(message), never: code === "TOOL_REFUSED" };
    }
  };

  const tell = async (push: Push): Promise<void> => {
    let last: TaskView | null = null;
    for await (const { change, view } of pushes.changes(push)) {
      last = view;
      if (change.generation <= push.sent) continue;
      const failure = await post(push, view, change);
      if (ending.signal.aborted) return;
      if (failure !== null) {
        if (pushes.failed(push, failure.why, failure.never))
          note(`Push notifications of task ${view.id} to ${new URL(push.config.url).host} are given up: ${failure.why}.`);
        return;
      }
      pushes.sent(push, change.generation);
    }
    pushes.done(push, last);
  };

  const look = (): void => {
    for (const push of pushes.due()) {
      const key = `${push.tid} ${push.pid}`;
      const lane = `${push.owner} ${new URL(push.config.url).origin}`;
      const busy = [...underway.values()].filter((one) => one.lane === lane).length;
      if (underway.has(key) || busy >= LANE || underway.size >= LANES) continue;
      const work = tell(push)
        .catch(onError)
        .finally(() => underway.delete(key));
      underway.set(key, { lane, work });
    }
  };
  const looking = keepLooking(EVERY_MS, look, onError);
  return {
    async stop(): Promise<void> {
      ending.abort();
      await looking.stop();
      await Promise.allSettled(Array.from(underway.values(), ({ work }) => work));
    },
  };
}
