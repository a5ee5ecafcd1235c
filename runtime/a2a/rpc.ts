/**
 * JSON-RPC at `POST /`: three generations on one endpoint. The version header selects 1.0 or 0.3, without one it is 0.3 (A2A 1.0, 3.6.2);
 * `tasks/send` and its related methods are recognized by method, or by an id that they were given.
 */
import { kindOf, type WireError } from "../kernel/errors.ts";
import type { Json } from "../kernel/ports.ts";
import { OPERATIONS } from "./operations.ts";
import type { Operation } from "./request.ts";
import { type Dialect, fieldsOf, wrong } from "./wire.ts";
import { type Fields, isObject } from "../rules/tools/shape.ts";

/** The method of each operation by generation. */
const NAMES: Record<keyof typeof OPERATIONS, Record<Dialect, string>> = {
  send: { "1.0": "SendMessage", "0.3": "message/send", "0.1": "tasks/send" },
  stream: { "1.0": "SendStreamingMessage", "0.3": "message/stream", "0.1": "tasks/sendSubscribe" },
  get: { "1.0": "GetTask", "0.3": "tasks/get", "0.1": "tasks/get" },
  list: { "1.0": "ListTasks", "0.3": "tasks/list", "0.1": "" },
  cancel: { "1.0": "CancelTask", "0.3": "tasks/cancel", "0.1": "tasks/cancel" },
  subscribe: { "1.0": "SubscribeToTask", "0.3": "tasks/resubscribe", "0.1": "tasks/resubscribe" },
  pushSet: {
    "1.0": "CreateTaskPushNotificationConfig",
    "0.3": "tasks/pushNotificationConfig/set",
    "0.1": "tasks/pushNotification/set",
  },
  pushGet: { "1.0": "GetTaskPushNotificationConfig", "0.3": "tasks/pushNotificationConfig/get", "0.1": "tasks/pushNotification/get" },
  pushList: { "1.0": "ListTaskPushNotificationConfigs", "0.3": "tasks/pushNotificationConfig/list", "0.1": "" },
  pushDelete: { "1.0": "DeleteTaskPushNotificationConfig", "0.3": "tasks/pushNotificationConfig/delete", "0.1": "" },
  card: { "1.0": "GetExtendedAgentCard", "0.3": "agent/getAuthenticatedExtendedCard", "0.1": "" },
};

function named(dialect: Dialect, method: string): keyof typeof OPERATIONS | undefined {
  const names = Object.keys(NAMES) as (keyof typeof OPERATIONS)[];
  return names.find((name) => NAMES[name][dialect] === method);
}

export type RpcId = string | number | null;

/** `id` undefined: a notification, which is not answered. */
export interface Call {
  id: RpcId | undefined;
  method: string;
  params: Fields;
}

/** `1.0` or `0.3` for a requested version; a patch number is ignored. @throws TASK_REQUEST */
export function versionOf(asked: string | undefined): "1.0" | "0.3" {
  const text = asked?.trim() ?? "";
  const version = text === "" ? "0.3" : (/^(\d+\.\d+)(?:\.\d+)?$/.exec(text)?.[1] ?? text);
  if (version === "1.0" || version === "0.3") return version;
  throw wrong(-32009, `A2A ${text.slice(0, 20)} is not spoken here. Ask for 1.0 or 0.3.`);
}

/** @throws TASK_REQUEST with the id in `data.id`, if it can be read */
export function readCall(body: Json): Call {
  if (Array.isArray(body)) throw wrong(-32600, "A batch is not taken; send one request at a time.");
  if (!isObject(body)) throw wrong(-32600, "A request is a JSON object with jsonrpc, id, method and params.");
  const { jsonrpc, method, params } = body;
  const id = idOf(body);
  const bad = (rpc: number, message: string) => Object.assign(wrong(rpc, message), { data: { rpc, ...(id == null ? {} : { id }) } });
  if ("id" in body && id === undefined) throw bad(-32600, "id must be a text, a number or null.");
  if (jsonrpc !== "2.0") throw bad(-32600, 'jsonrpc must be "2.0".');
  if (typeof method !== "string" || method === "") throw bad(-32600, "method is missing.");
  if (params != null && !isObject(params)) throw bad(-32602, "params must be an object.");
  return { id: "id" in body ? id : undefined, method, params: fieldsOf(params, "params") };
}

function idOf({ id }: Fields): RpcId | undefined {
  return id === null || typeof id === "string" || (typeof id === "number" && Number.isFinite(id)) ? id : undefined;
}

/** The operation of a call, and its dialect. @throws TASK_REQUEST */
export async function resolve(
  { method, params }: Call,
  version: string | undefined,
  isAlias: (id: string) => Promise<boolean>,
): Promise<{ dialect: Dialect; operation: Operation; streams: boolean }> {
  const oldest = named("0.1", method) !== undefined;
  const asked = oldest && named("0.3", method) === undefined ? "0.1" : versionOf(version);
  const { id } = params;
  const dialect = asked === "0.3" && oldest && typeof id === "string" && (await isAlias(id)) ? "0.1" : asked;
  const name = named(dialect, method);
  if (name === undefined) {
    const hint = named("1.0", method) === undefined ? "" : " It belongs to A2A 1.0: send the header A2A-Version: 1.0.";
    throw wrong(-32601, `There is no method "${method.slice(0, 80)}" in A2A ${dialect}.${hint}`);
  }
  return { dialect, operation: OPERATIONS[name], streams: name === "stream" || name === "subscribe" };
}

/** Names of A2A's errors, for `google.rpc.ErrorInfo`. */
export const REASONS: Record<number, string> = {
  [-32001]: "TASK_NOT_FOUND",
  [-32002]: "TASK_NOT_CANCELABLE",
  [-32003]: "PUSH_NOTIFICATION_NOT_SUPPORTED",
  [-32004]: "UNSUPPORTED_OPERATION",
  [-32005]: "CONTENT_TYPE_NOT_SUPPORTED",
  [-32009]: "VERSION_NOT_SUPPORTED",
  [-32602]: "INVALID_PARAMS",
};

/** An error in the wire format; internal details are omitted. */
export function toRpc({ code, message, data }: WireError): { code: number; message: string; data?: Json } {
  const kind = kindOf(code);
  if (kind === "internal") return { code: -32603, message: "Something went wrong here. The log of `cleared start` has the details." };
  const number = typeof data?.["rpc"] === "number" ? data["rpc"] : kind === "input" ? -32602 : kind === "policy" ? -32600 : -32603;
  const reason = REASONS[number];
  const info = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason: reason ?? code,
    domain: "a2a-protocol.org",
    metadata: { code },
  };
  return { code: number, message, data: [info] };
}
