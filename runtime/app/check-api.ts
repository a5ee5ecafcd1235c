/** `cleared check` on a host: the files a person has changed, laid over HEAD, in every check that needs no proposal. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { STATIC_CHECKS, checkScript, runChecks, sinceBase } from "../change/checks/pipeline.ts";
import type { CheckResult, Subject } from "../change/checks/findings.ts";
import { warmCompiler } from "../change/checks/compiler.ts";
import { agentFiles, closuresOf, reachedFiles } from "../change/checks/reached.ts";
import { createCards } from "../engine/store/cards.ts";
import { Database } from "../engine/store/database.ts";
import { createEngine } from "../engine/store/sqlite.ts";
import { ClearedError, findingError } from "../kernel/errors.ts";
import { withTools } from "../engine/tool-scripts.ts";
import type { TrialEnvironment } from "../change/evidence/trial-environment.ts";
import { caseFiles } from "../change/evidence/cases.ts";
import { dryChecks, dryRunsOf } from "../change/evidence/synthetic.ts";
import type { Finding, Tree } from "../kernel/ports.ts";
import { scheduleProblem } from "../outside/triggers/cron.ts";
import { IMPORTERS, POLICIES, STORE, agentFile } from "../workspace/layout.ts";
import { treeOver } from "../workspace/git/tree.ts";
import type { Host } from "./host.ts";
import { noteChecked } from "./marks.ts";

export interface CheckedTree {
  /** The commit of the branch under the files. */
  on: string;
  /** The files that were checked, edited or not. */
  paths: string[];
  agents: string[];
  checks: CheckResult[];
  dryRun: { agent: string; lines: string[] }[];
}

/** The subject of checks, including those of a proposal. `all`: every agent, reached or not. `edited`: unless the paths are all that differs. */
export async function subjectOf(
  host: Host,
  base: Tree,
  tree: Tree,
  paths: readonly string[],
  { all = false, edited = paths }: { all?: boolean; edited?: readonly string[] } = {},
): Promise<Subject> {
  const { sandbox, trust } = host;
  const registry = await withTools(await host.registry.whole(), tree, sandbox);
  const files = all ? await agentFiles(tree) : await reachedFiles(tree, paths, sandbox, registry, base);
  const also = all ? await settingsFiles(tree) : [];
  return {
    ...{ base, tree, paths, edited, files, also, registry, trust, sandbox },
    config: (at) => host.config(at),
    scheduleProblem: (schedule) => scheduleProblem(schedule, host.clock.now()),
  };
}

async function settingsFiles(tree: Tree): Promise<string[]> {
  const lists = await Promise.all([POLICIES, IMPORTERS].map((folder) => tree.list(folder)));
  return lists.flat().map(({ path }) => path);
}

/** What is wrong with config.yaml, policies/ and importers/ of a commit. `config`: its settings, or a throw of why it has none. */
export async function settingsFindings(
  tree: Tree,
  { config, ...around }: Pick<Subject, "sandbox" | "trust" | "registry" | "config">,
): Promise<Finding[]> {
  const also = await settingsFiles(tree);
  const looks = STATIC_CHECKS.filter(({ name }) => name === "config" || name === "policies" || name === "importers");
  const scheduleProblem = async () => null;
  const checks = await runChecks({ base: tree, tree, paths: [], edited: [], files: [], also, ...around, config, scheduleProblem }, looks);
  return checks.flatMap(({ findings }) => findings.filter((one) => one.remark !== true));
}

/** The host with the recorded runs of its workspace: an in-memory host has none, so it reads the workspace's store. */
export async function withRecordings<T>(host: Host, work: (bench: TrialEnvironment) => Promise<T>): Promise<T> {
  const store = join(host.dir, STORE);
  const isOwner = host.database.epoch !== null;
  if (isOwner || !existsSync(store)) return work(host);
  const database = new Database(store);
  try {
    const engine = createEngine(database, host.clock, () => undefined, host.packing.archive);
    return await work({ ...host, engine, cards: createCards(database) });
  } finally {
    database.close();
  }
}

