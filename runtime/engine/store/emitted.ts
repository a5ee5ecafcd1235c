/** The outbox: events that runs emitted, until their listeners are started. A row that this user's runs wrote carries a keyed hash. */
import type { Json, Released, Sealer } from "../../kernel/ports.ts";
import type { Database } from "./database.ts";

export interface Emitted {
  key: string;
  run: string;
  event: string;
  payload: Json;
  /** Nothing proves that a run of this user emitted it. */
  doubted: boolean;
}

/** An existing key changes nothing. `seal`: null for a run that proves nothing itself. */
export function keepEmitted(
  database: Database,
  run: string,
  at: number,
  item: Extract<Released, { kind: "event" }>,
  seal: Sealer | null,
): void {
  const told = [item.key, run, item.event, JSON.stringify(item.payload)] as const;
  const proof = seal === null || item.doubted ? null : seal("emitted", ...told);
  database.run("INSERT INTO emitted VALUES (?, ?, ?, ?, ?, 0, ?) ON CONFLICT (key) DO NOTHING", ...told, at, proof);
}

/** Events that a commit released and that have not started their listeners yet, oldest first. */
export function openEmitted(database: Database, sealer: Sealer): Emitted[] {
  const sql = "SELECT key, run, event, payload, seal FROM emitted WHERE taken = 0 ORDER BY at, key";
  return database
    .all<{ key: string; run: string; event: string; payload: string; seal: string | null }>(sql)
    .map(({ key, run, event, payload, seal }) => {
      const doubted = seal !== sealer("emitted", key, run, event, payload);
      return { key, run, event, payload: JSON.parse(payload) as Json, doubted };
    });
}

export function takeEmitted(database: Database, key: string): void {
  database.write(() => database.run("UPDATE emitted SET taken = 1 WHERE key = ?", key));
}
