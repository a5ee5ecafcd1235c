/** What a tool server that is not trusted may write and must not read, for its jail (sandbox/jail.ts). */
import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { STATE } from "./layout.ts";
import { CONFIRMED, namesIn, readOr, runtimeFolder, userState } from "./own-folders.ts";

/**
 * Places of a tool server in a workspace. `hidden`: what it must not read, folders and the key file that CLEARED_KEY names. `writes`: the
 * folders in which it may write, from the workspace, from the user's home with `~/`, or absolute. `programs`: files that its command names.
 */
export function placesOf(dir: string, server: { command?: string | undefined; args: readonly string[]; writes: readonly string[] }) {
  const folders = server.writes.map((path) => (/^~(?:\/|$)/.test(path) ? join(homedir(), path.slice(1)) : resolve(dir, path)));
  // Made first: a folder that does not exist can be neither shown to a server that starts now, nor hidden from it.
  for (const path of [runtimeFolder(), ...folders]) mkdirSync(path, { recursive: true, mode: 0o700 });
  const named = ["CLEARED_KEY", "CLEARED_AGE_IDENTITY"].flatMap((name) => process.env[name] || []);
  const hidden = [
    ...[dir, ...workspacesHere()].map((one) => join(one, STATE)),
    userState(),
    runtimeFolder(),
    ...named.map((one) => resolve(one)),
  ];
  return { programs: [server.command ?? "", ...server.args].filter(isAbsolute), hidden, writes: folders };
}

/** Folders of the workspaces that this user has confirmed. */
function workspacesHere(): string[] {
  const files = namesIn(join(userState(), CONFIRMED)).map((name) => readOr(join(userState(), CONFIRMED, name), ""));
  return files.flatMap((text) => /^\s*"path": (".*"),$/m.exec(text)?.[1] ?? []).map((text) => JSON.parse(text) as string);
}
