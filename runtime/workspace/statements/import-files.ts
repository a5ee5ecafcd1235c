/**
 * Reading a folder that other programs write to: listing it, and reading a file completely or not at all. Names come from scripts and file
 * systems and are not trusted: no link is followed, no pipe can block, nothing outside the folder can be reached. Also: which processes have
 * a file open for writing, as far as this user may see (/proc on Linux). Elsewhere a file counts as complete only by its unchanged time.
 */
import { createHash } from "node:crypto";
import { constants, type Dirent, readFileSync, readlinkSync, type Stats, statSync } from "node:fs";
import { type FileHandle, lstat, open, readdir } from "node:fs/promises";
import { join, parse } from "node:path";
import { Kept } from "../../kernel/kept.ts";
import { ClearedError } from "../../kernel/errors.ts";
import { IMPORT, PROCESSED } from "../layout.ts";
import { ifThere, namesIn, oddKind, plainFolder, readOr } from "../own-folders.ts";
import { excerpt } from "./cells.ts";

export interface ImportFile {
  name: string;
  size: number;
  /** ISO time. */
  modified: string;
  /** sha256 of the content, hex; of a file over the size limit, which is never read, of its name, size and time. */
  hash: string;
}

// Browsers, copy and sync tools write under these names until a file is complete; those of rsync begin with a dot.
export const UNFINISHED = ["part", "partial", "crdownload", "download", "opdownload", "tmp", "temp", "filepart", "aria2", "swp"];
export const UNFINISHED_NAME = new RegExp(`^\\.|\\.(?:${UNFINISHED.join("|")})$|~$|^~\\$`, "i");
/** `a.csv`, `a..2.csv`, `a..3.csv` and so on: the names for several files of one name. Banks and browsers write none with two dots. */
export function* namesLike(name: string): Generator<string> {
  const { name: stem, ext } = parse(ownName(name));
  yield name;
  for (let n = 2; n < 100_000; n++) yield `${stem}..${n}${ext}`;
}
/** The name that a person's file had, of one of `namesLike`: by it rules and answers recognize the file. */
export const ownName = (name: string): string => name.replace(/(?<=.)\.\.\d+(?=\.[^.]*$|$)/, "");

/** The files of this name in import/processed/. */
export async function* processedAs(dir: string, name: string): AsyncGenerator<string> {
  for (const like of namesLike(name)) {
    const path = join(dir, PROCESSED, like);
    if ((await statOf(path)) === null) return;
    yield path;
  }
}

