/**
 * Reads runs and cards directly from the store, whoever owns the workspace, without taking it and without loading what executes scripts.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createCards, FOLLOWED } from "../engine/store/cards.ts";
import { getFact } from "../engine/store/facts.ts";
import { Database } from "../engine/store/database.ts";
import { createEngine } from "../engine/store/sqlite.ts";
import { ClearedError, onCode } from "../kernel/errors.ts";
import type { Card, Cards, Engine, RunEvent, RunQuery, RunRecord, Step } from "../kernel/ports.ts";
import { createArchive } from "../workspace/git/run-archive.ts";
import { assertUntracked } from "../workspace/git/working-edits.ts";
import { STORE } from "../workspace/layout.ts";

export interface RunDetail {
  run: RunRecord;
  steps: Step[];
  events: RunEvent[];
  cards: Card[];
}

type Look = ReturnType<typeof lookAt>;

/** @throws FOLDER_UNSAFE, STORE_CORRUPT, STORE_VERSION */
export async function withStore<T>(dir: string, work: (look: Look) => Promise<T> | T): Promise<T> {
  const path = join(dir, STORE);
  await assertUntracked(dir);
  // Nothing has run here yet, so there is nothing to show and no reason to create a store.
  const database = new Database(existsSync(path) ? path : ":memory:");
  try {
    // A read-only store does not need the branch.
    const archive = createArchive(dir, () => "");
    const engine = createEngine(database, { now: () => Date.now() }, () => undefined, archive);
    return await work(lookAt(engine, createCards(database), getFact(database, FOLLOWED)));
  } finally {
    database.close();
  }
}

const lookAt = (engine: Engine, cards: Cards, followed: string | null) => ({
  runs: (query: RunQuery) => engine.list(query),
  /** @throws RUN_UNKNOWN */
  async show(id: string): Promise<RunDetail> {
    const run = await needRun(engine, id);
    const events = await eventsOf(engine, run, 1);
    return { run, steps: await stepsOf(engine, id), events, cards: cards.list({ run: id }) };
  },
  /** Open cards; with a number the last ones, decided or not. */
  queue: (last: number | null) => cards.list(last === null ? { open: true } : { last }),
  card: (id: number) => cards.get(id),
  /** The commit whose books the cards have followed. */
  followed,
});

/** @throws RUN_UNKNOWN */
export async function needRun(engine: Pick<Engine, "get">, id: string): Promise<RunRecord> {
  const run = await engine.get(id);
  if (run === null) throw new ClearedError("RUN_UNKNOWN", `There is no run "${id.slice(0, 60)}". \`cleared runs\` lists them.`);
  return run;
}

/** The steps from a number on; empty for a history that is not here, which `eventsOf` reports. */
export async function stepsOf(engine: Engine, run: string, from?: number): Promise<Step[]> {
  return engine.steps(run, from).catch(onCode("HISTORY_GONE", () => []));
}

/** The events from a number on; for a history that is not here, a warning that says why. */
export async function eventsOf(engine: Engine, { id, createdAt }: RunRecord, from: number, limit?: number): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  try {
    for await (const event of engine.events(id, from)) if (events.push(event) === limit) break;
    return events;
  } catch (error) {
    const { message } = onCode("HISTORY_GONE", (gone) => gone)(error);
    return [{ run: id, seq: 0, type: "log", at: createdAt, body: { level: "warn", message } }];
  }
}

// A step may hold 4 MiB of rows; a page shows the beginning, and `cleared runs show` everything.
const SHOWN = 600;

/** A recorded step for display: the beginning of its texts, and its changes of the run: states, verdict, decisions, writes. */
export type StepFact = ReturnType<typeof toStepFact>;

export function toStepFact({ attempts: _, ...step }: Step) {
  const changes = step.changes.filter(({ op }) => op === "entered" || op === "verdict" || op === "decided" || op === "verified");
  return { ...step, changes, params: cut(step.params), result: step.result === null ? null : cut(step.result) };
}

const cut = (text: string): string => (text.length > SHOWN ? `${text.slice(0, SHOWN)} … (${text.length} characters)` : text);
