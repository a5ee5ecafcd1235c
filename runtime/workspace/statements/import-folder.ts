/**
 * The import folder on the host's side: its files, which of them are complete, and our own copies, by content, which everything after the
 * scan reads. A file is complete when its inode, size and times have been unchanged for some seconds of a monotonic clock, no process has
 * it open for writing, and it does not end in the middle of a line. Names come from scripts and file systems and are not trusted.
 */
import type { Stats } from "node:fs";
import { mkdir, readFile, rename, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ClearedError } from "../../kernel/errors.ts";
import { createTurns } from "../../kernel/turns.ts";
import {
  contentOf,
  type ImportFile,
  inodeOf,
  list,
  markOf,
  processedAs,
  readImport,
  readWhole,
  sha256,
  SIZE_LIMIT,
  statOf,
  UNFINISHED,
  UNFINISHED_NAME,
  writersOf,
} from "./import-files.ts";
import { IMPORT, PROCESSED, RECEIPTS, STATEMENTS } from "../layout.ts";
import { oddKind } from "../own-folders.ts";
import { excerpt } from "./cells.ts";

/** A file that is not taken yet. */
export interface Waiting {
  name: string;
  /** The rest of a sentence after the name: `is still being written`. */
  why: string;
  /** When it may be complete, ms from now; null if a person has to do something first. */
  inMs: number | null;
  /** Each is reported once. `settles`: it has just arrived and will probably be complete in a moment. */
  kind: "settles" | "writer" | "cut" | "empty" | "download" | "no file" | "unreadable";
  /** It has waited for longer than a copy takes, so it is reported. */
  tell: boolean;
}

/** A file as it was when it moved to processed/. */
export type Moved = Pick<ImportFile, "name" | "hash" | "size">;

export type ImportFolder = ReturnType<typeof createImportFolder>;

export interface FolderOptions {
  /** How long a file must be unchanged before it counts as complete. */
  settleMs(): Promise<number> | number;
  /** Processes that may still write to the files; replaced for a folder that only this process uses. */
  writersOf?: typeof writersOf;
  /** A monotonic clock, ms. */
  now?(): number;
}

// A file without a final line end may be cut anywhere, even within an amount, so it must be unchanged for this many times longer.
const CUT_FACTOR = 12;
// A file that its own times show as unchanged for this long is not being written; the system clock need not be exact for that.
const LONG_MS = 60_000;
// Longer than a copy within one machine takes.
const TELL_MS = 15_000;

