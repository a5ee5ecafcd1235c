/** What is checked about a script before it runs on a person's word: language, names, capabilities, types and money, with its sub-scripts. */
import { checkScripts } from "../checks/script.ts";
import { type Script, findingError, loadScript } from "../engine/script.ts";
import type { Finding, Sandbox, Tree } from "../ports.ts";
import { type ToolClassOf, classByName } from "../checks/states.ts";
import type { Trust } from "../workspace/config.ts";
import { AGENTS, scriptFile } from "../workspace/layout.ts";
import { treeOver } from "../workspace/tree-over.ts";
import type { Host } from "./host.ts";
import type { LazyRegistry } from "./lazy-registry.ts";

/** @throws SCRIPT_* with the first finding, which carries all of them */
export async function checkSource(host: Host, file: string, text: string): Promise<void> {
  const tree = treeOver(host.git.tree(await host.git.head()), new Map([[file, text]]));
  const findings = await findingsOf(tree, file, host);
  if (findings.length > 0) throw findingError(findings, file);
}

/** All findings of a script of a tree, oldest line first. @throws what keeps it from being compiled */
export async function findingsOf(tree: Tree, file: string, { sandbox, trust, ...around }: Checking): Promise<Finding[]> {
  const registry = await around.registry.whole();
  const script: Script = await loadScript(tree, file, sandbox, { lint: true, primitives: registry.names() });
  const source = async (path: string) => ({ file: path, source: (await tree.read(path)) ?? "" });
  const main = { ...(await source(file)), name: "", header: script.header, calls: script.main.calls, flow: script.main.flow };
  const subs = await Promise.all(
    Object.entries(script.scripts).map(async ([name, { calls, flow }]) => ({
      ...(await source(scriptFile(name))),
      ...{ name, header: null, calls, flow },
    })),
  );
  const agents = (await tree.list(AGENTS)).map(({ path }) => path.slice(AGENTS.length).replace(/\.ts$/, ""));
  return checkScripts([main, ...subs], { registry, agents, toolClass: toolClassIn(trust) });
}

export interface Checking {
  sandbox: Sandbox;
  registry: Pick<LazyRegistry, "whole">;
  trust: Trust;
}

/** A tool's class as trust.yaml and its name tell it; of a trusted server's other tools only the server can say whether they write. */
export function toolClassIn(trust: Trust): ToolClassOf {
  return (tool) => {
    const [server = "", ...rest] = tool.split("/");
    const known = Object.hasOwn(trust.mcp, server) ? trust.mcp[server] : undefined;
    const name = rest.join("/");
    const declared = known !== undefined && Object.hasOwn(known.tools, name) ? known.tools[name]?.class : undefined;
    if (declared !== undefined) return { class: declared, why: "trust.yaml says so" };
    const found = classByName(tool);
    return known?.trusted === true && found?.class === "mutate" ? null : found;
  };
}
