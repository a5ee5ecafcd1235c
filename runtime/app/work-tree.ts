/**
 * Differences of the work tree, or the index, to a tree, in files that a proposal may change: text by path, null for a removed file.
 * Nothing is written, and links are not followed.
 */
import { existsSync, lstatSync, readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { ClearedError } from "../kernel/errors.ts";
import type { Git, Tree } from "../kernel/ports.ts";
import { isProposable } from "../change/proposals/paths.ts";
import { AGENTS, CASES, CONFIG, IMPORTERS, KNOWLEDGE, MAIN_JOURNAL, POLICIES, SCRIPTS, TRUST } from "../workspace/layout.ts";
import { parseMain } from "../workspace/books/main-journal.ts";
import { loadChart } from "../workspace/books/months.ts";
import { findGitDir, withGit } from "../workspace/git/git.ts";
import { betweenCommits } from "../workspace/git/index-lock.ts";
import { stagedFiles, stagedText } from "../workspace/git/working-edits.ts";
import { sourceBlob } from "../workspace/git/tree.ts";
import { readLocal } from "./local.ts";

const FOLDERS = [AGENTS, SCRIPTS, POLICIES, IMPORTERS, KNOWLEDGE, CASES];
// Longer than any file in a proposal, so no check could read it.
const LARGEST = 2 ** 20;

export interface Changes {
  files: Map<string, string | null>;
  /** Paths that are not regular text files: links, or too large. */
  odd: string[];
  /** trust.yaml differs: only a person changes it, and nothing here checks it. */
  trust: boolean;
}

/** For a workspace that is not opened, compared with HEAD of its branch; `staged`: as the next commit would be. @throws GIT_STATE */
export function changesHere(dir: string, staged = false): Promise<Changes> {
  const look = staged ? stagedChanges : workChanges;
  return withGit(dir, readLocal(dir).config.branch, async (git) => look(dir, git.tree(await git.head())));
}

/** Files on disk compared with the tree. */
export async function workChanges(dir: string, tree: Tree): Promise<Changes> {
  return betweenCommits(await findGitDir(dir), () => changesOnDisk(dir, tree));
}

async function changesOnDisk(dir: string, tree: Tree): Promise<Changes> {
  const changes: Changes = { files: new Map(), odd: [], trust: (await differs(dir, tree, TRUST)) !== undefined };
  const there = new Set([CONFIG, ...FOLDERS.flatMap((folder) => below(dir, folder))]);
  for (const path of there) {
    if (!isProposable(path)) continue;
    const text = await differs(dir, tree, path);
    if (text === "odd") changes.odd.push(path);
    else if (text !== undefined) changes.files.set(path, text.text);
  }
  for (const path of await pathsOf(tree)) if (!there.has(path)) changes.files.set(path, null);
  return changes;
}

/** Files as the next commit would have them. @throws GIT_STATE */
async function stagedChanges(dir: string, tree: Tree): Promise<Changes> {
  const staged = await stagedFiles(dir);
  const changes: Changes = { files: new Map(), odd: [], trust: (staged.get(TRUST)?.blob ?? null) !== (await tree.blob(TRUST)) };
  for (const [path, { blob, mode }] of staged) {
    if (!isProposable(path) || blob === (await tree.blob(path))) continue;
    if (mode.startsWith("100")) changes.files.set(path, await stagedText(dir, blob));
    else changes.odd.push(path);
  }
  for (const path of await pathsOf(tree)) if (!staged.has(path)) changes.files.set(path, null);
  return changes;
}

async function pathsOf(tree: Tree): Promise<string[]> {
  const lists = await Promise.all(FOLDERS.map((folder) => tree.list(folder)));
  return lists.flat().flatMap(({ path }) => (isProposable(path) ? [path] : []));
}

function below(dir: string, folder: string): string[] {
  if (!existsSync(join(dir, folder))) return [];
  return readdirSync(join(dir, folder), { recursive: true, withFileTypes: true })
    .filter((one) => !one.isDirectory())
    .map((one) => relative(dir, join(one.parentPath, one.name)).replaceAll("\\", "/"));
}

/** The text on disk if it differs from the tree's; undefined if it does not. */
async function differs(dir: string, tree: Tree, path: string): Promise<{ text: string | null } | "odd" | undefined> {
  const found = lstatSync(join(dir, path), { throwIfNoEntry: false });
  const blob = await tree.blob(path);
  if (found === undefined) return blob === null ? undefined : { text: null };
  if (!found.isFile() || found.size > LARGEST) return "odd";
  // Line ends as git will store them (.gitattributes of a workspace).
  const text = readFileSync(join(dir, path), "utf8").replaceAll("\r\n", "\n");
  return sourceBlob(text) === blob ? undefined : { text };
}

/** Tells a person who names an account that only their working tree has why it is not known. @throws ACCOUNT_UNKNOWN */
export async function assertCommitted({ git, dir }: { git: Git; dir: string }, word: string | undefined): Promise<void> {
  if (word === undefined || (await loadChart(git.tree(await git.head()))).byWord.has(word)) return;
  const file = join(dir, MAIN_JOURNAL);
  if (!existsSync(file) || !parseMain(readFileSync(file, "utf8")).byWord.has(word)) return;
  const how = `\`git commit ${MAIN_JOURNAL}\`, then answer again.`;
  throw new ClearedError("ACCOUNT_UNKNOWN", `${MAIN_JOURNAL} has the account ${word}, and the last commit of it does not. ${how}`);
}
