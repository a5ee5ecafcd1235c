/** `cleared types`: declarations of all primitives of this workspace, with its plugins and tools, for editors and the type check. */
import { primitives } from "../../../primitives/index.ts";
import { writeTypes } from "../../change/checks/write-types.ts";
import { withTools } from "../../engine/tool-scripts.ts";
import { createRegistry, loadPlugins } from "../../kernel/registry.ts";
import { treeOver } from "../../workspace/git/tree.ts";
import { withLook } from "../../app/connect.ts";
import { readLocal } from "../../app/local.ts";
import type { Command } from "../invocation.ts";
import { workChanges } from "../../app/work-tree.ts";

export const run: Command = async ({ output, dir }) => {
  const registry = createRegistry(primitives, await loadPlugins(dir, readLocal(dir).trust.plugins));
  // Tools on disk, so that an editor shows the one being written.
  const whole = await withLook(dir, async (_, { git, sandbox }) => {
    const head = git.tree(await git.head());
    return withTools(registry, treeOver(head, (await workChanges(dir, head)).files), sandbox);
  });
  const files = await writeTypes(dir, whole.all());
  output.result({ files });
  for (const file of files) output.line(file);
};
