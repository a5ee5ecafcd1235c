/**
 * The scripts of the agents under check, read and compiled once for all checks. All findings about headers, language, names, capabilities and
 * states are collected here, and one unreadable agent does not keep the others from being checked.
 */
import { onCode } from "../../kernel/errors.ts";
import type { Compiled, Finding, Tree } from "../../kernel/ports.ts";
import { type Header, hasHeader } from "../../scripts/header.ts";
import { AGENTS, SCRIPTS, agentOf, misnamed, scriptFile } from "../../workspace/layout.ts";
import { type Found, type Subject, findingsIn } from "./findings.ts";
import { headerOf } from "./reached.ts";
import { type ScriptToCheck, lintCalls, lintPlanned, lintScripts } from "./lint.ts";
import { toolClassIn, type StateScript, type ToolClassOf, accessOf } from "./states.ts";
import type { Registry } from "../../kernel/registry.ts";
import type { Trust } from "../../workspace/settings/config.ts";

export interface AgentScripts {
  agent: string;
  file: string;
  header: Header | null;
  /** The agent's own script first; null if any of them cannot be read or compiled. */
  scripts: ScriptToCheck[] | null;
}

export interface ReadScripts {
  agents: AgentScripts[];
  /** Each file that compiles, once. */
  files: ScriptToCheck[];
  findings: Found[];
}

/** The part of a subject that scripts depend on. */
export type ScriptSubject = Pick<Subject, "tree" | "paths" | "files" | "registry" | "trust" | "sandbox">;

type Compile = (path: string, from: string) => Promise<{ source: string; compiled: Compiled } | null>;

const TOOLS = `${SCRIPTS}tools/`;

/** All scripts of the subject: its agents with what they call, and changed scripts that no agent calls. Cached. */
export const readScripts = (subject: ScriptSubject): Promise<ReadScripts> => read.getOrInsertComputed(subject, readAll);

const read = new WeakMap<ScriptSubject, Promise<ReadScripts>>();

async function readAll(subject: ScriptSubject): Promise<ReadScripts> {
  const { tree, registry, trust } = subject;
  const findings: Found[] = [];
  const compile = compiling(subject, findings);
  const names = (await tree.list(AGENTS)).map(({ path }) => agentOf(path));
  const around = { registry, agents: names, toolClass: toolClassIn(trust) };
  const agents = await Promise.all(subject.files.map((file) => readAgent(tree, file, compile, findings)));
  for (const { scripts, header, file } of agents) {
    if (scripts === null) continue;
    if (header === null) {
      // Rights and states come from the header; without it only names and keys can be checked.
      findings.push(...scripts.flatMap(({ calls }) => lintCalls(calls, null, registry)));
      continue;
    }
    findings.push(...lintScripts(scripts, around), ...lintMachine(header, file, scripts, registry, trust));
    findings.push(...lintHidden(scripts, registry, around.toolClass), ...scripts.flatMap(({ planned }) => lintPlanned(planned ?? [])));
  }
  const files = new Map(agents.flatMap(({ scripts }) => scripts ?? []).map((one) => [one.file, one]));
  for (const file of subject.paths.filter((path) => path.startsWith(SCRIPTS) && path.endsWith(".ts") && !path.startsWith(TOOLS))) {
    if (files.has(file) || (await tree.blob(file)) === null) continue;
    const found = await compile(file, file);
    if (found === null) continue;
    files.set(file, { ...found.compiled, source: found.source, header: null, name: "" });
    findings.push(...lintCalls(found.compiled.calls, null, registry));
  }
  return { agents, files: [...files.values()], findings };
}

async function readAgent(tree: Tree, file: string, compile: Compile, findings: Found[]): Promise<AgentScripts> {
  const agent = file.replace(/^.*\/|\.ts$/g, "");
  const main = await compile(file, file);
  const source = await tree.read(file).catch(onCode("FILE_TOO_LARGE", () => null));
  const header = source === null ? null : readHeader(source, file, findings);
  if (main === null) return { agent, file, header, scripts: null };
  const scripts: ScriptToCheck[] = [{ ...main.compiled, source: main.source, header, name: "" }];
  let whole = true;
  const seen = new Set<string>();
  for (const queue = [...main.compiled.scripts]; queue.length > 0; ) {
    const name = queue.pop() ?? "";
    if (seen.has(name)) continue;
    seen.add(name);
    const path = scriptFile(name);
    const sub = await compile(path, file);
    whole &&= sub !== null;
    if (sub === null) continue;
    scripts.push({ ...sub.compiled, source: sub.source, header: null, name });
    queue.push(...sub.compiled.scripts);
  }
  return { agent, file, header, scripts: whole ? scripts : null };
}

function readHeader(source: string, file: string, findings: Found[]): Header | null {
  const message = file.startsWith(AGENTS) ? misnamed(file) : null;
  if (message !== null) findings.push({ code: "SCRIPT_HEADER", at: { file, line: 1 }, message });
  try {
    return headerOf(source, file);
  } catch (error) {
    findings.push(...findingsIn(error, file));
    return null;
  }
}

