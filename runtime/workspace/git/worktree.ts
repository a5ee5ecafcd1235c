/**
 * The user's index and files: how they differ from a commit at a few named paths, and moving exactly those paths to a new commit
 * without touching anything a person changed. Reads only the named paths, never the whole tree.
 */
import { constants, existsSync } from "node:fs";
import { access, chmod, copyFile, lstat, mkdir, readFile, rename, rm, rmdir, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ClearedError } from "../../kernel/errors.ts";
import type { Item } from "../../kernel/ports.ts";
import { writing, scratchPath } from "./leftovers.ts";
import { git, tryGit } from "./git-process.ts";
import { objectId } from "./tree.ts";
import { ifThere } from "../own-folders.ts";

/** One path a commit changes: its entry before and after, null where there is no file. */
export interface Touched {
  path: string;
  old: Item | null;
  next: Item | null;
}

const SPREAD = 400;

/** @throws FILE_INVALID for a path that would leave the work tree or reach into git's or Cleared's own folder */
export function assertPath(path: string): void {
  const parts = path.split("/");
  const wrong = parts.some((part) => part === "" || part === "." || part === ".." || /^\.git[ .]*$/i.test(part) || /^git~\d/i.test(part));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  if (wrong || parts[0]?.toLowerCase() === ".cleared" || /[\u0000-\u001f\\]/.test(path) || path.length > 1000)
    throw new ClearedError(
      "FILE_INVALID",
      `"${path.slice(0, 200)}" is not a path a commit may write. Use a plain path inside the workspace.`,
    );
}

/** Entries of an index file, by default git's own; of these paths, or all. `stage` is "0" except in a merge conflict. */
export async function listIndex(dir: string, file?: string, names: readonly string[] = []) {
  const out = await git(dir, ["ls-files", "--stage", "-z", "--", ...names], file === undefined ? {} : { env: { GIT_INDEX_FILE: file } });
  return out
    .toString("utf8")
    .split("\0")
    .flatMap((line) => {
      const [, mode = "", oid = "", stage = "", path] = /^(\d+) ([0-9a-f]+) (\d)\t(.*)$/s.exec(line) ?? [];
      return path === undefined ? [] : [{ mode, oid, stage, path }];
    });
}

export type Worktree = ReturnType<typeof createWorktree>;

