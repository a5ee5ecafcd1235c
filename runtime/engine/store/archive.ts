/**
 * Closed histories. The history of a run that has ended is moved out of the tables into a bundle of many runs, which the archive stores
 * (refs/cleared/runs/ in git); its row stays and names the bundle. Here: the format of a bundle, and reading a run back from it.
 * Invariant: a history is always in the tables or in the bundle its row names. Moving it is packing.ts.
 */
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompress } from "node:zlib";
import { ClearedError } from "../../kernel/errors.ts";
import type { Archive, Json, RunEvent, Signal, Step } from "../../kernel/ports.ts";
import { type Database, TEXT_BYTES, unpack } from "./database.ts";
import { addEvent, readSignals, storeStep } from "./history.ts";
import { type RunRow, type StepRow, readSteps, toStep } from "./rows.ts";

type Stored = StepRow & { event: number };
type StoredEvent = { seq: number; type: RunEvent["type"]; at: number; body: string };
type StoredSignal = { gate: string; n: number; key: string; payload: string; at: number };
type StoredCard = { key: string; kind: string; document: string; at: number; decision: string };

/** One line of a bundle: the run's row when it was closed, and all rows that belong to it. Texts are those of the tables, uncompressed. */
export interface ClosedRun {
  id: string;
  run: Omit<RunRow, "rid" | "bundle" | "adopted">;
  steps: Stored[];
  events: StoredEvent[];
  signals: StoredSignal[];
  /** Those decided before the run was closed. */
  cards: StoredCard[];
}

const HEADER = '{"cleared":"closed runs","version":1}';
// Runs of one bundle share most of their text: an import run of 8.6 kB takes 0.65 kB, compressed alone 2.4 kB (measured November 2026).
const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };
// Bundles in memory, about 1 MiB of text each: reading runs in their order needs only the last few.
const REMEMBERED = 4;

export function bundleOf(lines: readonly string[]): Promise<Buffer> {
  return compress(Buffer.from([HEADER, ...lines].join("\n")), LEVEL);
}

