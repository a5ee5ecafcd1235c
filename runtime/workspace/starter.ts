/**
 * The processes that come with the product, and what each is made of: its script, the sub-scripts and agents it calls, its policy, and the
 * tools it calls. Read from the texts of the product's own folder, which are trusted.
 */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ClearedError, didYouMean } from "../kernel/errors.ts";
import { parseHeader } from "../scripts/header.ts";
import { AGENTS, agentFile, policyFile, scriptFile } from "./layout.ts";

export interface Parts {
  /** Paths relative to the product and to a workspace alike. */
  files: string[];
  /** SERVER/NAME */
  tools: string[];
}

export function starterAgents(product: string): string[] {
  return readdirSync(join(product, AGENTS))
    .flatMap((name) => (name.endsWith(".ts") ? [name.slice(0, -3)] : []))
    .sort();
}

/** What these agents are made of, each file once. @throws AGENT_UNKNOWN */
export function partsOf(product: string, agents: readonly string[]): Parts {
  const all = starterAgents(product);
  const queue = agents.map((name) => {
    if (!all.includes(name))
      throw new ClearedError("AGENT_UNKNOWN", `Cleared brings no process "${name}".${didYouMean(name, all)} It brings ${all.join(", ")}.`);
    return agentFile(name);
  });
  const files = new Set<string>();
  const tools = new Set<string>();
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    if (files.has(path)) continue;
    files.add(path);
    const text = readFileSync(join(product, path), "utf8");
    for (const [, name = ""] of text.matchAll(/\bscript_run\(\s*"([a-z0-9_]+)"/g)) queue.push(scriptFile(name));
    for (const [, tool = ""] of text.matchAll(/"([a-z][a-z0-9_-]*\/[a-z][a-z0-9_]*)"/g)) tools.add(tool);
    for (const [, name = ""] of text.matchAll(/\bpolicy: "([a-z0-9_]+)"/g)) files.add(policyFile(name));
    if (!path.startsWith(AGENTS)) continue;
    const { process: named, uses } = parseHeader(text, path);
    for (const use of uses) if (use.startsWith("agent:")) queue.push(agentFile(use.slice("agent:".length)));
    const policy = policyFile(named ?? path.slice(AGENTS.length, -3));
    if (existsSync(join(product, policy))) files.add(policy);
  }
  return { files: [...files].sort(), tools: [...tools].sort() };
}
