/**
 * Moving closed histories: from the tables into bundles, out of bundles once they are older than the workspace keeps them, and from bundles
 * made elsewhere into a store that does not know their runs. Each works in parts and may be killed between any two of them.
 * Invariant: the archive has a bundle before a row names it, and removes it only after no row does.
 */
import type { Archive } from "../../kernel/ports.ts";
import { type ClosedRun, bundleOf, closedRun, linesOf } from "./archive.ts";
import type { Database } from "./database.ts";
import { OPEN, type RunRow, toRecord } from "./rows.ts";

export interface Packing {
  database: Database;
  archive: Archive;
  /** @throws OWNER_FENCED */
  guard(): void;
  /** For the crash tests: "kept" when the archive has the bundles, "moved" after each change of the store. */
  reached?(stage: "kept" | "moved"): void;
}

// Characters of a bundle, and of the longest history that is moved: a JavaScript string cannot exceed half a GB.
const FULL = 1 << 20;
const LONGEST = 64 << 20;
// Limits of one call of packClosed; between calls the caller checks whether something else waits.
const RUNS = 2048;
const BUNDLES = 8;
// Characters of input, result, cause and the like up to which they stay in the row.
const SLIM = 512;
const EMPTY = "input = '', result = NULL, meta = NULL, given = NULL";
// `repeats` stays: the guard counts a failure that was repeated to find the file at fault only once.
const DETAIL = `cause_detail = CASE json_extract(cause_detail, '$.repeats') WHEN 1 THEN '{"repeats":true}' END`;
const FAT =
  "length(input) + ifnull(length(result), 0) + ifnull(length(meta), 0) + ifnull(length(cause_detail), 0) + ifnull(length(given), 0)";

const namesOf = (database: Database) => () => database.all<{ name: string }>("SELECT name FROM bundles").map(({ name }) => name);

export const isEmpty = (database: Database): boolean => database.get("SELECT 1 FROM runs LIMIT 1") === undefined;

/** How many runs that ended before a time could be moved, counted up to a limit. */
export function waitingToPack(database: Database, before: number, limit: number): number {
  const sql = "SELECT count(*) AS n FROM (SELECT 1 FROM runs WHERE bundle IS NULL AND ended_at IS NOT NULL AND ended_at < ? LIMIT ?)";
  return database.get<{ n: number }>(sql, before, limit)?.n ?? 0;
}

/** Moves some of the histories of runs that ended before a time; returns how many runs it examined, 0 when there are none. */
export async function packClosed(packing: Packing, before: number): Promise<number> {
  const { database, archive, guard } = packing;
  const found = database.all<{ rid: number; agent: string }>(
    "SELECT rid, agent FROM runs WHERE bundle IS NULL AND ended_at IS NOT NULL AND ended_at < ? ORDER BY rid LIMIT ?",
    ...[before, RUNS],
  );
  // Runs of one agent compress well together, and reading them in order finds the next one in the same bundle.
  found.sort((a, b) => (a.agent < b.agent ? -1 : a.agent > b.agent ? 1 : a.rid - b.rid));
  const bundles: { rows: RunRow[]; bytes: Buffer }[] = [];
  let looked = 0;
  for (let rows: RunRow[] = [], lines: string[] = [], size = 0; looked < found.length && bundles.length < BUNDLES; ) {
    const row = database.get<RunRow>("SELECT * FROM runs WHERE rid = ?", found[looked++]?.rid ?? 0);
    const line = row === undefined || row.ended_at === null ? null : lineOf(closedRun(database, row));
    if (row !== undefined && line === null)
      database.write(() => database.run("UPDATE runs SET bundle = -1 WHERE rid = ? AND ended_at IS NOT NULL", row.rid));
    if (row !== undefined && line !== null) {
      rows.push(row);
      lines.push(line);
      size += line.length;
    }
    if (size < FULL && looked < found.length) continue;
    if (rows.length > 0) bundles.push({ rows, bytes: await bundleOf(lines) });
    [rows, lines, size] = [[], [], 0];
  }
  if (bundles.length === 0) return looked;
  const all = bundles.flatMap(({ rows }) => rows);
  const names = await archive.keep(
    bundles.map(({ bytes }) => bytes),
    {
      needed: namesOf(database),
      commits: [...new Set(all.map((row) => row.pin_commit))],
      message: `histories of ${all.length} runs`,
      guard,
    },
  );
  packing.reached?.("kept");
  for (const [i, { rows }] of bundles.entries()) {
    database.write(() => {
      const bid = newBundle(database, names[i] ?? "");
      if (rows.filter((row) => moveRows(database, row, bid)).length === 0) database.run("DELETE FROM bundles WHERE bid = ?", bid);
    });
    packing.reached?.("moved");
  }
  return looked;
}

