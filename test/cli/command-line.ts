/**
 * The command line as users meet it: real processes on real workspaces. A workspace is made once by `cleared init` and copied for each
 * test; everything below one temporary folder, removed at the end. Git sees no settings of this machine.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { afterAll } from "vitest";
import { NODE_FLAGS } from "../../bin/launcher.js";
import { confirm } from "../confirm.ts";
import { madeOnce } from "../made-once.ts";
import { keepMarks } from "../marks.ts";
import { patiently } from "../patience.ts";
import type { Answer, Request } from "./warm-host.ts";

export const ROOT = join(import.meta.dirname, "../..");
const NODE = realpathSync(process.execPath);
export const MAIN = [NODE, ...NODE_FLAGS, "--import", join(ROOT, "bin", "follow.js"), join(ROOT, "runtime", "cli", "main.ts")];
const home = mkdtempSync(join(process.env["CLEARED_MADE"] as string, "cli-"));
const bin = join(home, "bin");
export const ENV = {
  PATH: `${bin}:${dirname(NODE)}:${process.env["PATH"]}`,
  HOME: home,
  XDG_STATE_HOME: process.env["XDG_STATE_HOME"],
  TZ: "UTC",
  LC_ALL: "C.UTF-8",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_AUTHOR_NAME: "Ada",
  GIT_AUTHOR_EMAIL: "ada@localhost",
  GIT_COMMITTER_NAME: "Ada",
  GIT_COMMITTER_EMAIL: "ada@localhost",
};

mkdirSync(bin);
const quoted = (words: string[]) => words.map((word) => `'${word}'`).join(" ");
writeFileSync(
  join(bin, "cleared"),
  `#!/bin/sh\n[ -n "$CLEARED_WARM" ] && . '${ROOT}/test/cli/warm-client.sh'\nexec ${quoted(MAIN)} "$@"\n`,
);
chmodSync(join(bin, "cleared"), 0o755);

const running = new Set<Started>();
afterAll(async () => {
  await Promise.all([...running].map((one) => one.stop("SIGKILL")));
  await cool();
  rmSync(home, { recursive: true, force: true });
});

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
  /** stdout read as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: what a command prints is looked at by the test, not typed
  json(): any;
}

/** Runs a line of shell in which `cleared` is the command; `alone`: a process of its own, also in a file that has called `warmUp`. */
export function shell(cwd: string, line: string, alone = false): Promise<Ended> {
  if (!alone && /^cleared [\w ./=-]*$/.test(line)) return cleared(cwd, ...line.trim().split(/ +/).slice(1));
  return ended(spawn("sh", ["-c", line], { cwd, env: alone ? ENV : { ...ENV, ...warm }, stdio: ["ignore", "pipe", "pipe"] }));
}

let warmed = 0;
let warm: Record<string, string> = {};
let cool = async (): Promise<void> => undefined;

/**
 * From here on the commands of a file are made by one process, one command after the other (warm-host.ts): for files that promise what a command
 * does, and not that it is a process.
 */
export async function warmUp(): Promise<void> {
  const socket = join(home, `warm-${++warmed}`);
  const [node = "", ...flags] = MAIN.slice(0, -1);
  const host = spawn(node, [...flags, join(ROOT, "test/cli/warm-host.ts"), socket], {
    cwd: home,
    env: ENV,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const over = new Promise((resolve) => host.once("exit", resolve));
  await Promise.race([once(host.stdout, "data"), over.then(() => Promise.reject(new Error(`the warm host at ${socket} has ended`)))]);
  warm = { CLEARED_WARM: `${socket}.shell` };
  cool = async () => {
    [warm, cool] = [{}, async () => undefined];
    host.kill();
    await over;
  };
}

export function cleared(cwd: string, ...args: string[]): Promise<Ended> {
  const socket = warm["CLEARED_WARM"]?.replace(/\.shell$/, "");
  if (socket !== undefined) return asked(socket, { args, cwd, env: ENV as Request["env"], input: null });
  const [node = "", ...rest] = MAIN;
  return ended(spawn(node, [...rest, ...args], { cwd, env: ENV, stdio: ["ignore", "pipe", "pipe"] }));
}

/** What warm-client.sh does for a shell. */
function asked(socket: string, request: Request): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const connection = connect(socket).setEncoding("utf8").on("error", reject);
    let text = "";
    connection.on("data", (more) => (text += String(more)));
    connection.on("end", () => {
      // It has ended before it could answer: so has this command.
      const { code, said } = (text === "" ? { code: null, said: [] } : JSON.parse(text)) as Omit<Answer, "code"> & Pick<Ended, "code">;
      const from = (wanted: string) => {
        const parts = said.filter(([stream]) => stream === wanted).map(([, part]) => Buffer.from(part, "latin1"));
        return Buffer.concat(parts).toString();
      };
      const stdout = from("stdout");
      resolve({ code, stdout, stderr: from("stderr"), json: () => JSON.parse(stdout) });
    });
    connection.end(JSON.stringify(request));
  });
}