export function createWorktree(dir: string, gitDir: string) {
  const index = join(gitDir, "index");

  async function indexItems(touched: readonly Touched[], file: string): Promise<Map<string, Item>> {
    const wanted = new Set(touched.map((one) => one.path));
    const items = new Map<string, Item>();
    // With more than a few hundred names, reading the whole index is cheaper than passing them as arguments.
    const names = wanted.size > SPREAD ? [] : [...wanted];
    for (const { mode, oid, stage, path } of await listIndex(dir, file, names))
      if (wanted.has(path)) items.set(path, { mode: stage === "0" ? mode : "conflict", oid });
    return items;
  }

  /** Hash of the file's bytes; null if it does not exist; "other" for a folder, a link, a path through one, or a file that is too large. */
  async function fileId(path: string, oidLength: number): Promise<string | null> {
    const parts = path.split("/");
    for (let depth = 1; depth <= parts.length; depth++) {
      const at = join(dir, ...parts.slice(0, depth));
      const found = await lstat(at).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return null;
        if (error.code === "ENOTDIR") return "other" as const;
        throw error;
      });
      if (found === null) return null;
      if (found === "other" || (depth < parts.length ? !found.isDirectory() : !found.isFile() || found.size > 2 ** 28)) return "other";
    }
    return objectId("blob", await readFile(join(dir, path)), oidLength);
  }

  /** True when the file has exactly this entry's content, possibly after the line-end filters the user configured. */
  async function holds(path: string, item: Item | null): Promise<boolean> {
    const id = await fileId(path, item?.oid.length ?? 40);
    if (id === (item?.oid ?? null)) return true;
    if (id === null || id === "other" || item === null) return false;
    const filtered = await tryGit(dir, ["hash-object", "--", path]);
    return filtered.status === 0 && filtered.stdout.toString().trim() === item.oid;
  }

  const same = (a: Item | null | undefined, b: Item | null): boolean =>
    (a?.oid ?? null) === (b?.oid ?? null) && (a?.mode ?? null) === (b?.mode ?? null);

  /** Paths whose file is not the `old` one; reads no index. */
  async function editedFiles(touched: readonly Touched[]): Promise<string[]> {
    const edited: string[] = [];
    for (const one of touched) {
      // A new file that already exists with the same bytes is not an edit.
      if (!(await holds(one.path, one.old)) && !(one.old === null && (await holds(one.path, one.next)))) edited.push(one.path);
    }
    return edited;
  }

  /** Changes whenever the user's index does. */
  async function indexMark(): Promise<string> {
    const found = await stat(index, { bigint: true }).catch(() => null);
    return found === null ? "none" : `${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}`;
  }

  return {
    editedFiles,
    indexMark,
    /** Paths whose index entry or file is not the `old` one. `file`: another index than the user's. */
    async edited(touched: readonly Touched[], file = index): Promise<string[]> {
      const items = await indexItems(touched, file);
      const inFiles = new Set(await editedFiles(touched));
      return touched.map((one) => one.path).filter((path, i) => inFiles.has(path) || !same(items.get(path), touched[i]?.old ?? null));
    },
    /** Copies the user's index to `draft`; returns a mark that changes whenever the user's index does. */
    async copyIndex(draft: string): Promise<string> {
      const before = await stat(index).catch(() => null);
      const taken = await indexMark();
      await rm(draft, { force: true });
      if (before === null) return taken;
      await copyFile(index, draft);
      // git detects an edit in the same instant by the index file's own time: a newer copy would hide such an edit permanently.
      const second = Math.floor(before.mtimeMs / 1000);
      await utimes(draft, second, second);
      return taken;
    },
    /** Sets the entries of the draft to `next`. */
    async updateDraft(draft: string, touched: readonly Touched[]): Promise<void> {
      const zero = "0".repeat(touched[0]?.old?.oid.length ?? touched[0]?.next?.oid.length ?? 40);
      const lines = touched.map(({ path, next }) => (next === null ? `0 ${zero}\t${path}\0` : `${next.mode} ${next.oid}\t${path}\0`));
      if (lines.length === 0) return;
      await writing(gitDir, {}, async () => {
        // The draft is ours alone, so this lock was left by a killed git.
        await rm(`${draft}.lock`, { force: true });
        await git(dir, ["update-index", "-z", "--index-info"], { input: lines.join(""), env: { GIT_INDEX_FILE: draft } });
      });
    },
    async installIndex(draft: string): Promise<void> {
      // Without a draft there was no index and nothing to enter into one.
      await ifThere(rename(draft, index));
    },
    /** Sets the entries of the user's index that are still the `old` ones to `next`. `guard` is called right before, and may throw. */
    async moveIndex(draft: string, touched: readonly Touched[], guard?: () => void): Promise<void> {
      await this.copyIndex(draft);
      const items = await indexItems(touched, draft);
      const untouched = touched.filter((one) => same(items.get(one.path), one.old));
      await this.updateDraft(draft, untouched);
      guard?.();
      await this.installIndex(draft);
    },
    /** Why one of these files cannot be put into place, or null: a folder without write permission, or a read-only disk. */
    async barred(touched: readonly Touched[]): Promise<string | null> {
      for (const { path } of touched) {
        let folder = dirname(path);
        while (folder !== "." && !existsSync(join(dir, folder))) folder = dirname(folder);
        const why = await access(join(dir, folder), constants.W_OK | constants.X_OK).catch((error: NodeJS.ErrnoException) => error.code);
        const name = folder === "." ? "the folder of the workspace" : `${folder}/`;
        if (why !== undefined) return `${path} cannot be written: ${name} is read-only (${why}). Work continues once it is writable.`;
      }
      return null;
    },
    /** Writes new content outside the tree, ready to be renamed into place; returns the name to pass to `replace`. */
    async stage(path: string, next: Item, bytes: Buffer): Promise<string> {
      const staged = scratchPath(dir);
      const present = await stat(join(dir, path)).catch(() => null);
      // The file's permission bits stay, including those that git does not track.
      try {
        await writeFile(staged, bytes, { mode: next.mode === "100755" ? 0o777 : 0o666 });
        if (present?.isFile() === true) await chmod(staged, present.mode & 0o777);
      } catch (error) {
        // On a full disk, an incomplete file would only use up space.
        await rm(staged, { force: true });
        throw error;
      }
      return staged;
    },
    /** Puts staged content (null: removes the file) into place if the file is still the `old` one. False: a person changed it, so it stays. */
    async replace(touched: Touched, staged: string | null): Promise<boolean> {
      // `old` is checked first: it nearly always matches, and a mismatch costs a git process.
      if (!(await holds(touched.path, touched.old))) {
        if (staged !== null) await rm(staged, { force: true });
        return holds(touched.path, touched.next);
      }
      const target = join(dir, touched.path);
      if (staged !== null) {
        await mkdir(dirname(target), { recursive: true });
        await rename(staged, target).catch(async (error: NodeJS.ErrnoException) => {
          if (error.code !== "EXDEV") throw error;
          await copyFile(staged, target);
          await rm(staged, { force: true });
        });
        return true;
      }
      await rm(target, { force: true });
      // As in git, emptied folders are removed; rmdir fails for a folder that is not empty.
      for (let at = dirname(touched.path); at !== "."; at = dirname(at)) {
        const left = await rmdir(join(dir, at)).catch(() => "not empty");
        if (left !== undefined) break;
      }
      return true;
    },
  };
}
