/**
 * What an agent might be made of, read from texts alone, so that nothing is compiled for it: a script whose name is in the text counts as
 * called. As one hash it is the name by which code is known to have passed its checks.
 */
import { Kept } from "../../kernel/kept.ts";
import { createHash } from "node:crypto";
import type { Tree } from "../../kernel/ports.ts";
import { API } from "../../kernel/primitive.ts";
import { AGENTS, CONFIG, IMPORTERS, POLICIES, SCRIPTS, TOOLS, agentFile } from "../../workspace/layout.ts";

interface Source {
  text: string;
  blob: string;
}

// By content: a workspace's scripts are looked through each time its agents are listed.
const called = new Kept<string, string[]>(2000);
// A name can be written so that its letters are not in the text; a file that has escapes may call anything.
const ESCAPES = /\\[xu\d]/;

/** By file of each agent of the tree. */
export async function stampsOf(tree: Tree): Promise<Map<string, string>> {
  const stampOf = (parts: ReadonlyMap<string, Source>): string => {
    const lines = [...parts].map(([path, { blob }]) => `${path} ${blob}`).sort();
    return createHash("sha256")
      .update([`api ${API}`, ...lines].join("\n"))
      .digest("hex");
  };
  return new Map([...(await mightCall(tree))].map(([file, parts]) => [file, stampOf(parts)]));
}

/** Agents that these paths might reach; what certainly is not among them is not reached. */
export async function mightReach(tree: Tree, paths: readonly string[]): Promise<string[]> {
  const words = paths.flatMap((path) =>
    path.startsWith(POLICIES) ? [path.slice(POLICIES.length, -5)] : path.startsWith(IMPORTERS) ? ["importer_"] : [],
  );
  const reached = [...(await mightCall(tree))].filter(
    ([file, parts]) =>
      paths.some((path) => path === CONFIG || parts.has(path)) ||
      [...parts.values()].some(({ text }) => words.some((word) => file === agentFile(word) || text.includes(word) || ESCAPES.test(text))),
  );
  return reached.map(([file]) => file);
}

/** Each agent with the files it might call, itself among them. Scripts that are not there count by their name. */
async function mightCall(tree: Tree): Promise<Map<string, Map<string, Source>>> {
  const [agents, scripts] = await Promise.all([AGENTS, SCRIPTS].map((folder) => sourcesIn(tree, folder)));
  if (agents === undefined || scripts === undefined) return new Map();
  const names = [...scripts.keys()];
  const under = names.join("\n");
  const calledIn = ({ text, blob }: Source): string[] =>
    called.of(`${blob} ${under}`, () => (ESCAPES.test(text) ? names : names.filter((path) => text.includes(wordOf(path)))));
  return new Map(
    [...agents].map(([file, source]) => {
      const reached = new Map([[file, source]]);
      const queue = [...calledIn(source)];
      for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
        const found = scripts.get(path);
        if (reached.has(path) || found === undefined) continue;
        reached.set(path, found);
        queue.push(...calledIn(found));
      }
      return [file, reached];
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
