/** `cleared init DIR`: a new workspace with a first commit, a key for its person, and the launcher. `--hooks`: commits are checked first. */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { primitives } from "../../../primitives/index.ts";
import { writeTypes } from "../../change/checks/write-types.ts";
import { ClearedError } from "../../kernel/errors.ts";
import { initWorkspace, installHook } from "../../workspace/init.ts";
import { CONFIG } from "../../workspace/layout.ts";
import { findWorkspace } from "../../app/find.ts";
import type { Command, Invocation } from "../invocation.ts";
import { noteStarter } from "../../app/marks.ts";
import { quoted } from "../../kernel/text.ts";

// The product's own folder has the shape of a workspace at its top.
export const PRODUCT = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));

export const run: Command = async (at, [dir], options) => {
  const hooks = options["hooks"] === true;
  if (hooks && (dir === undefined || existsSync(join(resolve(String(dir)), CONFIG)))) {
    const there = findWorkspace(dir === undefined ? at.dir : String(dir));
    at.output.result({ dir: there, hook: await hookIn(at, there) });
    return 0;
  }
  if (dir === undefined) throw new ClearedError("USAGE", "Name the folder of the new workspace: `cleared init DIR`.");
  const path = resolve(String(dir));
  const person = options["person"] as string | undefined;
  await initWorkspace(path, {
    name: String(options["name"] ?? "My Business"),
    from: PRODUCT,
    agents: ["ingest"],
    ...(person === undefined ? {} : { person }),
    // Before the first commit, which has the tsconfig.json that editors read.
    prepare: async (dir) => void (await writeTypes(dir, primitives)),
  });
  await noteStarter(path);
  at.output.result({ dir: path, ...(hooks ? { hook: await hookIn(at, path) } : {}) });
  at.output.text(
    `${path} is ready. Next:\n  cd ${quoted(path)} && ./cleared start\n  cp statement.csv import/\n  ./cleared add              # list the other processes`,
  );
  return 0;
};

/** Says in words what became of the hook. */
async function hookIn({ output }: Invocation, dir: string): Promise<{ file: string; status: string }> {
  const { file, line, status } = await installHook(dir, join(PRODUCT, "bin", "cleared.js"));
  if (status === "made") output.line(`${file} checks what you commit; once without it: git commit --no-verify`);
  else if (status === "there") output.line(`${file} checks what you commit already.`);
  else output.text(`Your own hooks are left alone. To check what you commit, add this line to ${file}:\n  ${line} || exit 1`);
  return { file, status };
}
