/**
 * What agents consist of, and which of them a change reaches: those whose script, sub-scripts, policy, settings or dialects are among the
 * changed files. Scripts are followed through the compiler's output, so an unusual spelling of a name is found. What an agent might consist of
 * is read from text only, without compiling: a script whose name occurs in the text counts as called.
 */
import { Kept } from "../../kernel/kept.ts";
import { createHash } from "node:crypto";
import type { Json, Sandbox, Tree } from "../../kernel/ports.ts";
import { API } from "../../kernel/primitive.ts";
import type { Registry } from "../../kernel/registry.ts";
import {
  AGENTS,
  CONFIG,
  IMPORTERS,
  POLICIES,
  SCRIPTS,
  TOOLS,
  agentFile,
  policyFile,
  scriptFile,
  toolFile,
  toolOf,
} from "../../workspace/layout.ts";
import { treeOver } from "../../workspace/git/tree.ts";
import { type Header, parseHeader } from "../../scripts/header.ts";
import { readYaml } from "../../scripts/yaml-text.ts";
import { isObject } from "../../rules/tools/shape.ts";
import { textAt } from "./findings.ts";

export interface Compiling {
  sandbox: Pick<Sandbox, "compile">;
  /** Names of all primitives. */
  names: readonly string[];
}

/** A script file with everything it calls, by path; a file that does not compile calls nothing. `uses` and `policies`: those of its calls. */
export interface Closure {
  file: string;
  paths: string[];
  calls: Set<string>;
  /** Its calls with their fixed key: `config_get thresholds.x`; without one if it is computed; UNREAD among them. */
  keys: Set<string>;
  policies: Set<string>;
}

/** Stands for the calls of a file that does not compile: it may read any setting. */
const UNREAD = "?";

/** The calls of one file, independent of the caller. */
interface FileFacts {
  calls: string[];
  keys: string[];
  scripts: string[];
  policies: string[];
}

// By sandbox and content: compiling unchanged files again took longer than all checks of the changed one.
const known = new WeakMap<Compiling["sandbox"], Kept<string, Promise<FileFacts>>>();

/** These agents of a tree, each with what it consists of. */
export async function closuresOf(tree: Tree, files: readonly string[], { sandbox, names: primitives }: Compiling): Promise<Closure[]> {
  const tools = (await tree.list(TOOLS)).flatMap(({ path }) => toolOf(path) ?? []);
  const names = [...new Set([...primitives, ...tools])];
  const facts = known.getOrInsertComputed(sandbox, () => new Kept(5000));
  const under = createHash("sha256").update(names.join("\n")).digest("hex");
  const read = async (path: string): Promise<FileFacts | null> => {
    const blob = await tree.blob(path);
    return blob === null ? null : facts.of(`${under} ${path} ${blob}`, () => factsOf(tree, path, blob, { sandbox, names, tools }));
  };
  return Promise.all(files.map((file) => closureOf(file, read)));
}

/** All files of a tree that are agents. */
export async function agentFiles(tree: Tree): Promise<string[]> {
  return (await tree.list(AGENTS)).map(({ path }) => path).filter((path) => path.endsWith(".ts"));
}

async function closureOf(file: string, read: (path: string) => Promise<FileFacts | null>): Promise<Closure> {
  const paths: string[] = [];
  const [calls, keys, policies] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const queue = [file];
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    if (paths.includes(path)) continue;
    paths.push(path);
    const facts = await read(path);
    for (const name of facts?.calls ?? []) calls.add(name);
    for (const key of facts?.keys ?? []) keys.add(key);
    for (const policy of facts?.policies ?? []) policies.add(policy);
    queue.push(...(facts?.scripts ?? []));
  }
  return { file, paths, calls, keys, policies };
}

async function factsOf(
  tree: Tree,
  path: string,
  blob: string,
  { sandbox, names, tools }: Compiling & { tools: readonly string[] },
): Promise<FileFacts> {
  const source = await textAt(tree, path);
  const { compiled } = await sandbox.compile(source, { file: path, blob, lint: true, primitives: names });
  const calls = compiled?.calls ?? [];
  const named = calls.flatMap(({ given }) => given["policy"] ?? []);
  return {
    calls: calls.map(({ name }) => name),
    keys: compiled === null ? [UNREAD] : calls.map(({ name, given }) => `${name} ${given[""] ?? given["key"] ?? ""}`),
    // A tool is a part of its caller, like a sub-script.
    scripts: [
      ...(compiled?.scripts ?? []).map(scriptFile),
      ...calls.filter(({ name }) => tools.includes(name)).map(({ name }) => toolFile(name)),
    ],
    policies: [
      ...named,
      ...(path.startsWith(AGENTS) ? [readableHeader(source, path)?.process ?? path.replace(/^.*\/|\.ts$/g, "")] : []),
    ].map(policyFile),
  };
}

/** Files of the agents that a change of these paths reaches and the tree has. `base`: the state in force, to find changed settings. */
export async function reachedFiles(
  tree: Tree,
  changed: readonly string[],
  sandbox: Compiling["sandbox"],
  registry: Registry,
  base: Tree | null = null,
) {
  const candidates = await mightReach(await withRemoved(tree, changed), changed);
  // The whole base is compared: a change may reach any of it.
  const settings = base !== null && base !== tree && changed.includes(CONFIG) ? await settingsApart(base, tree) : null;
  return reachedOf(await closuresOf(tree, candidates, { sandbox, names: registry.names() }), changed, registry, settings);
}

