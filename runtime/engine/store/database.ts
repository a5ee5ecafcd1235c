/**
 * The SQLite file of a workspace: opening, transactions that check ownership, and the translation of SQLite's failures.
 * Invariant: a process that no longer holds the lease writes nothing (one that wakes after a suspension finds its epoch gone).
 */
import { constants as buffers } from "node:buffer";
import { closeSync, fdatasync, openSync } from "node:fs";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { promisify } from "node:util";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { ClearedError } from "../../kernel/errors.ts";
import type { PausesBeside } from "../../kernel/ports.ts";
import { migrate, rollBack } from "./schema.ts";

/** The longest text there can be; some kB of a compressed one may stand for more. */
export const TEXT_BYTES = buffers.MAX_STRING_LENGTH;
// Characters; a smaller text is not worth a zstd frame (measured: 4 kB of rows shrink to 0.9 kB in 30 us).
const COMPRESS_FROM = 4096;

const syncFile = promisify(fdatasync);

// How long to wait for another process's write.
const BUSY_MS = 5000;

// How long a patient write waits for another one to sync: a run with one act outside reaches its intent in half of that.
const PATIENCE_MS = 4;

// Pages of 4 KiB. Shrinking must gain 16 MiB and copy at most 400 MiB, which takes about 4 s; an owner silent for 10 s counts as gone.
const MIN_GAIN = 4096;
const MAX_COPIED = 102_400;

export class Database {
  readonly db: DatabaseSync;
  /** Set while this process holds the lease; checked inside every write transaction. */
  epoch: number | null = null;
  /** Set by a host that is not private. */
  pausesBeside: PausesBeside = { read: () => [], write: () => undefined };
  readonly #statements = new Map<string, StatementSync>();
  // Called if the present transaction is rolled back; null outside of one.
  #undo: (() => void)[] | null = null;
  #relaxed = false;
  readonly #path: string;
  #wal: number | null = null;
  // Counts of relaxed writes made, and of those on the disk.
  #written = 0;
  #durable = 0;
  #syncing: Promise<void> | null = null;
  // Whether the present transaction has written something; an empty commit syncs nothing.
  #changed = false;
  #patient: { next: PromiseWithResolvers<void>; timer: NodeJS.Timeout } | null = null;

  /** Opens or creates the store. `:memory:` serves dry runs. @throws STORE_CORRUPT, STORE_VERSION */
  constructor(path: string) {
    this.#path = path;
    try {
      this.db = new DatabaseSync(path, { timeout: BUSY_MS });
    } catch (error) {
      throw translate(error, path);
    }
    try {
      whileBusy(() => this.db.exec("PRAGMA journal_mode = WAL"));
      this.db.exec("PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF; PRAGMA cache_size = -8000");
      migrate(this.db);
      const own = this.db.prepare("SELECT type || ' ' || name AS what FROM sqlite_schema WHERE type IN ('trigger', 'view')").get();
      if (own !== undefined)
        throw new ClearedError("STORE_CORRUPT", `${path} has the ${own["what"]}, which Cleared did not create. Move the file aside.`);
    } catch (error) {
      this.db.close();
      throw translate(error, path);
    }
  }

  statement(sql: string): StatementSync {
    let found = this.#statements.get(sql);
    if (found === undefined) this.#statements.set(sql, (found = this.db.prepare(sql)));
    return found;
  }

  get<T>(sql: string, ...values: SQLInputValue[]): T | undefined {
    return this.#guarded(() => this.statement(sql).get(...values) as T | undefined);
  }

  all<T>(sql: string, ...values: SQLInputValue[]): T[] {
    return this.#guarded(() => this.statement(sql).all(...values) as T[]);
  }

