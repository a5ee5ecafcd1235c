/**
 * What git leaves when it is killed: locks of refs and half-written packs. Each process of ours that lets git write keeps a note of what it
 * is about in the git folder, so that whoever comes after a kill can tell what was ours: a lock that appeared where and when we had begun to
 * move a ref. Everything else is somebody's and is never removed; what waits for it names it.
 */
import { randomBytes } from "node:crypto";
import { readFileSync, readdirSync, readlinkSync, rmSync, statSync, writeFileSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { identityOf, lives } from "../../kernel/processes.ts";
import { isOurGit, unlessKilled } from "./git-process.ts";
import { STATE } from "../layout.ts";
import { namesIn, readOr } from "../own-folders.ts";

/** A move of refs that has begun: when, and the refs outside refs/cleared with what they are to be. */
interface Move {
  at: number;
  refs: Record<string, string>;
}

/** The note of this process about one repository. */
interface Note {
  file: string;
  users: number;
  moves: Set<Move>;
  /** A git was killed since it was begun. */
  killed: boolean;
}

const notes = new Map<string, Note>();
// git waits 2 s for each lock; what appears later than this after a beginning is not from it.
const MOVE_MS = 10_000;
// The kernel stamps files with a clock that is some ms behind.
const STAMP_MS = 20;
// While another git is at work nobody can tell its locks from those of a dead one, as long as they are fresh.
const LOCK_MS = 60_000;
const STANDS_MS = 2000;
const OURS = "refs/cleared";

/** The git folder of a work tree; of one that was added to another repository it lies there. */
export function gitDirOf(dir: string): string {
  const place = join(dir, ".git");
  if (statOf(place)?.isFile() !== true) return place;
  return resolve(dir, readFileSync(place, "utf8").slice("gitdir: ".length).trim());
}

/** What a file of git's holds, without asking git; null where there is none, or no plain one. */
export const fileOfGit = (path: string): Buffer | null => (statOf(path)?.isFile() === true ? readFileSync(path) : null);

/** Objects are being written until `drop` is called: what git leaves of them in the middle is ours. `killed`: one that wrote them was. */
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
      // Else it stays, for whoever comes when nobody is at work.
      if (note.killed && gitAtWork(gitDir)) return;
      if (note.killed) sweepObjects(gitDir);
      rmSync(note.file, { force: true });
    },
  };
}

function write({ file, moves }: Note): void {
  writeFileSync(file, JSON.stringify([...moves]));
}

/**
 * Lets git write. When it is killed, what it left is removed and `work` is done again, so that it has to look first what is done already.
 * @param refs those outside refs/cleared, with the commit each is to name
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
      // A disk that is full now: what was done is done, and the note is wrong for some seconds at most.
    }
    kept.drop();
  }
}

/** Removes what processes of ours that are gone have left. */
export function sweepLeftovers(gitDir: string): void {
  const dead = readdirSync(gitDir).filter((name) => {
    const [, pid, start] = /^cleared-git-(\d+)-(\w*)-[0-9a-f]+$/.exec(name) ?? [];
    return pid !== undefined && !lives(`${pid}:${start}`);
  });
  if (dead.length === 0) return;
  const alone = !notes.has(gitDir) && !gitAtWork(gitDir);
  for (const name of dead) {
    const file = join(gitDir, name);
    if (!alone && (ageOf(file) ?? 0) < LOCK_MS) continue;
    for (const move of movesIn(file)) sweepLocks(gitDir, move);
    if (alone) rmSync(file, { force: true });
  }
  if (alone) sweepObjects(gitDir);
}

/** The name of a lock that has stood in the way of commits for a while, or null. */
export function standingLock(gitDir: string, ref: string): string | null {
  const standing = () =>
    ["index.lock", "HEAD.lock", `${ref}.lock`].find(
      (name) => (ageOf(join(name.startsWith("refs/") ? commonOf(gitDir) : gitDir, name)) ?? 0) > STANDS_MS,
    );
  if (standing() === undefined) return null;
  sweepLeftovers(gitDir);
  return standing() ?? null;
}

/** A note that was cut off says nothing of moves, but that there was one. */
function movesIn(file: string): Move[] {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Move[];
  } catch {
    return [];
  }
}

