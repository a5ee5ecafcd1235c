/**
 * What a child says, read as text from a stranger: a script that has broken out of its isolate speaks here. Null is the answer to
 * everything that is not exactly a call or an end; slot.ts then kills the child.
 */
import { z } from "zod";
import type { At } from "../errors.ts";
import type { Job, JobEnd } from "../ports.ts";
import type { Frame } from "./frames.js";

export interface ChildCall {
  seq: number;
  name: string;
  at: At | undefined;
  served: unknown;
}

/** By hand, because it stands in every call's way. */
export function readCall(head: unknown, job: Job): ChildCall | null {
  if (typeof head !== "object" || head === null) return null;
  const { seq, name, at, served } = head as Record<string, unknown>;
  if (!Number.isSafeInteger(seq) || typeof name !== "string") return null;
  return { seq: seq as number, name, at: readPlace(at, job), served };
}

/** A place in one of the run's own files, or none: it is shown to people and written into the record. */
function readPlace(at: unknown, job: Job): At | undefined {
  const { file, line, col } = (at ?? {}) as Record<string, unknown>;
  if (typeof file !== "string") return undefined;
  if (file !== job.main.file && !Object.values(job.scripts).some((script) => script.file === file)) return undefined;
  const count = (value: unknown) => (Number.isSafeInteger(value) ? (value as number) : undefined);
  const [row, column] = [count(line), count(col)];
  return { file, ...(row !== undefined && { line: row }), ...(column !== undefined && { col: column }) };
}

const recorded = z.object({ name: z.string(), params: z.string() });
const count = z.int().nonnegative();
const ending = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("result"), calls: count, cpuMs: z.number() }),
  z.object({ kind: z.literal("suspended"), calls: count }),
  z.object({
    kind: z.literal("failed"),
    calls: count,
    error: z.object({
      code: z.string(),
      message: z.string(),
      data: z.record(z.string(), z.unknown()).nullish(),
      at: z.unknown().optional(),
    }),
  }),
  z.object({ kind: z.literal("diverged"), seq: count, recorded, actual: recorded.nullable(), at: z.unknown().optional() }),
]);

/** calls: how many the host knows of, recorded ones included. */
export function readEnd(frame: Frame, job: Job, calls: number): JobEnd | null {
  const parsed = ending.safeParse(frame.head);
  if (!parsed.success) return null;
  const end = parsed.data;
  switch (end.kind) {
    case "result": {
      const json = frame.body.toString("utf8");
      // A result counts only after the whole history and every call.
      if (end.calls !== calls || frame.body.length > job.limits.call_bytes || !isJson(json)) return null;
      return { kind: "result", json, calls, cpuMs: end.cpuMs };
    }
    case "suspended":
      return { kind: "suspended", calls: end.calls };
    case "failed": {
      const { code, message, data } = end.error;
      const at = readPlace(end.error.at, job);
      return { kind: "failed", error: { code, message, ...(data && { data }), ...(at && { at }) }, calls: end.calls };
    }
    case "diverged": {
      const at = readPlace(end.at, job);
      // The child counts calls from 1; outside a call is known by its index in the history.
      return { kind: "diverged", seq: end.seq - 1, recorded: end.recorded, actual: end.actual, ...(at && { at }) };
    }
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
