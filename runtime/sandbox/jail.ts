/**
 * The second wall around a process that runs untrusted code: bubblewrap with a filter of system calls where it works, and always
 * what is possible without it: no new privileges, no capabilities, limits, and for root another user. Which of these work is found
 * out by starting: ways are tried from the best to none, and the first that starts a process is used from then on.
 */
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import type { Socket } from "node:net";
import { dirname, join } from "node:path";
import { ClearedError } from "../kernel/errors.ts";
import { LAUNCHER, TRUST } from "../workspace/layout.ts";
import { CHILD, SERVER, filterFor } from "./seccomp.ts";

export interface Way {
  /** Description for people. */
  says: string;
  /** Command and arguments before the program's. */
  prefix: string[];
  /** Written to FILTER_FD of a jailed process. Null: no jail. */
  filter: Buffer | null;
  /** The first process in the jail only waits for the one that does the work. */
  reaper: boolean;
}

/** The descriptor from which bubblewrap reads its filter. The guard of a server uses 3 and 4. */
export const FILTER_FD = 5;

export type Wall = ReturnType<typeof createWall>;
const walls = new Map<string, Wall>();

export const wallOf = (kind: string): Wall => walls.getOrInsertComputed(kind, createWall);

/** The way in which children of a kind start in this process, once one of them has started. */
function createWall() {
  let kept: string | null = null;
  const wall = {
    chosen: 0,
    /** The way in use, and why each better one does not work; for people. */
    says: "nothing has started yet",
    failures: [] as string[],
    /** A child has started this way: a later one that fails has another reason. */
    keep({ says }: Way): void {
      kept = wall.says = says;
    },
    /** Answers whether another way may be tried. */
    giveUp({ says }: Way, why: string): boolean {
      if (kept === says) return false;
      // Several starts may find this out at the same time.
      if (!wall.failures.some((one) => one.startsWith(`${says}: `))) wall.chosen = wall.failures.push(`${says}: ${why}`);
      return true;
    },
  };
  return wall;
}

/** A user of its own, which no account has: another process of `nobody` could read and write the memory of the children. */
const ALONE = randomInt(61_184, 65_520);
const isRoot = (): boolean => process.getuid?.() === 0;

const LINUX = process.platform === "linux";
/** The standard locations of distributions; a PATH could name anything. */
const FOLDERS = LINUX ? ["/usr/bin", "/bin", "/run/current-system/sw/bin"] : [];
const found = (name: string): string | null => FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
export const TOOLS = { bwrap: found("bwrap"), setpriv: found("setpriv"), prlimit: found("prlimit") };

const limits = (which: readonly string[]): string[] => (TOOLS.prlimit === null ? [] : [TOOLS.prlimit, ...which, "--"]);
// No core file with data of scripts, no writing of files, no more open files than Node needs (about 25).
const CHILD_LIMITS = ["--core=0", "--fsize=0", "--nofile=64", "--memlock=0", "--msgqueue=0"];
const SERVER_LIMITS = ["--core=0"];

/** drop: also changes the user. */
function withoutPrivileges(drop: boolean, ...more: string[]): string[] {
  if (TOOLS.setpriv === null) return [];
  // Only root may empty the bounding set; for others it contains nothing that no-new-privs would let them gain.
  const user = drop ? [`--reuid=${ALONE}`, `--regid=${ALONE}`, "--clear-groups"] : [];
  const bounding = isRoot() ? ["--bounding-set=-all"] : [];
  return [TOOLS.setpriv, ...more, "--no-new-privs", "--inh-caps=-all", "--ambient-caps=-all", ...bounding, ...user, "--"];
}

// Root needs no user namespace: where they are forbidden, root's own mounts still work.
const unshared = (): string[] => [
  ...["--unshare-pid", "--unshare-ipc", "--unshare-cgroup-try", "--seccomp", String(FILTER_FD), "--cap-drop", "ALL"],
  ...(isRoot() ? [] : ["--unshare-user"]),
];

const PLAIN: Way = { says: "no jail", prefix: [], filter: null, reaper: false };
export const JAIL = "bubblewrap with a filter of system calls";

