/** `cleared demo erp [DIR]`: a workspace whose agents have a business to work on, the tool server of examples/erp with its own database. */
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { primitives } from "../../../primitives/index.ts";
import { writeTypes } from "../../change/checks/write-types.ts";
import { ClearedError } from "../../kernel/errors.ts";
import { parseTrust } from "../../workspace/settings/config.ts";
import { initWorkspace } from "../../workspace/init.ts";
import { CONFIG, TRUST } from "../../workspace/layout.ts";
import type { Command } from "../invocation.ts";
import { noteStarter } from "../../app/marks.ts";
import { PRODUCT } from "./init.ts";
import { quoted } from "../../kernel/text.ts";

const INPUT = `{"invoice_id":"INV-2024-447"}`;

export const run: Command = async (at, [what, dir], options) => {
  if (what !== "erp")
    throw new ClearedError("USAGE", `There is no demo "${String(what)}". Write \`cleared demo erp\`, with a folder if you like.`);
  const path = resolve(String(dir ?? "erp-demo"));
  if (existsSync(join(path, CONFIG)))
    throw new ClearedError(
      "WORKSPACE_EXISTS",
      `${path} is already a workspace. Use it (cd into it), name another folder (\`cleared demo erp DIR\`), or delete it first.`,
    );
  const person = options["person"] as string | undefined;
  await initWorkspace(path, {
    name: "Cleared Goods",
    from: PRODUCT,
    ...(person === undefined ? {} : { person }),
    prepare: async (made) => {
      await writeTypes(made, primitives);
      await nameServer(join(made, TRUST));
    },
  });
  await noteStarter(path);
  at.output.result({ dir: path });
  const cd = relative(process.cwd(), path);
  at.output.text(`${path} is ready: a business of 146 tools, on 2024-11-08. Next:
  cd ${quoted(cd === "" ? "." : cd)}
  ./cleared run invoice_reconciliation --input '${INPUT}'   # waits for a manager
  ./cleared queue                                           # the card, with its brief
  ./cleared approve 1                                       # the run goes on
  ./cleared runs show <run>                                 # states, calls, verdict, what was written: VERIFIED
  ./cleared agents show invoice_reconciliation              # its states, and what each allows
  ./cleared start                                           # the same on a page`);
  return 0;
};

/** Puts the server into the `mcp:` section of trust.yaml: the Node that runs now and the server by their full paths. */
export async function nameServer(file: string): Promise<void> {
  const given = await readFile(join(PRODUCT, "examples/erp/mcp.yaml"), "utf8");
  const section = given
    .slice(given.indexOf("\nmcp:") + 1)
    .trimEnd()
    .replace("command: node", () => `command: ${JSON.stringify(process.execPath)}`)
    .replace("examples/erp/server.ts", () => JSON.stringify(join(PRODUCT, "examples/erp/server.ts")));
  const text = (await readFile(file, "utf8")).replace(/^mcp: \{\}.*\n(?: {2}#.*\n)*/m, () => `${section}\n`);
  // Read back: a path can turn into nothing else in the file.
  if (parseTrust(text).mcp["erp"]?.command !== process.execPath)
    throw new ClearedError("CONFIG_INVALID", `The starter's ${TRUST} has no place for the tool server.`);
  await writeFile(file, text);
}