  run(sql: string, ...values: SQLInputValue[]): number {
    return this.#guarded(() => {
      if (this.#undo === null) this.#relax(false);
      const changes = Number(this.statement(sql).run(...values).changes);
      this.#changed ||= changes > 0;
      return changes;
    });
  }

  /**
   * All or nothing. Durable when it returns, unless `relaxed`: then a power cut may undo all of it, never a part.
   * @throws OWNER_FENCED when another process has taken the workspace over, STORE_FULL, STORE_CORRUPT
   */
  write<T>(change: () => T, relaxed = false): T {
    if (this.#undo !== null) return change();
    return this.#guarded(() => {
      this.#relax(relaxed);
      this.statement("BEGIN IMMEDIATE").run();
      this.#undo = [];
      this.#changed = false;
      try {
        this.assertOwner();
        const value = change();
        this.statement("COMMIT").run();
        if (relaxed) this.#written += 1;
        // The sync of this commit made all earlier relaxed writes durable too.
        else if (this.#changed) this.#reached(this.#written);
        return value;
      } catch (error) {
        rollBack(this.db);
        for (const undo of this.#undo) undo();
        throw error;
      } finally {
        this.#undo = null;
      }
    });
  }

  /** Registers an undo for a value in memory that depends on this transaction: called if it is rolled back. */
  undone(undo: () => void): void {
    this.#undo?.push(undo);
  }

  /**
   * Settles once every relaxed write made so far is durable. Concurrent callers share one sync of the log, which does not block the
   * process; `patient` waits a few ms for another caller to sync. @throws STORE_FULL, OWNER_FENCED
   */
  async synced(patient = false): Promise<void> {
    const wanted = this.#written;
    if (patient && this.#durable < wanted) {
      this.#patient ??= { next: Promise.withResolvers(), timer: setTimeout(() => this.syncNow(), PATIENCE_MS) };
      await this.#patient.next.promise;
    }
    while (this.#durable < wanted) {
      this.#syncing ??= this.#sync().finally(() => {
        this.#syncing = null;
      });
      await this.#syncing;
    }
  }

  /** Ends the wait of patient callers. */
  syncNow(): void {
    clearTimeout(this.#patient?.timer);
    this.#patient?.next.resolve();
    this.#patient = null;
  }

  /** Everything written so far is durable when it returns. @throws STORE_FULL, OWNER_FENCED */
  syncAll(): void {
    if (this.#durable < this.#written) this.write(() => this.run("UPDATE lease SET beat = beat"));
  }

  #reached(upTo: number): void {
    this.#durable = Math.max(this.#durable, upTo);
    this.syncNow();
  }

  async #sync(): Promise<void> {
    const upTo = this.#written;
    try {
      // SQLite holds its locks on other files, so opening and closing the log here disturbs none.
      this.#wal ??= openSync(`${this.#path}-wal`, "r+");
      await syncFile(this.#wal);
    } catch {
      // Closing has synced everything. If there is no log file, or its sync fails, SQLite syncs instead and reports what is wrong.
      if (this.db.isOpen && this.#path !== ":memory:") this.syncAll();
    }
    this.#reached(upTo);
  }

  /**
   * Returns the space of deleted rows to the disk, where that is most of the file and the rest is copied quickly; otherwise SQLite reuses
   * it. @throws STORE_FULL, OWNER_BUSY while another process reads
   */
  shrink(): boolean {
    const { pages, free } = this.get<{ pages: number; free: number }>(
      "SELECT page_count AS pages, freelist_count AS free FROM pragma_page_count, pragma_freelist_count",
    ) as { pages: number; free: number };
    if (free < MIN_GAIN || free * 2 < pages || pages - free > MAX_COPIED) return false;
    this.write(() => undefined);
    this.#guarded(() => this.db.exec("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)"));
    return true;
  }

  /** Frees the memory of cached pages. */
  rest(): void {
    this.db.exec("PRAGMA shrink_memory");
  }

  close(): void {
    this.#statements.clear();
    if (this.db.isOpen) this.db.close();
    if (this.#wal !== null) closeSync(this.#wal);
    this.#wal = null;
  }

  /** Sets whether the next commit returns before it is on the disk. */
  #relax(relaxed: boolean): void {
    if (this.#relaxed === relaxed) return;
    this.db.exec(`PRAGMA synchronous = ${relaxed ? "NORMAL" : "FULL"}`);
    this.#relaxed = relaxed;
  }

  /** @throws OWNER_FENCED when another process has taken the workspace over */
  assertOwner(): void {
    if (this.epoch === null) return;
    const held = this.get<{ epoch: number }>("SELECT epoch FROM lease");
    if (held?.epoch !== this.epoch)
      throw new ClearedError(
        "OWNER_FENCED",
        "Another process took this workspace over while this one was suspended; it continues the runs. Nothing was written here.",
      );
  }

  #guarded<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      throw translate(error, "the run store");
    }
  }
}

/**
 * When two processes turn a new store into WAL mode at once, SQLite refuses the second whatever the busy timeout is, so it must retry.
 */
function whileBusy(action: () => void): void {
  for (const until = Date.now() + BUSY_MS; ; ) {
    try {
      return action();
    } catch (error) {
      const isBusy = error instanceof Error && "errcode" in error && (Number(error.errcode) & 0xff) === 5;
      if (!isBusy || Date.now() > until) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

function translate(error: unknown, path: string): unknown {
  if (error instanceof ClearedError || !(error instanceof Error) || !("errcode" in error)) return error;
  // Primary result codes: https://sqlite.org/rescode.html
  const primary = Number(error.errcode) & 0xff;
  // Full, I/O error, not permitted, read-only, cannot open: the disk exists but accepts no write.
  if ([13, 10, 3, 8, 14].includes(primary))
    return new ClearedError(
      "STORE_FULL",
      `The disk refused a write to ${path} (${error.message}). Nothing was recorded; free space, or let this user write there, and the run continues from its last recorded step.`,
      { cause: error },
    );
  if (primary === 11 || primary === 26)
    return new ClearedError(
      "STORE_CORRUPT",
      `${path} cannot be read (${error.message}). Move it aside; the books are in git and a new store is made at the next start.`,
      { cause: error },
    );
  if (primary === 5 || primary === 6)
    return new ClearedError("OWNER_BUSY", `${path} is held by another process (${error.message}). Try again in a moment.`, {
      cause: error,
    });
  return error;
}

/** Text as it is stored: plain when small, a zstd frame when large. */
export function pack(text: string): string | Uint8Array {
  return text.length < COMPRESS_FROM ? text : zstdCompressSync(text, { params: { [constants.ZSTD_c_compressionLevel]: 1 } });
}

export function unpack(stored: string | Uint8Array): string {
  return typeof stored === "string" ? stored : zstdDecompressSync(stored, { maxOutputLength: TEXT_BYTES }).toString("utf8");
}
