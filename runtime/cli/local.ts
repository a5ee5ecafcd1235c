/** The settings of the work tree, as a person has them on disk: which branch to follow, and what this machine is trusted to load. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ClearedError } from "../errors.ts";
import { createDiskCache } from "../sandbox/disk-cache.ts";
import { type Config, type Trust, parseConfig, parseTrust } from "../workspace/config.ts";
import { CACHE, CONFIG, TRUST } from "../workspace/layout.ts";

/** config.yaml and trust.yaml of the work tree, as text and checked. */
export interface Local {
  config: Config;
  configText: string;
  trust: Trust;
  trustText: string;
}

let lastLocal: { dir: string; local: Local } | null = null;

/** config.yaml and trust.yaml of the work tree: which branch to follow, and what this machine is trusted to load. */
export function readLocal(dir: string): Local {
  if (!existsSync(join(dir, CONFIG)) || !existsSync(join(dir, ".git"))) {
    throw new ClearedError(
      "WORKSPACE_MISSING",
      `${dir} is not a workspace: it has no ${existsSync(join(dir, CONFIG)) ? "git repository" : CONFIG}. Make one with \`cleared init DIR\`, or change into one.`,
    );
  }
  const configText = readFileSync(join(dir, CONFIG), "utf8");
  const trustText = existsSync(join(dir, TRUST)) ? readFileSync(join(dir, TRUST), "utf8") : "";
  if (lastLocal?.dir === dir && lastLocal.local.configText === configText && lastLocal.local.trustText === trustText)
    return lastLocal.local;
  const cache = createDiskCache(join(dir, CACHE));
  const local = { config: parseConfig(configText, cache), configText, trust: parseTrust(trustText, cache), trustText };
  lastLocal = { dir, local };
  return local;
}