/** Compiles each file once and collects the findings. */
function compiling({ tree, sandbox, registry }: ScriptSubject, findings: Found[]): Compile {
  const known = new Map<string, ReturnType<Compile>>();
  const primitives = registry.names();
  const once = async (path: string, from: string): ReturnType<Compile> => {
    const [source, blob] = await Promise.all([tree.read(path), tree.blob(path)]);
    if (source === null || blob === null) {
      const message = `${path} does not exist${path === from ? "" : `, and ${from} calls it`}. Add the file, or correct the name.`;
      findings.push({ code: "SCRIPT_MISSING", at: { file: from }, message });
      return null;
    }
    const result = await sandbox.compile(source, { file: path, blob, lint: true, primitives });
    findings.push(...result.findings);
    if (path.startsWith(SCRIPTS) && hasHeader(source)) readHeader(source, path, findings);
    return result.compiled === null || result.findings.length > 0 ? null : { source, compiled: result.compiled };
  };
  const refused = (path: string) => onCode("FILE_TOO_LARGE", (error) => void findings.push(...findingsIn(error, path)));
  return (path, from) => known.getOrInsertComputed(path, async () => (await once(path, from).catch(refused(path))) ?? null);
}

/**
 * Requirements on a machine beyond its own order (runtime/kernel/states.ts): figures are based on data that was read, irreversible acts have a
 * gate, and a process with a risk level describes each state. Source: spec/worker.md 5 (R).
 * Findings FSM_MACHINE about an agent that its header alone does not show.
 */
function lintMachine(
  header: Header,
  file: string,
  scripts: readonly StateScript[],
  registry: Registry,
  trust: Pick<Trust, "mcp">,
): Finding[] {
  if (header.machine === null) return [];
  const { machine, risk } = header;
  const names = machine.states.map(({ state }) => state);
  const problems: string[] = [];
  if (names.includes("COMPUTE") && !names.includes("ASSESS"))
    problems.push("COMPUTE needs ASSESS before it: figures are based on what was read. Add ASSESS");
  const silent = machine.states.filter(({ state, line }) => line === "" && state !== "DECOMPOSE" && state !== "COMPLETE");
  if (risk !== undefined && silent.length > 0)
    problems.push(
      `the header names a risk, so each state says what happens in it. Write a line for ${silent.map(({ state }) => state).join(", ")}`,
    );
  const final = names.includes("MUTATE") && !names.includes("APPROVAL_GATE") ? irreversible(scripts, registry, trust) : null;
  if (final !== null)
    problems.push(`${final} cannot be undone or read back, so a person is asked first. Add APPROVAL_GATE or APPROVAL_GATE? before MUTATE`);
  return problems.map((problem) => ({ code: "FSM_MACHINE", at: { file }, message: `states: ${problem}.` }));
}

/** The first call outside that, by its declaration, can be neither undone nor read back; null if there is none. */
function irreversible(scripts: readonly StateScript[], registry: Registry, trust: Pick<Trust, "mcp">): string | null {
  const toolClass = toolClassIn(trust);
  for (const { name, given } of scripts.flatMap(({ calls }) => calls)) {
    if (!registry.has(name)) continue;
    const primitive = registry.get(name);
    if (primitive.effect !== "external") continue;
    if (primitive.classify === undefined && primitive.idempotent === undefined && primitive.readBack === undefined) return name;
    const tool = given["tool"];
    if (tool === undefined || toolClass(tool)?.class !== "mutate") continue;
    const [server = "", ...rest] = tool.split("/");
    if (trust.mcp[server]?.tools[rest.join("/")]?.verify === undefined) return tool;
  }
  return null;
}

/**
 * Acts that depend on a date or on one unusual value (scripts/guards.ts). A dry run is unlikely to reach them, so they are reported. An act
 * outside that occurs nowhere else in the script, and about which nobody is asked, fails the check: its condition belongs in config.yaml, where
 * everybody sees it, or behind a question.
 * Findings CHECK_HIDDEN_BRANCH. scripts: the agent first, with everything it calls.
 */
function lintHidden(scripts: readonly ScriptToCheck[], registry: Registry, toolClass: ToolClassOf): Found[] {
  /** The acts of a call, or of the sub-script it runs; and whether it asks. */
  const actsOf = (calls: readonly ScriptToCheck["calls"][number][], seen: readonly string[] = []): Act[] =>
    calls.flatMap((call) => {
      if (!registry.has(call.name)) return [];
      const primitive = registry.get(call.name);
      const { rows } = accessOf(primitive, call.given, toolClass);
      const sub = scripts.find(({ name }) => name !== "" && (name === call.given[""] || name === call.given["name"]));
      if (call.name === "script_run" && sub !== undefined && !seen.includes(sub.name)) return actsOf(sub.calls, [...seen, sub.name]);
      const kind = TOLD.find((one) => rows.includes(one));
      return kind === undefined ? [] : [{ kind, name: call.given["tool"] ?? call.name }];
    });
  return scripts.flatMap(({ calls, guards = [] }) =>
    guards.flatMap(({ at, on, calls: inside }): Found[] => {
      const acts = actsOf(inside.flatMap((index) => calls[index] ?? []));
      const told = acts.filter(({ kind }) => kind !== "ask");
      if (told.length === 0) return [];
      const others = actsOf(calls.filter((_, index) => !inside.includes(index))).map(({ name }) => name);
      const hidden = told.filter(({ kind, name }) => kind === "external" && !others.includes(name));
      const blocks = hidden.length > 0 && !acts.some(({ kind }) => kind === "ask");
      const names = [...new Set((blocks ? hidden : told).map(({ name }) => name))].join(", ");
      const message = blocks
        ? `${names} is called only if this holds, which depends on ${on}. Ask a person there with approval_wait, or keep the value in config.yaml settings: and read it with config_get.`
        : `Whether ${names} is called depends on ${on}.`;
      return [{ code: "CHECK_HIDDEN_BRANCH", at, message, ...(blocks ? {} : { remark: true }) }];
    }),
  );
}

const TOLD = ["external", "notify", "write", "ask"] as const;
type Act = { kind: (typeof TOLD)[number]; name: string };