/** The import folder of a workspace. Make one per process and folder: it remembers since when each file has been unchanged. */
export function createImportFolder(dir: string, options: FolderOptions) {
  const now = options.now ?? (() => performance.now());
  const seen = new Map<string, { mark: string; since: number; first: number }>();
  const copyOf = (hash: string): string => join(dir, STATEMENTS, hash);
  let copies = 0;

  /** Files in import/ (or another watched folder), by name. Does not throw for a file that vanishes or cannot be read. */
  async function look(folder = IMPORT): Promise<{ whole: ImportFile[]; waiting: Waiting[] }> {
    const settle = await options.settleMs();
    const whole: ImportFile[] = [];
    const waiting: Waiting[] = [];
    const wait = (kind: Waiting["kind"], name: string, why: string, words: Partial<Waiting> = {}) =>
      waiting.push({ kind, name, why, inMs: settle, tell: true, ...words });
    const entries = await list(dir, folder);
    const names = new Set(entries.map((entry) => entry.name));
    const steady: { name: string; stat: Stats; steadyMs: number }[] = [];
    const here = new Set<string>();
    for (const entry of entries) {
      const { name } = entry;
      if (UNFINISHED_NAME.test(name) || (entry.isDirectory() && [PROCESSED, RECEIPTS].includes(`${folder}${name}/`))) continue;
      if (!entry.isFile()) {
        if (folder === IMPORT)
          wait("no file", name, `is ${oddKind(entry)} and is not read. Put the statement itself into ${IMPORT}`, { inMs: null });
        continue;
      }
      const path = join(dir, folder, name);
      const stat = await statOf(path);
      if (stat === null) continue;
      const mark = markOf(stat);
      const before = seen.get(path);
      const since = before?.mark === mark ? before.since : now();
      const first = before?.first ?? since;
      seen.set(path, { mark, since, first });
      here.add(path);
      const steadyMs = now() - since;
      const beside = UNFINISHED.find((ending) => names.has(`${name}.${ending}`));
      if (beside !== undefined) wait("download", name, `is still being downloaded: ${name}.${beside} is beside it`);
      else if (steadyMs < settle)
        wait("settles", name, "is still being written", { inMs: settle - steadyMs, tell: now() - first > Math.max(TELL_MS, 2 * settle) });
      else if (stat.size === 0 && lastedMs(stat, steadyMs) < LONG_MS)
        wait("empty", name, "is empty: its content is still to come", {
          inMs: LONG_MS - lastedMs(stat, steadyMs),
          tell: steadyMs > TELL_MS,
        });
      else steady.push({ name, stat, steadyMs });
    }
    for (const path of seen.keys()) if (path.startsWith(join(dir, folder)) && !here.has(path)) seen.delete(path);
    const writers = (options.writersOf ?? writersOf)(steady.map(({ stat }) => stat));
    for (const { name, stat, steadyMs } of steady) {
      const writer = writers.get(inodeOf(stat));
      if (writer !== undefined) {
        wait("writer", name, `is still open for writing in ${writer}`);
        continue;
      }
      const found = await contentOf(join(dir, folder, name), name, stat);
      const lasted = lastedMs(stat, steadyMs);
      if (found === "changes") wait("settles", name, "is still being written", { tell: false });
      else if (typeof found === "string") wait("unreadable", name, found, { inMs: null });
      else if (found?.cut === true && steadyMs < CUT_FACTOR * settle && lasted < LONG_MS)
        wait("cut", name, "ends in the middle of a line: it is taken when it has not changed for a minute", {
          inMs: Math.min(CUT_FACTOR * settle - steadyMs, LONG_MS - lasted),
        });
      else if (found !== null) whole.push({ name, size: stat.size, modified: stat.mtime.toISOString(), hash: found.hash });
    }
    return { whole, waiting };
  }

  /** `look`, after waiting for files that have just arrived. */
  async function settled(folder = IMPORT): ReturnType<typeof look> {
    const until = now() + 2 * (await options.settleMs());
    for (;;) {
      const looked = await look(folder);
      const young = looked.waiting.flatMap((one) => (one.kind === "settles" && one.inMs !== null ? [one.inMs] : []));
      if (young.length === 0 || now() >= until) return looked;
      await new Promise((resolve) => setTimeout(resolve, Math.max(10, Math.min(...young))));
    }
  }

  /** Stores these bytes as a statement, by their hash. */
  async function keep(bytes: Uint8Array, modified?: Date): Promise<string> {
    const hash = sha256(bytes);
    const [path, part] = [copyOf(hash), `${copyOf(hash)}.${process.pid}.${++copies}`];
    if ((await statOf(path)) !== null) return hash;
    await mkdir(join(dir, STATEMENTS), { recursive: true, mode: 0o700 });
    await writeFile(part, bytes, { mode: 0o600 });
    if (modified !== undefined) await utimes(part, modified, modified);
    await rename(part, path);
    return hash;
  }

  /** Copies a complete file of import/; false when it has changed since `look`. */
  async function take({ name, hash, size }: ImportFile): Promise<boolean> {
    if (size > SIZE_LIMIT || (await statOf(copyOf(hash))) !== null) return true;
    try {
      const { bytes, modified } = await readWhole(join(dir, IMPORT, name), name);
      return sha256(bytes) === hash && (await keep(bytes, modified)) === hash;
    } catch (error) {
      if (error instanceof ClearedError) return false;
      throw error;
    }
  }

  return {
    ...{ dir, look, settled, keep, take },
    /** Tidying is done by runs that end and by whatever scans the folder: one at a time. */
    inTurn: createTurns(),
    /** Files that moved to processed/ a short while ago, by path: a program may still be writing them. */
    moved: new Map<string, Moved & { mark: string; until: number }>(),
    /** Messages that the owner of the folder has not reported yet, a sentence each. */
    said: [] as string[],
    /** The bytes of a taken file. @throws FILE_MISSING, FILE_INVALID, FILE_TOO_LARGE */
    async read({ name, hash }: ImportFile): Promise<Buffer> {
      const copy = await readFile(copyOf(hash)).catch(() => null);
      if (copy !== null && sha256(copy) === hash) return copy;
      // Another run may have imported it meanwhile.
      for await (const path of processedAs(dir, name)) {
        const { bytes } = await readWhole(path, name);
        if (sha256(bytes) === hash) return bytes;
      }
      const bytes = await readImport(dir, name);
      if (sha256(bytes) === hash) return bytes;
      throw new ClearedError("FILE_MISSING", `"${excerpt(name)}" in ${IMPORT} is no longer the file that this run was started for.`, {
        at: { file: `${IMPORT}${name}` },
      });
    },
    /** A file that a script names. @throws FILE_UNFINISHED, FILE_MISSING, FILE_INVALID */
    async find(name: string): Promise<ImportFile> {
      const { whole, waiting } = await settled();
      const found = whole.find((one) => one.name === name);
      if (found !== undefined && (await take(found))) return found;
      const wait = waiting.find((one) => one.name === name && one.inMs !== null);
      if (wait === undefined && found === undefined) {
        const bytes = await readImport(dir, name);
        return { name, hash: await keep(bytes), size: bytes.length, modified: new Date().toISOString() };
      }
      const why = wait?.why ?? "is still being written";
      throw new ClearedError("FILE_UNFINISHED", `"${excerpt(name)}" ${why}. Try again once it is whole.`, {
        at: { file: `${IMPORT}${name}` },
      });
    },
  };
}

/** How long a file has been unchanged: as observed here, or by its own times if they are older than LONG_MS. */
function lastedMs(stat: Stats, steadyMs: number): number {
  const age = Date.now() - Math.max(stat.mtimeMs, stat.ctimeMs);
  return age >= LONG_MS ? age : steadyMs;
}
