/** Runs and steps as the store keeps them, their ids, their translation to what the ports say, and the wake-up list for those who wait for a run to change. */
import { randomUUID } from "node:crypto";
import type { WireError } from "../../kernel/errors.ts";
import type { Cause, Change, Given, Json, Outcome, RunMode, RunRecord, RunStatus, Step, WaitReason } from "../../kernel/ports.ts";
import { ALL, redact } from "../../rules/privacy/scan.ts";
import { type Database, unpack } from "./database.ts";

/** The runs that have not ended. SQLite finds their index (runs_open) by exactly these words and no others; without it each look reads every run. */
export const OPEN = "status IN ('queued', 'running', 'waiting')";

/** The runs that somebody has to look at, by the words of their index (runs_wrong). */
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
  /** Where its history lies: null in the tables, > 0 in that bundle of the archive, 0 nowhere any more, -1 too large to be moved. */
  bundle: number | null;
  /** 1 for a run that came with a bundle of the archive: it may be looked at and forked, and never goes on. */
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

/** Wakes whoever waits for a run to change. */
export type Watch = ReturnType<typeof createWatch>;

// setTimeout takes no more.
const LONGEST_MS = 2 ** 31 - 1;

export function createWatch() {
  const waiting = new Map<string, Set<() => void>>();
  return {
    changed(id: string): void {
      const wake = waiting.get(id);
      waiting.delete(id);
      for (const done of wake ?? []) done();
    },
    /** The next change of the run, or the end of the time. `own`: given what ends this wait and no other. Whoever stops waiting leaves nothing behind. */
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

// Changes every character of the tail but the first, and keeps the order.
const STEP = 32 ** 3 + 32 ** 2 + 32 + 1;

let lastTime = 0;
let lastTail = 0;

/**
 * `run_` + 9 characters of time + 5 of chance, Crockford base32, so that ids sort by creation and never collide on one machine. None looks
 * like a number that the privacy guard hides: a model, a notice or a person could not name the run.
 */
export function newRunId(now: number): string {
  // Within one millisecond the tail counts up, so that ids keep the order of creation.
  if (now <= lastTime) lastTail += 1;
  // The first 24 bits of a UUID are chance, and Node draws it for many at once.
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
