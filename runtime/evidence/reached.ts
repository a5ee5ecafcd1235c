/** Which files decide what an agent does, and so which agents a change of files reaches. */
import type { Script } from "../engine/script.ts";
import { ClearedError } from "../errors.ts";
import type { Tree } from "../ports.ts";
import { AGENTS, CONFIG, IMPORTERS, POLICIES, SCRIPTS, agentFile } from "../workspace/layout.ts";
import type { Bench } from "./bench.ts";

const TOOLS = `${SCRIPTS}tools/`;

/** The agent's own file, its sub-scripts, and the tools its commit declares that it calls. @throws SCRIPT_* */
export async function closureOf(tree: Tree, agent: string, bench: Pick<Bench, "scriptIn">): Promise<string[]> {
  return filesIn(await bench.scriptIn(tree, agent));
}

function filesIn({ main, scripts, tools }: Script): string[] {
  const called = new Set([main, ...Object.values(scripts)].flatMap(({ calls }) => calls.map(({ name }) => name)));
  const declared = Object.keys(tools).filter((name) => called.has(name));
  return [main.file, ...Object.values(scripts).map(({ file }) => file), ...declared.map((name) => `${TOOLS}${name}.ts`)];
}

/** Agents of the tree whose runs these changed paths could make come out differently, by name. One that does not compile is only told by its own file. */
export async function reachedBy(paths: readonly string[], tree: Tree, bench: Pick<Bench, "scriptIn">): Promise<string[]> {
  const agents = (await tree.list(AGENTS)).map(({ path }) => path.slice(AGENTS.length).replace(/\.ts$/, ""));
  const reached: string[] = [];
  for (const agent of agents) if (await isReached(agent, paths, tree, bench)) reached.push(agent);
  return reached;
}

async function isReached(agent: string, paths: readonly string[], tree: Tree, bench: Pick<Bench, "scriptIn">): Promise<boolean> {
  if (paths.includes(agentFile(agent)) || paths.includes(CONFIG)) return true;
  let script: Script;
  try {
    script = await bench.scriptIn(tree, agent);
  } catch (error) {
    if (error instanceof ClearedError && error.code.startsWith("SCRIPT_")) return paths.some((path) => path.startsWith(SCRIPTS));
    throw error;
  }
  const { header } = script;
  const calls = [script.main, ...Object.values(script.scripts)].flatMap((one) => one.calls);
  if (filesIn(script).some((file) => paths.includes(file))) return true;
  // What a script reads of a statement follows from how it is read.
  if (header.uses.includes("importer") && paths.some((path) => path.startsWith(IMPORTERS))) return true;
  const judging = calls.filter(({ keys, given }) => keys === null || keys.includes("facts") || given["policy"] !== undefined);
  const policies = paths.filter((path) => path.startsWith(POLICIES)).map((path) => path.slice(POLICIES.length).replace(/\.yaml$/, ""));
  if (policies.length === 0 || !header.uses.includes("policy") || judging.length === 0) return false;
  const named = judging.flatMap(({ given }) => given["policy"] ?? []);
  const isComputed = judging.some(({ keys, given }) => keys === null || (keys.includes("policy") && given["policy"] === undefined));
  return isComputed || policies.some((name) => name === (header.process ?? agent) || named.includes(name));
}
