/** New workspaces. `cleared init DIR`: with a first commit, a key for its person, and the launcher; `--hooks`: commits must pass the checks. */
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { primitives } from "../../../primitives/index.ts";
import { writeTypes } from "../../change/checks/write-types.ts";
import { ClearedError } from "../../kernel/errors.ts";
import { initWorkspace, installHook } from "../../workspace/init.ts";
import { CONFIG, TRUST } from "../../workspace/layout.ts";
import { parseTrust } from "../../workspace/settings/config.ts";
import { findWorkspace } from "../../app/find.ts";
import type { Command, Invocation } from "../invocation.ts";
import { noteStarter } from "../../app/marks.ts";
import { quoted } from "../../kernel/text.ts";
import { textsOf } from "../text.ts";

// The product's own folder is laid out like a workspace.
export const PRODUCT = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));

export const run: Command = async (at, [dir], options) => {
  const hooks = options["hooks"] === true;
  if (hooks && (dir === undefined || existsSync(join(resolve(dir), CONFIG)))) {
    const there = findWorkspace(dir ?? at.given);
    at.output.result({ dir: there, hook: await hookIn(at, there) });
    return 0;
  }
  if (dir === undefined) throw new ClearedError("USAGE", "Name the folder of the new workspace: `cleared init DIR`.");
  const path = resolve(dir);
  await initWorkspace(path, {
    name: String(options["name"] ?? "My Business"),
    from: PRODUCT,
    agents: ["ingest"],
    ...textsOf(options, "person"),
    // Before the first commit, which includes the tsconfig.json for editors.
    prepare: async (dir) => void (await writeTypes(dir, primitives)),
  });
  await noteStarter(path);
  at.output.result({ dir: path, ...(hooks ? { hook: await hookIn(at, path) } : {}) });
  at.output.text(
    `${path} is ready. Next:\n  cd ${quoted(path)} && ./cleared start\n  cp statement.csv import/\n  ./cleared add              # list the other processes`,
  );
};

/** Describes the result of installing the hook. */
async function hookIn({ output }: Invocation, dir: string): Promise<{ file: string; status: string }> {
  const { file, line, status } = await installHook(dir, join(PRODUCT, "bin", "cleared.js"));
  if (status === "made") output.line(`${file} checks what you commit; once without it: git commit --no-verify`);
  else if (status === "there") output.line(`${file} checks what you commit already.`);
  else output.text(`Your own hooks are left alone. To check what you commit, add this line to ${file}:\n  ${line} || exit 1`);
  return { file, status };
}

/** `cleared demo erp [DIR]`: a workspace with a business to work on: the tool server of examples/erp with its own database. */
export const demo: Command = async ({ output }, [what = "", dir = "erp-demo"], options) => {
  if (what !== "erp") throw new ClearedError("USAGE", `There is no demo "${what}". Write \`cleared demo erp\`, with a folder if you like.`);
  const path = resolve(dir);
  if (existsSync(join(path, CONFIG)))
    throw new ClearedError(
      "WORKSPACE_EXISTS",
      `${path} is already a workspace. Use it (cd into it), name another folder (\`cleared demo erp DIR\`), or delete it first.`,
    );
  await initWorkspace(path, {
    name: "Cleared Goods",
    from: PRODUCT,
    ...textsOf(options, "person"),
    prepare: async (made) => {
      await writeTypes(made, primitives);
      await nameServer(join(made, TRUST));
    },
  });
  await noteStarter(path);
  output.result({ dir: path });
  const cd = relative(process.cwd(), path);
  output.text(`${path} is ready: a business of 146 tools, on 2024-11-08. Next:
  cd ${quoted(cd === "" ? "." : cd)}
  ./cleared run invoice_reconciliation --input '{"invoice_id":"INV-2024-447"}'   # waits for a manager
  ./cleared queue                                           # the card, with its brief
  ./cleared approve 1                                       # the run continues
  ./cleared runs show <run>                                 # states, calls, verdict, what was written: VERIFIED
  ./cleared agents show invoice_reconciliation              # its states, and what each allows
  ./cleared start                                           # the same on a page`);
};

/** Adds the server to the `mcp:` section of trust.yaml, with full paths of the running Node and the server, and what it calls the first person. */
export async function nameServer(file: string): Promise<void> {
  const given = await readFile(join(PRODUCT, "examples/erp/mcp.yaml"), "utf8");
  const section = given
    .slice(given.indexOf("\nmcp:") + 1)
    .trimEnd()
    .replace("command: node", () => `command: ${JSON.stringify(process.execPath)}`)
    .replace("examples/erp/server.ts", () => JSON.stringify(join(PRODUCT, "examples/erp/server.ts")));
  const empty = await readFile(file, "utf8");
  // None of its employees: their own name tells them from whoever requested something.
  const ids = `\n    ids: ${JSON.stringify({ erp: parseTrust(empty).people[0]?.name })}`;
  const text = empty.replace(/^mcp: \{\}.*\n(?: {2}#.*\n)*/m, () => `${section}\n`).replace(/^ {4}key: .*$/m, (line) => line + ids);
  // Read back, because a path could have another meaning in the file.
  if (parseTrust(text).mcp["erp"]?.command !== process.execPath)
    throw new ClearedError("CONFIG_INVALID", `The starter's ${TRUST} has no place for the tool server.`);
  await writeFile(file, text);
}
