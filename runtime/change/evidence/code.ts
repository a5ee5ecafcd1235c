/** The code and settings a run can be executed with, read from a tree: files with their blobs, and the differences between two trees. */
import type { Tree, Sandbox } from "../../kernel/ports.ts";
import { AGENTS, agentOf, CONFIG, DATA, IMPORTERS, KNOWLEDGE, MAIN_JOURNAL, POLICIES, SCRIPTS, TOOLS } from "../../workspace/layout.ts";
import { reachedFiles } from "../checks/reached.ts";
import type { Script } from "../../engine/script.ts";
import type { Registry } from "../../kernel/registry.ts";
import { treeOver } from "../../workspace/git/tree.ts";
import type { Code } from "./types.ts";

/** Files that are laid over the tree of a run's own commit when other code is tried (`Code.changed`). */
export const SETTINGS = [CONFIG, POLICIES, IMPORTERS, KNOWLEDGE];
const FOLDERS = [AGENTS, SCRIPTS, POLICIES, IMPORTERS, KNOWLEDGE];

/** Blob by path. */
export async function codeOf(tree: Tree): Promise<Map<string, string>> {
  const folders = await Promise.all(FOLDERS.map((folder) => tree.list(folder)));
  return new Map([...folders.flat().map(({ path, blob }) => [path, blob] as const), [CONFIG, (await tree.blob(CONFIG)) ?? ""]]);
}

/** Paths that are in only one of the two or differ, sorted. */
export function differing(was: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  return [...new Set([...was.keys(), ...now.keys()])].filter((path) => was.get(path) !== now.get(path)).sort();
}

/** True if both trees have the same content at all of these paths. */
export async function haveSame(one: Tree, other: Tree, paths: readonly string[]): Promise<boolean> {
  for (const path of paths) if ((await one.blob(path)) !== (await other.blob(path))) return false;
  return true;
}

/** True for a path that is one of these files or is inside one of these folders. */
export const isIn = (path: string, places: readonly string[]): boolean =>
  places.some((place) => path === place || (place.endsWith("/") && path.startsWith(place)));

/** The code of a tree with these files laid over it: text by path, null removes. */
export function codeOver(tree: Tree, files: ReadonlyMap<string, string | null>): Code {
  return { tree: treeOver(tree, files), changed: [...files.keys()].filter((path) => isIn(path, SETTINGS)) };
}

/**
 * The code with all settings and accounts of its own tree, whenever they were changed; null if they equal those of the run's commit. The
 * months of the books and the data files stay as they were then, except for `data`.
 */
export async function onItsSettings(code: Code, then: Tree, data: readonly string[] = []): Promise<Code | null> {
  const changed = differing(await codeOf(then), await codeOf(code.tree)).filter((path) => isIn(path, SETTINGS));
  changed.push(...data);
  const [was, now] = await Promise.all([then, code.tree].map(async (tree) => ((await tree.read(MAIN_JOURNAL)) ?? "").split("\n")));
  const isInclude = (line: string): boolean => line.startsWith("include ");
  const declared = (lines: readonly string[] = []) => lines.filter((line) => line !== "" && !isInclude(line)).join("\n");
  if (declared(was) === declared(now)) return changed.length === 0 ? null : { tree: code.tree, changed };
  const text = [declared(now), ...(was ?? []).filter(isInclude), ""].join("\n");
  return { tree: treeOver(code.tree, new Map([[MAIN_JOURNAL, text]])), changed: [...changed, MAIN_JOURNAL] };
}

/** The base as a trial of the change was made (`tried`): if that was with all of today's settings, with all of its own. */
export async function likeTried(base: Code, tried: Code, code: Code, then: Tree): Promise<Code> {
  if (tried === code) return base;
  const data = tried.changed.filter((path) => path.startsWith(DATA));
  return (await onItsSettings({ tree: base.tree, changed: [] }, then, data)) ?? base;
}

/** Data files that the script names and that were added after the run's own commit. */
export async function laterData({ tree }: Code, then: Tree, { main, scripts }: Script): Promise<string[]> {
  const texts = [main, ...Object.values(scripts)].map(({ code }) => code);
  const named = (await tree.list(DATA))
    .map(({ path }) => path)
    .filter((path) => texts.some((text) => text.includes(path.slice(DATA.length))));
  const before = await Promise.all(named.map((path) => then.blob(path)));
  return named.filter((_, n) => before[n] === null);
}

/** Names of the agents in the tree whose runs could change because of these paths. */
export async function reachedBy(
  paths: readonly string[],
  tree: Tree,
  bench: { sandbox: Pick<Sandbox, "compile">; registry: { whole(): Promise<Registry> } },
): Promise<string[]> {
  const registry = await bench.registry.whole();
  return (await reachedFiles(tree, paths, bench.sandbox, registry)).map(agentOf);
}

/** The files of an agent's script: its own, its sub-scripts, and those that declare the tools it uses. */
export async function filesOf({ main, scripts, tools }: Script, tree: Tree): Promise<string[]> {
  const declared = Object.keys(tools).length === 0 ? [] : await tree.list(TOOLS);
  return [main.file, ...Object.values(scripts).map(({ file }) => file), ...declared.map(({ path }) => path)];
}