/** Agents that a setting reaches other than by its key: the domain that uses it, null for no run. Any other setting reaches every run. */
const WORKS_BY: [RegExp, string | null][] = [
  [/^(?:business|thresholds|settings|changes|history|callers|web)(?:\.|$)/, null],
  [/^(?:import|statements)(?:\.|$)/, "importer"],
  [/^notify(?:\.|$)/, "notify"],
];

/** Keys of config.yaml, two levels deep, that differ; null if they cannot be compared. */
async function settingsApart(base: Tree, tree: Tree): Promise<string[] | null> {
  const read = async (one: Tree) =>
    readYaml((await one.read(CONFIG)) ?? "", { file: CONFIG, code: "CONFIG_INVALID", maxLength: 262_144 }).value as Json;
  const apart = (was: Json | undefined, now: Json | undefined, key: string): string[] => {
    if (JSON.stringify(was) === JSON.stringify(now)) return [];
    if (!isObject(was) || !isObject(now) || key.includes(".")) return [key];
    return Object.keys({ ...was, ...now }).flatMap((name) => apart(was[name], now[name], key === "" ? name : `${key}.${name}`));
  };
  try {
    return apart(await read(base), await read(tree), "");
  } catch {
    return null;
  }
}

/** A removed script is still called by its name. */
async function withRemoved(tree: Tree, changed: readonly string[]): Promise<Tree> {
  const gone = await Promise.all(changed.map(async (path) => (path.startsWith(SCRIPTS) && (await tree.blob(path)) === null ? [path] : [])));
  return gone.flat().length === 0 ? tree : treeOver(tree, new Map(gone.flat().map((path) => [path, ""])));
}

/** Those agent files that a change of these paths reaches. `settings`: the changed keys of config.yaml, null for any. */
export function reachedOf(
  closures: readonly Closure[],
  changed: readonly string[],
  registry: Registry,
  settings: readonly string[] | null = null,
): string[] {
  const has = (test: (path: string) => boolean) => changed.some(test);
  const isIn = (domain: string) => (name: string) => registry.has(name) && registry.get(name).domain === domain;
  const uses = ({ calls }: Closure, domain: string) => [...calls].some(isIn(domain));
  const isPart = (key: string, of: string) => of === "" || key === of || key.startsWith(`${of}.`);
  const goesBy = (one: Closure, key: string): boolean => {
    const [, domain] = WORKS_BY.find(([what]) => what.test(key)) ?? [];
    if (domain === undefined || one.keys.has(UNREAD) || (domain !== null && uses(one, domain))) return true;
    const read = [...one.keys].map((word) => word.split(" ") as [string, string]).filter(([name]) => isIn("config")(name));
    return read.some(([, word]) => isPart(key, word) || isPart(word, key));
  };
  return closures
    .filter(
      (one) =>
        has((path) => one.paths.includes(path) || one.policies.has(path)) ||
        (has((path) => path === CONFIG) && (settings?.some((key) => goesBy(one, key)) ?? true)) ||
        (has((path) => path.startsWith(IMPORTERS)) && uses(one, "importer")),
    )
    .map(({ file }) => file);
}

const kept = new Kept<string, { header: Header } | { error: unknown }>(1000);

/** Callers must not change it. @throws what parseHeader throws */
export function headerOf(source: string, file: string): Header {
  const found = kept.of(createHash("sha256").update(file).update("\0").update(source).digest("base64"), () => {
    try {
      return { header: parseHeader(source, file) };
    } catch (error) {
      return { error };
    }
  });
  if ("error" in found) throw found.error;
  return found.header;
}

/** Null for a header that cannot be parsed; the header check reports it. */
export function readableHeader(source: string, file: string): Header | null {
  try {
    return headerOf(source, file);
  } catch {
    return null;
  }
}

interface Source {
  text: string;
  blob: string;
}

// By content: all scripts of a workspace are scanned each time its agents are listed.
const called = new Kept<string, string[]>(2000);
// Escapes can spell a name without its letters, so a file with escapes may call anything.
const ESCAPES = /\\[xu\d]/;

/** By file of each agent in the tree, a hash that identifies all code it consists of, for code that has passed its checks. */
export async function stampsOf(tree: Tree): Promise<Map<string, string>> {
  const stampOf = (parts: ReadonlyMap<string, Source>): string => {
    const lines = [...parts].map(([path, { blob }]) => `${path} ${blob}`).sort();
    return createHash("sha256")
      .update([`api ${API}`, ...lines].join("\n"))
      .digest("hex");
  };
  return new Map([...(await mightCall(tree))].map(([file, parts]) => [file, stampOf(parts)]));
}

/** Agents that these paths might reach; any other agent is certainly not reached. */
async function mightReach(tree: Tree, paths: readonly string[]): Promise<string[]> {
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

/** Each agent with the files it might call, including itself. Scripts that do not exist count by their name. */
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
  return new Map(await Promise.all(files.map(async ({ path, blob }) => [path, { blob, text: await textAt(tree, path) }] as const)));
}

/** The word a caller must contain: `days` for scripts/days.ts, `compute_split` for a tool. */
const wordOf = (path: string): string =>
  path.startsWith(TOOLS) ? `compute_${path.slice(TOOLS.length, -3)}` : path.slice(SCRIPTS.length, -3);