/**
 * Checks files laid over HEAD; every agent if there are none, or with `all`. only: restricts it to these paths and folders, edited or not.
 * `onlyNew`: findings that HEAD has as well do not fail it. @throws FILE_MISSING for a path that does not exist
 */
export async function checkFiles(
  host: Host,
  { files, all, only, onlyNew = false }: { files: Record<string, string | null>; all: boolean; only?: string[]; onlyNew?: boolean },
): Promise<CheckedTree> {
  warmCompiler();
  const base = host.git.tree(await host.git.head());
  const tree = treeOver(base, new Map(Object.entries(files)));
  const paths = only === undefined ? Object.keys(files) : await pathsIn(only, tree, Object.keys(files));
  const subject = await subjectOf(host, base, tree, paths, { all: all || paths.length === 0, edited: Object.keys(files) });
  const { checks, dryRun } = await withRecordings(host, async (bench) => {
    const own = [...STATIC_CHECKS, caseFiles(bench), ...dryChecks(bench)];
    return {
      checks: await runChecks(subject, onlyNew ? sinceBase(own, () => subjectOf(host, base, base, paths)) : own),
      dryRun: (await dryRunsOf(subject, bench)).map(({ agent, lines }) => ({ agent, lines })),
    };
  });
  await noteSubject(host, subject, checks);
  return { on: base.commit, paths, agents: subject.files.map((file) => file.replace(/^.*\/|\.ts$/g, "")).sort(), checks, dryRun };
}

/** The files named: a path, or everything in a folder. @throws FILE_MISSING */
async function pathsIn(words: readonly string[], tree: Tree, changed: readonly string[]): Promise<string[]> {
  const found = words.map(async (word) => {
    const below = (await tree.list(`${word}/`)).map(({ path }) => path);
    const paths = [
      ...below,
      ...changed.filter((path) => path === word || path.startsWith(`${word}/`)),
      ...((await tree.blob(word)) === null ? [] : [word]),
    ];
    if (paths.length > 0) return paths;
    throw new ClearedError("FILE_MISSING", `${word} is not a file that is checked. \`cleared check --all\` checks every agent.`);
  });
  return [...new Set((await Promise.all(found)).flat())].sort();
}

/** Records the results for the checked agents, for commands that show their state. */
export async function noteSubject(host: Host, { tree, sandbox, registry, files }: Subject, checks: readonly CheckResult[]): Promise<void> {
  await noteChecked(host.dir, tree, checks, await closuresOf(tree, files, { sandbox, names: registry.names() }));
}

/** Checks one agent at HEAD. */
export async function checkAgent(host: Host, name: string): Promise<void> {
  const tree = host.git.tree(await host.git.head());
  const subject = { ...(await subjectOf(host, tree, tree, [])), files: [agentFile(name)] };
  await noteSubject(host, subject, await runChecks(subject, [...STATIC_CHECKS, ...dryChecks(host)]));
}

/**
 * The checks of a script before it runs at a person's request: language, names, capabilities, states, types and money, with its sub-scripts.
 * @throws SCRIPT_* with the first finding, which carries all of them
 */
export async function checkSource(host: Host, file: string, text: string): Promise<void> {
  const tree = treeOver(host.git.tree(await host.git.head()), new Map([[file, text]]));
  const findings = await findingsOf(tree, file, host);
  if (findings.length > 0) throw findingError(findings, file);
}

/** All findings of a script in a tree, in line order. */
export async function findingsOf(
  tree: Tree,
  file: string,
  { sandbox, trust, registry }: Pick<Host, "sandbox" | "trust"> & { registry: Pick<Host["registry"], "whole"> },
): Promise<Finding[]> {
  return checkScript({ tree, sandbox, trust, registry: await withTools(await registry.whole(), tree, sandbox) }, file);
}
