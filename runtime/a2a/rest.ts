/** The paths of A2A 1.0 over HTTP+JSON, and its errors in that binding (A2A 1.0, sections 5.4 and 11). */
import type { WireError } from "../kernel/errors.ts";
import type { Json } from "../kernel/ports.ts";
import { OPERATIONS } from "./operations.ts";
import type { Operation } from "./request.ts";
import { REASONS, toRpc } from "./rpc.ts";
import type { Fields } from "../rules/tools/shape.ts";

export interface Route {
  operation: Operation;
  params: Fields;
  streams: boolean;
}

type Match = [method: string, path: RegExp, name: keyof typeof OPERATIONS];

const ROUTES: readonly Match[] = [
  ["POST", /^\/message:send$/, "send"],
  ["POST", /^\/message:stream$/, "stream"],
  ["GET", /^\/tasks$/, "list"],
  ["GET", /^\/tasks\/([^/:]+)$/, "get"],
  ["POST", /^\/tasks\/([^/:]+):cancel$/, "cancel"],
  ["GET", /^\/tasks\/([^/:]+):subscribe$/, "subscribe"],
  ["POST", /^\/tasks\/([^/:]+):subscribe$/, "subscribe"],
  ["POST", /^\/tasks\/([^/:]+)\/pushNotificationConfigs$/, "pushSet"],
  ["GET", /^\/tasks\/([^/:]+)\/pushNotificationConfigs$/, "pushList"],
  ["GET", /^\/tasks\/([^/:]+)\/pushNotificationConfigs\/([^/:]+)$/, "pushGet"],
  ["DELETE", /^\/tasks\/([^/:]+)\/pushNotificationConfigs\/([^/:]+)$/, "pushDelete"],
  ["GET", /^\/extendedAgentCard$/, "card"],
];

/** Null for an unknown path. `body`: of a POST, else the query. */
export function routeOf(method: string, path: string, body: Fields): Route | null {
  for (const [wanted, pattern, name] of ROUTES) {
    const found = method === wanted ? pattern.exec(path) : null;
    if (found === null) continue;
    const [, id, inner] = found.map(plain);
    const own = name.startsWith("push") ? { taskId: id, id: inner ?? body["id"] } : { id };
    const params = Object.assign({}, body, id === undefined ? {} : own) as Fields;
    return { operation: OPERATIONS[name], params, streams: name === "stream" || name === "subscribe" };
  }
  return null;
}

/** A part of a path, decoded. */
function plain(part: string | undefined): string | undefined {
  try {
    return part === undefined ? undefined : decodeURIComponent(part);
  } catch {
    return part; // a % that encodes nothing
  }
}

const NOT_FOUND = [-32001, -32601];
const MISPLACED = [-32002, -32003, -32004, -32009];

const NAMES: Record<number, string> = { 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL" };

export function restError(error: WireError): { status: number; body: Json } {
  const { code, message, data } = toRpc(error);
  const status = NOT_FOUND.includes(code) ? 404 : code === -32603 ? 500 : code === -32029 ? 429 : 400;
  const name = NAMES[status] ?? (MISPLACED.includes(code) ? "FAILED_PRECONDITION" : "INVALID_ARGUMENT");
  const details = Array.isArray(data) && REASONS[code] !== undefined ? { details: data } : {};
  return { status, body: { error: { code: status, status: name, message, ...details } } };
}
