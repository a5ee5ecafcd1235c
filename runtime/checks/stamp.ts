/**
 * What an agent is made of, as one hash: whoever knows that this code has passed its checks knows it by this name. Read from texts alone,
 * so that listing agents compiles nothing; a script that might be called counts as called.
 */
import { createHash } from "node:crypto";
import type { Tree } from "../ports.ts";
import { API } from "../primitive.ts";
import { AGENTS, SCRIPTS, TOOLS } from "../workspace/layout.ts";

interface Source {
  text: string;
  blob: string;
}

/** By file of each agent of the tree. */
export async function stampsOf(tree: Tree): Promise<Map<string, string>> {
  const [agents, scripts] = await Promise.all([AGENTS, SCRIPTS].map((folder) => sourcesIn(tree, folder)));
  if (agents === undefined || scripts === undefined) return new Map();
  const names = [...scripts.keys()];
  // A name can be written so that its letters are not in the text; a file that has escapes may call anything.
  const calledIn = ({ text }: Source) => names.filter((path) => /\\[xu\d]/.test(text) || text.includes(wordOf(path)));
  return new Map(
    [...agents].map(([file, source]) => {
      const reached = new Map([[file, source]]);
      const queue = calledIn(source);
      for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
        const found = scripts.get(path);
        if (reached.has(path) || found === undefined) continue;
        reached.set(path, found);
        queue.push(...calledIn(found));
      }
      const parts = [...reached].map(([path, { blob }]) => `${path} ${blob}`).sort();
      return [
        file,
        createHash("sha256")
          .update([`api ${API}`, ...parts].join("\n"))
          .digest("hex"),
      ];
    }),
  );
}

async function sourcesIn(tree: Tree, folder: string): Promise<Map<string, Source>> {
  const files = (await tree.list(folder)).filter(({ path }) => path.endsWith(".ts"));
  return new Map(await Promise.all(files.map(async ({ path, blob }) => [path, { blob, text: (await tree.read(path)) ?? "" }] as const)));
}

/** What a caller has to write: `days` for scripts/days.ts, `compute_split` for a tool. */
const wordOf = (path: string): string =>
  path.startsWith(TOOLS) ? `compute_${path.slice(TOOLS.length, -3)}` : path.slice(SCRIPTS.length, -3);
