/** `cleared process new NAME --from definition.json`: a new process as files in the work tree, to be edited, checked and proposed. */
import { existsSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { processName } from "../../rules/definition.ts";
import { ClearedError } from "../../kernel/errors.ts";
import { newProcess } from "../../change/proposals/new-process.ts";
import { makePlainFolder } from "../../workspace/own-folders.ts";
import type { Command } from "../invocation.ts";
import { readNamed } from "../text.ts";

export const run: Command = async (at, [verb, given], options) => {
  const from = options["from"];
  if (verb !== "new" || given === undefined || typeof from !== "string")
    throw new ClearedError("USAGE", "Write `cleared process new NAME --from definition.json`.");
  const name = processName(given);
  if (name === null)
    throw new ClearedError("USAGE", `"${given}" is not a usable process name: write at least three letters, such as parking_permits.`);
  const text = readNamed(from);
  const { output, dir } = at;
  const files = newProcess(name, text, from);
  const there = Object.keys(files).find((path) => existsSync(join(dir, path)));
  if (there !== undefined)
    throw new ClearedError("FILE_INVALID", `${there} already exists. Choose another name, or edit that process.`, {
      at: { file: there },
    });
  for (const [path, content] of Object.entries(files)) {
    makePlainFolder(dir, dirname(path));
    writeFileSync(join(dir, path), content, { flag: "wx" });
  }
  output.result({ process: name, files: Object.keys(files) });
  for (const path of Object.keys(files)) output.line(path);
  output.line(`Edit them, then \`cleared check\` and \`cleared propose -m "${name} is a process"\`.`);
};
