/** Programs that some tests use and npm cannot install: one list for `npm test`, for tests that skip without them, and for .ci/run. */
import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

const SYSTEM_TOOLS = ["git", "hledger", "ledger", "chromium", "bwrap"] as const;
export type SystemTool = (typeof SYSTEM_TOOLS)[number];

/** Path of a program, or null: `test.skipIf(findTool("hledger") === null)`. */
export function findTool(name: SystemTool): string | null {
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not in this folder: the next one may have it; null means that none has.
    }
  }
  return null;
}

/** Reason of a skipped test that nobody can fix on the machine: CI may also run where the host forbids namespaces. */
export const FORBIDDEN = "namespaces are forbidden here";

/** Why bubblewrap starts nothing; null when it works. Uses no code of the product: a fault there is no reason to skip its tests. */
export function whyNoJail(): string | null {
  const bwrap = findTool("bwrap");
  if (bwrap === null) return "bubblewrap is not installed";
  const { status, stderr } = spawnSync(bwrap, ["--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "true"], { encoding: "utf8" });
  return status === 0 ? null : `${FORBIDDEN}: ${stderr.trim()}`;
}

export const missingTools = (): SystemTool[] => SYSTEM_TOOLS.filter((name) => findTool(name) === null);
