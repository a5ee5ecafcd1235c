/**
 * A caller's view of a task: a projection of its entries and the events of its run, never a state of its own. From the same lists it gives the
 * same changes with the same numbers, before and after a restart; an ended task does not change any more.
 */
import { createHash } from "node:crypto";
import { canonicalJson } from "../kernel/canonical.ts";
import { CODES } from "../kernel/errors.ts";
import type { Card, Json, RunEvent, RunRecord, WaitReason } from "../kernel/ports.ts";
import { rankedAnswer } from "../rules/answers/ranked.ts";
import { callsOf, titleOf } from "../rules/edits.ts";
import { redact } from "../rules/privacy/scan.ts";
import { isObject } from "../rules/tools/shape.ts";
import type { Host } from "./host.ts";
import type { Entry, TaskMessage, TaskPart, TaskRow, TaskState } from "../engine/store/tasks.ts";

export interface TaskStatus {
  state: TaskState;
  at: number;
  message: TaskMessage | null;
}

export interface TaskArtifact {
  id: string;
  name: string;
  parts: TaskPart[];
  metadata: Json;
}

export interface TaskView {
  id: string;
  context: string;
  alias: string | null;
  run: string | null;
  /** Number of changes; they are numbered from 1. */
  generation: number;
  /** The change made by its caller's last message. */
  heard: number;
  status: TaskStatus;
  history: TaskMessage[];
  artifacts: TaskArtifact[];
}

export type TaskChange = { generation: number } & ({ status: TaskStatus } | { artifact: TaskArtifact });

const ENDED: readonly TaskState[] = ["completed", "failed", "canceled", "rejected"];
export const hasEnded = (state: TaskState): boolean => ENDED.includes(state);
/** It waits for an answer from its caller or somebody else. */
export const isParked = (state: TaskState): boolean => state === "input-required" || state === "auth-required";

/** The run waits for a person of the business, and messages of the caller are no answer; other waits end on their own. */
const ASKS: readonly (WaitReason | undefined)[] = ["approval", "escalation", "in_doubt", "input", "remote_gate"];

export type TaskFacts = Pick<Host, "engine" | "cards">;

export interface Projection {
  view: TaskView;
  /** Event number up to which it has been fed. */
  seen: number;
  /** Entries up to the last event fed, one by one; later ones are stored for the next time, earlier ones skipped. */
  entries(all: readonly Entry[]): Generator<TaskChange, void>;
  event(event: RunEvent): Promise<TaskChange[]>;
}

export function createProjection({ id, context, alias, run, at }: TaskRow, { engine, cards }: TaskFacts): Projection {
  const status: TaskStatus = { state: "submitted", at, message: null };
  const view: TaskView = { id, context, alias, run, generation: 0, heard: 0, status, history: [], artifacts: [] };
  let entries = 0;

  const tell = (state: TaskState, when: number, parts: TaskPart[] | null, asks: boolean): TaskChange => {
    const generation = ++view.generation;
    const message: TaskMessage | null = parts === null ? null : { id: `${id}-${generation}`, role: "agent", parts };
    view.status = { state, at: when, message };
    // Some clients read the question of a waiting task from its status, others only from its history.
    if (message !== null && asks) view.history.push(message);
    return { generation, status: view.status };
  };
  const move = (state: TaskState, when: number, parts: TaskPart[] | null): TaskChange[] =>
    hasEnded(view.status.state) || (state === view.status.state && parts === null) ? [] : [tell(state, when, parts, isParked(state))];

  return {
    view,
    seen: 0,
    *entries(all) {
      for (const entry of all) {
        if (entry.n < entries) continue;
        if (entry.after > this.seen) break;
        entries = entry.n + 1;
        if (hasEnded(view.status.state)) continue;
        if (entry.message !== undefined) {
          view.history.push(entry.message);
          view.heard = view.generation + 1;
        }
        yield tell(entry.state, entry.at, entry.parts ?? null, isParked(entry.state));
      }
    },
    async event({ seq, type, at: when, body, run: of }) {
      this.seen = seq;
      const told = body as { status?: RunRecord["status"]; reason?: WaitReason; waits_for?: string; outcome?: string; code?: string };
      if (type === "status") {
        if (told.status === "waiting" && ASKS.includes(told.reason)) {
          const asked = told.reason === "remote_gate" ? null : cards.list({ run: of });
          return move("auth-required", when, questionOf(asked, told.waits_for ?? "", when));
        }
        return told.status === "running" || isParked(view.status.state) ? move("working", when, null) : [];
      }
      if (type !== "ended" || hasEnded(view.status.state)) return [];
      const record = await engine.get(of);
      if (told.status === "canceled")
        return move("canceled", when, told.reason === undefined ? null : [{ text: `It was canceled: ${redact(told.reason)}` }]);
      if (told.status !== "done") return move("failed", when, [{ text: failureOf(told.code ?? "INTERNAL", record) }, ...leftParts(record)]);
      if (told.outcome !== "completed") return move("rejected", when, refusalOf(told.outcome ?? "rejected", record));
      const artifact = answerOf(id, record);
      view.artifacts.push(artifact);
      return [{ generation: ++view.generation, artifact }, ...move("completed", when, null)];
    },
  };
}

