/** What is checked about a script before it runs on a person's word: language, names, capabilities, states, types and money, with its sub-scripts. */
import { checkScript } from "../change/checks/pipeline.ts";
import { findingError } from "../kernel/errors.ts";
import { withTools } from "../engine/tool-scripts.ts";
import type { Finding, Sandbox, Tree } from "../kernel/ports.ts";
import type { Trust } from "../workspace/settings/config.ts";
import { treeOver } from "../workspace/git/tree.ts";
import type { Host } from "./host.ts";
import type { LazyRegistry } from "./lazy-registry.ts";

/** @throws SCRIPT_* with the first finding, which carries all of them */
export async function checkSource(host: Host, file: string, text: string): Promise<void> {
  const tree = treeOver(host.git.tree(await host.git.head()), new Map([[file, text]]));
  const findings = await findingsOf(tree, file, host);
  if (findings.length > 0) throw findingError(findings, file);
}

/** All findings of a script of a tree, in the order of its lines. */
export async function findingsOf(tree: Tree, file: string, { sandbox, trust, registry }: Checking): Promise<Finding[]> {
  return checkScript({ tree, sandbox, trust, registry: await withTools(await registry.whole(), tree, sandbox) }, file);
}

export interface Checking {
  sandbox: Sandbox;
  registry: Pick<LazyRegistry, "whole">;
  trust: Trust;
}
