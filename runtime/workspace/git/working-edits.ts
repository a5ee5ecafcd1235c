/**
 * A person's edits since HEAD: reading them as git would commit them, and removing them from the working tree. Invariant: a path is reset
 * to HEAD only while it still has exactly the content that was read; anything else is a newer edit and stays.
 */
import { isUtf8 } from "node:buffer";
import type { Stats } from "node:fs";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { ClearedError } from "../../kernel/errors.ts";
import type { Item } from "../../kernel/ports.ts";
import { betweenCommits, createIndexLock } from "./index-lock.ts";
import { findGitDir } from "./git.ts";
import { git } from "./git-process.ts";
import { fileOfGit } from "./leftovers.ts";
import { objectId, createObjects, isFile } from "./tree.ts";
import { type Touched, createWorktree, listIndex } from "./worktree.ts";
import { LAUNCHER, LAUNCHERS, STATE } from "../layout.ts";

export interface Edit {
  path: string;
  /** Why it cannot be read as one plain edit, or null. */
  odd: string | null;
  removed: boolean;
  /** The entry in the index is only an intent to add (git add -N). */
  intent: boolean;
}

/** An edit that was read: its text as git would commit it (null: removed, or not text), and how to recognize it later. */
export interface ReadEdit {
  path: string;
  text: string | null;
  binary: boolean;
  /** The index entry it would have; null if removed. */
  item: Item | null;
  intent: boolean;
}

const LOCK_WAIT_MS = 2000;

