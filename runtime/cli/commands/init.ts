/** `cleared init DIR`: a new workspace with a first commit, a key for its person, and the launcher. */
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { primitives } from "../../../primitives/index.ts";
import { writeTypes } from "../../checks/write-types.ts";
import { initWorkspace } from "../../workspace/init.ts";
import type { Invocation } from "../main.ts";
import { quoted } from "../text.ts";

// The product's own folder has the shape of a workspace at its top.
const STARTER = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));

export async function run(at: Invocation, [dir]: (string | string[] | undefined)[], options: Record<string, unknown>): Promise<number> {
  const path = resolve(String(dir));
  const person = options["person"] as string | undefined;
  await initWorkspace(path, {
    name: String(options["name"] ?? "My Business"),
    from: STARTER,
    ...(person === undefined ? {} : { person }),
    // Before the first commit, which has the tsconfig.json that editors read.
    prepare: async (dir) => void (await writeTypes(dir, primitives)),
  });
  at.output.result({ dir: path });
  at.output.line(`${path} is ready. Next:\n  cd ${quoted(path)} && ./cleared start\n  cp statement.csv import/`);
  return 0;
}
