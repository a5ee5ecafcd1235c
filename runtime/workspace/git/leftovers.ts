/**
 * Files that git leaves when it is killed: locks of refs and half-written packs. Each process of ours that lets git write keeps a note in the
 * git folder, so that after a kill the next process can tell which files were ours: a lock that appeared where and when we had begun to move
 * a ref. Any other lock belongs to someone else and is never removed; whatever waits for it names it.
 */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, readdirSync, readlinkSync, rmSync, statSync, writeFileSync, mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { identityOf, lives } from "../../kernel/processes.ts";
import { isOurGit, unlessKilled } from "./git-process.ts";
import { STATE } from "../layout.ts";
import { isInside, namesIn, readOr } from "../own-folders.ts";

/** A move of refs that has begun: when (ms), and the refs outside refs/cleared with their new commits. */
interface Move {
  at: number;
  refs: Record<string, string>;
}

/** The note of this process about one repository. */
interface Note {
  file: string;
  users: number;
  moves: Set<Move>;
  /** True if a git was killed since the note was begun. */
  killed: boolean;
}

const notes = new Map<string, Note>();
// git waits 2 s for each lock, so a lock that appears later than this after a move began is not from that move.
const MOVE_MS = 10_000;
// The clock with which the kernel stamps files may be some ms behind.
const STAMP_MS = 20;
// While another git is running, its locks cannot be told from those of a dead one until they are this old.
const LOCK_MS = 60_000;
const STANDS_MS = 2000;
const OURS = "refs/cleared";

/** The git folder of a work tree; that of a linked work tree is inside the other repository. */
export function gitDirOf(dir: string): string {
  const place = join(dir, ".git");
  if (statOf(place)?.isFile() !== true) return place;
  return resolve(dir, readFileSync(place, "utf8").slice("gitdir: ".length).trim());
}

/** The content of a file of git, read directly; null if it does not exist, is not a plain file or has more bytes than `most` (128 MiB). */
export function fileOfGit(path: string, most = 2 ** 27): Buffer | null {
  const found = statOf(path);
  return found?.isFile() === true && found.size <= most ? readFileSync(path) : null;
}

/** Notes that objects are being written until `drop`: half-written ones are ours. Call `killed` if a git that wrote them was killed. */
export function keepNote(gitDir: string): { killed(): void; drop(): void } {
  const note = notes.getOrInsertComputed(gitDir, () => ({
    file: join(gitDir, `cleared-git-${identityOf(process.pid).replace(":", "-")}-${randomBytes(4).toString("hex")}`),
    users: 0,
    moves: new Set<Move>(),
    killed: false,
  }));
  // On a full disk the file exists afterwards and is empty: whoever comes next begins anew.
  if (note.users === 0)
    try {
      write(note);
    } catch (error) {
      notes.delete(gitDir);
      rmSync(note.file, { force: true });
      throw error;
    }
  note.users++;
  let dropped = false;
  return {
    killed: () => void (note.killed = true),
    drop() {
      if (dropped) return;
      dropped = true;
      if (--note.users > 0) return;
      notes.delete(gitDir);
      // The note stays for a later process, which sweeps when no other git is running.
      if (note.killed && otherGitRuns(gitDir)) return;
      if (note.killed) sweepObjects(gitDir);
      rmSync(note.file, { force: true });
    },
  };
}

function write({ file, moves }: Note): void {
  writeFileSync(file, JSON.stringify([...moves]));
}

/**
 * Lets git write. If git is killed, its leftovers are removed and `work` is repeated, so `work` must first check what is already done.
 * @param refs those outside refs/cleared, with the commit each moves to
 */
export async function writing<T>(gitDir: string, refs: Record<string, string>, work: () => Promise<T>): Promise<T> {
  const kept = keepNote(gitDir);
  const note = notes.get(gitDir) as Note;
  const move = { at: 0, refs };
  try {
    note.moves.add(move);
    return await unlessKilled(
      () => {
        move.at = Date.now();
        write(note);
        return work();
      },
      () => {
        note.killed = true;
        sweepLocks(gitDir, move);
      },
    );
  } finally {
    note.moves.delete(move);
    try {
      write(note);
    } catch {
      // The disk is full: the work is done, and the note is outdated for some seconds at most.
    }
    kept.drop();
  }
}

/** Removes leftovers of our processes that have ended. */
export function sweepLeftovers(gitDir: string): void {
  const dead = readdirSync(gitDir).filter((name) => {
    const [, pid, start] = /^cleared-git-(\d+)-(\w*)-[0-9a-f]+$/.exec(name) ?? [];
    return pid !== undefined && !lives(`${pid}:${start}`);
  });
  if (dead.length === 0) return;
  const alone = !notes.has(gitDir) && !otherGitRuns(gitDir);
  for (const name of dead) {
    const file = join(gitDir, name);
    if (!alone && (ageOf(file) ?? 0) < LOCK_MS) continue;
    for (const move of movesIn(file)) sweepLocks(gitDir, move);
    if (alone) rmSync(file, { force: true });
  }
  if (alone) sweepObjects(gitDir);
}

/** The name of a lock that has blocked commits for a while, or null. */
export function standingLock(gitDir: string, ref: string): string | null {
  const standing = () =>
    ["index.lock", "HEAD.lock", `${ref}.lock`].find(
      (name) => (ageOf(join(name.startsWith("refs/") ? commonOf(gitDir) : gitDir, name)) ?? 0) > STANDS_MS,
    );
  if (standing() === undefined) return null;
  sweepLeftovers(gitDir);
  return standing() ?? null;
}

