/**
 * The conversation with a caller under one contextId (the seeds' session_id), for a run that is one of its tasks. Only tasks of the same owner
 * count, whatever name another owner gives a session; nothing is stored besides the tasks, so nothing is forgotten over time.
 */
import { Kept } from "../kernel/kept.ts";
import type { RunRecord, Session } from "../kernel/ports.ts";
import { digestOf } from "../kernel/canonical.ts";
import { type Shortened, shortened, type Turn } from "../rules/session-words.ts";
import type { Host } from "./host.ts";
import { createFollower } from "./task-follow.ts";
import { createTaskStore, textIn } from "../engine/store/tasks.ts";
import type { TaskView } from "./task-view.ts";
import { createWatch } from "../engine/store/rows.ts";

const NOTHING: Session = { turns: [], earlier: "", runs: [] };
/** Number of tasks that are read. */
const TASKS = 200;
const RUNS = 20;
/** A longer text is listed among the messages. */
const INPUT = 2000;
const short = new Kept<string, Shortened>(50);

/** The tasks before this run's own. */
export async function sessionOf(host: Pick<Host, "database" | "engine" | "cards">, { cause }: RunRecord): Promise<Session> {
  const { owner, context, task } = (cause.detail ?? {}) as { owner?: string; context?: string; task?: string };
  if (cause.kind !== "a2a" || owner === undefined || context === undefined) return NOTHING;
  const store = createTaskStore(host.database);
  const rows = store.inContext(owner, context, TASKS).filter(({ id }) => id !== task);
  const follower = createFollower(host, store, createWatch());
  const turns: Turn[] = [];
  const runs: Session["runs"] = [];
  for (const row of rows) {
    const view = await follower.view(row);
    turns.push(...turnsOf(view));
    const run = row.run === null ? null : await host.engine.get(row.run);
    if (run === null) continue;
    const { id, agent, input, status, outcome } = run;
    runs.push({ run: id, agent, input: JSON.stringify(input).length > INPUT ? null : input, status, outcome });
  }
  return { ...short.of(digestOf(turns), () => shortened(turns)), runs: runs.slice(-RUNS) };
}

function turnsOf({ history, status, artifacts }: TaskView): Turn[] {
  const answer = artifacts.flatMap(({ parts }) => textIn(parts));
  const end = status.message === null || history.at(-1)?.id === status.message.id ? [] : [textIn(status.message.parts)];
  return [
    ...history.map(({ role, parts }) => ({ role, text: textIn(parts) })),
    ...[...answer, ...end].map((text) => ({ role: "agent" as const, text })),
  ].filter(({ text }) => text !== "");
}
