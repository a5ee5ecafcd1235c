/** What a tool server that is not trusted may write and must not read, for its jail (sandbox/jail.ts). */
import { existsSync, lstatSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { ClearedError } from "../kernel/errors.ts";
import { STATE, TRUST } from "./layout.ts";
import { CONFIRMED, namesIn, readOr, runtimeFolder, userState } from "./own-folders.ts";

/**
 * Places of a tool server in a workspace. `hidden`: what it must not read, folders and the key file that CLEARED_KEY names. `writes`: the
 * folders in which it may write, from the workspace, from the user's home with `~/`, or absolute. `programs`: files that its command names.
 * @throws FILE_INVALID when a folder of `writes:` is a file, or behind a link: what a person confirmed is its name.
 */
export function placesOf(dir: string, server: { command?: string | undefined; args: readonly string[]; writes: readonly string[] }) {
  const folders = server.writes.map((path) => {
    const fromHome = /^~(?:\/|$)/.test(path);
    return withoutLinks(fromHome ? join(homedir(), path.slice(1)) : resolve(dir, path), fromHome ? homedir() : dir, path);
  });
  // Made first: a folder that does not exist can be neither shown to a server that starts now, nor hidden from it.
  for (const path of [runtimeFolder(), ...folders]) {
    if (existsSync(path) && !statSync(path).isDirectory())
      throw new ClearedError("FILE_INVALID", `${path} in writes: is not a folder. Name a folder in ${TRUST}.`);
    mkdirSync(path, { recursive: true, mode: 0o700 });
  }
  const named = ["CLEARED_KEY", "CLEARED_AGE_IDENTITY"].flatMap((name) => process.env[name] || []);
  const hidden = [
    ...[dir, ...workspacesHere()].map((one) => join(one, STATE)),
    userState(),
    runtimeFolder(),
    ...named.map((one) => resolve(one)),
  ];
  return { programs: [server.command ?? "", ...server.args].filter(isAbsolute), hidden, writes: folders };
}

/** The path as it is named, with the links of the system above `base` followed. A missing part is no link. */
function withoutLinks(path: string, base: string, named: string): string {
  const real = `${path}/`.startsWith(`${base}/`) ? join(realpathSync(base), path.slice(base.length)) : path;
  for (let at = real; at !== dirname(at); at = dirname(at))
    if (lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink())
      throw new ClearedError(
        "FILE_INVALID",
        `The folder "${named}" in writes: is behind a link, ${at}. Name the folder itself in ${TRUST}.`,
      );
  return real;
}

/** Folders of the workspaces that this user has confirmed. */
function workspacesHere(): string[] {
  const files = namesIn(join(userState(), CONFIRMED)).map((name) => readOr(join(userState(), CONFIRMED, name), ""));
  return files.flatMap((text) => /^\s*"path": (".*"),$/m.exec(text)?.[1] ?? []).map((text) => JSON.parse(text) as string);
}
