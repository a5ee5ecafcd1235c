/** `cleared exec FILE.ts`: run any script file against the workspace; nothing is written or sent unless --live. */
import { readFileSync, statSync } from "node:fs";
import { relative, resolve } from "node:path";
import { ClearedError, EXIT, kindOf } from "../../kernel/errors.ts";
import { withApi, withDryApi } from "../../app/connect.ts";
import { findWorkspace } from "../../app/find.ts";
import { starter } from "../../app/identity.ts";
import { readLocal } from "../../app/local.ts";
import type { Invocation } from "../commands.ts";
import { formatError } from "../output.ts";
import { withProgress } from "../progress.ts";
import { parseHeader } from "../../scripts/header.ts";
import { inputOf } from "../run-input.ts";

// The sandbox refuses sources over its own limit; this only keeps a wrong path (a disk image) out of memory.
const LARGEST_FILE = 4 * 1024 * 1024;

export async function run(at: Invocation, [file]: (string | string[] | undefined)[], options: Record<string, unknown>): Promise<number> {
  const dir = findWorkspace(at.dir);
  const path = resolve(String(file));
  const text = readScript(path, String(file));
  const live = options["live"] === true;
  const shown = relative(dir, path).startsWith("..") ? String(file) : relative(dir, path);
  const input = await inputOf((options["input"] ?? []) as string[], async () => parseHeader(text, shown).input);
  const by = starter(dir, readLocal(dir).trust);
  const result = await (live ? withApi : withDryApi)(dir, (api) =>
    withProgress(api, null, () => api.exec({ file: shown, text, input, live, check: options["unchecked"] !== true, ...by })),
  );
  at.output.result(result);
  if (result.error !== undefined && !at.output.json) at.output.note(formatError(result.error, dir));
  if (result.error === undefined)
    at.output.text(`${result.status}, ${result.steps} steps${live ? "" : ", dry run"}\n${JSON.stringify(result.result ?? null, null, 2)}`);
  return result.error === undefined ? 0 : EXIT[kindOf(result.error.code)];
}

function readScript(path: string, file: string): string {
  let size: number;
  try {
    const found = statSync(path);
    if (!found.isFile()) throw new ClearedError("FILE_INVALID", `${file} is not a file.`);
    size = found.size;
  } catch (error) {
    if (error instanceof ClearedError) throw error;
    throw new ClearedError("FILE_MISSING", `${file} does not exist.`);
  }
  if (size > LARGEST_FILE) throw new ClearedError("SCRIPT_TOO_LARGE", `${file} has ${size} bytes; a script has at most 65,536.`);
  return readFileSync(path, "utf8");
}
