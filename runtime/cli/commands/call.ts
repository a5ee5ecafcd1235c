/** `cleared call NAME '{…}'`: try primitives against HEAD; what they write is thrown away. One JSON result a line. */
import { readFileSync } from "node:fs";
import { ClearedError, EXIT, kindOf } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/ports.ts";
import { withDryApi } from "../../app/connect.ts";
import { findWorkspace } from "../../app/find.ts";
import type { Invocation } from "../commands.ts";
import { printable } from "../../kernel/text.ts";
import { parseJson } from "../text.ts";

export async function run(
  at: Invocation,
  [name, params]: (string | string[] | undefined)[],
  options: Record<string, unknown>,
): Promise<number> {
  const dir = findWorkspace(at.dir);
  const batch = options["batch"] as string | undefined;
  if (batch === undefined && name === undefined) throw new ClearedError("USAGE", "Name a primitive, or a file of calls with --batch.");
  const calls =
    batch === undefined ? [{ name: String(name), params: parseJson(params as string | undefined, "The parameters") }] : readBatch(batch);
  const answers = await withDryApi(dir, (api) => api.call({ calls }));
  for (const answer of answers) process.stdout.write(`${printable(JSON.stringify(answer))}\n`);
  const failed = answers.find((answer) => "error" in answer);
  return failed !== undefined && "error" in failed ? EXIT[kindOf(failed.error.code)] : 0;
}

function readBatch(file: string): { name: string; params: Json }[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw new ClearedError("FILE_MISSING", `${file} cannot be read.`, { cause });
  }
  return text
    .split("\n")
    .map((line, index) => ({ line: line.trim(), number: index + 1 }))
    .filter(({ line }) => line !== "")
    .map(({ line, number }) => {
      const call = parseJson(line, `${file}:${number}`) as { name?: string; params?: Json };
      if (typeof call?.name !== "string")
        throw new ClearedError("USAGE", `${file}:${number} has no "name". Write {"name": "importer_scan", "params": {}}.`);
      return { name: call.name, params: call.params ?? {} };
    });
}
