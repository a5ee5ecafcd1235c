/**
 * Files start runs: one run per agent for all whole files of its folder. What makes such a run unique is what is in the files, the script
 * and the settings that say how statements are read, so nothing is tried twice, and what failed is tried again once it can end otherwise.
 */
import { createHash, randomUUID } from "node:crypto";
import type { Cause, Json, RunStatus } from "../ports.ts";
import type { Header } from "../sandbox/header.ts";
import { listensTo, watchedFolder } from "./listens.ts";

export interface FoundFile {
  name: string;
  hash: string;
  /** It has a receipt and is imported again all the same: how statements are read has changed since. */
  again?: boolean;
}

export interface FilePorts {
  agents(): Promise<{ name: string; blob: string; header: Header | null }[]>;
  start(agent: string, options: { cause: Cause; input: Json }): Promise<{ id: string; created: boolean }>;
  /** Whole files in a folder that are to be imported: no receipt knows them, or they are named in `again`. */
  files(folder: string, again: readonly string[]): Promise<FoundFile[]>;
  /** Changes with config.yaml and importers/ at HEAD. */
  settings(): Promise<string>;
  /** True while a run that files started is not over, or the agent is paused: what came since is looked at when it is not. */
  importing(agent: string): Promise<boolean>;
  status(run: string): Promise<RunStatus | null>;
  /** The last commit that took away a receipt of these contents (an import was undone), or null. */
  undone(hashes: readonly string[]): Promise<string | null>;
}

export interface FileStart {
  /** Hashes of files that a person wants imported again. */
  again?: readonly string[];
  /** A person asks: what ended before is tried once more. */
  insist?: boolean;
}

const ENDED: readonly (RunStatus | null)[] = ["done", "failed", "diverged", "canceled"];

export async function startForFiles(
  ports: FilePorts,
  folder: string,
  { again = [], insist = false }: FileStart = {},
): Promise<{ id: string; created: boolean; agent: string }[]> {
  const files = await ports.files(folder, again);
  if (files.length === 0) return [];
  const hashes = files.map((file) => file.hash);
  const contents = digest(files.map(({ name, hash }) => `${name}\0${hash}`).sort());
  const repeated = [...again, ...files.filter((file) => file.again === true && !again.includes(file.hash)).map((file) => file.hash)];
  const started: { id: string; created: boolean; agent: string }[] = [];
  for (const { name, header, blob } of await ports.agents()) {
    if (!listensTo(header, "file_watch") || watchedFolder(header) !== folder || (await ports.importing(name))) continue;
    const begin = (key: string) =>
      ports.start(name, { cause: { kind: "watch", key, detail: { files: files.map((file) => file.name), again: repeated } }, input: {} });
    const key = `${folder}${contents}@${digest([blob, await ports.settings()])}`;
    let run = await begin(again.length === 0 ? key : `${key} ${randomUUID()}`);
    if (!run.created && ENDED.includes(await ports.status(run.id))) {
      const undone = await ports.undone(hashes);
      if (undone !== null) run = await begin(`${key} after ${undone}`);
      if (!run.created && insist && ENDED.includes(await ports.status(run.id))) run = await begin(`${key} ${randomUUID()}`);
    }
    started.push({ ...run, agent: name });
  }
  return started;
}

function digest(parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\n")).digest("hex");
}
