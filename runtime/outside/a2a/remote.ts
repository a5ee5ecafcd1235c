/**
 * A remote agent over A2A 1.0 or 0.3, whichever its card offers; the only door to the SDK. What it sends is untrusted and reduced to text, data
 * and a question. Its card does not decide where requests go: all stay at the origin that trust.yaml names.
 */
import { createHash } from "node:crypto";
import { SendMessageRequest, type Message, type Part, type Task, TaskState } from "@a2a-js/sdk";
import { type Client, ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from "@a2a-js/sdk/client";
import { ClearedError } from "../../kernel/errors.ts";
import type { Json, RemoteCall } from "../../kernel/ports.ts";
import { provesRefusal, isUnanswered } from "../../rules/tools/refusal.ts";
import type { Fetch } from "../mcp/addresses.ts";
import { forPeople, mustBeShallow, parseJson } from "../mcp/answer.ts";

type RemoteState = "working" | "input-required" | "auth-required" | "completed" | "failed" | "canceled" | "rejected";

export interface RemoteTask {
  /** Empty if it answered at once without a task. */
  id: string;
  state: RemoteState;
  text: string;
  /** The data in its answer; a list if there are several. */
  data: Json;
  /** The question it asks, if it asks one. */
  question: { id: string; text: string; data: Json } | null;
}

type Given = Pick<RemoteCall, "text" | "data" | "skill"> & { id: string; context: string; task?: string };

export type Remote = ReturnType<typeof createRemote>;

const STATES: Partial<Record<TaskState, RemoteState>> = {
  [TaskState.TASK_STATE_COMPLETED]: "completed",
  [TaskState.TASK_STATE_FAILED]: "failed",
  [TaskState.TASK_STATE_CANCELED]: "canceled",
  [TaskState.TASK_STATE_REJECTED]: "rejected",
  [TaskState.TASK_STATE_INPUT_REQUIRED]: "input-required",
  [TaskState.TASK_STATE_AUTH_REQUIRED]: "auth-required",
};
/** Per request; a task itself has no such limit. */
const PATIENCE_MS = 60_000;

/** Every operation may throw REMOTE_DOWN: certainly not accepted; REMOTE_REFUSED: rejected; any other error: unknown. */
export function createRemote(options: { name: string; url: string; fetch: Fetch; token(): Promise<string | null> }) {
  const { name, url, token } = options;
  const { origin } = new URL(url);
  const down = (why: string) => new ClearedError("REMOTE_DOWN", `${name} cannot be reached: ${why}. Nothing was given to it.`);

  const ask: typeof fetch = async (target, init = {}) => {
    const to = new URL(String(target));
    if (to.origin !== origin)
      throw new ClearedError("REMOTE_REFUSED", `The card of ${name} names ${to.origin}, and trust.yaml ${origin}. Correct one of them.`);
    const secret = await token();
    const headers = new Headers(init.headers);
    if (secret !== null) headers.set("authorization", `Bearer ${secret}`);
    const sent: RequestInit = { ...init, headers };
    const answer = await options.fetch(to, sent).catch((error: unknown) => {
      throw error instanceof ClearedError && error.code === "TOOL_DOWN" ? down(forPeople(error.message)) : error;
    });
    const { status } = answer;
    if (status < 200 || status >= 300) {
      const refused = provesRefusal(status, await answer.text());
      if (!refused) throw new Error(`it answers ${status}`);
      if (status === 429) throw down(`it answers ${status}`);
      throw new ClearedError("REMOTE_REFUSED", `${name} refuses the request with ${status}. Look at its token and address in trust.yaml.`);
    }
    // Keeps every digit of an amount.
    return Object.defineProperty(answer, "json", { value: async () => mustBeShallow(parseJson(await answer.text())) });
  };

  let made: Promise<Client> | null = null;
  const client = (): Promise<Client> => {
    const shared = { fetchImpl: ask, legacyCompat: { enabled: true } };
    const factory = new ClientFactory({
      transports: [new JsonRpcTransportFactory(shared), new RestTransportFactory(shared)],
      cardResolver: new DefaultAgentCardResolver(shared),
    });
    const card = url.endsWith(".json") ? url : `${url.replace(/\/+$/, "")}/.well-known/agent-card.json`;
    return (made ??= factory.createFromUrl(card, "").catch((error: unknown) => {
      made = null;
      throw error instanceof ClearedError ? error : down(`its card cannot be read: ${forPeople((error as Error).message)}`);
    }));
  };
  /** A protocol error that rejects is REMOTE_REFUSED; any other failure keeps its own error. */
  const asking = async <T>(abort: AbortSignal, work: (client: Client, signal: AbortSignal) => Promise<T>): Promise<T> => {
    const one = await client();
    try {
      return await work(one, AbortSignal.any([abort, AbortSignal.timeout(PATIENCE_MS)]));
    } catch (error) {
      // Its card may contain a new address.
      made = null;
      if (error instanceof ClearedError || !rejects(error)) throw error;
      throw new ClearedError("REMOTE_REFUSED", `${name} refuses the request: ${forPeople((error as Error).message)}`);
    }
  };
  const fromTask = ({ id, status, artifacts }: Task): RemoteTask => {
    const state = STATES[status?.state ?? TaskState.TASK_STATE_UNSPECIFIED] ?? "working";
    const said = status?.message;
    const parts = [...artifacts.flatMap((one) => one.parts), ...(said?.parts ?? [])];
    const text = textOf(parts);
    const question = { id: said?.messageId || digest(text), text: textOf(said?.parts ?? []), data: dataOf(said?.parts ?? []) };
    return { id, state, text, data: dataOf(parts), question: state === "input-required" ? question : null };
  };

  return {
    send: ({ id, context, task, text, data, skill }: Given, abort: AbortSignal): Promise<RemoteTask> =>
      asking(abort, async (one, signal) => {
        const parts = [...(text === undefined ? [] : [{ text }]), ...(data === undefined ? [] : [{ data }])];
        const metadata = skill === undefined ? {} : { metadata: { skill } };
        const own = {
          messageId: id,
          contextId: context,
          role: "ROLE_USER",
          parts,
          ...(task === undefined ? {} : { taskId: task }),
          ...metadata,
        };
        const configuration = { returnImmediately: true, acceptedOutputModes: ["text/plain", "application/json"] };
        const answer = await one.sendMessage(SendMessageRequest.fromJSON({ message: own, configuration }), { signal });
        return isTask(answer) ? fromTask(answer) : atOnce(answer);
      }),
    get: (id: string, abort: AbortSignal): Promise<RemoteTask> =>
      asking(abort, async (one, signal) => fromTask(await one.getTask({ tenant: "", id, historyLength: 1 }, { signal }))),
    /** The task of a context, if the agent can be asked for it; null if there is none or that is unknown. */
    find: (context: string, abort: AbortSignal): Promise<RemoteTask | null> =>
      asking(abort, async (one, signal) => {
        if (one.protocolVersion !== "1.0") return null;
        const query = { tenant: "", contextId: context, status: 0, pageSize: 1, pageToken: "", statusTimestampAfter: undefined };
        const { tasks } = await one.listTasks({ ...query, historyLength: 1, includeArtifacts: true }, { signal });
        const [found] = tasks.filter((task) => task.contextId === context);
        return found === undefined ? null : fromTask(found);
      }).catch(() => null),
    cancel: (id: string, abort: AbortSignal): Promise<RemoteTask> =>
      asking(abort, async (one, signal) => fromTask(await one.cancelTask({ tenant: "", id, metadata: undefined }, { signal }))),
    /** Waits until something has happened to it, or a short time has passed. */
    async moved(id: string, withinMs: number, abort: AbortSignal): Promise<void> {
      const stop = new AbortController();
      const over = AbortSignal.any([abort, stop.signal, AbortSignal.timeout(withinMs)]);
      const begun = performance.now();
      try {
        for await (const { payload } of (await client()).resubscribeTask({ tenant: "", id }, { signal: over })) {
          const status = payload?.$case === "task" || payload?.$case === "statusUpdate" ? payload.value.status : undefined;
          if (status !== undefined && STATES[status.state] !== undefined) return;
        }
      } catch {
        // It has no streams, or this one broke: it is asked again later.
      } finally {
        stop.abort();
      }
      const rest = Math.min(1000, withinMs) - (performance.now() - begun);
      if (rest > 0 && !abort.aborted) await new Promise((done) => setTimeout(done, rest));
    },
  };
}

const isTask = (answer: Task | Message): answer is Task => "artifacts" in answer;
/** An error of JSON-RPC or A2A that rejects, before a task is made; -32006 is an invalid answer. */
function rejects(error: unknown): boolean {
  const { envelopeCode: code, message } = error as { envelopeCode?: unknown; message: string };
  if (typeof code !== "number") return false;
  const isOwn = (code <= -32001 && code >= -32009 && code !== -32006) || code === -32602 || code === -32600;
  return provesRefusal(code, message) || (isOwn && !isUnanswered(message));
}
const digest = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 32);

function atOnce({ parts }: Message): RemoteTask {
  return { id: "", state: "completed", text: textOf(parts), data: dataOf(parts), question: null };
}

function textOf(parts: readonly Part[]): string {
  return parts.flatMap(({ content }) => (content?.$case === "text" ? content.value : [])).join("\n");
}

function dataOf(parts: readonly Part[]): Json {
  const all = parts.flatMap(({ content }) => (content?.$case === "data" ? [content.value as Json] : []));
  return all.length > 1 ? all : (all[0] ?? null);
}
