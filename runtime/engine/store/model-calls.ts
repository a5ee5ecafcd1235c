/** Requests to models, one row each, with its highest possible cost until it is settled; and how people decided on what models had chosen. */
import type { Database } from "./database.ts";

/** `cost`: picodollars (1e-12 US dollars) as text, because a sum may exceed what a number can hold. */
export interface Spent {
  cost: string;
  tokens: number;
}

/** All that was reserved or settled for one run, one proposal, or one agent on one day. */
export function spentBy(database: Database, by: "run" | "proposal" | "agent", name: string, day: string | null = null): Spent {
  const sql = `SELECT CAST(coalesce(sum(max(cost, 0)), 0) AS TEXT) AS cost, coalesce(sum(max(tokens, 0)), 0) AS tokens FROM model_calls
    WHERE ${by} = ?${day === null ? "" : " AND day = ?"}`;
  return database.get<Spent>(sql, ...[name, ...(day === null ? [] : [day])]) ?? { cost: "0", tokens: 0 };
}

export interface ModelCall {
  at: number;
  day: string;
  run: string | null;
  agent: string | null;
  proposal: string | null;
  model: string;
  role: string | null;
  tokens: number;
  cost: bigint | null;
}

/** Answers its id. */
export function addModelCall(database: Database, call: ModelCall): number {
  const { at, day, run, agent, proposal, model, role, tokens, cost } = call;
  const row = database.get<{ id: number }>(
    "INSERT INTO model_calls (at, day, run, agent, proposal, model, role, tokens, cost) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
    ...[at, day, run, agent, proposal, model, role, tokens, cost],
  );
  return row?.id ?? 0;
}

/** Relaxed: if a power cut loses it, the reservation remains, which counts more, not less. */
export function settleModelCall(
  database: Database,
  id: number,
  used: { input: number; cache_read: number; cache_write: number; output: number },
  cost: bigint | null,
  stop: string,
): void {
  const { input, cache_read, cache_write, output } = used;
  const sql = "UPDATE model_calls SET tokens = ?, cost = ?, input = ?, cached = ?, written = ?, output = ?, stop = ? WHERE id = ?";
  database.write(() => database.run(sql, input + output, cost, input, cache_read, cache_write, output, stop, id), true);
}

/** Sums by a column, those with the latest requests first, no more than 200. `open`: never settled; `unknown`: without a price. */
export function modelCallsBy(database: Database, by: "run" | "agent" | "model" | "proposal" | "day") {
  return database.all<{ [sum in "calls" | "open" | "input" | "cached" | "output" | "unknown"]: number } & { name: string; pico: string }>(
    `SELECT coalesce(${by}, '') AS name, count(*) AS calls, sum(stop IS NULL) AS open, coalesce(sum(input), 0) AS input,
       coalesce(sum(cached), 0) AS cached, coalesce(sum(output), 0) AS output,
       CAST(coalesce(sum(cost), 0) AS TEXT) AS pico, sum(cost IS NULL) AS unknown
     FROM model_calls GROUP BY ${by} ORDER BY max(id) DESC LIMIT 200`,
  );
}

export function hasAskedModel(database: Database, run: string): boolean {
  return database.get("SELECT 1 FROM model_calls WHERE run = ?", run) !== undefined;
}

/** A person's decision about a class of a site: `confirmed` 1 if they left it unchanged. */
export interface ModelMark {
  card: number;
  confirmed: 0 | 1;
  seal: string | null;
}

export function marksOf(database: Database, site: string, name: string): ModelMark[] {
  return database.all<ModelMark>("SELECT card, confirmed, seal FROM model_marks WHERE site = ? AND class = ?", site, name);
}

/** Each card counts once. */
export function addMark(database: Database, site: string, name: string, { card, confirmed, seal }: ModelMark): void {
  database.run("INSERT OR REPLACE INTO model_marks VALUES (?, ?, ?, ?, ?)", site, name, card, confirmed, seal);
}
