/**
 * Tasks and messages in each generation of A2A: 1.0 (protobuf's JSON), 0.3 (`kind`), and `tasks/send` of May 2025, here called 0.1. Input is
 * untrusted and checked field by field; output has no field that a strict client of that generation refuses.
 */
import { type TaskArtifact, type TaskChange, type TaskView, hasEnded, isParked } from "../app/task-view.ts";
import type { TaskMessage, TaskPart, TaskState } from "../engine/store/tasks.ts";
import { ClearedError } from "../kernel/errors.ts";
import type { Json } from "../kernel/ports.ts";
import { type Fields, isObject } from "../rules/tools/shape.ts";

export type Dialect = "1.0" | "0.3" | "0.1";

/** Each part is parsed and validated separately. */
const MOST_PARTS = 1000;

export interface Shown {
  /** How many of the last messages; undefined: all. */
  history?: number | undefined;
  artifacts?: boolean;
}

export interface Received {
  message: { id: string; parts: TaskPart[]; metadata?: Json };
  task: string | undefined;
  context: string | undefined;
}

/** A request that the protocol does not allow, with the number of JSON-RPC or A2A. */
export function wrong(rpc: number, message: string): ClearedError {
  return new ClearedError("TASK_REQUEST", message, { data: { rpc } });
}

const invalid = (message: string): ClearedError => wrong(-32602, message);

/** An object, or none. @throws TASK_REQUEST for anything else */
export function fieldsOf(value: Json | undefined, name: string): Fields {
  if (value == null) return {};
  if (!isObject(value)) throw invalid(`${name} must be an object.`);
  return value;
}

/** A text, or none: protobuf's JSON writes an empty text for none. @throws TASK_REQUEST */
export function textOf(value: Json | undefined, name: string): string | undefined {
  if (value == null || value === "") return undefined;
  if (typeof value !== "string" || value.length > 512) throw invalid(`${name} must be a text of at most 512 characters.`);
  return value;
}

/** @throws TASK_REQUEST for anything but a whole number from `least` to `most` */
export function countOf(value: Json | undefined, name: string, least = 0, most = 2 ** 31 - 1): number | undefined {
  if (value == null) return undefined;
  const count = typeof value === "string" && /^\d{1,10}$/.test(value) ? Number(value) : value;
  if (typeof count !== "number" || !Number.isSafeInteger(count) || count < least || count > most)
    throw invalid(`${name} must be a whole number from ${least} to ${most}.`);
  return count;
}

/** @throws TASK_REQUEST naming the field */
export function readMessage(dialect: Dialect, value: Json | undefined): Received {
  if (!isObject(value)) throw invalid("params.message is missing: an object with messageId, role and parts.");
  const { parts, role, metadata } = value;
  const user = dialect === "1.0" ? "ROLE_USER" : "user";
  // The sender of a message is the user; some clients leave the role empty.
  const roles = dialect === "0.1" ? [undefined, "", user] : ["", "ROLE_UNSPECIFIED", user];
  if (!roles.includes(role as string | undefined)) throw invalid(`message.role must be "${user}".`);
  if (!Array.isArray(parts) || parts.length === 0) throw invalid("message.parts must be a list with at least one part.");
  if (parts.length > MOST_PARTS)
    throw invalid(`message.parts has ${parts.length} parts; ${MOST_PARTS} are taken. Join texts, and put data in one list.`);
  const id = textOf(value["messageId"], "message.messageId");
  if (id === undefined && dialect !== "0.1") throw invalid("message.messageId is missing.");
  const [task, context] = [textOf(value["taskId"], "message.taskId"), textOf(value["contextId"], "message.contextId")];
  const more = metadata == null ? {} : { metadata: fieldsOf(metadata, "message.metadata") };
  return { message: { id: id ?? "", parts: parts.map((one, i) => readPart(one, `message.parts[${i}]`)), ...more }, task, context };
}

/** All spellings are accepted in every generation, because they are unambiguous. @throws TASK_REQUEST */
function readPart(value: Json, name: string): TaskPart {
  if (!isObject(value)) throw invalid(`${name} must be an object.`);
  const { text, data } = value;
  if (typeof text === "string") return { text };
  if (data !== undefined && data !== null) return { data };
  if (["file", "raw", "url"].some((key) => value[key] !== undefined))
    throw wrong(-32005, `${name} is a file. Tasks take text and data; send what the file says as one of them.`);
  throw invalid(`${name} has neither text nor data.`);
}

