/**
 * Looking at runs and cards: straight from the store, whoever owns the workspace, without taking it and without loading what runs scripts.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createCards } from "../engine/cards.ts";
import { Database } from "../engine/database.ts";
import { createEngine } from "../engine/sqlite.ts";
import { ClearedError } from "../errors.ts";
import type { Card, RunEvent, RunQuery, RunRecord } from "../ports.ts";
import { STORE } from "../workspace/layout.ts";
import type { RunDetail } from "./print-run.ts";

export interface Look {
  runs(query: RunQuery): Promise<RunRecord[]>;
  /** @throws RUN_UNKNOWN */
  show(run: string): Promise<RunDetail>;
  queue(all: boolean): Card[];
  card(id: number): Card | null;
}

/** @throws STORE_CORRUPT, STORE_VERSION */
export async function withStore<T>(dir: string, work: (look: Look) => Promise<T> | T): Promise<T> {
  const path = join(dir, STORE);
  // Nothing ran here yet: there is nothing to see, and no reason to make a store.
  const database = new Database(existsSync(path) ? path : ":memory:");
  try {
    const engine = createEngine(database, { now: () => Date.now() }, () => undefined);
    const cards = createCards(database);
    return await work({
      runs: (query) => engine.list(query),
      async show(id) {
        const run = await engine.get(id);
        if (run === null) throw new ClearedError("RUN_UNKNOWN", `There is no run "${id}". \`cleared runs\` lists them.`);
        const events: RunEvent[] = [];
        for await (const event of engine.events(id, 1)) events.push(event);
        return { run, steps: await engine.steps(id), events, cards: cards.list({ run: id }) };
      },
      queue: (all) => cards.list({ open: !all }),
      card: (id) => cards.get(id),
    });
  } finally {
    database.close();
  }
}