function ended(child: ChildProcess): Promise<Ended> {
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk) => (stdout += chunk));
  child.stderr?.on("data", (chunk) => (stderr += chunk));
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, stdout, stderr, json: () => JSON.parse(stdout) })));
}

let template: Promise<string> | undefined;
let made = 0;

/** A fresh workspace of "Acme", its first commit made, with these files in a second one. */
export async function workspace(files: Record<string, string> = {}): Promise<string> {
  template ??= madeOnce("cli", async (dir) => {
    const init = await cleared(home, "init", dir, "--name", "Acme", "--person", "Ada");
    if (init.code !== 0) throw new Error(init.stderr);
    // The status page of each test takes a port of its own, and files are whole after a moment.
    const config = readFileSync(join(dir, "config.yaml"), "utf8")
      .replace(/port: \d+/, "port: 0")
      .replace(/settle_seconds: \d+/, "settle_seconds: 0.2");
    writeFileSync(join(dir, "config.yaml"), config);
    await shell(dir, "git commit -qam 'config: any port'");
    rmSync(join(dir, ".git/hooks"), { recursive: true, force: true });
  });
  const dir = join(home, `w${++made}`);
  cpSync(await template, dir, { recursive: true });
  confirm(dir);
  if (Object.keys(files).length > 0) await commit(dir, files);
  return dir;
}

export function put(dir: string, files: Record<string, string | Uint8Array>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
}

export async function commit(dir: string, files: Record<string, string>, message = "change"): Promise<void> {
  put(dir, files);
  const done = await shell(
    dir,
    `git add -A -- ${Object.keys(files)
      .map((path) => `'${path}'`)
      .join(" ")} && git commit -qm '${message}'`,
  );
  if (done.code !== 0) throw new Error(done.stderr);
  if (Object.keys(files).some((path) => /^trust\.yaml$|^plugins\//.test(path))) confirm(dir);
}

export interface Started {
  pid: number;
  /** Everything it said, both streams. */
  said(): string;
  /** Resolves when what it says (from `from` on) matches. */
  says(pattern: RegExp, timeoutMs?: number): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  ended: Promise<number | null>;
}

/** `cleared start`, once it watches. */
export const start = (dir: string, ...args: string[]): Promise<Started> => startWith(dir, {}, ...args);

/** With variables of the environment. */
export async function startWith(dir: string, variables: Record<string, string>, ...args: string[]): Promise<Started> {
  if (template !== undefined && existsSync(join(dir, ".cleared"))) await keepMarks(await template, dir);
  const [node = "", ...rest] = MAIN;
  const env = { ...ENV, ...variables };
  const child = spawn(node, [...rest, "start", ...args], { cwd: dir, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  let text = "";
  child.stdout.on("data", (chunk) => (text += chunk));
  child.stderr.on("data", (chunk) => (text += chunk));
  const over = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  const one: Started = {
    pid: child.pid ?? 0,
    said: () => text,
    ended: over,
    async says(pattern, timeoutMs = 100_000) {
      await until(
        () => pattern.test(text),
        timeoutMs,
        () => `${pattern} was not said, but:\n${text}`,
      );
    },
    async stop(signal = "SIGTERM") {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      const code = await over;
      running.delete(one);
      return code;
    },
  };
  running.add(one);
  await until(
    () => /Ctrl-C stops/.test(text) || child.exitCode !== null,
    20_000,
    () => `start did not come up:\n${text}`,
  );
  return one;
}

export async function until(
  met: () => boolean | Promise<boolean>,
  timeoutMs = 100_000,
  why: () => string = () => "not in time",
): Promise<void> {
  for (const end = Date.now() + patiently(timeoutMs); !(await met()); ) {
    if (Date.now() > end) throw new Error(why());
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export function isThere(dir: string, path: string): boolean {
  return existsSync(join(dir, path));
}

/** A generic bank export; amounts as text, negative is out. */
export function statement(rows: [date: string, description: string, amount: string][]): string {
  return `Date,Description,Amount\n${rows.map((row) => row.join(",")).join("\n")}\n`;
}

/** hledger and Ledger agree with the books; where neither is installed, the books' own check stands. */
export async function agrees(dir: string): Promise<void> {
  const verified = await cleared(dir, "verify", "--independent", "--json");
  const { findings, independent } = verified.json();
  if (verified.code !== 0) throw new Error(JSON.stringify({ findings, independent }, null, 2));
}
