/** Queries on runs that the Engine port does not have: counts, pins, late and working runs, and the runs that the guard measures. */
import type { Database } from "./database.ts";
import { addEvent } from "./history.ts";
import { OPEN } from "./rows.ts";
import type { Json, RunStatus } from "../../kernel/ports.ts";

export function countRuns(database: Database): { status: string; outcome: string | null; n: number }[] {
  return database.all("SELECT status, outcome, count(*) AS n FROM runs GROUP BY status, outcome ORDER BY status, outcome");
}

/** Commits that runs which have not ended are pinned to. */
export function pinnedCommits(database: Database): string[] {
  return database.all<{ pin: string }>(`SELECT DISTINCT pin_commit AS pin FROM runs WHERE ${OPEN}`).map(({ pin }) => pin);
}

/** Agent, commit and end of a run; undefined for an unknown run. */
export function glanceAt(database: Database, run: string): { agent: string; pin: string; ended: number | null } | undefined {
  return database.get("SELECT agent, pin_commit AS pin, ended_at AS ended FROM runs WHERE id = ?", run);
}

/** Adds a line to the log of a run, whatever its status. */
export function logTo(database: Database, run: string, at: number, body: Json): void {
  database.write(() => {
    const row = database.get<{ rid: number }>("SELECT rid FROM runs WHERE id = ?", run);
    if (row !== undefined) addEvent(database, row.rid, "log", at, body);
  });
}

/** Runs due to begin before `before` (ms) that are still queued, no more than 20. */
export function lateRuns(database: Database, before: number): { agent: string; at: number }[] {
  return database.all(
    `SELECT agent, not_before AS at FROM runs WHERE ${OPEN} AND status = 'queued' AND not_before < ? ORDER BY not_before LIMIT 20`,
    before,
  );
}

/** Running tasks of other agents and chat clients that have not begun to act outside. */
export function tasksAtWork(database: Database): string[] {
  const acts = "SELECT 1 FROM steps WHERE steps.rid = runs.rid AND effect IN ('external', 'notify')";
  return database
    .all<{ id: string }>(
      `SELECT id FROM runs WHERE cause_kind IN ('a2a', 'mcp') AND NOT EXISTS (${acts})
       AND (status = 'running' OR (status = 'waiting' AND reason = 'slow_call'))`,
    )
    .map(({ id }) => id);
}

/** A live run that ended without being canceled; `reviews`: cards for review that it opened, `error`: JSON of a WireError. */
export interface EndedRow {
  id: string;
  status: RunStatus;
  pin_commit: string;
  error: string | null;
  reviews: number;
}

/** The latest runs of an agent, newest first. A failure that is repeated to find the file at fault counts once. */
export function endedLive(database: Database, agent: string, most: number): EndedRow[] {
  return database.all(
    `SELECT id, status, pin_commit, error,
       (SELECT count(*) FROM cards WHERE cards.run = runs.id AND kind IN ('entry', 'row', 'note') AND key NOT LIKE 'notice:%') AS reviews
     FROM runs WHERE agent = ? AND adopted IS NULL AND mode = 'live' AND cause_kind != 'exec' AND status IN ('done', 'failed', 'diverged')
       AND NOT (status = 'failed' AND json_extract(ifnull(cause_detail, '{}'), '$.repeats') IS 1) ORDER BY rid DESC LIMIT ?`,
    ...[agent, most],
  );
}
