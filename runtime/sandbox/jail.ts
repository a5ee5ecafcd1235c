/**
 * The second wall around a process that runs what nobody here wrote: bubblewrap with a filter of system calls where it works, and always
 * what can be had without it: no new privileges, no capabilities, limits, and for root another user. Which of it works is found out
 * by starting: ways are tried from the best to none, and the first that brings a process up is the one from then on.
 */
import { spawn } from "node:child_process";
import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import type { Socket } from "node:net";
import { dirname, join } from "node:path";
import { TRUST } from "../workspace/layout.ts";
import { CHILD, SERVER, filterFor } from "./seccomp.ts";

export interface Way {
  /** For people. */
  says: string;
  /** What stands before the program and its arguments. */
  prefix: string[];
  /** For FILTER_FD of a jailed process. Null: no jail. */
  filter: Buffer | null;
  /** The first process in the jail only waits for the one that counts. */
  reaper: boolean;
}

/** What bubblewrap reads its filter from. The guard of a server uses 3 and 4. */
export const FILTER_FD = 5;

export type Wall = ReturnType<typeof createWall>;
const walls = new Map<string, Wall>();

export const wallOf = (kind: string): Wall => walls.getOrInsertComputed(kind, createWall);

/** Which way the children of a kind start in this process, once one of them has. */
function createWall() {
  let kept: string | null = null;
  const wall = {
    chosen: 0,
    /** The way in use, and why each better one is not; for people. */
    says: "nothing has started yet",
    failures: [] as string[],
    /** A child has started so: from now on, one that does not has another reason. */
    keep({ says }: Way): void {
      kept = wall.says = says;
    },
    /** Answers whether there may be another way. */
    giveUp({ says }: Way, why: string): boolean {
      if (kept === says) return false;
      // Several may find it out at the same time.
      if (!wall.failures.some((one) => one.startsWith(`${says}: `))) wall.chosen = wall.failures.push(`${says}: ${why}`);
      return true;
    },
  };
  return wall;
}

const NOBODY = 65534;
const isRoot = (): boolean => process.getuid?.() === 0;

/** Where the distributions put it; a PATH could name anything. */
const found = (name: string): string | null =>
  ["/usr/bin", "/bin", "/run/current-system/sw/bin"].map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
const LINUX = process.platform === "linux";
export const TOOLS = {
  bwrap: LINUX ? found("bwrap") : null,
  setpriv: LINUX ? found("setpriv") : null,
  prlimit: LINUX ? found("prlimit") : null,
};

const limits = (which: readonly string[]): string[] => (TOOLS.prlimit === null ? [] : [TOOLS.prlimit, ...which, "--"]);
// No core file with what a script has read, no file at all, no more files open than Node needs (some 25).
const CHILD_LIMITS = ["--core=0", "--fsize=0", "--nofile=64", "--memlock=0", "--msgqueue=0"];
const SERVER_LIMITS = ["--core=0"];

