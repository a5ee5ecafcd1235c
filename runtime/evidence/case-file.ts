/**
 * cases/<agent>/<name>.yaml: one recorded run and what must come of it, as text that is reviewed and reverted like any other. A case
 * stands alone: nothing of it is looked up in a run store. Anybody may propose one, so it is read strictly and believed in nothing but shape;
 * a step is one line, so that a diff reads well.
 */
import { z } from "zod";
import { isDay } from "../day.ts";
import { ClearedError } from "../errors.ts";
import type { Call, Cause, Change, EntryStatus, Given, Json, Outcome, RunRecord, RunStatus, Step } from "../ports.ts";
import { EFFECTS } from "../primitive.ts";
import { checkYaml, readYaml, type YamlSource } from "../sandbox/yaml-text.ts";
import { CASES } from "../workspace/layout.ts";
import { caseText, readLines } from "./case-text.ts";
import type { Effects, EntryEffect } from "./types.ts";

export interface Case {
  agent: string;
  /** One sentence. */
  why: string;
  from: {
    run: string;
    /** The run's pin: commit, and blob of the agent file there. */
    commit: string;
    blob: string;
    /** YYYY-MM-DD of its start. */
    day: string;
    /** Id of the proposal that froze it. */
    proposal?: string;
    /** Who corrected what it did. */
    correction?: string;
  };
  /** ms */
  started: number;
  cause: Cause;
  given?: Given;
  by?: string;
  input: Json;
  /** Policies, importers and settings of the change that froze it, text by path: they lie over the run's commit. */
  over: Record<string, string | null>;
  steps: Step[];
  /** How the recorded run ended. */
  ended: Pick<RunRecord, "outcome" | "result" | "error"> & { status: "done" | "failed"; refused?: readonly Call[] | null };
  /** All that must come of it; null where only the corrections count. */
  expect: Effects | null;
  /** What a person made of it: entries as they left them, and calls as a gate must ask for them. */
  corrected: { entries: EntryEffect[]; asked: Call[] };
}

/** A case's text may have so many characters; a larger run is not frozen. */
export const MAX_CASE = 262_144;

const line = (max: number) => z.string().min(1).max(max);
const any = z.custom<Json>((value) => value !== undefined, "is missing");
const object = z.custom<Record<string, Json>>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  "write an object",
);
const sha = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, "write a full commit id");
const moment = z.iso.datetime({ error: "write a moment such as 2026-10-01T06:00:00.000Z" }).transform((text) => Date.parse(text));
const amount = z.string().regex(/^-?\d{1,30}(?:\.\d{1,18})?$/, "write the amount as text, such as '84.00'");
const STATUSES = [
  "pending-review",
  "auto-confirmed",
  "user-confirmed",
  "user-corrected",
  "bootstrap-confirmed",
  "voided",
] as const satisfies readonly EntryStatus[];
const status = z.enum(STATUSES);

const call = z.strictObject({ tool: line(200), params: any });
const entry = z.strictObject({
  id: line(40),
  date: z.string().refine(isDay, "write a day as YYYY-MM-DD"),
  status,
  description: z.string(),
  evidence: z.string(),
  legs: z.array(z.strictObject({ account: line(200), amount, currency: line(12) })),
});
const failure = z.strictObject({
  code: line(100),
  message: z.string(),
  data: object.optional(),
  at: z.strictObject({ file: line(4096), line: z.int().optional(), col: z.int().optional() }).optional(),
});
const outcome = z.enum(["completed", "rejected", "expired", "blocked"] as const satisfies readonly Outcome[]);
const decision = z.enum(["approved", "rejected", "expired", "edited"]);

// What a recorded step may have changed (ports.ts Change), so that a case written by hand cannot upset the view it is restored into.
const change = z.discriminatedUnion("op", [
  z.strictObject({ op: z.literal("entries"), text: z.string() }),
  z.strictObject({ op: z.literal("status"), id: line(40), status }),
  z.strictObject({ op: z.literal("remove"), id: line(40) }),
  z.strictObject({ op: z.literal("known"), keys: z.array(z.string()) }),
  z.strictObject({ op: z.literal("file"), path: line(4096), text: z.string().nullable(), base: z.string().nullable() }),
  z.strictObject({ op: z.literal("rows"), name: z.string(), hash: z.string(), meta: any }),
  z.strictObject({ op: z.literal("processed"), name: z.string(), hash: z.string() }),
  z.looseObject({ op: z.literal("review"), title: z.string(), body: any, entry: z.string().nullable() }),
  z.strictObject({ op: z.literal("emit"), event: z.string(), payload: any }),
  z.strictObject({ op: z.literal("committed"), commit: sha }),
  z.looseObject({ op: z.literal("decided"), decision, by: z.string(), calls: z.array(call) }),
  z.strictObject({ op: z.literal("answered"), by: z.string(), values: any }),
  z.strictObject({ op: z.literal("entered"), state: z.string(), machine: z.string() }),
  z.strictObject({ op: z.literal("verdict"), verdict: object }),
  z.strictObject({ op: z.literal("verified"), write: object }),
  z.looseObject({ op: z.literal("propose"), title: z.string(), reason: z.string(), files: z.record(z.string(), z.string().nullable()) }),
]);

const step = z
  .strictObject({
    call: line(100),
    effect: z.enum(EFFECTS),
    params: object,
    result: any.optional(),
    error: failure.optional(),
    at: z.int(),
    attempts: z.int().min(0).default(1),
    changes: z.array(change).default([]),
  })
  .refine((one) => (one.result === undefined) !== (one.error === undefined), "write a result or an error");

