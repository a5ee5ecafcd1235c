/** By what a message is known when it comes again, also after a restart: its key, never shared between owners, and what came under it. */
import { createHash } from "node:crypto";
import { canonicalJson } from "../kernel/canonical.ts";
import type { Json } from "../kernel/ports.ts";
import type { Large } from "./task-intake.ts";
import type { TaskPart } from "../engine/store/tasks.ts";

export interface TaskRequest {
  message: { id: string; parts: TaskPart[]; metadata?: Json };
  /** Beside the message: of the request. */
  metadata: Json;
  task?: string | undefined;
  context?: string | undefined;
  /** The caller's own id of the task (tasks/send). */
  alias?: string | undefined;
  /** Idempotency-Key. */
  key?: string | undefined;
  /** Only its beginning is here. */
  large?: Large | null;
}

// Test suites and simple clients use one id for many messages; only one that cannot come up twice by chance says "this very message".
const UNIQUE = /[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|(?<![0-9A-Z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Z])/i;

const digest = (...parts: unknown[]): string => createHash("sha256").update(canonicalJson(parts)).digest("hex");

/** `asked`: what of its metadata says what is asked for. Without a key every message is another one. */
export function sameMessage(owner: string, request: TaskRequest, asked: Json): { content: string; key: string | null } {
  const { message, task, context, alias, large } = request;
  const content = digest(message.parts, asked, task ?? null, context ?? null, ...(large == null ? [] : [large.digest]));
  if (request.key !== undefined) return { content, key: digest("key", owner, request.key) };
  if (alias !== undefined) return { content, key: digest("alias", owner, alias, content) };
  return { content, key: UNIQUE.test(message.id) ? digest("message", owner, message.id, content) : null };
}