/** Everything that differs from HEAD in index or files, ignored files left out, sorted by path. @throws GIT_FAILED */
export async function editsOf(dir: string): Promise<Edit[]> {
  const status = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty"];
  const out = await betweenCommits(await findGitDir(dir), () => git(dir, status));
  const found = new Map<string, Edit>();
  for (const line of out.toString().split("\0")) {
    const tracked = /^1 (.)(.) (....) (\d+) (\d+) (\d+) [0-9a-f]+ [0-9a-f]+ (.*)$/s.exec(line);
    const path = tracked?.[7] ?? /^\? (.*)$/s.exec(line)?.[1] ?? /^u (?:\S+ ){9}(.*)$/s.exec(line)?.[1];
    if (path === undefined) continue;
    const before = found.get(path);
    if (tracked === null) {
      const stat = await lstat(join(dir, path)).catch(() => null);
      const odd = line.startsWith("u") ? "has a conflict of a merge" : (oddFile(stat) ?? (await executable(dir, stat?.mode ?? 0)));
      found.set(path, { path, odd: before === undefined ? odd : STAGED, removed: false, intent: false });
    } else {
      const edit = trackedEdit(path, tracked);
      // Git reports a pipe in place of a file as an edit of that file, and would block on reading it.
      const odd = edit.removed ? null : oddFile(await lstat(join(dir, path)).catch(() => null));
      found.set(path, { ...edit, odd: odd ?? edit.odd });
    }
  }
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

const NO_FILE =
  "is a link, a pipe, a folder, a repository of its own or larger than 16 MiB, no plain file. `git restore` puts the file back";
// Bytes; larger than any file in a proposal may be, and than git should hash.
const LARGEST = 2 ** 24;

const oddFile = (found: Stats | null): string | null => (found?.isFile() === true && found.size <= LARGEST ? null : NO_FILE);
const STAGED = "is staged with other content than its file has. Stage all of it (git add) or none (git restore --staged)";
const EXECUTABLE = "has a changed executable bit, which files of a proposal do not have. Take it back (chmod)";

function trackedEdit(path: string, [, x = "", y = "", sub = "", head = "", , file = ""]: RegExpExecArray): Edit {
  const intent = x === "." && y === "A";
  const removed = x === "D" || y === "D";
  const odd = () => {
    if (sub.startsWith("S")) return NO_FILE;
    if (x !== "." && y !== ".") return STAGED;
    if (removed) return null;
    if (!file.startsWith("100")) return NO_FILE;
    return file !== (/^0+$/.test(head) ? "100644" : head) ? EXECUTABLE : null;
  };
  return { path, odd: odd(), removed, intent };
}

/** EXECUTABLE for a new executable file, if the file system has that bit; else null. */
async function executable(dir: string, mode: number): Promise<string | null> {
  if ((mode & 0o100) === 0) return null;
  return (await git(dir, ["config", "--type=bool", "--default=true", "core.fileMode"])).toString().trim() === "true" ? EXECUTABLE : null;
}

/** Reads edits through the user's own filters for line ends and encodings; their objects are in the repository when this returns. */
export async function readEdits(dir: string, head: string, edits: readonly Edit[]): Promise<ReadEdit[]> {
  const present = edits.filter((edit) => !edit.removed).map((edit) => edit.path);
  const input = present.map((path) => `${path}\n`).join("");
  const ids = present.length === 0 ? [] : (await git(dir, ["hash-object", "-w", "--stdin-paths"], { input })).toString().trim().split("\n");
  await using objects = createObjects(dir);
  const tree = objects.tree(head);
  const read: ReadEdit[] = [];
  for (const { path, removed, intent } of edits) {
    const oid = ids[present.indexOf(path)];
    const bytes = removed || oid === undefined ? null : ((await objects.find(oid))?.bytes ?? null);
    const binary = bytes !== null && (!isUtf8(bytes) || bytes.includes(0));
    const old = await tree.item(path);
    const item = bytes === null || oid === undefined ? null : { mode: isFile(old) ? old.mode : "100644", oid };
    read.push({ path, text: bytes === null || binary ? null : bytes.toString("utf8"), binary, item, intent });
  }
  return read;
}

/**
 * Resets these paths to `head` in index and files. Returns those that have a newer edit and were left alone. May be repeated after a kill.
 * @throws GIT_STATE while another git command holds the index
 */
export async function takeBack(dir: string, head: string, edits: readonly Pick<ReadEdit, "path" | "item" | "intent">[]): Promise<string[]> {
  const gitDir = (await git(dir, ["rev-parse", "--absolute-git-dir"])).toString().trim();
  const worktree = createWorktree(dir, gitDir);
  await using objects = createObjects(dir);
  const lock = createIndexLock(gitDir);
  try {
    const tree = objects.tree(head);
    const touched: Touched[] = [];
    for (const { path, item } of edits) touched.push({ path, old: item, next: await tree.item(path) });
    const empty = objectId("blob", Buffer.alloc(0), head.length);
    const entries = touched.map((one, i) => (edits[i]?.intent === true ? { ...one, old: { mode: "100644", oid: empty } } : one));
    if (!(await lock.take(LOCK_WAIT_MS)))
      throw new ClearedError(
        "GIT_STATE",
        'The proposal is recorded, but another git command holds .git/index.lock, so your edit is still in the files. When that has ended, run "cleared propose" again to remove it.',
      );
    // The index first: a file at HEAD under a staged edit would look like two different edits.
    await worktree.moveIndex(lock.draft, entries);
    const kept: string[] = [];
    for (const one of touched) {
      // As a checkout would write it, including line ends.
      const bytes = one.next === null ? null : await git(dir, ["cat-file", "--filters", `${head}:${one.path}`]);
      const staged = one.next === null || bytes === null ? null : await worktree.stage(one.path, one.next, bytes);
      if (!(await worktree.replace(one, staged))) kept.push(one.path);
    }
    return kept;
  } finally {
    lock.close();
  }
}

/** Blob and mode by path. @throws GIT_STATE while files are unmerged */
export async function stagedFiles(dir: string): Promise<Map<string, { blob: string; mode: string }>> {
  // `git commit -a` and `git commit FILE` run their hooks with a temporary index, which this variable names.
  const files = new Map<string, { blob: string; mode: string }>();
  for (const { mode, oid: blob, stage, path } of await listIndex(dir, process.env["GIT_INDEX_FILE"])) {
    if (stage !== "0") throw new ClearedError("GIT_STATE", `${path} is not merged yet. Finish the merge first.`, { at: { file: path } });
    files.set(path, { blob, mode });
  }
  return files;
}

/** Text of a staged blob. */
export const stagedText = async (dir: string, blob: string): Promise<string> => (await git(dir, ["cat-file", "blob", blob])).toString();

// Mode 160000 of a submodule as an entry of the index stores it.
const SUBMODULE = Buffer.of(0, 0, 0xe0, 0);

/** True if the index certainly has no path with one of these texts: versions 2 and 3 store full paths, unless the index is split ("link"). */
function surelyWithout(dir: string, ...texts: (string | Buffer)[]): boolean {
  const index = fileOfGit(join(dir, ".git", "index"));
  return (
    index?.toString("latin1", 0, 4) === "DIRC" && index.readUInt32BE(4) < 4 && ![...texts, "link"].some((text) => index.includes(text))
  );
}

/**
 * Refuses a repository that tracks files which belong to one machine only: a clone or a pull would install another user's store, or code that
 * nobody here installed. `installed`: trust.yaml starts code, which could load packages. @throws FOLDER_UNSAFE
 */
export async function assertUntracked(dir: string, installed = false): Promise<void> {
  const tracked = async (...only: string[]) => (await git(dir, ["ls-files", "-z", ...only])).toString().split("\0");
  const own = STATE.slice(0, -1);
  let path = surelyWithout(dir, LAUNCHER)
    ? ""
    : ((await tracked("--", own, ...LAUNCHERS)).find((one) => LAUNCHERS.includes(one) || one.startsWith(own)) ?? "");
  if (path === "" && installed && !surelyWithout(dir, "node_modules", "pyvenv.cfg", "__pycache__", SUBMODULE))
    path = (await tracked("--recurse-submodules")).find((one) => INSTALLED.test(one)) ?? "";
  if (path === "") return;
  const folder = (path.startsWith(own) ? own : INSTALLED.exec(path)?.[1]) ?? path;
  if (LAUNCHERS.includes(path))
    throw new ClearedError(
      "FOLDER_UNSAFE",
      `This repository contains ${path}, a program of whoever committed it, which you would start as the command of this workspace. Untrack it (git rm --cached ${path}), commit, and delete the file; your own \`cleared\` works here, too.`,
    );
  throw new ClearedError(
    "FOLDER_UNSAFE",
    `This repository contains ${path}, so the content of ${folder} may come from someone else. Untrack it (git rm -r --cached ${folder}), commit, and delete or restore the folder.`,
  );
}

// Where packages are installed or compiled; their files are not part of the code that a person confirms (confirmation.ts).
const INSTALLED = /^(.*?(?:^|\/)(?:node_modules|__pycache__))(?:\/|$)|^(.*\/)?pyvenv\.cfg$/;
