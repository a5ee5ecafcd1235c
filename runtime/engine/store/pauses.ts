/**
 * Pauses: who stopped an agent (or all of them), when and why, as rows that are never removed. While a pause is open no live run of the agent
 * starts executing, and a running one stops before it next acts outside or commits. Each change is one transaction, so a kill leaves the
 * pause either open or ended. It is read each time, so a pause written by any process takes effect at once. Open pauses are also kept beside
 * the store: a lost or changed store ends none.
 */
import { NOBODY } from "../../kernel/text.ts";
import { minuteOf } from "../../kernel/day.ts";
import type { Pause } from "../../kernel/ports.ts";
import type { Database } from "./database.ts";
import { queueRun } from "./history.ts";

/** The open pause of an agent, or null. Its own pause comes before one of all agents. */
export function pauseOf(database: Database, agent: string): Pause | null {
  const open = openPauses(database);
  return open.find((one) => one.agent === agent) ?? open.find((one) => one.agent === null) ?? null;
}

/** All open pauses, oldest first. */
export function openPauses(database: Database): Pause[] {
  const kept = database.pausesBeside.read();
  const rows = database.all<Pause>("SELECT agent, by, reason, at FROM pauses WHERE ended_at IS NULL ORDER BY id");
  const others = rows.filter(({ agent }) => !kept.some((one) => one.agent === agent));
  return [...kept, ...others].sort((a, b) => a.at - b.at);
}

/** `ingest is paused by Pat since … (why)`, and the command that ends it. */
export function pauseWords({ agent, by, reason, at }: Pause): string {
  const who = agent === null ? "Every agent is" : `${agent} is`;
  const why = reason === "" ? "" : ` (${reason})`;
  return `${who} paused by ${by ?? NOBODY} since ${minuteOf(at)}${why}; \`cleared resume${agent === null ? "" : ` ${agent}`}\` continues ${agent === null ? "them" : "it"}`;
}

/** Returns the pause that is already open and stays unchanged, or null when this one begins. */
export function beginPause(database: Database, pause: Pause): Pause | null {
  return database.write(() => {
    const open = openPauses(database);
    const known = open.find((one) => one.agent === pause.agent) ?? null;
    if (known === null)
      database.run("INSERT INTO pauses (agent, by, reason, at) VALUES (?, ?, ?, ?)", pause.agent, pause.by, pause.reason, pause.at);
    database.pausesBeside.write(known === null ? [...open, pause] : open);
    return known;
  });
}

/** Ends the pause of one agent, or with null every pause, and queues the runs that waited for it, in one transaction. */
export function endPauses(database: Database, agent: string | null, by: string | null, at: number): { ended: Pause[]; runs: string[] } {
  return database.write(() => {
    const open = openPauses(database);
    const ended = open.filter((one) => agent === null || one.agent === agent);
    if (ended.length > 0) database.pausesBeside.write(open.filter((one) => !ended.includes(one)));
    database.run(
      "UPDATE pauses SET ended_at = ?, ended_by = ? WHERE ended_at IS NULL AND (agent = ? OR ? IS NULL)",
      ...[at, by, agent, agent],
    );
    const freed = database
      .all<{ rid: number; id: string; agent: string }>(
        "SELECT rid, id, agent FROM runs WHERE status = 'waiting' AND reason = 'paused' ORDER BY rid",
      )
      .filter((run) => pauseOf(database, run.agent) === null);
    for (const { rid } of freed) queueRun(database, rid, at, `resumed by ${by ?? NOBODY}`);
    return { ended, runs: freed.map((run) => run.id) };
  });
}
