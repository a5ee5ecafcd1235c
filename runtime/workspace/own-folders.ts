/**
 * Folders whose content is trusted because only this user can write it: the user's state folder outside of every workspace (keys and
 * confirmations, which do not travel with a workspace), and `.cleared` inside one. A folder that is a link, belongs to another user or is
 * open to others is refused, by its path. Also: folders of a workspace that must not lead out of it.
 */
import { createHash, generateKeyPairSync, randomBytes } from "node:crypto";
import type { Dirent, Stats } from "node:fs";
import { lstatSync, mkdirSync, readFileSync, readdirSync, realpathSync, renameSync, statSync, writeFileSync } from "node:fs";
import { homedir, tmpdir, userInfo } from "node:os";
import { basename, isAbsolute, join, sep } from "node:path";
import { ClearedError } from "../kernel/errors.ts";
import { type DiskCache, createDiskCache } from "../scripts/disk-cache.ts";
import { CACHE, ID } from "./layout.ts";

const WINDOWS = process.platform === "win32";
/** Kind of the file with a confirmed trust.yaml, in the user's state folder. */
export const CONFIRMED = "confirmed";
// Of one of our own files; a few kB of an archive can be unpacked to a file of any size.
const MOST_BYTES = 2 ** 24;

export const unsafe = (path: string, why: string, todo: string): ClearedError =>
  new ClearedError("FOLDER_UNSAFE", `${path} ${why}, so its content cannot be trusted. ${todo}`);

/** The folder, which belongs to this user and is closed to everybody else; null if it does not exist. @throws FOLDER_UNSAFE */
export function ownFolder(path: string): string | null {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return null;
  if (!found.isDirectory()) throw unsafe(path, "is a link or a file", "Remove it; a folder is created in its place.");
  if (WINDOWS) return path;
  if (found.uid !== process.getuid?.()) throw unsafe(path, `belongs to the user with the id ${found.uid}`, "That user must remove it.");
  if ((found.mode & 0o077) !== 0)
    throw unsafe(path, "is open to other users of this machine", `Look into it, then close it: chmod 700 ${path}`);
  return path;
}

/** The same, made if it is missing. @throws FOLDER_UNSAFE */
export function makeOwnFolder(path: string): string {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== "EEXIST")
      throw new ClearedError("FOLDER_UNSAFE", `${path} cannot be made (${code}). Set XDG_STATE_HOME to a folder that is yours.`, { cause });
  }
  return ownFolder(path) ?? path;
}

/** The user's state folder, outside of all workspaces: $XDG_STATE_HOME/cleared, by default ~/.local/state/cleared. */
export function userState(): string {
  const given = process.env["XDG_STATE_HOME"] ?? "";
  // A relative path there is to be ignored (XDG Base Directory Specification).
  if (isAbsolute(given)) return join(given, "cleared");
  const local = process.env["LOCALAPPDATA"] ?? "";
  return WINDOWS && isAbsolute(local) ? join(local, "cleared") : join(homedir(), ".local", "state", "cleared");
}

/** The user's folder for sockets; one in the temporary directory where the system provides none, such as without a login. */
export function runtimeFolder(): string {
  const { uid } = userInfo();
  const given = process.env["XDG_RUNTIME_DIR"] ?? `/run/user/${uid}`;
  return isAbsolute(given) && statSync(given, { throwIfNoEntry: false }) !== undefined
    ? join(given, "cleared")
    : join(tmpdir(), `cleared-${uid}`);
}

/** The file of a person's private key, by its public half, so that all workspaces which name the key share one file. */
export function keyFile(publicHalf: string): string {
  return join(userState(), "keys", `${createHash("sha256").update(publicHalf).digest("hex").slice(0, 32)}.pem`);
}

