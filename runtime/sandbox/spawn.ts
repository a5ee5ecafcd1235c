/**
 * The only place that starts sandbox processes, so that a jail (bubblewrap, seccomp) can be added here alone.
 * A child gets fd 3 and nothing else: no stdin, no output, no environment, no right to read files once it has loaded.
 * It ends when fd 3 closes; on Linux the kernel also kills it when this process dies, for a child stuck in native code.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import type { Socket } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Frame, createFrameReader } from "./frames.js";

const require = createRequire(import.meta.url);
const here = dirname(fileURLToPath(import.meta.url));
const SETPRIV = "/usr/bin/setpriv";

export interface Child {
  pid: number;
  /** Settles when the process is gone, with the signal that ended it. */
  exited: Promise<NodeJS.Signals | null>;
  alive(): boolean;
  send(frame: Buffer): void;
  /** Called with each frame; replaces the previous listener. */
  listen(onFrame: (frame: Frame) => void): void;
  kill(): void;
}

export interface ChildKind {
  script: string;
  args: string[];
  flags: string[];
  /** Files and folders it may read while it loads. */
  readable: string[];
  maxFrame: () => number;
}

/** The child that runs scripts. */
export function scriptChild(options: { jit: boolean; maxFrame: () => number }): ChildKind {
  const addon = addonPath();
  const decimal = join(dirname(require.resolve("decimal.js/package.json")), "decimal.js");
  return {
    script: join(here, "child.js"),
    args: [addon, decimal],
    flags: [
      ...(options.jit ? [] : ["--jitless"]),
      // isolated-vm measures its own stack from here: deep recursion must end in a RangeError, not in a crash.
      "--stack-size=700",
      // A regular expression that backtracks too long goes on in the linear engine.
      "--enable-experimental-regexp-engine-on-excessive-backtracks",
    ],
    readable: [here, addon, decimal, join(here, "../../package.json")],
    maxFrame: options.maxFrame,
  };
}

/** The child that parses and strips untrusted source. */
export function compileChild(): ChildKind {
  return {
    script: join(here, `compile-child${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`),
    args: [],
    flags: [],
    readable: [
      join(here, ".."),
      join(here, "../../package.json"),
      ...packages(["oxc-parser", "@oxc-parser", "@oxc-project"]),
      "/etc/alpine-release",
    ],
    maxFrame: () => 16 << 20,
  };
}

/** Folders of packages under the name Node looks for and where they really are: node_modules, or what is in it, may be a link. */
function packages(names: readonly string[]): string[] {
  const found = new Set<string>();
  for (let folder = here; folder !== dirname(folder); folder = dirname(folder)) {
    const modules = join(folder, "node_modules");
    // Node follows the link itself, which takes the right to read it; beside that, one below it would be lost.
    const linked = existsSync(modules) && realpathSync(modules) !== modules;
    if (linked) found.add(modules);
    for (const name of names) {
      const path = join(modules, name);
      if (existsSync(path)) found.add(linked ? modules : path).add(realpathSync(path));
    }
  }
  return [...found];
}

export function spawnChild(kind: ChildKind): Child {
  const nodeArgs = [
    "--permission",
    "--allow-addons",
    // It warns that addons are allowed, which is meant; its words would go to nobody.
    "--disable-warning=PERM0001",
    ...kind.readable.map((path) => `--allow-fs-read=${path}`),
    ...kind.flags,
    kind.script,
    ...kind.args,
  ];
  const [command, args] = existsSync(SETPRIV)
    ? [SETPRIV, ["--pdeathsig", "KILL", "--", process.execPath, ...nodeArgs]]
    : [process.execPath, nodeArgs];
  const process_ = start(command, args);
  const socket = process_?.stdio?.[3] as Socket | undefined;
  if (process_ === null || socket === undefined) return deadChild(process_);
  let onFrame: (frame: Frame) => void = () => undefined;
  let gone = false;
  const exited = new Promise<NodeJS.Signals | null>((resolve) => {
    const done = (signal: NodeJS.Signals | null) => {
      gone = true;
      socket.destroy();
      resolve(signal);
    };
    process_.once("exit", (_, signal) => done(signal));
    // Not started at all: that is the machine's doing.
    process_.once("error", () => done("SIGKILL"));
  });
  let killed = false;
  const kill = () => {
    killed = true;
    if (gone) return;
    // Whoever waits for the end must live to see it.
    process_.ref();
    process_.kill("SIGKILL");
  };
  const reader = createFrameReader((frame) => onFrame(frame), kind.maxFrame);
  socket.on("data", (chunk: Buffer) => {
    // A child that breaks the protocol is not talked to any more.
    try {
      reader.push(chunk);
    } catch {
      kill();
    }
  });
  // The exit event tells what there is to know; a reset pipe adds nothing.
  socket.on("error", kill);
  // The child may outlive the need for it without keeping this process alive; a run in progress holds its own timer.
  process_.unref();
  socket.unref();
  return {
    pid: process_.pid ?? 0,
    exited,
    alive: () => !gone && !killed && process_.pid !== undefined,
    send: (frame) => {
      socket.write(frame);
    },
    listen: (listener) => {
      onFrame = listener;
    },
    kill,
  };
}

type GoneListener = (signal: NodeJS.Signals | null) => void;
const goneListeners = new WeakMap<Child, GoneListener>();

/** Calls the listener once the process is gone. One at a time: a promise would keep those of all jobs until the child ends, 12 kB each. */
export function whenGone(child: Child, listener: GoneListener): void {
  if (!goneListeners.has(child)) void child.exited.then((signal) => goneListeners.get(child)?.(signal));
  goneListeners.set(child, listener);
}

/** Null when the machine has no process or file left to give. */
function start(command: string, args: string[]): ChildProcess | null {
  try {
    return spawn(command, args, {
      cwd: here,
      env: { TZ: "UTC", LC_ALL: "C" },
      stdio: ["ignore", "ignore", "ignore", "pipe"],
      windowsHide: true,
    });
  } catch {
    return null;
  }
}

/** What stands for a process that could not be started: its run ends as one whose process died. */
function deadChild(process_: ChildProcess | null): Child {
  process_?.on("error", () => undefined);
  const nothing = () => undefined;
  return { pid: 0, exited: Promise.resolve("SIGKILL"), alive: () => false, send: nothing, listen: nothing, kill: nothing };
}

/** isolated-vm's own loader reads files that a child under --permission may not; the prebuilt file is loaded directly. */
function addonPath(): string {
  const folder = join(dirname(require.resolve("isolated-vm/package.json")), "prebuilds", `${process.platform}-${process.arch}`);
  const abi = `isolated-vm.abi${process.versions.modules}`;
  // The project's own Node for Linux is built for glibc and runs nowhere else.
  const name = process.platform === "linux" ? `${abi}.glibc.node` : `${abi}.node`;
  const found = join(folder, name);
  if (!existsSync(found))
    throw new Error(`isolated-vm has no prebuilt file for ${process.platform}-${process.arch}, ABI ${process.versions.modules}`);
  return found;
}