const effects = z.strictObject({
  status: z.enum(["queued", "running", "waiting", "done", "failed", "diverged", "canceled"] as const satisfies readonly RunStatus[]),
  outcome: outcome.nullable().default(null),
  error: failure.nullable().default(null),
  result: any.default(null),
  entries: z.array(entry).default([]),
  changed: z.record(z.string(), status).default({}),
  calls: z.array(call.extend({ approved: z.boolean() })).default([]),
  notices: z.array(z.strictObject({ to: z.string(), subject: z.string(), text: z.string(), channel: z.string().optional() })).default([]),
  gates: z.array(z.strictObject({ title: z.string(), calls: z.array(call), form: z.literal(true).optional() })).default([]),
  reviews: z.array(z.strictObject({ about: z.string(), title: z.string() })).default([]),
  events: z.array(z.strictObject({ event: z.string(), payload: any })).default([]),
  files: z.record(z.string(), z.string().nullable()).default({}),
});

const schema = z.strictObject({
  agent: z.string().regex(/^[a-z][a-z0-9_-]*$/, "write the agent's name"),
  why: line(500),
  from: z.strictObject({
    run: z.string().regex(/^[\w-]{1,60}$/, "write a run's id"),
    commit: sha,
    blob: sha,
    day: z.string().refine(isDay, "write a day as YYYY-MM-DD"),
    proposal: line(60).optional(),
    correction: line(200).optional(),
  }),
  started: moment,
  cause: z.strictObject({
    kind: z.enum(["command", "watch", "schedule", "event", "webhook", "agent", "fork", "migrate"]),
    key: z.string(),
    detail: any.optional(),
  }),
  given: z.strictObject({ policy: z.string().optional(), tools: z.string().optional(), readOnly: z.boolean().optional() }).optional(),
  by: line(200).optional(),
  input: any,
  // Never code: a case that brings its own script along would pass whatever is proposed.
  over: z
    .record(
      z.string().regex(/^(?:config\.yaml|(?:policies|importers|knowledge)\/[^\\]+)$/, "lies not over a run's commit"),
      z.string().nullable(),
    )
    .default({}),
  steps: z.array(step).max(250_000),
  ended: z.strictObject({
    status: z.enum(["done", "failed"]),
    outcome: outcome.nullable().default(null),
    result: any.default(null),
    error: failure.nullable().default(null),
    refused: z.array(call).nullable().optional(),
  }),
  expect: effects.nullable().default(null),
  corrected: z.strictObject({ entries: z.array(entry).default([]), asked: z.array(call).default([]) }).prefault({}),
});

/** The folder and the name a case's path holds, or null: `cases/ingest/run_x.yaml` is ["ingest", "run_x"]. */
export function casePath(path: string): { agent: string; name: string } | null {
  const [, agent, name] = /^cases\/([a-z][a-z0-9_-]*)\/([\w-]{1,80})\.yaml$/.exec(path) ?? [];
  return agent === undefined || name === undefined ? null : { agent, name };
}

/** @throws CASE_INVALID at file:line */
export function parseCase(text: string, file: string): Case {
  // As it was written, most likely: then 1,000 are read in a second. What is not exactly so is read as the YAML it may be.
  const lines = text.length > MAX_CASE ? null : readLines(text);
  const known = lines === null ? null : schema.safeParse(lines, { jitless: true });
  if (known?.success === true) {
    const one = toCase(known.data, file);
    if (caseText(one) === text) return one;
  }
  const source: YamlSource = { file, code: "CASE_INVALID", maxLength: MAX_CASE, written: true };
  return toCase(checkYaml(readYaml(text, source), schema, source), file);
}

function toCase({ started, steps, expect, ...head }: z.output<typeof schema>, file: string): Case {
  const wrong = (message: string) => new ClearedError("CASE_INVALID", `${file}: ${message}`, { at: { file } });
  const place = casePath(file);
  if (place === null) throw wrong(`A case lies at ${CASES}<agent>/<name>.yaml; its name has letters, digits, "-" and "_".`);
  if (head.agent !== place.agent) throw wrong(`It is a case of ${head.agent}, so it belongs into ${CASES}${head.agent}/.`);
  if (expect === null && head.corrected.entries.length + head.corrected.asked.length === 0)
    throw wrong("It expects nothing: write expect:, or what was corrected.");
  return {
    ...head,
    started,
    expect: expect as Effects | null,
    steps: steps.map((one, seq) => ({
      seq,
      name: one.call,
      effect: one.effect,
      params: JSON.stringify(one.params),
      state: one.error === undefined ? "ok" : "error",
      result: one.error === undefined ? JSON.stringify(one.result) : null,
      error: one.error ?? null,
      changes: one.changes as Change[],
      at: started + one.at,
      attempts: one.attempts,
    })),
  } as Case;
}

/** The case of a file; null for a text that is none. */
export function readCase(text: string, file: string): Case | null {
  try {
    return parseCase(text, file);
  } catch (error) {
    if (error instanceof ClearedError) return null;
    throw error;
  }
}

/** Why this text is not kept as a case, in half a sentence; null when it can be read back. */
export function unfit(text: string, file: string): string | null {
  if (text.length > MAX_CASE)
    return `its recording has ${Math.ceil(text.length / 1024)} KB as text, and a case has at most ${MAX_CASE / 1024}`;
  try {
    parseCase(text, file);
    return null;
  } catch (error) {
    if (error instanceof ClearedError) return `its recording does not fit into a case: ${error.message}`;
    throw error;
  }
}
