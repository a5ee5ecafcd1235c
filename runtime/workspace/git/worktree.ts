/**
 * The user's index and files: what differs from a commit at a few named paths, and bringing exactly those paths up to a new
 * commit without touching anything a person changed. Looks only at the named paths, never at the whole tree.
 */
import { constants, existsSync } from "node:fs";
import { access, chmod, copyFile, lstat, mkdir, readFile, rename, rm, rmdir, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ClearedError } from "../../kernel/errors.ts";
import { writing, scratchPath } from "./leftovers.ts";
import { git, tryGit } from "./git-process.ts";
import { blobId, type Item } from "./tree.ts";
import { ifThere } from "../own-folders.ts";

/** One path a commit changes: its entry before and after, null where there is no file. */
export interface Touched {
  path: string;
  old: Item | null;
  next: Item | null;
}

const SPREAD = 400;

/** @throws INTERNAL for a path that would leave the work tree or reach into git's or Cleared's own folder */
export function assertPath(path: string): void {
  const parts = path.split("/");
  const wrong = parts.some((part) => part === "" || part === "." || part === ".." || /^\.git[ .]*$/i.test(part) || /^git~\d/i.test(part));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  if (wrong || parts[0]?.toLowerCase() === ".cleared" || /[\u0000-\u001f\\]/.test(path) || path.length > 1000) {
    throw new ClearedError(
      "FILE_INVALID",
      `"${path.slice(0, 200)}" is not a path a commit may write. Use a plain path inside the workspace.`,
    );
  }
}

/** Entries of an index file, git's own unless one is named; of these paths, or all. `stage` is "0" but for a conflict of a merge. */
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
    // Beyond a few hundred names one pass over the whole index is cheaper than the argument list.
    const names = wanted.size > SPREAD ? [] : [...wanted];
    for (const { mode, oid, stage, path } of await listIndex(dir, file, names))
      if (wanted.has(path)) items.set(path, { mode: stage === "0" ? mode : "conflict", oid });
    return items;
  }

  /** Hash of the file's bytes, null when nothing is there, "other" for a folder, a link, a path through one, and what is too large. */
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
    return blobId(await readFile(join(dir, path)), oidLength);
  }

  /** True when the file holds exactly this entry's content, also after the line-end filters the user configured. */
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
      // A new file that already lies there with the same bytes is nobody's edit.
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
    /** A copy of the user's index at `draft`; answers a mark that changes whenever the user's index does. */
    async copyIndex(draft: string): Promise<string> {
      const before = await stat(index).catch(() => null);
      const taken = await indexMark();
      await rm(draft, { force: true });
      if (before === null) return taken;
      await copyFile(index, draft);
      // git tells "changed in the same instant" by the index file's own time: a younger copy would hide such an edit for good.
      const second = Math.floor(before.mtimeMs / 1000);
      await utimes(draft, second, second);
      return taken;
    },
    /** Those whose entry in the draft is still the `old` one. */
    async untouched(draft: string, touched: readonly Touched[]): Promise<Touched[]> {
      const items = await indexItems(touched, draft);
      return touched.filter((one) => same(items.get(one.path), one.old));
    },
    /** Moves the entries of the draft to `next`. */
    async updateDraft(draft: string, touched: readonly Touched[]): Promise<void> {
      const zero = "0".repeat(touched[0]?.old?.oid.length ?? touched[0]?.next?.oid.length ?? 40);
      const lines = touched.map(({ path, next }) => (next === null ? `0 ${zero}\t${path}\0` : `${next.mode} ${next.oid}\t${path}\0`));
      if (lines.length === 0) return;
      await writing(gitDir, {}, async () => {
        // Nobody else's: one that was killed here has left it.
        await rm(`${draft}.lock`, { force: true });
        await git(dir, ["update-index", "-z", "--index-info"], { input: lines.join(""), env: { GIT_INDEX_FILE: draft } });
      });
    },
    async installIndex(draft: string): Promise<void> {
      // Without a draft there was no index and nothing to enter into one.
      await ifThere(rename(draft, index));
    },
    /** Why one of these files may not be put into its place, or null: a folder that may not be written to, a disk that is read-only. */
    async barred(touched: readonly Touched[]): Promise<string | null> {
      for (const { path } of touched) {
        let folder = dirname(path);
        while (folder !== "." && !existsSync(join(dir, folder))) folder = dirname(folder);
        const why = await access(join(dir, folder), constants.W_OK | constants.X_OK).catch((error: NodeJS.ErrnoException) => error.code);
        const name = folder === "." ? "the folder of the workspace" : `${folder}/`;
        if (why !== undefined)
          return `${path} cannot be written: ${name} is read-only (${why}). It goes on by itself once it may be written to.`;
      }
      return null;
    },
    /** Writes new content beside the tree, ready to be renamed into place; answers the name to pass to `replace`. */
    async stage(path: string, next: Item, bytes: Buffer): Promise<string> {
      const staged = scratchPath(dir);
      const present = await stat(join(dir, path)).catch(() => null);
      // Their own permission bits stay, also ones that git does not know.
      try {
        await writeFile(staged, bytes, { mode: next.mode === "100755" ? 0o777 : 0o666 });
        if (present?.isFile() === true) await chmod(staged, present.mode & 0o777);
      } catch (error) {
        // Half of it on a full disk would only keep the disk full.
        await rm(staged, { force: true });
        throw error;
      }
      return staged;
    },
    /** Puts staged content (null: nothing) into place if the file still is the `old` one. False: a person changed it, it is left alone. */
    async replace(touched: Touched, staged: string | null): Promise<boolean> {
      // The old one first: it is nearly always there, and asking git about a file that differs costs a process.
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
      // Like git, an emptied folder goes away; one with anything in it refuses.
      for (let at = dirname(touched.path); at !== "."; at = dirname(at)) {
        const left = await rmdir(join(dir, at)).catch(() => "not empty");
        if (left !== undefined) break;
      }
      return true;
    },
  };
}
