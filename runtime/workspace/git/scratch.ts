/** Files and folders for a moment lie below .cleared/tmp under the name of their process, so that what a killed one left can be told and goes. */
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { identityOf, lives } from "../../kernel/processes.ts";
import { STATE } from "../layout.ts";

/** A name nobody else has; its folder is there. */
export function scratchPath(dir: string): string {
  const folder = join(dir, STATE, "tmp");
  mkdirSync(folder, { recursive: true });
  return join(folder, `${identityOf(process.pid).replace(":", "-")}-${randomBytes(6).toString("hex")}`);
}

/** An empty folder of that kind; who asks for it removes it. */
export function scratchFolder(dir: string): string {
  const path = scratchPath(dir);
  mkdirSync(path);
  return path;
}

/** Removes what processes that are gone have left. */
export function sweepScratch(dir: string): void {
  const folder = join(dir, STATE, "tmp");
  let names: string[] = [];
  try {
    names = readdirSync(folder);
  } catch {
    // Nothing was ever put there.
  }
  for (const name of names) {
    const [, pid, start] = /^(\d+)-(\w*)-[0-9a-f]+$/.exec(name) ?? [];
    if (!lives(`${pid}:${start}`)) rmSync(join(folder, name), { recursive: true, force: true });
  }
}
