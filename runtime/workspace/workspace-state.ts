/** Whether the hidden folders of a workspace, `.cleared` and `.git`, are what they seem to be: they may have come with an archive. */
import { type Dirent, chmodSync, existsSync, lstatSync, readdirSync, statSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { STATE } from "./layout.ts";
import { isInside, oddKind, ownFolder, readOr, unsafe } from "./own-folders.ts";

/**
 * Refuses a `.cleared` or a `.git` that leads elsewhere: it may have come with an archive, and what is written into it, or removed from it,
 * would be where its links point. A folder that unpacking left open to others is closed. A pipe or device in it or in `.git` is refused,
 * because reading it would block, and a file of git that would fill the memory.
 * @throws FOLDER_UNSAFE
 */
export function assertWorkspaceState(dir: string): void {
  const path = join(dir, STATE).slice(0, -1);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o077) !== 0) chmodSync(path, 0o700);
  ownFolder(path);
  const odd =
    firstBelow(path, (entry) => entry.isSymbolicLink() || isEndless(entry)) ??
    gitFoldersOf(dir)
      .map((folder) => firstBelow(folder, (entry) => isEndless(entry) || isHuge(entry) || isWayOut(folder, entry)))
      .find((found) => found !== null) ??
    null;
  if (odd === null) return;
  const kind = oddKind(lstatSync(odd));
  if (kind === "a link" && !odd.startsWith(join(dir, STATE)))
    throw unsafe(
      odd,
      "is a link out of the repository",
      "git would write there. Put the file or folder itself in its place, or clone the repository.",
    );
  if (kind !== null) throw unsafe(odd, `is ${kind}`, "Remove it: neither Cleared nor git makes one there.");
  throw unsafe(odd, "is larger than 256 MiB", "git makes no such file: take the repository from a clone or a backup.");
}

export const isEndless = (entry: Dirent): boolean => entry.isFIFO() || entry.isCharacterDevice() || entry.isBlockDevice();

/** A file that git reads as a whole: one of .git itself, or a ref. */
const isHuge = ({ name, parentPath }: Dirent): boolean =>
  /\/\.git(?:\/refs(?:\/.*)?)?$/.test(parentPath) && (lstatSync(join(parentPath, name), { throwIfNoEntry: false })?.size ?? 0) > 2 ** 28;

/** The folder of the repository; if `.git` is a file, the one it names and the one that shares its objects, which may be in the workspace. */
function gitFoldersOf(dir: string): string[] {
  const place = join(dir, ".git");
  if (statSync(place, { throwIfNoEntry: false })?.isFile() !== true) return [place];
  const named = resolve(
    dir,
    readOr(place, "")
      .replace(/^gitdir:/, "")
      .trim() || ".git",
  );
  return [named, resolve(named, readOr(join(named, "commondir"), "").trim())];
}

/** A link in a repository's folder to something outside of it; those that people make, git only reads. */
function isWayOut(folder: string, entry: Dirent): boolean {
  const path = join(entry.parentPath, entry.name);
  if (!entry.isSymbolicLink() || /^(?:hooks(?:\/[^/]+)?|info\/(?:exclude|attributes))$/.test(relative(folder, path))) return false;
  return !existsSync(path) || !isInside(path, folder);
}

/** Skips the many folders of git objects: `endlessFile` searches those once a git command has timed out. */
function firstBelow(folder: string, is: (entry: Dirent) => boolean): string | null {
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (is(entry)) return path;
    const isOfObjects = basename(folder) === "objects" && /^[0-9a-f]{2}$/.test(entry.name);
    const below = entry.isDirectory() && !isOfObjects ? firstBelow(path, is) : null;
    if (below !== null) return below;
  }
  return null;
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    // Another process of ours has just removed it; or it is the file that is `.git` in a linked work tree.
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return [];
    throw error;
  }
}