/** For the children: only the files they load, read-only, without network, /proc and devices. */
export function waysOfChild(readable: readonly string[], cwd: string): Way[] {
  if (!LINUX) return [PLAIN];
  const filter = filterFor(CHILD);
  const users = isRoot() && TOOLS.setpriv !== null ? [true, false] : [false];
  const jails = TOOLS.bwrap === null || filter === null ? [null] : [TOOLS.bwrap, null];
  const ways = jails.flatMap((bwrap) =>
    users.map((drop): Way => {
      const who = drop ? "another user" : isRoot() ? "root without capabilities" : "no new privileges";
      const says = `${bwrap === null ? PLAIN.says : JAIL}, ${who}`;
      // A child stuck in native code does not notice that fd 3 closes when we die.
      if (bwrap === null) return { ...PLAIN, says, prefix: [...limits(CHILD_LIMITS), ...withoutPrivileges(drop, "--pdeathsig", "KILL")] };
      const inside = isRoot() ? withoutPrivileges(drop) : [];
      // bubblewrap, without capabilities, may not signal another user's process, so its own reaper must be the first process there.
      const first = drop ? [] : ["--as-pid-1"];
      const rights = isRoot() ? ["SETUID", "SETGID", "SETPCAP"].flatMap((name) => ["--cap-add", `CAP_${name}`]) : [];
      // No session of its own: it would be scheduled as a separate group, and delay each call (5 times as long at a load of 20).
      // There is no terminal inside, and the filter refuses the call that would type into one.
      const alone = ["--unshare-net", "--unshare-uts", "--die-with-parent"];
      const apart = [...unshared(), ...alone, ...first, ...rights];
      const shown = [...shownAt([...readable, process.execPath, ...inside.slice(0, 1)]), "--remount-ro", "/", "--chdir", cwd];
      return { says, prefix: [...limits(CHILD_LIMITS), bwrap, ...apart, ...shown, "--", ...inside], filter, reaper: drop };
    }),
  );
  return [...ways, PLAIN];
}

// Folders of shared libraries.
const LIBRARIES = ["/usr/lib", "/usr/lib64", "/lib", "/lib64", "/nix/store", "/etc/ld.so.cache"];

/** The paths, and the libraries that programs load, under their own names. */
function shownAt(wanted: readonly string[]): string[] {
  const paths = [...LIBRARIES.filter((path) => existsSync(path)), ...wanted];
  // Parent folders are made first: bubblewrap would make them for its own user only.
  const above = new Set<string>();
  for (const path of paths) for (let at = dirname(path); at !== dirname(at); at = dirname(at)) above.add(at);
  const folders = [...above].sort((a, b) => a.length - b.length).filter((folder) => !paths.includes(folder));
  const isLink = (path: string) => LIBRARIES.includes(path) && lstatSync(path).isSymbolicLink();
  const show = (path: string) => (isLink(path) ? ["--symlink", readlinkSync(path), path] : ["--ro-bind-try", path, path]);
  return [...folders.flatMap((folder) => ["--dir", folder]), ...paths.flatMap(show)];
}

const servers = new Map<string, Promise<Way>>();

/** Of a tool server: `programs`, what it is started from, as paths; `hidden`: places it must not see; `writes`: folders in which it may write. */
export interface Places {
  programs: readonly string[];
  hidden: readonly string[];
  writes: readonly string[];
}

/**
 * For a tool server not marked as trusted, started in a workspace: it may read files and use the network like its user, and writes in a
 * temporary folder of its own and in `writes` only: what git, a shell or we act on could be anywhere. It does not see `.cleared`, our keys,
 * sockets of others (a message bus or a terminal multiplexer could start programs outside) or other processes.
 */
export function wayOfServer(workspace: string, places: Places): Promise<Way> {
  return servers.getOrInsertComputed(JSON.stringify([workspace, places]), () => tryServer(workspace, places));
}

