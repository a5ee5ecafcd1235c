/**
 * Tables of the run store and their migrations. A store written by an older version is migrated in one transaction;
 * one written by a newer version is refused. Called by sqlite.ts only.
 */
import type { DatabaseSync } from "node:sqlite";
import { ClearedError } from "../../kernel/errors.ts";

// A step carries its own event number, so that a run's events are numbered without gaps and no step is stored twice.
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE runs (
     rid INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, agent TEXT NOT NULL,
     cause_kind TEXT NOT NULL, cause_key TEXT NOT NULL, cause_detail TEXT, mode TEXT NOT NULL,
     pin_commit TEXT NOT NULL, pin_blob TEXT NOT NULL, pin_api INTEGER NOT NULL,
     input TEXT NOT NULL, parent TEXT, priority INTEGER NOT NULL, not_before INTEGER,
     status TEXT NOT NULL, reason TEXT, waits_for TEXT, wake_at INTEGER,
     outcome TEXT, result TEXT, error TEXT, attempt INTEGER NOT NULL, events INTEGER NOT NULL,
     created_at INTEGER NOT NULL, started_at INTEGER, ended_at INTEGER,
     UNIQUE (cause_kind, agent, cause_key));
   CREATE INDEX runs_open ON runs (status, priority DESC, rid) WHERE status IN ('queued', 'running', 'waiting');
   CREATE INDEX runs_agent ON runs (agent, rid);
   CREATE TABLE steps (
     rid INTEGER NOT NULL, seq INTEGER NOT NULL, event INTEGER NOT NULL,
     name TEXT NOT NULL, effect TEXT NOT NULL, params ANY NOT NULL, state TEXT NOT NULL,
     result ANY, error TEXT, changes ANY, at INTEGER NOT NULL, attempts INTEGER NOT NULL,
     PRIMARY KEY (rid, seq)) WITHOUT ROWID, STRICT;
   CREATE TABLE events (
     rid INTEGER NOT NULL, seq INTEGER NOT NULL, type TEXT NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL,
     PRIMARY KEY (rid, seq)) WITHOUT ROWID;
   CREATE TABLE signals (
     rid INTEGER NOT NULL, gate TEXT NOT NULL, n INTEGER NOT NULL, key TEXT NOT NULL, payload TEXT NOT NULL, at INTEGER NOT NULL,
     PRIMARY KEY (rid, gate, n), UNIQUE (rid, gate, key)) WITHOUT ROWID;
   CREATE TABLE cards (
     id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, run TEXT,
     document TEXT NOT NULL, at INTEGER NOT NULL, decision TEXT);
   CREATE INDEX cards_open ON cards (id) WHERE decision IS NULL;
   CREATE INDEX cards_run ON cards (run);
   CREATE TABLE emitted (key TEXT PRIMARY KEY, run TEXT NOT NULL, event TEXT NOT NULL, payload TEXT NOT NULL, at INTEGER NOT NULL, taken INTEGER NOT NULL);
   CREATE INDEX emitted_open ON emitted (at) WHERE taken = 0;
   CREATE TABLE lease (one INTEGER PRIMARY KEY CHECK (one = 1), owner TEXT NOT NULL, pid INTEGER NOT NULL, epoch INTEGER NOT NULL, beat INTEGER NOT NULL);
   CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);`,
  // Queried twice a second: ten thousand runs that wait without a deadline must cost nothing.
  "CREATE INDEX runs_wake ON runs (wake_at) WHERE status = 'waiting' AND wake_at IS NOT NULL;",
  `CREATE TABLE notices (
     key TEXT PRIMARY KEY, channel TEXT NOT NULL, payload TEXT NOT NULL, state TEXT NOT NULL,
     due_at INTEGER NOT NULL, attempts INTEGER NOT NULL, last_error TEXT, at INTEGER NOT NULL);
   CREATE INDEX notices_state ON notices (state, due_at);`,
  "ALTER TABLE runs ADD COLUMN given TEXT; ALTER TABLE runs ADD COLUMN started_by TEXT; ALTER TABLE runs ADD COLUMN meta TEXT;",
  `CREATE TABLE pauses (
     id INTEGER PRIMARY KEY, agent TEXT, by TEXT, reason TEXT NOT NULL, at INTEGER NOT NULL, ended_at INTEGER, ended_by TEXT);
   CREATE INDEX pauses_open ON pauses (agent) WHERE ended_at IS NULL;`,
  // Where the history of a run is: bundle null: in the tables above; > 0: in that bundle of the archive; 0: dropped; -1: too large to move.
  // adopted 1: the run came with a bundle; this store did not execute it.
  `CREATE TABLE bundles (bid INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
   ALTER TABLE runs ADD COLUMN bundle INTEGER;
   ALTER TABLE runs ADD COLUMN adopted INTEGER;
   CREATE INDEX runs_ended ON runs (rid) WHERE bundle IS NULL AND ended_at IS NOT NULL;
   CREATE INDEX runs_wrong ON runs (rid) WHERE status IN ('failed', 'diverged');
   CREATE INDEX cards_proposals ON cards (id) WHERE kind = 'proposal';`,
  // A request to a model: first with the most it can use and cost (1e-12 US dollars; null: no known price), then with the actual figures.
  // stop null: never settled. model_marks: how people decided on what a model had chosen.
  `CREATE TABLE model_calls (
     id INTEGER PRIMARY KEY, at INTEGER NOT NULL, day TEXT NOT NULL, run TEXT, agent TEXT, proposal TEXT, model TEXT NOT NULL, role TEXT,
     tokens INTEGER NOT NULL, cost INTEGER, input INTEGER, cached INTEGER, written INTEGER, output INTEGER, stop TEXT) STRICT;
   CREATE INDEX model_calls_run ON model_calls (run) WHERE run IS NOT NULL;
   CREATE INDEX model_calls_agent ON model_calls (agent, day) WHERE agent IS NOT NULL;
   CREATE INDEX model_calls_proposal ON model_calls (proposal) WHERE proposal IS NOT NULL;
   CREATE TABLE model_marks (site TEXT NOT NULL, class TEXT NOT NULL, card INTEGER NOT NULL, confirmed INTEGER NOT NULL, PRIMARY KEY (card, site)) STRICT;
   CREATE INDEX model_marks_site ON model_marks (site, class);`,
  // Requests to the meta-agent: how each ended (JSON; null: not yet), and its messages and notes, one per row.
  `CREATE TABLE asks (
     id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, text TEXT NOT NULL, by TEXT, base TEXT NOT NULL, prompt TEXT NOT NULL,
     end TEXT, ended_at INTEGER) STRICT;
   CREATE TABLE ask_rows (
     ask INTEGER NOT NULL, n INTEGER NOT NULL, at INTEGER NOT NULL, document TEXT NOT NULL, PRIMARY KEY (ask, n)) WITHOUT ROWID, STRICT;`,
  // Tasks of other agents: entries of each beside the events of its run. after: the number of the run's events before the entry.
  `CREATE TABLE tasks (
     tid INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, context TEXT NOT NULL, alias TEXT,
     draft TEXT NOT NULL, run TEXT, at INTEGER NOT NULL);
   CREATE INDEX tasks_context ON tasks (owner, context);
   CREATE INDEX tasks_alias ON tasks (owner, alias) WHERE alias IS NOT NULL;
   CREATE TABLE task_entries (
     tid INTEGER NOT NULL, n INTEGER NOT NULL, after INTEGER NOT NULL, key TEXT UNIQUE, at INTEGER NOT NULL, body TEXT NOT NULL,
     PRIMARY KEY (tid, n)) WITHOUT ROWID;`,
  // Where a caller wants its task reported. sent: number of the last change delivered; events, entries: how much of the task was read for it.
  `CREATE TABLE task_pushes (
     tid INTEGER NOT NULL, pid TEXT NOT NULL, dialect TEXT NOT NULL, config TEXT NOT NULL, state TEXT NOT NULL, sent INTEGER NOT NULL,
     due_at INTEGER NOT NULL, attempts INTEGER NOT NULL, events INTEGER NOT NULL, entries INTEGER NOT NULL,
     last_error TEXT, PRIMARY KEY (tid, pid));
   CREATE INDEX task_pushes_state ON task_pushes (state, due_at);`,
  // Which task of a remote agent belongs to a call (run/step) that has not ended.
  `CREATE TABLE a2a_calls (
     key TEXT PRIMARY KEY, run TEXT NOT NULL, agent TEXT NOT NULL, task TEXT NOT NULL, state TEXT NOT NULL, at INTEGER NOT NULL,
     timeout INTEGER NOT NULL, answered TEXT, sent INTEGER NOT NULL) STRICT;`,
  // removed: when the entries of an ended task were deleted; its row and keys stay, so that no message of it starts a second run.
  "ALTER TABLE tasks ADD COLUMN removed INTEGER;",
  // seal: proves that the row was written by this user (workspace/settings/confirmation.ts).
  `ALTER TABLE model_marks ADD COLUMN seal TEXT; ALTER TABLE task_pushes ADD COLUMN seal TEXT; ALTER TABLE a2a_calls ADD COLUMN seal TEXT;`,
  "ALTER TABLE emitted ADD COLUMN seal TEXT;",
];

export const SCHEMA_VERSION = MIGRATIONS.length;

/** Brings the store to this version. @throws STORE_VERSION when a newer version wrote it */
export function migrate(db: DatabaseSync): void {
  if (versionOf(db) === SCHEMA_VERSION) return;
  db.exec("BEGIN IMMEDIATE");
  try {
    // Read again inside the transaction: another process may have migrated the store meanwhile.
    for (const sql of MIGRATIONS.slice(versionOf(db))) db.exec(sql);
    db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`);
  } catch (error) {
    rollBack(db);
    throw error;
  }
}

/** Ends a failed transaction. A full disk may have ended it already or refuse the rollback too; only the first error is reported. */
export function rollBack(db: DatabaseSync): void {
  try {
    if (db.isTransaction) db.exec("ROLLBACK");
  } catch {
    // SQLite has discarded the changes anyway.
  }
}

function versionOf(db: DatabaseSync): number {
  const { user_version: found } = db.prepare("PRAGMA user_version").get() as { user_version: number };
  if (found > SCHEMA_VERSION)
    throw new ClearedError(
      "STORE_VERSION",
      `The run store has version ${found}; this Cleared reads up to ${SCHEMA_VERSION}. Start the newer version.`,
    );
  return found;
}