/** A new Ed25519 key pair of a person: the public half as trust.yaml has it (SPKI, base64), the private one as PEM. */
export function personKey(): { half: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const half = publicKey.export({ type: "spki", format: "der" }).toString("base64");
  return { half, key: privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
}

/** Stores a private key, PEM. @throws FOLDER_UNSAFE */
export function keepKey(publicHalf: string, key: string): string {
  makeOwnFolder(userState());
  makeOwnFolder(join(userState(), "keys"));
  const file = keyFile(publicHalf);
  writePrivate(file, key);
  return file;
}

/** True for a path inside the folder, or the folder itself; both exist. */
export function isInside(path: string, folder: string): boolean {
  return `${realpathSync(path)}${sep}`.startsWith(`${realpathSync(folder)}${sep}`);
}

/** The id of this copy of the workspace; null before a person has confirmed it. */
export const idOf = (dir: string): string | null => readIfThere(join(dir, ID));

/** The file in the user's state folder for the workspace at this path; `kind`: the folder it is in. */
export const placeFile = (kind: string, dir: string): string =>
  join(userState(), kind, `${createHash("sha256").update(realpathSync(dir)).digest("hex").slice(0, 32)}.json`);

/** What is stored there; null if nothing is, or if another workspace is now at the path. @throws FOLDER_UNSAFE */
export function keptFor<T extends object>(kind: string, dir: string): (T & { id: string | null }) | null {
  const kept = keptAt<T>(kind, dir);
  return kept !== null && kept.id === idOf(dir) ? kept : null;
}

/** The same, whatever workspace is now at the path. @throws FOLDER_UNSAFE */
export function keptAt<T extends object>(kind: string, dir: string): (T & { id: string | null }) | null {
  if (ownFolder(userState()) === null || ownFolder(join(userState(), kind)) === null) return null;
  if (isInside(userState(), dir))
    throw new ClearedError(
      "FOLDER_UNSAFE",
      `${userState()} is inside the workspace, so whoever supplied the workspace could have supplied confirmations too. Set XDG_STATE_HOME to a folder outside of it.`,
    );
  const text = readIfThere(placeFile(kind, dir));
  return text === null ? null : (JSON.parse(text) as T & { id: string | null });
}

/** @throws FOLDER_UNSAFE */
export function keepFor(kind: string, dir: string, what: object): void {
  makeOwnFolder(userState());
  makeOwnFolder(join(userState(), kind));
  writePrivate(placeFile(kind, dir), JSON.stringify({ path: realpathSync(dir), id: idOf(dir), ...what }, null, 2));
}

let cacheKey: string | null = null;

/** What the workspace's files were read and compiled to, for the next process of this user; for this one alone where no key can be kept. */
export function cacheOf(dir: string): DiskCache {
  try {
    const file = join(makeOwnFolder(userState()), "cache.key");
    if (isInside(userState(), dir)) throw unsafe(userState(), "is inside the workspace", "");
    cacheKey = readIfThere(file) || null;
    if (cacheKey === null) writePrivate(file, (cacheKey = randomBytes(32).toString("hex")));
  } catch {
    cacheKey ??= randomBytes(32).toString("hex");
  }
  return createDiskCache(join(dir, CACHE), cacheKey);
}

/** Writes a file that only this user may read, completely or not at all. */
export function writePrivate(path: string, text: string): void {
  const aside = `${path}.${process.pid}`;
  writeFileSync(aside, text, { mode: 0o600, flush: true });
  renameSync(aside, path);
}

/** What is there instead of a regular file, in words; null for a regular file. Reading a pipe would wait for its writer. */
export function oddKind(found: Stats | Dirent): string | null {
  if (found.isFile()) return null;
  if (found.isDirectory()) return "a folder";
  if (found.isSymbolicLink()) return "a link";
  return found.isFIFO() ? "a named pipe" : found.isSocket() ? "a socket" : "a device";
}

/** The text of a file of the workspace, null if it does not exist. @throws FILE_INVALID if it is not a regular file, or is too large */
export function readIfThere(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return null;
  const odd = oddKind(found) ?? (found.size > MOST_BYTES ? "larger than 16 MiB" : null);
  if (odd !== null)
    throw new ClearedError(
      "FILE_INVALID",
      `${path} is ${odd} and is not read. Put a regular file there; \`git restore ${basename(path)}\` takes that of the last commit.`,
    );
  return readFileSync(path, "utf8");
}

/** The text of a file that another process may remove; `otherwise` if it is gone, cannot be read or is larger than 16 MiB. */
export function readOr(path: string, otherwise: string): string {
  try {
    return statSync(path).size > MOST_BYTES ? otherwise : readFileSync(path, "utf8");
  } catch {
    return otherwise;
  }
}

/** The result of work on a file; null if the file does not exist. */
export const ifThere = <T>(work: Promise<T>): Promise<T | null> =>
  work.catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });

/** Names in a folder; none if it does not exist, was just removed, or belongs to another user. */
export function namesIn(folder: string, recursive = false): string[] {
  try {
    return readdirSync(folder, { recursive }).map(String);
  } catch {
    return [];
  }
}

/**
 * The path of a folder of the workspace, such as `import/processed/`, none of whose parts is a link: through a link, files would be taken
 * from or put into places outside of the workspace. A part may be missing. @throws FILE_INVALID
 */
export function plainFolder(dir: string, folder: string): string {
  let at = dir;
  for (const part of folder.split("/").filter((one) => one !== "")) {
    at = join(at, part);
    const found = lstatSync(at, { throwIfNoEntry: false });
    if (found !== undefined && !found.isDirectory())
      throw new ClearedError(
        "FILE_INVALID",
        `${at} is ${oddKind(found) ?? "a file"}; it must be a folder of the workspace. Move it away.`,
        { at: { file: folder } },
      );
  }
  return at;
}

/** The same, made if it is missing. @throws FILE_INVALID */
export function makePlainFolder(dir: string, folder: string): string {
  const path = plainFolder(dir, folder);
  mkdirSync(path, { recursive: true });
  return path;
}