/** drop: the user too. */
function withoutPrivileges(drop: boolean, ...more: string[]): string[] {
  if (TOOLS.setpriv === null) return [];
  // Only root may empty the bounding set; for others there is nothing in it that no-new-privs lets them have.
  const user = drop ? [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"] : [];
  const bounding = isRoot() ? ["--bounding-set=-all"] : [];
  return [TOOLS.setpriv, ...more, "--no-new-privs", "--inh-caps=-all", "--ambient-caps=-all", ...bounding, ...user, "--"];
}

// As root no user namespace is needed: where they are forbidden, root's own mounts still work.
const unshared = (): string[] => [
  ...["--unshare-pid", "--unshare-ipc", "--unshare-cgroup-try", "--seccomp", String(FILTER_FD), "--cap-drop", "ALL"],
  ...(isRoot() ? [] : ["--unshare-user"]),
];

const PLAIN: Way = { says: "no jail", prefix: [], filter: null, reaper: false };
export const JAIL = "bubblewrap with a filter of system calls";

/** For the children: what they load and nothing else, read-only, without network, /proc and devices. */
export function waysOfChild(readable: readonly string[], cwd: string): Way[] {
  if (!LINUX) return [PLAIN];
  const filter = filterFor(CHILD);
  const users = isRoot() && TOOLS.setpriv !== null ? [true, false] : [false];
  const jails = TOOLS.bwrap === null || filter === null ? [null] : [TOOLS.bwrap, null];
  const ways = jails.flatMap((bwrap) =>
    users.map((drop): Way => {
      const who = drop ? "another user" : isRoot() ? "root without capabilities" : "no new privileges";
      const says = `${bwrap === null ? PLAIN.says : JAIL}, ${who}`;
      // A child that is stuck in native code when we die does not see that fd 3 closes.
      if (bwrap === null) return { ...PLAIN, says, prefix: [...limits(CHILD_LIMITS), ...withoutPrivileges(drop, "--pdeathsig", "KILL")] };
      const inside = isRoot() ? withoutPrivileges(drop) : [];
      // bubblewrap, without capabilities, may not signal another user's process: there its reaper has to be the first.
      const first = drop ? [] : ["--as-pid-1"];
      const rights = isRoot() ? ["SETUID", "SETGID", "SETPCAP"].flatMap((name) => ["--cap-add", `CAP_${name}`]) : [];
      // No session of its own: it would be scheduled as a group of its own, and each call wait for it (5 times as long at a load of 20).
      // There is no terminal inside, and the filter refuses the call that would type into one.
      const alone = ["--unshare-net", "--unshare-uts", "--die-with-parent"];
      const apart = [...unshared(), ...alone, ...first, ...rights];
      const shown = [...shownAt([...readable, process.execPath, ...inside.slice(0, 1)]), "--remount-ro", "/", "--chdir", cwd];
      return { says, prefix: [...limits(CHILD_LIMITS), bwrap, ...apart, ...shown, "--", ...inside], filter, reaper: drop };
    }),
  );
  return [...ways, PLAIN];
}

// Where a program's libraries are.
const LIBRARIES = ["/usr/lib", "/usr/lib64", "/lib", "/lib64", "/nix/store", "/etc/ld.so.cache"];

/** The paths, and what programs load, under their own names. */
function shownAt(wanted: readonly string[]): string[] {
  const paths = [...LIBRARIES.filter((path) => existsSync(path)), ...wanted];
  // Folders above them are made first: bubblewrap would make them for its own user only.
  const above = new Set<string>();
  for (const path of paths) for (let at = dirname(path); at !== dirname(at); at = dirname(at)) above.add(at);
  const folders = [...above].sort((a, b) => a.length - b.length).filter((folder) => !paths.includes(folder));
  const isLink = (path: string) => LIBRARIES.includes(path) && lstatSync(path).isSymbolicLink();
  const show = (path: string) => (isLink(path) ? ["--symlink", readlinkSync(path), path] : ["--ro-bind-try", path, path]);
  return [...folders.flatMap((folder) => ["--dir", folder]), ...paths.flatMap(show)];
}

const servers = new Map<string, Promise<Way>>();

/**
 * For a tool server that nobody has called trusted, started in a workspace (`hidden`: places it must not see): it may use files and the network as its user does, but it finds
 * no `.cleared`, no keys of ours and no sockets of others (a message bus would start what it likes outside), may not write what git or we
 * act on, and sees no other process.
 */
export function wayOfServer(workspace: string, hidden: readonly string[]): Promise<Way> {
  return servers.getOrInsertComputed(workspace, () => tryServer(workspace, hidden));
}

async function tryServer(workspace: string, hidden: readonly string[]): Promise<Way> {
  const filter = filterFor(SERVER);
  // A shell says of a command that is not there what people know.
  const run = ["/bin/sh", "-c", 'exec "$@"', "cleared-tool-server"];
  const bare: Way = { ...PLAIN, prefix: [...limits(SERVER_LIMITS), ...withoutPrivileges(false), ...run] };
  if (TOOLS.bwrap === null || filter === null) return bare;
  const inside = isRoot() ? [...withoutPrivileges(false), ...run] : run;
  const rights = isRoot() ? ["--cap-add", "CAP_SETPCAP"] : [];
  const prefix = [
    ...limits(SERVER_LIMITS),
    TOOLS.bwrap,
    ...unshared(),
    ...rights,
    ...seenByServer(realpathSync(workspace), hidden),
    "--",
    ...inside,
  ];
  const why = await refusalOf({ ...bare, prefix, filter });
  return why === null ? { says: JAIL, prefix, filter, reaper: false } : { ...bare, says: `${PLAIN.says}: ${why}` };
}

// What of /run a program needs to find names in the network, or itself (NixOS).
const KEPT_OF_RUN = ["/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/run/nscd", "/run/current-system"];

function seenByServer(workspace: string, hidden: readonly string[]): string[] {
  const kept = KEPT_OF_RUN.filter((path) => existsSync(path)).flatMap((path) => ["--ro-bind", path, path]);
  const run = existsSync("/run") ? ["--tmpfs", "/run", ...kept] : [];
  const back = workspace.startsWith("/run/") ? ["--bind", workspace, workspace] : [];
  const hide = (path: string) =>
    statSync(path).isDirectory() ? ["--tmpfs", path, "--remount-ro", path] : ["--ro-bind", "/dev/null", path];
  const gone = (path: string) => path.startsWith("/run/") && !path.startsWith(workspace);
  const own = hidden.filter((path) => existsSync(path) && !gone(path)).flatMap(hide);
  const fixed = [join(workspace, ".git"), join(workspace, TRUST)].flatMap((path) => ["--ro-bind-try", path, path]);
  return ["--dev-bind", "/", "/", "--proc", "/proc", ...run, ...back, ...fixed, ...own];
}

/** Hands the filter to a jail that is starting. */
export function giveFilter(stdio: readonly unknown[], filter: Buffer | null): void {
  const to = stdio[FILTER_FD] as Socket | null | undefined;
  if (filter !== null) to?.on("error", () => undefined).end(filter);
}

/** Why nothing starts this way; null when it does. */
function refusalOf({ prefix, filter }: Way): Promise<string | null> {
  return new Promise((resolve) => {
    const [command = "", ...args] = [...prefix, "true"];
    const nothing = "ignore" as const;
    const tried = spawn(command, args, { stdio: [nothing, nothing, "pipe", nothing, nothing, "pipe"] });
    let said = "";
    tried.stderr?.on("data", (text) => (said += text));
    giveFilter(tried.stdio, filter);
    tried.on("error", ({ message }) => resolve(message));
    tried.on("close", (code) => resolve(code === 0 ? null : said.trim().slice(0, 300)));
  });
}
