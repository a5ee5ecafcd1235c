/** What is checked about a script before it runs on a person's word: language, names, capabilities, types and money, with its sub-scripts. */
import { checkScripts } from "../checks/script.ts";
import { type Script, findingError, loadScript } from "../engine/script.ts";
import type { Finding, Sandbox, Tree } from "../ports.ts";
import type { Registry } from "../registry.ts";
import { scriptFile } from "../workspace/layout.ts";
import type { Host } from "./host.ts";
import { withFile } from "./source.ts";

/** @throws SCRIPT_* with the first finding, which carries all of them */
export async function checkSource(host: Host, file: string, text: string): Promise<void> {
  const tree = withFile(host.git.tree(await host.git.head()), file, text);
  const findings = await findingsOf(tree, file, host.sandbox, host.registry);
  if (findings.length > 0) throw findingError(findings, file);
}

/** All findings of a script of a tree, oldest line first. @throws what keeps it from being compiled */
export async function findingsOf(tree: Tree, file: string, sandbox: Sandbox, registry: Registry): Promise<Finding[]> {
  const script: Script = await loadScript(tree, file, sandbox, { lint: true, primitives: registry.names() });
  const main = { file, source: (await tree.read(file)) ?? "", header: script.header, calls: script.main.calls };
  const subs = await Promise.all(
    Object.entries(script.scripts).map(async ([name, { calls }]) => ({
      file: scriptFile(name),
      source: (await tree.read(scriptFile(name))) ?? "",
      header: null,
      calls,
    })),
  );
  return checkScripts([main, ...subs], registry);
}