/** A text that changes when a file does. */
export const markOf = ({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string => `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;

/** Regular files of a folder with the hash of their content, by name, without hidden files and those with the name of a partial file. */
export async function filesIn(dir: string, folder: string): Promise<ImportFile[]> {
  const found: ImportFile[] = [];
  for (const entry of await list(dir, folder)) {
    if (!entry.isFile() || UNFINISHED_NAME.test(entry.name)) continue;
    const path = join(dir, folder, entry.name);
    const stat = await statOf(path);
    const content = stat === null ? null : await contentOf(path, entry.name, stat);
    if (stat !== null && content !== null && typeof content !== "string")
      found.push({ name: entry.name, size: stat.size, modified: stat.mtime.toISOString(), hash: content.hash });
  }
  return found;
}

/** @throws FILE_INVALID, also for a link: through one, files from outside of the workspace would be read */
export async function list(dir: string, folder: string): Promise<Dirent[]> {
  const entries = (await ifThere(readdir(plainFolder(dir, folder), { withFileTypes: true }))) ?? [];
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Stats of a regular file; null for anything else. */
export async function statOf(path: string): Promise<Stats | null> {
  const found = await lstat(path).catch(() => null);
  return found?.isFile() === true ? found : null;
}

// Hashing 64 MiB takes a tenth of a second, and every file event reads the folder again. By path and mark, which a change of the file changes.
const contents = new Kept<string, { hash: string; cut: boolean }>(1000);

/** A file's hash and whether it ends in the middle of a line; "changes" while it is written, or why it cannot be read; null when it is gone. */
export async function contentOf(path: string, name: string, stat: Stats): Promise<{ hash: string; cut: boolean } | string | null> {
  const key = `${path}\0${markOf(stat)}`;
  try {
    const known = contents.get(key);
    const read = known ?? (stat.size > SIZE_LIMIT ? tooLarge(name, stat) : described((await readWhole(path, name)).bytes));
    const after = await statOf(path);
    if (after === null) return null;
    if (markOf(after) !== markOf(stat)) return "changes";
    contents.set(key, read);
    return read;
  } catch (error) {
    if (error instanceof ClearedError && error.code === "FILE_UNFINISHED") return "changes";
    if (error instanceof ClearedError && error.code === "FILE_MISSING") return null;
    const why = error instanceof ClearedError ? error.cause : error;
    return `cannot be read (${why === undefined ? "it is not a regular file" : codeOf(why)}). Give this user the right to read it`;
  }
}

const tooLarge = (name: string, { size, mtimeMs }: Stats) => ({ hash: sha256(Buffer.from(`${name}\0${size}\0${mtimeMs}`)), cut: false });

function described(bytes: Buffer): { hash: string; cut: boolean } {
  const end = bytes.subarray(-256).toString("latin1").trimEnd();
  const isOfx = /<OFX[\s>]/i.test(bytes.subarray(0, 4096).toString("latin1"));
  const cut = isOfx
    ? !/<\/OFX>$/i.test(end.replaceAll("\0", ""))
    : bytes.length > 0 && !/[\r\n\0]/.test(String.fromCharCode(bytes.at(-1) ?? 0));
  return { hash: sha256(bytes), cut };
}

/**
 * The bytes of one file in import/.
 * @throws FILE_MISSING, FILE_INVALID (folder, link, path with a slash), FILE_UNFINISHED (it changes), FILE_TOO_LARGE (by its size, unread)
 */
export async function readImport(dir: string, name: string): Promise<Buffer> {
  if (name === "" || name === "." || name === ".." || /[/\\\0]/.test(name))
    throw new ClearedError(
      "FILE_INVALID",
      `"${excerpt(name)}" is not a name of a file in ${IMPORT}: give the name alone, as importer_scan lists it.`,
    );
  return (await readWhole(join(plainFolder(dir, IMPORT), name), name)).bytes;
}

/** A regular file, read completely. @throws FILE_MISSING, FILE_INVALID, FILE_UNFINISHED, FILE_TOO_LARGE */
export async function readWhole(path: string, name: string): Promise<{ bytes: Buffer; modified: Date }> {
  const at = { file: `${IMPORT}${name}` };
  let handle: FileHandle;
  try {
    // O_NOFOLLOW: no link out of the folder. O_NONBLOCK: opening a pipe would wait for its writer.
    handle = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") throw new ClearedError("FILE_MISSING", `There is no file "${excerpt(name)}" in ${IMPORT}.`, { at });
    const why = code === "ELOOP" ? "it is a link; copy the file itself" : code;
    throw new ClearedError("FILE_INVALID", `"${excerpt(name)}" cannot be read: ${why}.`, { at, cause: error });
  }
  try {
    const before = await handle.stat();
    if (!before.isFile())
      throw new ClearedError("FILE_INVALID", `"${excerpt(name)}" is ${oddKind(before)}. Put the statement itself into ${IMPORT}.`, { at });
    if (before.size > SIZE_LIMIT)
      throw new ClearedError(
        "FILE_TOO_LARGE",
        `"${excerpt(name)}" has ${Math.ceil(before.size / 1_048_576)} MiB; at most 64 MiB are read. Export it in shorter ranges.`,
        { at },
      );
    const bytes = await handle.readFile();
    const after = await handle.stat();
    if (markOf(after) !== markOf(before) || bytes.length !== before.size)
      throw new ClearedError("FILE_UNFINISHED", `"${excerpt(name)}" changes while it is read. Try again once it is whole.`, { at });
    return { bytes, modified: before.mtime };
  } finally {
    await handle.close();
  }
}

export const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

function codeOf(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : String(error);
}

/** Larger files are refused without reading them. */
export const SIZE_LIMIT = 64 * 1024 * 1024;

// The starter's script uses up its second of CPU with 50,000 short rows on a quiet machine, with 20,000 at a load of fifteen.
/** The rows of statements that one run gets, well within the default limits of a script; the next run gets the rest. */
export const PORTION = { rows: 10_000, bytes: 8 * 1024 * 1024 };

/** Identifies a file on disk regardless of its name: hard links are the same file. */
export const inodeOf = ({ dev, ino }: Pick<Stats, "dev" | "ino">): string => `${dev}:${ino}`;

/** Processes that may still write to one of the files, by `inodeOf`: `rsync (process 123)`. */
export function writersOf(files: readonly Pick<Stats, "dev" | "ino">[]): Map<string, string> {
  const wanted = new Set(files.map(inodeOf));
  const found = new Map<string, string>();
  if (wanted.size === 0 || process.platform !== "linux") return found;
  for (const pid of namesIn("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    for (const fd of namesIn(`/proc/${pid}/fd`)) {
      const inode = writtenBy(pid, fd);
      if (inode !== null && wanted.has(inode) && !found.has(inode))
        found.set(inode, `${readOr(`/proc/${pid}/comm`, "a program").trim()} (process ${pid})`);
    }
  }
  return found;
}

/** `inodeOf` the regular file that a descriptor writes to, or null. */
function writtenBy(pid: string, fd: string): string | null {
  try {
    // Most descriptors are sockets, pipes and devices, which their names show; /dev/shm contains files.
    if (!/^\/(?!dev\/(?!shm\/)|proc\/|sys\/)/.test(readlinkSync(`/proc/${pid}/fd/${fd}`))) return null;
    // The last octal digit of the flags: 1 is O_WRONLY, 2 O_RDWR (proc_pid_fdinfo(5)).
    if (!/^flags:\s*\d*[1256]$/m.test(readFileSync(`/proc/${pid}/fdinfo/${fd}`, "latin1"))) return null;
    return inodeOf(statSync(`/proc/${pid}/fd/${fd}`));
  } catch {
    return null; // the descriptor was closed, or its process ended, since it was listed
  }
}
