/**
 * The children of the sandbox: what each kind may read, and the life of a child behind the best wall of this machine (jail.ts).
 * A child gets fd 3 and nothing else: no stdin, no output, no environment, no right to read files once it has loaded.
 * It ends when fd 3 closes; on Linux the kernel also kills it when this process dies, for a child stuck in native code.
 */
import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import type { Socket } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { FRAME, type Frame, createFrameReader } from "./frames.js";
import { type Wall, type Way, wallOf, waysOfChild } from "./jail.ts";
import { type Launched, isMissing, launch, signalIn } from "./launch.ts";
import { LOCKED } from "./lockdown.js";

const require = createRequire(import.meta.url);
const here = dirname(fileURLToPath(import.meta.url));

export type Child = ReturnType<typeof spawnChild>;

export interface ChildKind {
  script: string;
  args: string[];
  flags: string[];
  /** Files and folders it may read while loading. */
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
      // Each run leaves a context of 150 kB: with V8's initial young generation of 0.5 MB, collecting them took a third of its CPU.
      ...["--single-threaded-gc", "--min-semi-space-size=2", "--max-semi-space-size=2"],
      // A regular expression that backtracks too long continues in the linear engine.
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
    // Node's type stripper is WebAssembly, and optimizing it took a third of the start time: our own files are stripped by it too.
    flags: ["--liftoff-only"],
    readable: [
      join(here, ".."),
      join(here, "../../package.json"),
      ...packages(["oxc-parser", "@oxc-parser", "@oxc-project"]),
      "/etc/alpine-release",
    ],
    maxFrame: () => 16 << 20,
  };
}

/** Folders of packages by the name Node looks for and by their real path: node_modules, or a package in it, may be a link. */
function packages(names: readonly string[]): string[] {
  const found = new Set<string>();
  for (let folder = here; folder !== dirname(folder); folder = dirname(folder)) {
    const modules = join(folder, "node_modules");
    // Node follows the link itself, which needs the right to read it; a separate right for a path below it would then be lost.
    const linked = existsSync(modules) && realpathSync(modules) !== modules;
    if (linked) found.add(modules);
    for (const name of names) {
      const path = join(modules, name);
      if (existsSync(path)) found.add(linked ? modules : path).add(realpathSync(path));
    }
  }
  return [...found];
}

export function spawnChild(kind: ChildKind) {
  const nodeArgs = [
    "--permission",
    "--allow-addons",
    // Warns that addons are allowed, which is intended; nobody would see the warning.
    "--disable-warning=PERM0001",
    ...LOCKED,
    ...kind.readable.map((path) => `--allow-fs-read=${path}`),
    ...kind.flags,
    kind.script,
    ...kind.args,
  ];
  const ways = waysOfChild(kind.readable, here);
  const wall = wallOf(kind.script);
  const ready = Promise.withResolvers<boolean>();
  const exited = Promise.withResolvers<NodeJS.Signals | null>();
  // Frames sent before the child was ready: they are sent again when it starts in another way.
  let unheard: Buffer[] | null = [];
  let onFrame: (frame: Frame) => void = () => undefined;
  let [gone, killed] = [false, false];
  let current: Launched | null = null;

  const begin = (): void => {
    const way = ways[wall.chosen] as Way;
    let blind = false;
    const [command = "", ...args] = [...way.prefix, process.execPath, ...nodeArgs];
    const started = (current = launch(command, args, here, way));
    const ended = (signal: NodeJS.Signals | null, said: string) => {
      started?.socket.destroy();
      // A way that does not work ends by itself before its child is ready; a killed one proves nothing about the way.
      const refused = blind || signal === null;
      if (unheard !== null && !killed && refused && wall.giveUp(way, said) && ways[wall.chosen] !== undefined) return begin();
      gone = true;
      ready.resolve(false);
      exited.resolve(signal);
    };
    // Not started at all: the machine's limits, not the way.
    if (started === null) return ended("SIGKILL", "");
    const reader = createFrameReader((frame) => {
      if (unheard === null) return onFrame(frame);
      if (frame.kind !== FRAME.READY) return kill();
      if (killed) return;
      // Nothing may run that cannot be watched.
      blind = started.innermost() === 0;
      if (blind) return started.kill();
      wall.keep(way);
      for (const early of unheard) started.socket.write(early);
      unheard = null;
      ready.resolve(true);
    }, kind.maxFrame);
    started.socket.on("data", (chunk: Buffer) => {
      // A child that breaks the protocol is killed.
      try {
        reader.push(chunk);
      } catch {
        kill();
      }
    });
    // The exit event has all information; a reset pipe adds nothing.
    started.socket.on("error", () => unheard === null && kill());
    // A jail reports the signal that ended its process like a shell.
    started.process.once("exit", (code, signal) => ended(signal ?? signalIn(code), started.said() || `it ended with code ${code}`));
    started.process.once("error", (error: NodeJS.ErrnoException) => ended(isMissing(error) ? null : "SIGKILL", error.message));
    // The child may outlive its purpose without keeping this process alive; a run in progress holds its own timer.
    for (const one of [started.process, ...started.process.stdio.filter((one) => one !== null)]) (one as Socket).unref();
  };
  const kill = () => {
    killed = true;
    if (gone || current === null) return;
    // Callers that wait for the exit must stay alive to see it.
    current.process.ref();
    current.kill();
  };
  begin();
  return {
    /** Pid of the process that does the work, inside any jail; used for watching and accounting. */
    get pid(): number {
      return current === null ? 0 : current.innermost() || current.pid;
    },
    /** True once it can work; false when it has ended before. */
    ready: ready.promise,
    /** Settles when the process has ended, with the signal that ended it. */
    exited: exited.promise,
    alive: (): boolean => !gone && !killed,
    send(frame: Buffer): void {
      if (unheard === null) current?.socket.write(frame);
      else unheard.push(frame);
    },
    /** Called with each frame; replaces the previous listener. */
    listen(listener: (frame: Frame) => void): void {
      onFrame = listener;
    },
    kill,
  };
}

/** Starts a child of each kind and ends it, to find out how they run on this machine. */
export function tryWalls(): Promise<Wall[]> {
  const kinds = [scriptChild({ jit: false, maxFrame: () => 1 << 20 }), compileChild()];
  return Promise.all(
    kinds.map(async (kind) => {
      const child = spawnChild(kind);
      await child.ready;
      child.kill();
      await child.exited;
      return wallOf(kind.script);
    }),
  );
}

type GoneListener = (signal: NodeJS.Signals | null) => void;
const goneListeners = new WeakMap<Child, GoneListener>();

/** Calls the listener once the process has ended. One at a time: a promise would keep those of all jobs until then, 12 kB each. */
export function whenGone(child: Child, listener: GoneListener): void {
  if (!goneListeners.has(child)) void child.exited.then((signal) => goneListeners.get(child)?.(signal));
  goneListeners.set(child, listener);
}

/** isolated-vm's own loader reads files that a child under --permission may not; the prebuilt file is loaded directly. */
function addonPath(): string {
  const folder = join(dirname(require.resolve("isolated-vm/package.json")), "prebuilds", `${process.platform}-${process.arch}`);
  const abi = `isolated-vm.abi${process.versions.modules}`;
  // The project's own Node for Linux is built for glibc only.
  const name = process.platform === "linux" ? `${abi}.glibc.node` : `${abi}.node`;
  const found = join(folder, name);
  if (!existsSync(found))
    throw new Error(`isolated-vm has no prebuilt file for ${process.platform}-${process.arch}, ABI ${process.versions.modules}`);
  return found;
}
