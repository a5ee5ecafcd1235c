/**
 * Programs that some tests use as independent checkers and that npm cannot install. One list, so that `npm test`, the
 * tests that skip without them and .ci/run agree.
 */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

export const SYSTEM_TOOLS = ["git", "hledger", "ledger", "chromium"] as const;
export type SystemTool = (typeof SYSTEM_TOOLS)[number];

/** Path of a program, or null: `test.skipIf(findTool("hledger") === null)`. */
export function findTool(name: SystemTool): string | null {
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not in this folder: the next one may have it, and null says that none has.
    }
  }
  return null;
}

export function missingTools(): SystemTool[] {
  return SYSTEM_TOOLS.filter((name) => findTool(name) === null);
}