/** The lines of a bundle by run. @throws HISTORY_GONE for bytes that this version cannot read as a bundle */
export async function linesOf(bytes: Uint8Array): Promise<Map<string, string>> {
  const [header, ...lines] = (await decompress(bytes, { maxOutputLength: TEXT_BYTES }).catch(() => Buffer.alloc(0)))
    .toString("utf8")
    .split("\n");
  if (header !== HEADER)
    throw new ClearedError("HISTORY_GONE", "A bundle of closed runs is damaged, or was written by a newer version of Cleared.");
  return new Map(lines.map((line) => [/^\{"id":"(\w+)"/.exec(line)?.[1] ?? "", line]));
}

/** Everything the tables hold of a run that has ended. */
export function closedRun(database: Database, { rid, bundle: _, adopted: __, ...run }: RunRow): ClosedRun {
  const steps = database.all<Stored>(
    "SELECT seq, event, name, effect, params, state, result, error, changes, at, attempts FROM steps WHERE rid = ? ORDER BY seq",
    rid,
  );
  for (const step of steps) {
    step.params = unpack(step.params);
    if (step.result !== null) step.result = unpack(step.result);
    if (step.changes !== null) step.changes = unpack(step.changes);
  }
  return {
    id: run.id,
    run,
    steps,
    events: database.all("SELECT seq, type, at, body FROM events WHERE rid = ? ORDER BY seq", rid),
    signals: database.all("SELECT gate, n, key, payload, at FROM signals WHERE rid = ? ORDER BY gate, n", rid),
    cards: database.all(
      "SELECT key, kind, document, at, decision FROM cards WHERE run = ? AND decision IS NOT NULL AND kind != 'proposal' ORDER BY id",
      run.id,
    ),
  };
}

const gone = (run: string): ClearedError =>
  new ClearedError(
    "HISTORY_GONE",
    `The history of ${run} is no longer stored (config.yaml history.keep_days); what it committed is in git.`,
  );

/**
 * Histories from the tables or the archive; promises, because the archive is read asynchronously. All but `whole` throw HISTORY_GONE. Pass a
 * row in the same event loop turn in which it was read: later its history may have been moved.
 */
export function createHistories(database: Database, archive: Pick<Archive, "read"> | null) {
  const remembered = new Map<string, Promise<Map<string, string>>>();

  const bundle = (name: string): Promise<Map<string, string>> => {
    const found = remembered.get(name) ?? readBundle(name);
    remembered.delete(name);
    remembered.set(name, found);
    // Evicted only after reading: a list requests all the bundles it needs in one turn.
    const settled = (failed: boolean) => {
      if (failed) remembered.delete(name);
      for (const oldest of remembered.keys()) if (remembered.size > REMEMBERED) remembered.delete(oldest);
    };
    void found.then(
      () => settled(false),
      () => settled(true),
    );
    return found;
  };
  const readBundle = async (name: string): Promise<Map<string, string>> => {
    const bytes = (await archive?.read(name)) ?? null;
    return bytes === null ? new Map() : linesOf(bytes);
  };

  const inTables = ({ bundle: bid }: RunRow): boolean => bid === null || bid < 0;

  const closed = async ({ id, bundle: bid }: RunRow): Promise<ClosedRun> => {
    if (bid === 0) throw gone(id);
    const { name = "" } = database.get<{ name: string }>("SELECT name FROM bundles WHERE bid = ?", bid) ?? {};
    const line = (await bundle(name)).get(id);
    if (line === undefined)
      throw new ClearedError(
        "HISTORY_GONE",
        `The history of ${id} is in ${name.slice(0, 12)} below refs/cleared/runs/, which this repository does not have. Fetch it from a clone or a backup.`,
      );
    return JSON.parse(line) as ClosedRun;
  };

  return {
    /** Null at once for a run whose history is in the tables. */
    load: (row: RunRow): Promise<ClosedRun> | null => (inTables(row) ? null : closed(row)),
    /** The row with the columns that were moved to the archive; marked as dropped where those are lost. */
    async whole(row: RunRow): Promise<RunRow> {
      if (row.input !== "") return row;
      try {
        return { ...row, ...(await closed(row)).run };
      } catch (error) {
        if (!(error instanceof ClearedError) || error.code !== "HISTORY_GONE") throw error;
        return { ...row, input: "{}", bundle: 0 };
      }
    },
    async steps(row: RunRow, from = 0): Promise<Step[]> {
      if (inTables(row)) return readSteps(database, row.rid, from);
      return (await closed(row)).steps.filter(({ seq }) => seq >= from).map(toStep);
    },
    async events(row: RunRow, from: number): Promise<RunEvent[]> {
      if (inTables(row)) return readEvents(database, row.id, row.rid, from);
      const { steps, events } = await closed(row);
      return [
        ...steps.map(({ event, at, seq, name, effect, state }) => ({
          seq: event,
          type: "step" as const,
          at,
          body: { step: seq, name, effect, state },
        })),
        ...events.map((event) => ({ ...event, body: JSON.parse(event.body) as Json })),
      ]
        .filter(({ seq }) => seq >= from)
        .sort((a, b) => a.seq - b.seq)
        .map((event) => ({ run: row.id, ...event }));
    },
    async signals(row: RunRow, gate: string): Promise<Signal[]> {
      if (inTables(row)) return readSignals(database, row.rid, gate);
      return (await closed(row)).signals
        .filter((one) => one.gate === gate)
        .map(({ key, payload, at }) => ({ gate, key, payload: JSON.parse(payload) as Json, at }));
    },
    /** Moves a closed history back into the tables, for a run that continues; inside the caller's transaction. */
    reopen(row: RunRow, history: ClosedRun | null): void {
      if (inTables(row)) return;
      if (row.bundle === 0 || history === null) throw gone(row.id);
      // Whoever can push a bundle could have written an approval into it.
      if (row.adopted === 1)
        throw new ClearedError(
          "RUN_STATUS",
          `${row.id} was not executed by this workspace, so it is not resumed here. Fork it, or start a new run.`,
        );
      const { rid } = row;
      const { input, result, meta, cause_detail, given } = history.run;
      database.run(
        "UPDATE runs SET bundle = NULL, input = ?, result = ?, meta = ?, cause_detail = ?, given = ? WHERE rid = ?",
        ...[input, result, meta, cause_detail, given, rid],
      );
      for (const one of history.steps) storeStep(database, rid, toStep(one), one.event);
      for (const { seq, type, at, body } of history.events) addEvent(database, rid, type, at, JSON.parse(body) as Json, seq);
      for (const { gate, n, key, payload, at } of history.signals)
        database.run("INSERT INTO signals VALUES (?, ?, ?, ?, ?, ?)", ...[rid, gate, n, key, payload, at]);
    },
  };
}

/** Events and steps, merged by event number: the first thousand from `from` on. */
function readEvents(database: Database, run: string, rid: number, from: number): RunEvent[] {
  return database
    .all<{ seq: number; type: RunEvent["type"]; at: number; body: string }>(
      `SELECT seq, type, at, body FROM events WHERE rid = ?1 AND seq >= ?2
       UNION ALL SELECT event, 'step', at, json_object('step', seq, 'name', name, 'effect', effect, 'state', state) FROM steps WHERE rid = ?1 AND event >= ?2
       ORDER BY 1 LIMIT 1000`,
      rid,
      from,
    )
    .map((row) => ({ run, seq: row.seq, type: row.type, at: row.at, body: JSON.parse(row.body) as Json }));
}
