/**
 * Which agents a change reaches: those whose script, sub-scripts, policy, settings or dialects are among the changed files. Scripts are
 * followed through what the compiler found, so a name that is spelled in an odd way is still found.
 */
import type { Sandbox, Tree } from "../ports.ts";
import type { Registry } from "../registry.ts";
import { parseHeader } from "../sandbox/header.ts";
import { AGENTS, CONFIG, IMPORTERS, SCRIPTS, policyFile, scriptFile } from "../workspace/layout.ts";

export interface Compiling {
  sandbox: Pick<Sandbox, "compile">;
  /** Names of all primitives. */
  names: readonly string[];
}

/** A script file with all it calls, by path; what cannot be compiled calls nothing. `uses` and `policies` are those of its calls. */
export interface Closure {
  file: string;
  paths: string[];
  calls: Set<string>;
  policies: Set<string>;
}

/** The agents of a tree, each with what it is made of. */
export async function closuresOf(tree: Tree, compiling: Compiling): Promise<Closure[]> {
  const agents = (await tree.list(AGENTS)).filter(({ path }) => path.endsWith(".ts"));
  return Promise.all(agents.map(({ path }) => closureOf(tree, path, compiling)));
}

async function closureOf(tree: Tree, file: string, { sandbox, names }: Compiling): Promise<Closure> {
  const paths: string[] = [];
  const calls = new Set<string>();
  const policies = new Set<string>();
  const queue = [file];
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    if (paths.includes(path)) continue;
    paths.push(path);
    const [source, blob] = await Promise.all([tree.read(path), tree.blob(path)]);
    if (source === null || blob === null) continue;
    const { compiled } = await sandbox.compile(source, { file: path, blob, lint: true, primitives: names });
    for (const { name, given } of compiled?.calls ?? []) {
      calls.add(name);
      if (given["policy"] !== undefined) policies.add(policyFile(given["policy"]));
    }
    queue.push(...(compiled?.scripts ?? []).map(scriptFile));
  }
  policies.add(policyFile(processOf((await tree.read(file)) ?? "", file)));
  return { file, paths, calls, policies };
}

function processOf(source: string, file: string): string {
  const name = file.replace(/^.*\/|\.ts$/g, "");
  try {
    return parseHeader(source, file).process ?? name;
  } catch {
    return name; // a header that cannot be read is the header check's to tell
  }
}

/** Files of the agents that these paths reach, those that the tree has. */
export function reachedOf(closures: readonly Closure[], changed: readonly string[], registry: Registry): string[] {
  const has = (test: (path: string) => boolean) => changed.some(test);
  return closures
    .filter(
      ({ paths, calls, policies }) =>
        has((path) => paths.includes(path) || policies.has(path) || path === CONFIG) ||
        (has((path) => path.startsWith(IMPORTERS)) &&
          [...calls].some((name) => registry.has(name) && registry.get(name).domain === "importer")) ||
        (has((path) => path.startsWith(`${SCRIPTS}tools/`)) &&
          [...calls].some((name) => changed.includes(`${SCRIPTS}tools/${name.replace(/^compute_/, "")}.ts`))),
    )
    .map(({ file }) => file);
}
