/**
 * A copied workspace does not believe the cache that came with it, so its owner would check every agent again: seconds of CPU after each
 * `cleared start`. What the template's `init` has noted is noted in the copy anew.
 */
import { stampsOf } from "../runtime/change/checks/reached.ts";
import { withGit } from "../runtime/workspace/git/git.ts";
import { cacheOf } from "../runtime/workspace/own-folders.ts";

const stamps = new Map<string, Promise<string[]>>();

export async function keepMarks(template: string, copy: string): Promise<void> {
  const known =
    stamps.get(template) ?? withGit(template, "main", async (git) => [...(await stampsOf(git.tree(await git.head()))).values()]);
  stamps.set(template, known);
  const cache = cacheOf(copy);
  for (const stamp of await known) cache.put(JSON.stringify({ findings: 0, first: null }), "checked", stamp);
}