async function tryServer(workspace: string, places: Places): Promise<Way> {
  const filter = filterFor(SERVER);
  // A shell's message about a missing command is the one people know.
  const run = ["/bin/sh", "-c", 'exec "$@"', "cleared-tool-server"];
  const bare: Way = { ...PLAIN, prefix: [...limits(SERVER_LIMITS), ...withoutPrivileges(false), ...run] };
  if (TOOLS.bwrap === null || filter === null) return bare;
  const inside = isRoot() ? [...withoutPrivileges(false), ...run] : run;
  const rights = isRoot() ? ["--cap-add", "CAP_SETPCAP"] : [];
  const begin = [...limits(SERVER_LIMITS), TOOLS.bwrap, ...unshared(), ...rights];
  const prefix = [...begin, ...seenByServer(realpathSync(workspace), places), "--", ...inside];
  const why = await refusalOf({ ...bare, prefix, filter });
  if (why === null) return { says: JAIL, prefix, filter, reaper: false };
  // Where bubblewrap can start nothing, doctor says so; a jail that only our mounts prevent must not be missing unnoticed.
  const bad = await refusalOf({ ...bare, prefix: [...begin, "--ro-bind", "/", "/", "--", ...inside], filter });
  if (bad !== null) return { ...bare, says: `${PLAIN.says}: ${why}` };
  throw new ClearedError("TOOL_DOWN", `The jail of a tool server that is not trusted does not start, so neither does the server: ${why}`);
}

// Parts of /run that a program needs to resolve names in the network, or to find itself (NixOS).
const KEPT_OF_RUN = ["/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/run/nscd", "/run/current-system"];

// Files of other programs, and sockets through which some would start whatever they are asked to. A server finds them empty.
const OF_OTHERS = ["/dev", "/tmp", ...(existsSync("/run") ? ["/run"] : [])];
const PRODUCT = dirname(dirname(import.meta.dirname));

function seenByServer(workspace: string, { programs, hidden, writes }: Places): string[] {
  const isIn = (path: string, folders: readonly string[]) => folders.some((folder) => `${path}/`.startsWith(`${folder}/`));
  const isGone = (path: string) => isIn(path, OF_OTHERS);
  // A program loads others from its folder.
  const started = programs.filter((path) => isGone(path) && existsSync(path));
  const folders = started.map((path) => (/^\/tmp\/[^/]+\/./.test(path) && !statSync(path).isDirectory() ? dirname(path) : path));
  const kept = [...KEPT_OF_RUN, ...[PRODUCT, ...folders, workspace].filter(isGone)].filter((path) => existsSync(path));
  const empty = ["--dev", "/dev", "--proc", "/proc", ...OF_OTHERS.slice(1).flatMap((path) => ["--tmpfs", path])];
  const own = writes.map((path) => realpathSync(path));
  const hide = (path: string) =>
    statSync(path).isDirectory() ? ["--tmpfs", path, "--remount-ro", path] : ["--ro-bind", "/dev/null", path];
  const real = hidden.filter((path) => existsSync(path)).map((path) => realpathSync(path));
  const secret = real.filter((path) => !isGone(path) || isIn(path, [...kept, ...own]));
  // Not even if the workspace itself is one of its folders.
  const fixed = [".git", TRUST, LAUNCHER].map((name) => join(workspace, name)).flatMap((path) => ["--ro-bind-try", path, path]);
  return [
    ...["--ro-bind", "/", "/", ...empty, ...kept.flatMap((path) => ["--ro-bind", path, path])],
    ...own.flatMap((path) => ["--bind", path, path]),
    ...fixed,
    ...secret.flatMap(hide),
  ];
}

/** Passes the filter to a jail that is starting. */
export function giveFilter(stdio: readonly unknown[], filter: Buffer | null): void {
  const to = stdio[FILTER_FD] as Socket | null | undefined;
  if (filter !== null) to?.on("error", () => undefined).end(filter);
}

/** Why nothing starts this way; null when it works. */
function refusalOf({ prefix, filter }: Way): Promise<string | null> {
  return new Promise((resolve) => {
    const [command = "", ...args] = [...prefix, "true"];
    const nothing = "ignore" as const;
    const tried = spawn(command, args, { stdio: [nothing, nothing, "pipe", nothing, nothing, "pipe"] });
    let output = "";
    tried.stderr?.on("data", (text) => (output += text));
    giveFilter(tried.stdio, filter);
    tried.on("error", ({ message }) => resolve(message));
    tried.on("close", (code) => resolve(code === 0 ? null : output.trim().slice(0, 300)));
  });
}
