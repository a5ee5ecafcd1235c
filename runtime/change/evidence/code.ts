/** What a run may be executed with, as a tree has it: the files and their blobs, and which of them two trees have differently. */
import type { Tree } from "../../kernel/ports.ts";
import { AGENTS, CONFIG, IMPORTERS, KNOWLEDGE, POLICIES, SCRIPTS } from "../../workspace/layout.ts";

/** Files that lie over the tree of a run's own commit when other code is tried (`Code.changed`). */
export const SETTINGS = [CONFIG, POLICIES, IMPORTERS, KNOWLEDGE];
const FOLDERS = [AGENTS, SCRIPTS, POLICIES, IMPORTERS, KNOWLEDGE];

/** Blob by path. */
export async function codeOf(tree: Tree): Promise<Map<string, string>> {
  const folders = await Promise.all(FOLDERS.map((folder) => tree.list(folder)));
  return new Map([...folders.flat().map(({ path, blob }) => [path, blob] as const), [CONFIG, (await tree.blob(CONFIG)) ?? ""]]);
}

/** Paths that are in one of the two alone or differ, sorted. */
export function differing(was: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  return [...new Set([...was.keys(), ...now.keys()])].filter((path) => was.get(path) !== now.get(path)).sort();
}

/** True for a path that is one of these files or lies in one of these folders. */
export const isIn = (path: string, places: readonly string[]): boolean =>
  places.some((place) => path === place || (place.endsWith("/") && path.startsWith(place)));
