/** A change of files as code to try: which agents it reaches, and which files make one agent. */
import { reachedFiles } from "../checks/reached.ts";
import type { Script } from "../../engine/script.ts";
import type { Sandbox, Tree } from "../../kernel/ports.ts";
import type { Registry } from "../../kernel/registry.ts";
import { AGENTS, TOOLS } from "../../workspace/layout.ts";
import { treeOver } from "../../workspace/git/tree.ts";
import { SETTINGS, isIn } from "./code.ts";
import type { Code } from "./types.ts";

/** The code that a tree has with these files laid over it: text by path, null removes. */
export function codeOver(tree: Tree, files: ReadonlyMap<string, string | null>): Code {
  return { tree: treeOver(tree, files), changed: [...files.keys()].filter((path) => isIn(path, SETTINGS)) };
}

/** Names of the tree's agents whose runs could come out differently by a change of these paths. */
export async function reachedBy(
  paths: readonly string[],
  tree: Tree,
  bench: { sandbox: Pick<Sandbox, "compile">; registry: { whole(): Promise<Registry> } },
): Promise<string[]> {
  const registry = await bench.registry.whole();
  return (await reachedFiles(tree, paths, bench.sandbox, registry)).map((file) => file.slice(AGENTS.length).replace(/\.ts$/, ""));
}

/** The files of an agent's script: its own, its sub-scripts, and those that declare the tools of its commit. */
export async function filesOf({ main, scripts, tools }: Script, tree: Tree): Promise<string[]> {
  const declared = Object.keys(tools).length === 0 ? [] : await tree.list(TOOLS);
  return [main.file, ...Object.values(scripts).map(({ file }) => file), ...declared.map(({ path }) => path)];
}
