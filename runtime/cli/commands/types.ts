/** `cleared types`: declarations of all primitives of this workspace, plugins included, for editors and the type check. */
import { primitives } from "../../../primitives/index.ts";
import { writeTypes } from "../../checks/write-types.ts";
import { createRegistry, loadPlugins } from "../../registry.ts";
import { findWorkspace } from "../find.ts";
import { readLocal } from "../local.ts";
import type { Invocation } from "../main.ts";

export async function run(at: Invocation): Promise<number> {
  const dir = findWorkspace(at.dir);
  const registry = createRegistry(primitives, await loadPlugins(dir, readLocal(dir).trust.plugins));
  const files = await writeTypes(dir, registry.all());
  at.output.result({ files });
  for (const file of files) at.output.line(file);
  return 0;
}
