/** Runs and steps as rows, their ids, their translation to the types of the ports, and the wake-up list for callers that wait for a run to change. */
import { randomUUID } from "node:crypto";
import type { WireError } from "../../kernel/errors.ts";
import type { Cause, Change, Given, Json, Outcome, RunMode, RunRecord, RunStatus, Step, WaitReason } from "../../kernel/ports.ts";
import { ALL, redact } from "../../rules/privacy/scan.ts";
import { type Database, unpack } from "./database.ts";

/** Runs that have not ended. SQLite uses their index (runs_open) only for exactly this text; without it each query reads every run. */
export const OPEN = "status IN ('queued', 'running', 'waiting')";

/** Runs that need attention, in the text of their index (runs_wrong). */
export const WRONG = "status IN ('failed', 'diverged')";

export interface RunRow {
  rid: number;
  id: string;
  agent: string;
  cause_kind: Cause["kind"];
  cause_key: string;
  cause_detail: string | null;
  mode: RunMode;
  pin_commit: string;
  pin_blob: string;
  pin_api: number;
  input: string;
  parent: string | null;
  priority: number;
  not_before: number | null;
  given: string | null;
  started_by: string | null;
  status: RunStatus;
  reason: WaitReason | null;
  waits_for: string | null;
  wake_at: number | null;
  outcome: Outcome | null;
  result: string | null;
  meta: string | null;
  error: string | null;
  attempt: number;
  events: number;
  created_at: number;
  started_at: number | null;
  ended_at: number | null;
  /** Where its history is: null in the tables, > 0 in that bundle of the archive, 0 dropped, -1 in the tables because it is too large to move. */
  bundle: number | null;
  /** 1 for a run adopted from a bundle of the archive: it can be read and forked, but never continues. */
  adopted: number | null;
}

export function toRecord(row: RunRow): RunRecord {
  return {
    id: row.id,
    agent: row.agent,
    pin: { commit: row.pin_commit, blob: row.pin_blob, api: row.pin_api },
    input: JSON.parse(row.input) as Json,
    cause: {
      kind: row.cause_kind,
      key: row.cause_key,
      ...(row.cause_detail === null ? {} : { detail: JSON.parse(row.cause_detail) as Json }),
    },
    mode: row.mode,
    ...(row.parent === null ? {} : { parent: row.parent }),
    priority: row.priority,
    ...(row.not_before === null ? {} : { notBefore: row.not_before }),
    ...(row.given === null ? {} : { given: JSON.parse(row.given) as Given }),
    ...(row.started_by === null ? {} : { by: row.started_by }),
    status: row.status,
    reason: row.reason,
    waitsFor: row.waits_for,
    outcome: row.outcome,
    result: row.result === null ? null : (JSON.parse(row.result) as Json),
    meta: row.meta === null ? null : (JSON.parse(row.meta) as Json),
    error: row.error === null ? null : (JSON.parse(row.error) as WireError),
    attempt: row.attempt,
    createdAt: row.created_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    ...(row.bundle === 0 ? { dropped: true as const } : {}),
  };
}

export interface StepRow {
  seq: number;
  name: string;
  effect: Step["effect"];
  params: string | Uint8Array;
  state: Step["state"];
  result: string | Uint8Array | null;
  error: string | null;
  changes: string | Uint8Array | null;
  at: number;
  attempts: number;
}

export function readSteps(database: Database, rid: number, from = 0): Step[] {
  const sql =
    "SELECT seq, name, effect, params, state, result, error, changes, at, attempts FROM steps WHERE rid = ? AND seq >= ? ORDER BY seq";
  return database.all<StepRow>(sql, rid, from).map(toStep);
}

export function toStep(row: StepRow): Step {
  return {
    seq: row.seq,
    name: row.name,
    effect: row.effect,
    params: unpack(row.params),
    state: row.state,
    result: row.result === null ? null : unpack(row.result),
    error: row.error === null ? null : (JSON.parse(row.error) as WireError),
    changes: row.changes === null ? [] : (JSON.parse(unpack(row.changes)) as Change[]),
    at: row.at,
    attempts: row.attempts,
  };
}

/** Wakes callers that wait for a run to change. */
export type Watch = ReturnType<typeof createWatch>;

// The maximum of setTimeout.
const LONGEST_MS = 2 ** 31 - 1;

export function createWatch() {
  const waiting = new Map<string, Set<() => void>>();
  return {
    changed(id: string): void {
      const wake = waiting.get(id);
      waiting.delete(id);
      for (const done of wake ?? []) done();
    },
    /** Resolves at the next change of the run, or after `withinMs`. `own` receives a function that ends only this wait; a wait that ends leaves nothing behind. */
    next(id: string, withinMs: number, own?: (wake: () => void) => void): Promise<void> {
      return new Promise((resolve) => {
        const set = waiting.getOrInsertComputed(id, () => new Set());
        const done = () => {
          clearTimeout(timer);
          set.delete(done);
          resolve();
        };
        const timer = setTimeout(done, Math.min(withinMs, LONGEST_MS));
        set.add(done);
        own?.(done);
      });
    },
  };
}

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

// Changes every character of the tail except the first, and keeps the order.
const STEP = 32 ** 3 + 32 ** 2 + 32 + 1;

let lastTime = 0;
let lastTail = 0;

/**
 * `run_` + 9 characters of time + 5 random ones, Crockford base32, so that ids sort by creation and never collide on one machine. No id looks
 * like a number that the privacy guard redacts, or models, notices and people could not name the run.
 */
export function newRunId(now: number): string {
  // Within one millisecond the tail counts up, so that ids keep the order of creation.
  if (now <= lastTime) lastTail += 1;
  // The first 24 bits of a UUID are random, and Node generates UUIDs in batches.
  else [lastTime, lastTail] = [now, Number.parseInt(randomUUID().slice(0, 6), 16)];
  for (; ; lastTail += STEP) {
    const id = `run_${encode(lastTime, 9)}${encode(lastTail, 5)}`;
    if (redact(id, ALL) === id) return id;
  }
}

function encode(value: number, length: number): string {
  let text = "";
  for (let rest = value; text.length < length; rest = Math.floor(rest / 32)) text = (ALPHABET[rest % 32] ?? "0") + text;
  return text;
}