const isRef = (name: string): boolean =>
  /^refs\/./.test(name) && !name.split("/").some((part) => part === "" || part === "." || part === "..");

/** The moves in a note, which may have come with the folder; none if it was written incompletely. */
function movesIn(file: string): Move[] {
  try {
    return (JSON.parse(readOr(file, "[]")) as Move[]).filter(({ refs }) => Object.keys(refs).every(isRef));
  } catch {
    return [];
  }
}

/** Removes what is in the repository itself, never through a link in it. */
function discard(gitDir: string, path: string): void {
  if (existsSync(dirname(path)) && [gitDir, commonOf(gitDir)].some((folder) => isInside(dirname(path), folder)))
    rmSync(path, { recursive: true, force: true });
}

function sweepLocks(gitDir: string, { at, refs }: Move): void {
  const common = commonOf(gitDir);
  const remove = (file: string, is: (text: string) => boolean, withinMs = MOVE_MS) => {
    const found = statOf(file);
    if (found === null || found.mtimeMs < at - STAMP_MS || found.mtimeMs > at + withinMs) return;
    if (is(readOr(file, "unreadable").trim())) discard(gitDir, file);
  };
  // A new lock is empty; then git writes the new value of the ref into it.
  for (const [ref, to] of Object.entries(refs)) remove(join(common, `${ref}.lock`), (text) => text === "" || text === to);
  if (Object.keys(refs).length > 0) remove(join(gitDir, "HEAD.lock"), (text) => text === "");
  // The lock of a reflog contains the lines that stay, so its content is not checked.
  for (const log of [join(gitDir, "logs/HEAD"), ...Object.keys(refs).map((ref) => join(common, "logs", ref))])
    remove(`${log}.lock`, () => true);
  remove(join(common, "packed-refs.lock"), (text) => text === "");
  // Only the holder of that lock may write packed-refs.new, and git refuses to begin while that file exists.
  if (statOf(join(common, "packed-refs.lock")) === null) remove(join(common, "packed-refs.new"), () => true);
  for (const name of namesIn(join(common, OURS), true))
    if (name.endsWith(".lock")) remove(join(common, OURS, name), () => true, Number.POSITIVE_INFINITY);
}

/** Removes half-written packs, objects and commit-graphs; call only while no other git is running that needs them. */
function sweepObjects(gitDir: string): void {
  const objects = join(commonOf(gitDir), "objects");
  for (const folder of [...namesIn(objects), "info/commit-graphs"]) {
    // Objects of a batch are first written into a temporary folder.
    if (folder.startsWith("tmp_objdir")) discard(gitDir, join(objects, folder));
    else if (/^(?:pack|info.*|[0-9a-f]{2})$/.test(folder))
      for (const name of namesIn(join(objects, folder))) if (/^\.?tmp[_-]|\.lock$/.test(name)) discard(gitDir, join(objects, folder, name));
  }
  // git honors this file for twelve hours, even if its pid now belongs to another process.
  for (const name of ["gc.pid", "gc.pid.lock"]) rmSync(join(commonOf(gitDir), name), { force: true });
}

const statOf = (file: string) => statSync(file, { throwIfNoEntry: false }) ?? null;

function ageOf(file: string): number | null {
  const found = statOf(file);
  return found === null ? null : Date.now() - found.mtimeMs;
}

/** The shared git folder: a linked work tree has its own HEAD and index, and the rest is in the main repository. */
export function commonOf(gitDir: string): string {
  return join(gitDir, readOr(join(gitDir, "commondir"), "").trim());
}

/** Whether a git that this process has not started is running in the repository; true where the system does not tell. */
function otherGitRuns(gitDir: string): boolean {
  const top = join(gitDir, "..");
  try {
    return readdirSync("/proc").some((pid) => {
      if (!/^\d+$/.test(pid) || isOurGit(Number(pid))) return false;
      try {
        if (!readFileSync(`/proc/${pid}/comm`, "latin1").startsWith("git")) return false;
        const cwd = readlinkSync(`/proc/${pid}/cwd`);
        return cwd === top || cwd.startsWith(`${top}/`);
      } catch (error) {
        // Another user's process may be in this repository; a process that has ended is not.
        return (error as NodeJS.ErrnoException).code === "EACCES";
      }
    });
  } catch {
    return true;
  }
}

/** A unique path for a temporary file; its folder exists. */
export function scratchPath(dir: string): string {
  const folder = join(dir, STATE, "tmp");
  mkdirSync(folder, { recursive: true });
  return join(folder, `${identityOf(process.pid).replace(":", "-")}-${randomBytes(6).toString("hex")}`);
}

/** An empty temporary folder; the caller removes it. */
export function scratchFolder(dir: string): string {
  const path = scratchPath(dir);
  mkdirSync(path);
  return path;
}

/** Removes temporary files of processes that have ended. */
export function sweepScratch(dir: string): void {
  const folder = join(dir, STATE, "tmp");
  for (const name of namesIn(folder)) {
    const [, pid, start] = /^(\d+)-(\w*)-[0-9a-f]+$/.exec(name) ?? [];
    if (!lives(`${pid}:${start}`)) rmSync(join(folder, name), { recursive: true, force: true });
  }
}