/** The gate's question and its subject; `cards` null: a remote one. The text says that a message of the caller does not answer it. */
function questionOf(cards: readonly Card[] | null, title: string, at: number): TaskPart[] {
  if (cards === null) return [{ text: `${title}\nThe task then continues automatically. A message here decides nothing.` }];
  const card = cards.findLast((one) => one.title === title && one.at <= at);
  const who = card?.kind === "form" ? "A person of this business fills this in" : "A person of this business who may approve decides this";
  const summary = card === undefined ? title : titleOf(card);
  const text = `${summary}\n${who}${card === undefined ? "" : ` (card ${card.id})`}; the task then continues automatically. A message here decides nothing.`;
  if (card === undefined) return [{ text }];
  const { id, kind, level, expires } = card;
  const digest = createHash("sha256")
    .update(canonicalJson(callsOf(card)))
    .digest("hex");
  const expiresAt = expires === null ? {} : { expiresAt: new Date(expires).toISOString() };
  return [{ text }, { data: { reviewId: id, kind, summary, level, actionDigest: `sha256:${digest}`, ...expiresAt } }];
}

/** An error of Cleared itself must not reveal anything about this system. */
export function failureOf(code: string, record: RunRecord | null): string {
  const row = Object.hasOwn(CODES, code) ? CODES[code as keyof typeof CODES] : null;
  if (row === null || row.kind === "internal") return `INTERNAL: Something went wrong here. Run ${record?.id ?? ""} has the details.`;
  return redact(`${code}: ${record?.error?.code === code ? record.error.message : row.means}`);
}

/** Ended by a policy, a rejection or expiry: what the run itself says about it. */
export function refusalOf(outcome: string, record: RunRecord | null): TaskPart[] {
  const result = record?.result ?? null;
  // What the runtime recorded of a rejection; the script may ignore it and say something else.
  const summary = field(record?.meta ?? null, "rejected") ?? field(result, "summary") ?? field(result, "reason") ?? "It was not allowed.";
  return [
    { text: `${outcome}: ${summary}` },
    ...leftParts(record),
    ...(typeof result === "object" && result !== null ? [{ data: result }] : []),
  ];
}

/** What a run that did not complete has done outside: whoever gave the task may need to check it. */
export function leftParts(record: RunRecord | null): TaskPart[] {
  const left = (record?.meta as { left?: { stands: string[]; not_verified: string[] } } | null)?.left;
  if (left === undefined) return [];
  const told = { stands: left.stands.map((one) => redact(one)), not_verified: left.not_verified.map((one) => redact(one)) };
  return [{ text: `It had acted outside before: ${[...told.stands, ...told.not_verified].join("; ")}` }, { data: { left: told } }];
}

/** The answer is in one place. A ranked list is only its brackets; measurements are metadata. */
function answerOf(task: string, record: RunRecord | null): TaskArtifact {
  const result =
    record?.dropped === true ? "The answer is no longer stored; what the run has committed is in git." : (record?.result ?? null);
  const list = rankedAnswer(result);
  const isData = list === null && typeof result === "object" && result !== null;
  const parts = [{ text: list ?? (typeof result === "string" ? result : isData ? lines(result) : JSON.stringify(result)) }];
  const metadata = { run: record?.id ?? "", agent: record?.agent ?? "", ...(record?.meta == null ? {} : { answer: record.meta }) };
  return { id: `${task}-answer`, name: record?.agent ?? "answer", parts: isData ? [...parts, { data: result }] : parts, metadata };
}

/** The summary, then one line per field. */
function lines(result: Json): string {
  if (Array.isArray(result)) return JSON.stringify(result);
  const { summary, ...rest } = result as { [key: string]: Json };
  const told = Object.entries(rest).map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return [
    ...(typeof summary === "string" ? [summary] : summary === undefined ? [] : [`summary: ${JSON.stringify(summary)}`]),
    ...told,
  ].join("\n");
}

function field(value: Json, name: string): string | null {
  const found = isObject(value) ? value[name] : null;
  return typeof found === "string" && found !== "" ? found : null;
}
