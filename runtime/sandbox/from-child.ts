/**
 * Messages of a child, read as text from a stranger: a script that has broken out of its isolate speaks here. Returns null for
 * anything that is not exactly a call or an end; slot.ts then kills the child. What the host knows itself is never taken from here.
 */
import { z } from "zod";
import type { At, WireError } from "../kernel/errors.ts";
import type { Job, JobEnd, Served } from "../kernel/ports.ts";
import { jsonOf } from "../kernel/text.ts";
import type { Frame } from "./frames.js";

export interface ChildCall {
  seq: number;
  name: string;
  at: At | undefined;
  served: unknown;
}

/** Without zod, because it runs for every call. */
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
  const count = (value: unknown) => (Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : undefined);
  const [row, column] = [count(line), count(col)];
  return { file, ...(row !== undefined && { line: row }), ...(column !== undefined && { col: column }) };
}

/** Why a recorded step has no value; null when it has one. */
export function failureOf(step: Served): WireError | null {
  return step.error ?? (step.result === null ? { code: "INTERNAL", message: `Step ${step.name} was recorded without an outcome.` } : null);
}

/** Index of the recorded step that ended the run; -1 when there is none. */
export function failedAt(job: Job): number {
  return job.history.findIndex((step) => failureOf(step) !== null);
}

// The failures that a script and its isolate can cause; every other failure is the host's.
const CODES = [
  ...(["SCRIPT_ERROR", "SCRIPT_RESULT", "SCRIPT_MONEY", "SCRIPT_MISSING", "SCRIPT_SYNTAX", "PARAMS_INVALID"] as const),
  ...(["LIMIT_CPU", "LIMIT_WALL", "LIMIT_MEMORY", "LIMIT_CALLS", "LIMIT_BYTES", "LIMIT_DEPTH"] as const),
];
// The longest of ours: a path of 64 keys with 60 characters each.
const MESSAGE = 8192;

const count = z.int().nonnegative();
const ending = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("result"), calls: count, cpuMs: z.number().min(0).max(1e9) }),
  z.object({ kind: z.literal("suspended") }),
  z.object({
    kind: z.literal("failed"),
    calls: count,
    error: z.object({ code: z.string(), message: z.string(), at: z.unknown().optional() }),
  }),
  z.object({
    kind: z.literal("diverged"),
    seq: count,
    actual: z.object({ name: z.string(), params: z.string() }).nullable(),
    at: z.unknown().optional(),
  }),
]);
const own = z.object({ code: z.enum(CODES), message: z.string().max(MESSAGE) });

/** calls: number known to the host, including recorded ones. decided: how the host's last answer has ended the run. */
export function readEnd(frame: Frame, job: Job, calls: number, decided: JobEnd | null): JobEnd | null {
  const parsed = ending.safeParse(frame.head);
  if (!parsed.success) return null;
  const end = parsed.data;
  if (decided !== null && end.kind !== decided.kind) return null;
  switch (end.kind) {
    case "result": {
      const json = frame.body.toString("utf8");
      // A result counts only after the whole history and every call.
      if (end.calls !== calls || failedAt(job) !== -1 || frame.body.length > job.limits.call_bytes || jsonOf(json) === undefined)
        return null;
      return { kind: "result", json, calls, cpuMs: end.cpuMs };
    }
    case "suspended":
      return decided;
    case "failed": {
      const at = readPlace(end.error.at, job);
      const withPlace = (error: WireError, after: number): JobEnd => ({
        kind: "failed",
        error: { ...(at && { at }), ...error },
        calls: after,
      });
      if (decided?.kind === "failed") return withPlace(decided.error, decided.calls);
      if (end.calls > calls) return null;
      const step = job.history[end.calls - 1];
      const recorded = step === undefined ? null : failureOf(step);
      if (recorded !== null) return withPlace(recorded, end.calls);
      const { data } = own.safeParse(end.error);
      return data === undefined ? null : withPlace(data, end.calls);
    }
    case "diverged": {
      // The child counts calls from 1; elsewhere a call is identified by its index in the history.
      const step = job.history[end.seq - 1];
      const { actual } = end;
      if (step === undefined || (actual !== null && !Object.hasOwn(job.primitives, actual.name))) return null;
      if (actual !== null && actual.params.length > job.limits.call_bytes) return null;
      const at = readPlace(end.at, job);
      return { kind: "diverged", seq: end.seq - 1, recorded: { name: step.name, params: step.params }, actual, ...(at && { at }) };
    }
  }
}
