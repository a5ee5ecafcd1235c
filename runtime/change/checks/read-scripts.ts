/**
 * The scripts of the agents under check, read and compiled once for all checks: every finding of the header, of the language and of names,
 * capabilities and states is collected here, and one agent that cannot be read keeps none of the others from being checked.
 */
import type { Compiled, Finding, Tree } from "../../kernel/ports.ts";
import type { Header } from "../../scripts/header.ts";
import { AGENTS, SCRIPTS, agentFile, scriptFile } from "../../workspace/layout.ts";
import { type Found, findingsIn } from "./findings.ts";
import { headerOf } from "./header-of.ts";
import { lintHidden } from "./hidden.ts";
import { lintCalls, lintPlanned } from "./lint.ts";
import { lintMachine } from "./machine.ts";
import type { Subject } from "./pipeline.ts";
import { type ScriptToCheck, lintScripts } from "./script.ts";
import { toolClassIn } from "./tool-class.ts";

export interface AgentScripts {
  agent: string;
  file: string;
  header: Header | null;
  /** The agent's own script first; null when one of them cannot be read or compiled. */
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

const AGENT_FILE = /^agents\/[a-z][a-z0-9_-]*\.ts$/;
const TOOLS = `${SCRIPTS}tools/`;

/** All scripts the subject reaches: its agents with what they call, and changed scripts that no agent calls. Asked again, the same answer. */
export function readScripts(subject: ScriptSubject): Promise<ReadScripts> {
  const known = read.get(subject) ?? readAll(subject);
  read.set(subject, known);
  return known;
}

const read = new WeakMap<ScriptSubject, Promise<ReadScripts>>();

async function readAll(subject: ScriptSubject): Promise<ReadScripts> {
  const { tree, registry, trust } = subject;
  const findings: Found[] = [];
  const compile = compiling(subject, findings);
  const names = (await tree.list(AGENTS)).map(({ path }) => path.slice(AGENTS.length).replace(/\.ts$/, ""));
  const around = { registry, agents: names, toolClass: toolClassIn(trust) };
  const agents = await Promise.all(subject.files.map((file) => readAgent(tree, file, compile, findings)));
  for (const { scripts, header, file } of agents) {
    if (scripts === null) continue;
    if (header === null) {
      // Rights and states are the header's: without it only names and keys can be told.
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
  const header = readHeader((await tree.read(file)) ?? "", file, findings);
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
  if (file.startsWith(AGENTS) && !AGENT_FILE.test(file)) findings.push(misnamed(file));
  try {
    return headerOf(source, file);
  } catch (error) {
    findings.push(...findingsIn(error, file));
    return null;
  }
}

/** The finding of a file in agents/ that no agent can have. */
function misnamed(file: string): Finding {
  const message = `${file} cannot be an agent by this name: use small letters, digits, "-" and "_", directly in ${AGENTS}, such as ${agentFile("monthly-close")}.`;
  return { code: "SCRIPT_HEADER", at: { file, line: 1 }, message };
}

/** Compiles each file once and collects what is wrong with it. */
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
    return result.compiled === null || result.findings.length > 0 ? null : { source, compiled: result.compiled };
  };
  return (path, from) => {
    const found = known.get(path) ?? once(path, from);
    known.set(path, found);
    return found;
  };
}