function sweepLocks(gitDir: string, { at, refs }: Move): void {
  const common = commonOf(gitDir);
  const remove = (file: string, is: (text: string) => boolean, withinMs = MOVE_MS) => {
    const found = statOf(file);
    if (found === null || found.mtimeMs < at - STAMP_MS || found.mtimeMs > at + withinMs) return;
    if (is(readFileSync(file, "utf8").trim())) rmSync(file, { force: true });
  };
  // While it is taken a lock is empty; then git writes into it what the ref is to be.
  for (const [ref, to] of Object.entries(refs)) remove(join(common, `${ref}.lock`), (text) => text === "" || text === to);
  if (Object.keys(refs).length > 0) remove(join(gitDir, "HEAD.lock"), (text) => text === "");
  // A reflog's has the lines that stay.
  for (const log of [join(gitDir, "logs/HEAD"), ...Object.keys(refs).map((ref) => join(common, "logs", ref))])
    remove(`${log}.lock`, () => true);
  remove(join(common, "packed-refs.lock"), (text) => text === "");
  // Only who holds that lock may write it, and git does not begin where it lies.
  if (statOf(join(common, "packed-refs.lock")) === null) remove(join(common, "packed-refs.new"), () => true);
  for (const name of namesIn(join(common, OURS), true))
    if (name.endsWith(".lock")) remove(join(common, OURS, name), () => true, Number.POSITIVE_INFINITY);
}

/** Half-written packs, objects and commit-graphs, where no git is at work that still needs them. */
function sweepObjects(gitDir: string): void {
  const objects = join(commonOf(gitDir), "objects");
  for (const folder of [...namesIn(objects), "info/commit-graphs"]) {
    // Objects of a batch are first written into a folder beside the others.
    if (folder.startsWith("tmp_objdir")) rmSync(join(objects, folder), { recursive: true, force: true });
    else if (/^(?:pack|info.*|[0-9a-f]{2})$/.test(folder))
      for (const name of namesIn(join(objects, folder)))
        if (/^\.?tmp[_-]|\.lock$/.test(name)) rmSync(join(objects, folder, name), { recursive: true, force: true });
  }
  // git itself believes it for twelve hours where its pid is another process's since.
  for (const name of ["gc.pid", "gc.pid.lock"]) rmSync(join(commonOf(gitDir), name), { force: true });
}

const statOf = (file: string) => statSync(file, { throwIfNoEntry: false }) ?? null;

function ageOf(file: string): number | null {
  const found = statOf(file);
  return found === null ? null : Date.now() - found.mtimeMs;
}

/** Of a work tree that was added to another repository, HEAD and the index are its own and the rest is there. */
export function commonOf(gitDir: string): string {
  return join(gitDir, readOr(join(gitDir, "commondir"), "").trim());
}

/** Whether a git that this process has not started works in the repository; where the system does not tell, one may. */
function gitAtWork(gitDir: string): boolean {
  const top = join(gitDir, "..");
  try {
    return readdirSync("/proc").some((pid) => {
      if (!/^\d+$/.test(pid) || isOurGit(Number(pid))) return false;
      try {
        if (!readFileSync(`/proc/${pid}/comm`, "latin1").startsWith("git")) return false;
        const cwd = readlinkSync(`/proc/${pid}/cwd`);
        return cwd === top || cwd.startsWith(`${top}/`);
      } catch (error) {
        // Somebody else's process may be here; one that is gone is not.
        return (error as NodeJS.ErrnoException).code === "EACCES";
      }
    });
  } catch {
    return true;
  }
}

/** A name nobody else has; its folder is there. */
export function scratchPath(dir: string): string {
  const folder = join(dir, STATE, "tmp");
  mkdirSync(folder, { recursive: true });
  return join(folder, `${identityOf(process.pid).replace(":", "-")}-${randomBytes(6).toString("hex")}`);
}

/** An empty folder of that kind; who asks for it removes it. */
export function scratchFolder(dir: string): string {
  const path = scratchPath(dir);
  mkdirSync(path);
  return path;
}

/** Removes what processes that are gone have left. */
export function sweepScratch(dir: string): void {
  const folder = join(dir, STATE, "tmp");
  for (const name of namesIn(folder)) {
    const [, pid, start] = /^(\d+)-(\w*)-[0-9a-f]+$/.exec(name) ?? [];
    if (!lives(`${pid}:${start}`)) rmSync(join(folder, name), { recursive: true, force: true });
  }
}
