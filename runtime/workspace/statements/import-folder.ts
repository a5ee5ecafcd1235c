/**
 * The import folder on the host's side: which files lie there, which of them are whole, and copies of our own, by content, that everything
 * after the look reads. A file is whole when its inode, size and times have stood for some seconds of a clock that nobody sets, no process
 * has it open for writing, and it does not end in the middle of a line. Names come from scripts and file systems and are not trusted.
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

/** A file that is not taken now. */
export interface Waiting {
  name: string;
  /** A sentence's end: `import/a.csv is still being written.` */
  why: string;
  /** When it may be whole by itself, ms from now; null: a person has to do something. */
  inMs: number | null;
  /** Told once each. `settles`: it came just now and is likely to be whole in a moment. */
  kind: "settles" | "writer" | "cut" | "empty" | "download" | "no file" | "unreadable";
  /** It waits for longer than a copy takes: somebody wants to know. */
  tell: boolean;
}

/** What a file was when it moved to processed/. */
export type Moved = Pick<ImportFile, "name" | "hash" | "size">;

export type ImportFolder = ReturnType<typeof createImportFolder>;

export interface FolderOptions {
  /** How long a file must stand before it is whole. */
  settleMs(): Promise<number> | number;
  /** Who may still write to them; to a folder that only this process knows nobody does. */
  writersOf?: typeof writersOf;
  /** A clock that only goes forward, ms. */
  now?(): number;
}

// Without its last line end a file may have been cut anywhere, in the middle of an amount, too: it must stand so many times longer.
const CUT_FACTOR = 12;
// For which no clock has to be trusted to the second: a file untouched for so long is not being written.
const LONG_MS = 60_000;
// A copy within one machine takes less.
const TELL_MS = 15_000;

/** The import folder of a workspace. One of them per process and folder: it remembers since when each file has stood. */
export function createImportFolder(dir: string, options: FolderOptions) {
  const now = options.now ?? (() => performance.now());
  const seen = new Map<string, { mark: string; since: number; first: number }>();
  const copyOf = (hash: string): string => join(dir, STATEMENTS, hash);
  let copies = 0;

  /** Files in import/ (or another watched folder), by name. Never throws for a file that vanishes or cannot be read. */
  async function look(folder = IMPORT): Promise<{ whole: ImportFile[]; waiting: Waiting[] }> {
    const settle = await options.settleMs();
    const whole: ImportFile[] = [];
    const waiting: Waiting[] = [];
    const wait = (kind: Waiting["kind"], name: string, why: string, words: Partial<Waiting> = {}) =>
      waiting.push({ kind, name, why, inMs: settle, tell: true, ...words });
    const entries = await list(dir, folder);
    const names = new Set(entries.map((entry) => entry.name));
    const standing: { name: string; stat: Stats; stoodMs: number }[] = [];
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
      const stoodMs = now() - since;
      const beside = UNFINISHED.find((ending) => names.has(`${name}.${ending}`));
      if (beside !== undefined) wait("download", name, `is still being downloaded: ${name}.${beside} lies beside it`);
      else if (stoodMs < settle)
        wait("settles", name, "is still being written", { inMs: settle - stoodMs, tell: now() - first > Math.max(TELL_MS, 2 * settle) });
      else if (stat.size === 0 && lastedMs(stat, stoodMs) < LONG_MS)
        wait("empty", name, "is empty: its content is still to come", { inMs: LONG_MS - lastedMs(stat, stoodMs), tell: stoodMs > TELL_MS });
      else standing.push({ name, stat, stoodMs });
    }
    for (const path of seen.keys()) if (path.startsWith(join(dir, folder)) && !here.has(path)) seen.delete(path);
    const writers = (options.writersOf ?? writersOf)(standing.map(({ stat }) => stat));
    for (const { name, stat, stoodMs } of standing) {
      const writer = writers.get(inodeOf(stat));
      if (writer !== undefined) {
        wait("writer", name, `is still open for writing in ${writer}`);
        continue;
      }
      const found = await contentOf(join(dir, folder, name), name, stat);
      const lasted = lastedMs(stat, stoodMs);
      if (found === "changes") wait("settles", name, "is still being written", { tell: false });
      else if (typeof found === "string") wait("unreadable", name, found, { inMs: null });
      else if (found?.cut === true && stoodMs < CUT_FACTOR * settle && lasted < LONG_MS)
        wait("cut", name, "ends in the middle of a line: it is taken when it has not changed for a minute", {
          inMs: Math.min(CUT_FACTOR * settle - stoodMs, LONG_MS - lasted),
        });
      else if (found !== null) whole.push({ name, size: stat.size, modified: stat.mtime.toISOString(), hash: found.hash });
    }
    return { whole, waiting };
  }

  /** `look`, once files that came just now have had their time. */
  async function settled(): ReturnType<typeof look> {
    const until = now() + 2 * (await options.settleMs());
    for (;;) {
      const looked = await look();
      const young = looked.waiting.flatMap((one) => (one.kind === "settles" && one.inMs !== null ? [one.inMs] : []));
      if (young.length === 0 || now() >= until) return looked;
      await new Promise((resolve) => setTimeout(resolve, Math.max(10, Math.min(...young))));
    }
  }

  /** Keeps these bytes as the statement of their hash. */
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

  /** Copies a whole file of import/; false when it is no longer what it was when it was looked at. */
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
    /** A run that ends tidies, and so does whoever looks into the folder. */
    inTurn: createTurns(),
    /** What has moved to processed/ a while ago, by path: somebody may still be writing it. */
    moved: new Map<string, Moved & { mark: string; until: number }>(),
    /** What its owner has not told yet, a sentence each. */
    said: [] as string[],
    /** The bytes of a taken file. @throws FILE_MISSING, FILE_INVALID, FILE_TOO_LARGE */
    async read({ name, hash }: ImportFile): Promise<Buffer> {
      const copy = await readFile(copyOf(hash)).catch(() => null);
      if (copy !== null && sha256(copy) === hash) return copy;
      // Imported by another run in the meantime.
      for await (const path of processedAs(dir, name)) {
        const { bytes } = await readWhole(path, name);
        if (sha256(bytes) === hash) return bytes;
      }
      const bytes = await readImport(dir, name);
      if (sha256(bytes) === hash) return bytes;
      throw new ClearedError("FILE_MISSING", `"${excerpt(name)}" in ${IMPORT} is another file now than the one this run was started for.`, {
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

/** How long a file has not changed: as seen here, or as its times say when that is long ago. */
function lastedMs(stat: Stats, stoodMs: number): number {
  const age = Date.now() - Math.max(stat.mtimeMs, stat.ctimeMs);
  return age >= LONG_MS ? age : stoodMs;
}
