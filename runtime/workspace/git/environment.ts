/**
 * Settings and environment of every git process. No program runs that a repository's own configuration names, because a workspace may have
 * been received as a folder, including its `.git/config`.
 */
import { spawnSync } from "node:child_process";
import { type Dirent, readFileSync, readdirSync, statSync } from "node:fs";
import { devNull, homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { ClearedError } from "../../kernel/errors.ts";
import { STATE } from "../layout.ts";
import { oddKind } from "../own-folders.ts";
import { isEndless } from "../workspace-state.ts";

// A recorded commit must survive a power cut, and git by default syncs nothing (spec/engine.md 7).
// Hooks and fsmonitor would run the user's programs inside the committer.
export const SETTINGS = [
  ["core.fsync", "all"],
  ["core.fsyncMethod", "batch"],
  // A month of a busy bank is 500 kB of text: level 1 takes a third of the time, and git compresses it again when packing.
  ["core.compression", "1"],
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["core.alternateRefsCommand", ":"],
  ["log.showSignature", "false"],
  ["push.gpgSign", "false"],
  // A collection may run a program that names recent objects, so none may start automatically.
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  // A submodule has a configuration of its own.
  ["submodule.recurse", "false"],
  ["fetch.recurseSubmodules", "false"],
  ["push.recurseSubmodules", "no"],
  ["core.quotePath", "false"],
  // Who may write what git writes, and its form: a received .git/config could open the books to every user of the machine.
  ["core.sharedRepository", "false"],
  ["core.preferSymlinkRefs", "false"],
  ["core.ignoreStat", "false"],
  ["core.bigFileThreshold", "512m"],
  ["fastimport.unpackLimit", "100"],
  ["i18n.commitEncoding", "UTF-8"],
  ["i18n.logOutputEncoding", "UTF-8"],
  ["log.follow", "false"],
  ["core.filesRefLockTimeout", "2000"],
  ["core.packedRefsTimeout", "2000"],
] as const;
export const FLAGS = SETTINGS.flatMap(([key, value]) => ["-c", `${key}=${value}`]);

// Variables that redirect git, make it prompt or change the language of its messages.
const LEFT_OUT = /^(GIT_|SSH_ASKPASS|EDITOR$|VISUAL$|PAGER$|LC_|LANGUAGE$)/i;

/** The environment of one git command; `extra` overrides. */
export function commandEnv(extra: Record<string, string>): Record<string, string> {
  return {
    ...Object.fromEntries(Object.entries(process.env).flatMap(([key, value = ""]) => (LEFT_OUT.test(key) ? [] : [[key, value]]))),
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_LITERAL_PATHSPECS: "1",
    GIT_NO_REPLACE_OBJECTS: "1",
    // A missing object is not fetched from an address that the repository names, which could be `ext::sh -c ...`.
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "file:git:http:https:ssh",
    GIT_ASKPASS: "",
    GIT_EDITOR: "false",
    GIT_PAGER: "cat",
    ...extra,
  };
}

/** A file as the last commit has it; null if that has none. */
export function committedText(dir: string, path: string): string | null {
  const options = { cwd: dir, env: commandEnv({}), timeout: 5000, encoding: "utf8" } as const;
  const { status, stdout } = spawnSync("git", [...FLAGS, "cat-file", "blob", `HEAD:${path}`], options);
  return status === 0 ? stdout : null;
}

/**
 * These paths without those that no pull brings and no commit holds: what git ignores, and data that it does not track, which programs write. Of
 * `.cleared`, where all is ignored, and if git fails, none is left out.
 */
export function withoutOwn(dir: string, paths: readonly string[], isData: (path: string) => boolean): readonly string[] {
  if (paths.every((path) => path.startsWith(STATE))) return paths;
  const options = { cwd: dir, env: commandEnv({}), timeout: 5000, maxBuffer: 2 ** 28 } as const;
  const { status, stdout } = spawnSync("git", [...FLAGS, "ls-files", "-z", "-t", "-c", "-o", "--exclude-standard"], options);
  if (status !== 0) return paths;
  const listed = stdout.toString().split("\0");
  const [untracked, tracked] = [[], []] as [string[], string[]];
  for (const one of listed) (one.startsWith("?") ? untracked : tracked).push(one.slice(2));
  const [held, seen, nested] = [new Set(tracked), new Set(untracked), untracked.filter((one) => one.endsWith("/"))];
  const isUntracked = (path: string) => seen.has(path) || nested.some((one) => path.startsWith(one));
  return paths.filter((path) => path.startsWith(STATE) || held.has(path) || (isUntracked(path) && !isData(path)));
}

// These run no configurable program except hooks and the like, which are switched off above. Commands that write the index are not among them:
// they reread files that changed in the same instant, through their filters.
const PLAIN = /^(?:cat-file|config|diff-tree|fast-import|for-each-ref|init|log|ls-files|merge-base|remote|rev-list|rev-parse|update-ref)$/;
const TRANSPORT = /^(?:core\.(?:sshcommand|gitproxy)|credential\..*helper)$/;
/** By command, the keys that name a program it would start. */
const STARTS: Record<string, RegExp> = {
  fetch: TRANSPORT,
  push: TRANSPORT,
  gc: /^gc\.recentobjectshook$/,
  repack: /^gc\.recentobjectshook$/,
};

/**
 * Variables that keep this command from running programs that the repository itself names: filters are disabled, so a file that needs one
 * fails; a transport that would use such a program is refused. @throws GIT_STATE
 */
export async function heldBack(dir: string, args: readonly string[], configOf: ConfigOf): Promise<Record<string, string>> {
  const command = args.find((one, i) => one !== "-c" && args[i - 1] !== "-c") ?? "";
  if (PLAIN.test(command) && !args.includes("--filters")) return {};
  const own = await ownKeys(dir, configOf);
  const reaches = own.find((key) => STARTS[command]?.test(key) === true);
  if (reaches !== undefined)
    throw new ClearedError(
      "GIT_STATE",
      `This repository's own configuration sets ${reaches}, a program that git would start for \`git ${command}\`. Set it in your own configuration (git config --global) and remove it here: git config --unset-all ${reaches}.`,
    );
  const filters = new Set(own.flatMap((key) => /^(filter\..*)\.(?:clean|smudge|process)$/s.exec(key)?.[1] ?? []));
  const settings = [...filters].flatMap((name) => [
    ...["clean", "smudge", "process"].map((kind) => [`${name}.${kind}`, ""] as const),
    [`${name}.required`, "true"] as const,
  ]);
  const env = settings.flatMap(([key, value], i) => [[`GIT_CONFIG_KEY_${i}`, key] as const, [`GIT_CONFIG_VALUE_${i}`, value] as const]);
  return { GIT_CONFIG_COUNT: String(settings.length), ...Object.fromEntries(env) };
}

/** `git config --list --show-scope -z` of a folder. */
type ConfigOf = (dir: string) => Promise<string>;

const keysOf = new Map<string, { stamp: string; keys: string[] }>();

/** Keys set in the repository's own configuration; read again when its file has changed, or each time if it includes other files. */
async function ownKeys(dir: string, configOf: ConfigOf): Promise<string[]> {
  const { ino, size, mtimeNs, ctimeNs } = statSync(join(dir, ".git", "config"), { bigint: true, throwIfNoEntry: false }) ?? {};
  const stamp = [ino, size, mtimeNs, ctimeNs].join(" ");
  const known = keysOf.get(dir);
  if (ino !== undefined && known?.stamp === stamp) return known.keys;
  const listed = (await configOf(dir)).split("\0");
  const keys = listed.flatMap((scope, i) => (/^(?:local|worktree)$/.test(scope) ? [(listed[i + 1] ?? "").split("\n")[0] ?? ""] : []));
  if (!keys.some((key) => /^include|^extensions\.worktreeconfig$/.test(key))) keysOf.set(dir, { stamp, keys });
  return keys;
}

/** A pipe or device where git reads a file, which would block git forever; undefined if there is none. */
export function endlessFile(dir: string): ClearedError | undefined {
  const reads = ({ name, parentPath }: Dirent) =>
    /^\.git(?:attributes|ignore)$/.test(name) || `${parentPath}/`.startsWith(join(dir, ".git/"));
  const found = entriesOf(dir).find((entry) => isEndless(entry) && reads(entry));
  const path = found === undefined ? endlessIn(join(dir, ".git/config"), new Set()) : join(found.parentPath, found.name);
  if (path === null) return undefined;
  const named = found === undefined ? ", or the setting of .git/config that names it" : "";
  return new ClearedError("FILE_INVALID", `${path} is ${oddKind(statSync(path))}, which blocks git forever. Remove it${named}.`);
}

// More files than a configuration includes.
const MOST_INCLUDED = 50;

/** The first pipe or device that this configuration, or a file it names, names as a file to read; null if there is none. */
function endlessIn(path: string, seen: Set<string>): string | null {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || path === devNull || found.isDirectory() || seen.has(path) || seen.size > MOST_INCLUDED) return null;
  if (!found.isFile()) return path;
  seen.add(path);
  const values = (found.size > 2 ** 20 ? "" : readFileSync(path, "utf8")).matchAll(/=\s*"?([^"\n;#]+)/g);
  for (const [, value = ""] of values) {
    const inner = endlessIn(resolve(dirname(path), value.trim().replace(/^~(?=\/)/, homedir())), seen);
    if (inner !== null) return inner;
  }
  return null;
}

function entriesOf(dir: string): Dirent[] {
  try {
    return readdirSync(dir, { recursive: true, withFileTypes: true });
  } catch {
    return []; // git or a person has just removed a folder: checked again while git still waits
  }
}
