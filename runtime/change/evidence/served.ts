/**
 * How much of a recording is still valid for other code: the steps before the first one whose answer depends on the change. The child serves
 * those itself; every later call comes to the host and is judged and computed again.
 */
import { copyFile, mkdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { canonicalJson } from "../../kernel/canonical.ts";
import type { Script } from "../../engine/script.ts";
import type { Json, RunRecord, Step, Tree } from "../../kernel/ports.ts";
import type { Header } from "../../scripts/header.ts";
import { validateInput } from "../../scripts/fields.ts";
import { loadChart } from "../../workspace/books/months.ts";
import { isBank } from "../../workspace/statements/origin.ts";
import { filesIn } from "../../workspace/statements/import-files.ts";
import { CONFIG, IMPORT, IMPORTERS, MAIN_JOURNAL, PROCESSED, STATEMENTS, TOOLS, agentFile } from "../../workspace/layout.ts";
import { isObject } from "../../rules/tools/shape.ts";
import { scratchFolder } from "../../workspace/git/leftovers.ts";
import { treeOver } from "../../workspace/git/tree.ts";
import { readableHeader } from "../checks/reached.ts";
import { changesIn } from "./effects.ts";
import { isRefused, missing } from "./recorded.ts";
import { type TrialEnvironment, changedFiles } from "./trial-environment.ts";
import type { Code, Recording } from "./types.ts";

/**
 * The number of steps, and a folder with the statements of the run if they must be parsed again; the caller removes it.
 * @throws Suspend if such a statement is gone
 */
export async function servedBy(recording: Recording, code: Code, script: Script, bench: TrialEnvironment) {
  const { run, steps } = recording;
  const then = bench.git.tree(run.pin.commit);
  if (!(await hasSameRights(then, run.agent, code, script.header))) return { steps: 0, statements: await rereads(recording, code, bench) };
  const tools = canonicalJson(await then.list(TOOLS)) === canonicalJson(await code.tree.list(TOOLS));
  const laid = await changedFiles(code);
  const texts = await Promise.all([...laid].map(async ([path, text]) => (await then.read(path)) !== text));
  const isChanged = texts.includes(true);
  const statements = !isChanged ? null : await rereads(recording, code, bench);
  // A call that was refused to the old code may be allowed to the new.
  const isOther = (await then.blob(agentFile(run.agent))) !== (await code.tree.blob(agentFile(run.agent)));
  for (const [n, step] of steps.entries()) {
    const isBuiltIn = Object.hasOwn(bench.world.globals, step.name);
    if (!isBuiltIn && tools) continue;
    if (!isBuiltIn) return { steps: n, statements };
    if (isChanged && (await dependsOnFiles(step, bench))) return { steps: n, statements };
    if (isRefused(step) && isOther) return { steps: n, statements };
  }
  return { steps: steps.length, statements };
}

async function dependsOnFiles(step: Step, { world }: TrialEnvironment): Promise<boolean> {
  const { from, effect, access } = await world.primitive(step.name);
  // config.yaml says which model plays a role.
  return effect === "write" || access === "model" || from === "tree" || from === "statement";
}

/**
 * The run's input as a start of this code would take it: values that the old header filled in are left to the new header, as are all
 * defaults of a synthetic run.
 * @throws RUN_INPUT if the header refuses it
 */
export async function inputFor({ input, agent, pin, mode }: RunRecord, code: Code, header: Header, bench: TrialEnvironment): Promise<Json> {
  if (mode === "dry") return validateInput(header, input);
  const then = bench.git.tree(pin.commit);
  if (mode !== "live" || (await then.blob(agentFile(agent))) === (await code.tree.blob(agentFile(agent)))) return input;
  const fields = (await headerAt(then, agent))?.input ?? {};
  const isFilled = ([key, value]: [string, Json]) => canonicalJson(fields[key]?.default ?? null) === canonicalJson(value) && value !== null;
  return validateInput(header, isObject(input) ? Object.fromEntries(Object.entries(input).filter((one) => !isFilled(one))) : input);
}

/** Null for an agent that did not exist, or whose header can no longer be parsed. */
async function headerAt(tree: Tree, agent: string): Promise<Header | null> {
  const file = agentFile(agent);
  return readableHeader((await tree.read(file)) ?? "", file);
}

async function hasSameRights(then: Tree, agent: string, { tree }: Code, now: Header): Promise<boolean> {
  if ((await then.blob(agentFile(agent))) === (await tree.blob(agentFile(agent)))) return true;
  const was = await headerAt(then, agent);
  const rights = ({ machine, mutates, process }: Header) => canonicalJson([machine?.hash ?? null, mutates ?? null, process ?? null]);
  return was?.uses.every((one) => now.uses.includes(one)) === true && rights(was) === rights(now);
}

/** The run's statements in a folder of their own, if the change affects how they are parsed. */
async function rereads({ run, steps }: Recording, code: Code, bench: TrialEnvironment): Promise<string | null> {
  const read = changesIn(steps, "rows");
  if (read.length === 0 || !(await readsOtherwise(bench.git.tree(run.pin.commit), code, bench))) return null;
  const lying = new Map<string, string>();
  for (const folder of [STATEMENTS, IMPORT, PROCESSED])
    for (const { name, hash } of await filesIn(bench.dir, folder)) lying.set(hash, join(bench.dir, folder, name));
  const place = scratchFolder(bench.dir);
  await mkdir(join(place, IMPORT));
  for (const { name, hash } of read) {
    const path = lying.get(hash);
    if (path === undefined) {
      await rm(place, { recursive: true });
      throw missing(`the change alters how statements are read, and ${name} is no longer in ${IMPORT} or ${PROCESSED}`);
    }
    await copyFile(path, join(place, IMPORT, basename(name)));
  }
  return place;
}

async function readsOtherwise(then: Tree, code: Code, bench: TrialEnvironment): Promise<boolean> {
  const files = await changedFiles(code);
  for (const [path, text] of files) if (path.startsWith(IMPORTERS) && (await then.read(path)) !== text) return true;
  if (!files.has(CONFIG) && !files.has(MAIN_JOURNAL)) return false;
  const of = async (tree: Tree) => {
    const { statements, accounts, currency, closed_through } = await bench.config(tree);
    // A statement that names no account belongs to the only bank account.
    const banks = (await loadChart(tree)).accounts.filter(isBank);
    return canonicalJson([statements, accounts, currency, closed_through, banks]);
  };
  return (await of(then)) !== (await of(treeOver(then, files)));
}