function lineOf(closed: ClosedRun): string | null {
  try {
    const line = JSON.stringify(closed);
    return line.length > LONGEST ? null : line;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function newBundle(database: Database, name: string): number {
  const sql = "INSERT INTO bundles (name) VALUES (?) ON CONFLICT (name) DO UPDATE SET name = name RETURNING bid";
  return database.get<{ bid: number }>(sql, name)?.bid ?? 0;
}

/** Records that the run's history is in this bundle, and empties the tables of it; false when the run has continued since it was read. */
function moveRows(database: Database, row: RunRow, bid: number): boolean {
  const updated = database.run(
    "UPDATE runs SET bundle = ? WHERE rid = ? AND bundle IS NULL AND events = ? AND ended_at = ?",
    ...[bid, row.rid, row.events, row.ended_at],
  );
  if (updated === 0) return false;
  forgetRows(database, row);
  database.run(`UPDATE runs SET ${EMPTY}, ${DETAIL} WHERE rid = ? AND ${FAT} > ${SLIM}`, row.rid);
  return true;
}

function forgetRows(database: Database, { rid, id, status }: Pick<RunRow, "rid" | "id" | "status">): void {
  for (const table of ["steps", "events", "signals"]) database.run(`DELETE FROM ${table} WHERE rid = ?`, rid);
  // The key of a taken event prevents a second delivery, which only a run that can continue may cause.
  if (status === "done" || status === "canceled")
    database.run("DELETE FROM emitted WHERE taken = 1 AND key >= ? AND key < ?", `${id}/`, `${id}0`);
}

/**
 * Drops the histories of runs that ended before a time, except those named in git (`named`: run ids), those of open runs and open cards,
 * and those of the runs that called these or were called by them. The rows stay, so that no cause starts a second run.
 * Returns how many histories it dropped.
 */
export async function dropClosed(packing: Packing, before: number, named: ReadonlySet<string>): Promise<number> {
  const { database, archive, guard } = packing;
  const kept = family(database, named);
  const old = new Map<number, Set<string>>();
  let dropped = 0;
  for (let from = Number.MIN_SAFE_INTEGER; ; ) {
    const page = database.all<Pick<RunRow, "rid" | "id" | "status" | "bundle">>(
      "SELECT rid, id, status, bundle FROM runs WHERE rid > ? AND ended_at < ? AND bundle IS NOT 0 ORDER BY rid LIMIT 5000",
      ...[from, before],
    );
    const gone = page.filter(({ id }) => !kept.has(id));
    const here = gone.filter(({ bundle }) => bundle === null || bundle < 0);
    database.write(() => {
      for (const row of here) drop(database, row);
    });
    dropped += gone.length;
    for (const { id, bundle } of gone) if (bundle !== null && bundle > 0) old.set(bundle, (old.get(bundle) ?? new Set()).add(id));
    from = page.at(-1)?.rid ?? 0;
    if (page.length < 5000) break;
    await new Promise(setImmediate);
  }

  // The histories that stay are collected from several bundles into new ones.
  let stay: { id: string; line: string }[] = [];
  let emptied: number[] = [];
  const settle = async () => {
    const keeping = { needed: namesOf(database), commits: [], message: `${stay.length} histories that are kept`, guard };
    const names = stay.length === 0 ? [] : await archive.keep([await bundleOf(stay.map(({ line }) => line))], keeping);
    packing.reached?.("kept");
    database.write(() => {
      const bid = names[0] === undefined ? 0 : newBundle(database, names[0]);
      for (const { id } of stay) database.run("UPDATE runs SET bundle = ? WHERE id = ? AND bundle > 0", bid, id);
      for (const bundle of emptied) {
        for (const id of old.get(bundle) ?? [])
          for (const row of database.all<RunRow>("SELECT * FROM runs WHERE id = ? AND bundle = ?", id, bundle)) drop(database, row);
        database.run("DELETE FROM bundles WHERE bid = ?", bundle);
      }
    });
    packing.reached?.("moved");
    [stay, emptied] = [[], []];
  };
  let size = 0;
  for (const [bundle, ids] of old) {
    const { name = "" } = database.get<{ name: string }>("SELECT name FROM bundles WHERE bid = ?", bundle) ?? {};
    const bytes = await archive.read(name);
    if (bytes === null) continue;
    for (const [id, line] of await linesOf(bytes)) {
      const { bundle: now } = database.get<{ bundle: number }>("SELECT bundle FROM runs WHERE id = ?", id) ?? {};
      if (now !== bundle || ids.has(id)) continue;
      stay.push({ id, line });
      size += line.length;
    }
    emptied.push(bundle);
    if (size < FULL) continue;
    await settle();
    size = 0;
  }
  if (emptied.length > 0) await settle();
  // Removes unneeded bundles, including those left when an earlier call was killed here.
  await archive.keep([], { needed: namesOf(database), commits: [], message: `${dropped} histories are no longer stored`, guard });
  return dropped;
}

function drop(database: Database, row: Pick<RunRow, "rid" | "id" | "status">): void {
  forgetRows(database, row);
  database.run(`UPDATE runs SET bundle = 0, ${EMPTY}, ${DETAIL} WHERE rid = ?`, row.rid);
}

/** These runs, those that are open or have an open card, and all that called or were called by one of them. */
function family(database: Database, named: ReadonlySet<string>): Set<string> {
  const kept = new Set(named);
  const asked = `SELECT id FROM runs WHERE ${OPEN} UNION SELECT run FROM cards WHERE decision IS NULL AND run IS NOT NULL`;
  for (const { id } of database.all<{ id: string }>(asked)) kept.add(id);
  const links = database.all<{ id: string; parent: string }>("SELECT id, parent FROM runs WHERE parent IS NOT NULL");
  for (let before = -1; before !== kept.size; ) {
    before = kept.size;
    for (const { id, parent } of links) {
      if (kept.has(id)) kept.add(parent);
      if (kept.has(parent)) kept.add(id);
    }
  }
  return kept;
}

/** Adopts the runs of bundles that this store does not know: after it was lost, or when those of a clone were fetched. Returns how many. */
export async function adoptBundles({ database, archive, guard }: Omit<Packing, "reached">): Promise<number> {
  const known = new Set(namesOf(database)());
  const fresh = (await archive.names()).filter((name) => !known.has(name));
  if (fresh.length === 0) return 0;
  const columns = database.all<{ name: string }>(
    "SELECT name FROM pragma_table_info('runs') WHERE name NOT IN ('rid', 'bundle', 'adopted')",
  );
  const list = columns.map(({ name }) => name).join(", ");
  database.db.exec(
    `CREATE TEMP TABLE adopted AS SELECT ${list}, '' AS name FROM runs WHERE 0;
     CREATE TEMP TABLE adopted_cards AS SELECT key, kind, run, document, at, decision FROM cards WHERE 0`,
  );
  try {
    for (const name of fresh) {
      const lines = await linesOf((await archive.read(name)) ?? new Uint8Array()).catch(() => new Map<string, string>());
      for (const line of lines.values()) {
        const closed = readLine(line);
        if (closed === null) continue;
        const { id, run, cards } = closed;
        const values = columns.map((column) => run[column.name as keyof typeof run] ?? null);
        database.run(`INSERT INTO adopted VALUES (${columns.map(() => "?").join(", ")}, ?)`, ...values, name);
        for (const { key, kind, document, at, decision } of cards)
          database.run("INSERT INTO adopted_cards VALUES (?, ?, ?, ?, ?, ?)", ...[key, kind, id, document, at, decision]);
      }
    }
    database.run(`UPDATE adopted SET ${EMPTY}, cause_detail = NULL WHERE ${FAT} > ${SLIM}`);
    // Two clones may have run the same cause: the adopted key is made unique, and the cause starts nothing again here either way.
    database.run(
      `UPDATE adopted SET cause_key = cause_key || ' of ' || id
       WHERE EXISTS (SELECT 1 FROM runs WHERE (runs.cause_kind, runs.agent, runs.cause_key) = (adopted.cause_kind, adopted.agent, adopted.cause_key))`,
    );
    return database.write(() => {
      for (const name of fresh) newBundle(database, name);
      // Numbered in the order of creation, before all runs of this store. Of a run that was closed twice the longer history is used.
      const adopted = database.run(
        `INSERT OR IGNORE INTO runs (adopted, rid, bundle, ${list})
         SELECT 1, (SELECT ifnull(min(rid), 1) FROM runs) - row_number() OVER (ORDER BY id DESC), (SELECT bid FROM bundles WHERE name = one.name), ${list}
         FROM (SELECT *, max(events) FROM adopted GROUP BY id) AS one WHERE id NOT IN (SELECT id FROM runs) ORDER BY id`,
      );
      database.run("INSERT OR IGNORE INTO cards (key, kind, run, document, at, decision) SELECT * FROM adopted_cards ORDER BY at");
      database.run("DELETE FROM bundles WHERE bid NOT IN (SELECT bundle FROM runs WHERE bundle > 0)");
      return adopted;
    });
  } finally {
    database.db.exec("DROP TABLE adopted; DROP TABLE adopted_cards");
    await archive.keep([], { needed: namesOf(database), commits: [], message: "histories that were taken up", guard });
  }
}

/** A bundle may come from anywhere: a line that is not a well-formed closed run is ignored. */
function readLine(line: string): ClosedRun | null {
  try {
    const { id, run, cards, ...more } = JSON.parse(line) as ClosedRun;
    const { endedAt, ...record } = toRecord({ ...run, rid: 0, bundle: null, adopted: 1 });
    const plain = Object.values(run).every((value) => value === null || ["string", "number"].includes(typeof value));
    // Cards with other keys concern more than this run.
    const own = cards.filter(({ key, document, decision }) => key.startsWith(`${id}/`) && JSON.parse(document) && JSON.parse(decision));
    return plain && record.id === id && endedAt !== null && /^run_[0-9A-Z]{14}$/.test(id) ? { id, run, cards: own, ...more } : null;
  } catch {
    return null;
  }
}