const stateName = (dialect: Dialect, state: TaskState): string => {
  if (dialect === "1.0") return `TASK_STATE_${state.toUpperCase().replace("-", "_")}`;
  if (dialect === "0.3") return state;
  // May 2025 had neither state: a gate is a request for input there, and a refusal a failure.
  return state === "auth-required" ? "input-required" : state === "rejected" ? "failed" : state;
};

/** @throws TASK_REQUEST for a state that does not exist */
export function readState(value: Json | undefined): TaskState | undefined {
  const name = textOf(value, "status")
    ?.replace(/^TASK_STATE_/, "")
    .toLowerCase()
    .replace("_", "-");
  if (name === undefined || name === "unspecified") return undefined;
  const states = ["submitted", "working", "input-required", "auth-required", "completed", "failed", "canceled", "rejected"] as const;
  const found = states.find((one) => one === name);
  if (found === undefined) throw invalid("status must be a state of tasks such as TASK_STATE_WORKING.");
  return found;
}

function part(dialect: Dialect, one: TaskPart): Json {
  if (dialect === "1.0") return { ...one };
  const kind = "text" in one ? "text" : "data";
  return dialect === "0.3" ? { kind, ...one } : { type: kind, kind, ...one };
}

function message(dialect: Dialect, { id, role, parts, metadata }: TaskMessage, view: TaskView): Json {
  const body = { parts: parts.map((one) => part(dialect, one)), ...(metadata === undefined ? {} : { metadata }) };
  if (dialect === "0.1") return { role, ...body };
  const own = { messageId: id, contextId: view.context, taskId: view.id, ...body };
  return dialect === "1.0" ? { ...own, role: role === "user" ? "ROLE_USER" : "ROLE_AGENT" } : { kind: "message", ...own, role };
}

function artifact(dialect: Dialect, { id, name, parts, metadata }: TaskArtifact): Json {
  const body = { name, parts: parts.map((one) => part(dialect, one)), metadata };
  return dialect === "0.1" ? { ...body, index: 0, lastChunk: true } : { artifactId: id, ...body };
}

function status(dialect: Dialect, view: TaskView, { state, at, message: said }: TaskView["status"] = view.status): Json {
  const told = said === null ? {} : { message: message(dialect, said, view) };
  return { state: stateName(dialect, state), timestamp: new Date(at).toISOString(), ...told };
}

export function taskJson(dialect: Dialect, view: TaskView, { history, artifacts = true }: Shown = {}): Fields {
  const messages = history === 0 ? [] : view.history.slice(-(history ?? view.history.length));
  const body: Fields = {
    status: status(dialect, view),
    ...(messages.length === 0 ? {} : { history: messages.map((one) => message(dialect, one, view)) }),
    ...(artifacts && view.artifacts.length > 0 ? { artifacts: view.artifacts.map((one) => artifact(dialect, one)) } : {}),
    metadata: { generation: view.generation, ...(view.run === null ? {} : { run: view.run }) },
  };
  if (dialect === "0.1") {
    const metadata = { ...(body["metadata"] as Fields), a2aTaskId: view.id };
    return { id: view.alias ?? view.id, sessionId: view.context, ...body, metadata };
  }
  return { id: view.id, contextId: view.context, ...(dialect === "0.3" ? { kind: "task" } : {}), ...body };
}

/** The first event of a stream. */
export function firstEvent(dialect: Dialect, view: TaskView): Json {
  return dialect === "1.0" ? { task: taskJson(dialect, view) } : taskJson(dialect, view);
}

/** One change as an event of a stream. */
export function eventOf(dialect: Dialect, view: TaskView, change: TaskChange): Json {
  const metadata = { generation: change.generation };
  const place = dialect === "0.1" ? { id: view.alias ?? view.id } : { taskId: view.id, contextId: view.context };
  if ("artifact" in change) {
    const update = { ...place, artifact: artifact(dialect, change.artifact), metadata };
    if (dialect === "0.1") return update;
    const whole = { ...update, append: false, lastChunk: true };
    return dialect === "1.0" ? { artifactUpdate: whole } : { kind: "artifact-update", ...whole };
  }
  const update = { ...place, status: status(dialect, view, change.status), metadata };
  if (dialect === "1.0") return { statusUpdate: update };
  const { state } = change.status;
  return { ...(dialect === "0.3" ? { kind: "status-update" } : {}), ...update, final: closes(state) };
}

/** A stream opened by a message is closed by the end of its task and by a question to its caller; at a gate it stays open. */
export function closes(state: TaskState): boolean {
  return hasEnded(state) || state === "input-required";
}

/** True if somebody has to answer before anything continues. */
export const rests = (state: TaskState): boolean => hasEnded(state) || isParked(state);
