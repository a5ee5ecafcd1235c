/**
 * One process of the sandbox as it was started: the program itself, or bubblewrap around it. Knows which process is the one that works,
 * for whoever watches it, and ends all of it together.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { constants } from "node:os";
import { readProc, standsStill } from "../kernel/processes.ts";
import { type Way, giveFilter } from "./jail.ts";

// What a tool says of why it cannot start a child.
const SAID = 500;
// A process in the middle of starting another is stopped some ms later.
const STOP_MS = 50;
const SLEEP = new Int32Array(new SharedArrayBuffer(4));

export type Launched = NonNullable<ReturnType<typeof launch>>;

// FILTER_FD stands behind one that is not used.
const JAILED = ["ignore", "pipe"] as const;

/** Null when the machine has no process or file left to give. */
export function launch(command: string, args: string[], cwd: string, { filter, prefix, reaper }: Way) {
  let child: ChildProcess;
  try {
    child = spawn(command, args, {
      cwd,
      env: { TZ: "UTC", LC_ALL: "C" },
      stdio: ["ignore", "ignore", prefix.length === 0 ? "ignore" : "pipe", "pipe", ...(filter === null ? [] : JAILED)],
      windowsHide: true,
    });
  } catch {
    return null;
  }
  const stdio = (child.stdio ?? []) as unknown as (Socket | undefined)[];
  const [, , words, socket] = stdio;
  if (socket === undefined || child.pid === undefined) {
    child.on("error", () => undefined);
    return null;
  }
  let said = "";
  words?.on("data", (text: Buffer) => (said = (said + text.toString()).slice(0, SAID))).on("error", () => undefined);
  giveFilter(stdio, filter);
  const { pid } = child;
  const jailed = filter !== null;
  let working = jailed ? 0 : pid;
  return {
    process: child,
    socket,
    /** Of what was started here: the program, or what stands around it. */
    pid,
    /** The process that works; 0 while it is not there, or where the system does not tell. */
    innermost: (): number => (working ||= inside(reaper ? inside(pid) : pid)),
    said: (): string => said.trim(),
    /** Also what stands around it, in whatever state it is. */
    kill(): void {
      // bubblewrap that is killed before it has told its first process to begin would leave it waiting for ever: it is stopped, so that
      // it starts no other, and what it has started ends before it.
      if (jailed && stop(child)) for (const one of childrenOf(pid)) killNow(one);
      child.kill("SIGKILL");
    },
  };
}

/** Waits until the process stands still, for a moment: it may be in the middle of starting another one. */
function stop(child: ChildProcess): boolean {
  if (!child.kill("SIGSTOP")) return false;
  for (let i = 0; i < STOP_MS && !standsStill(child.pid ?? 0); i++) Atomics.wait(SLEEP, 0, 0, 1);
  return true;
}

function killNow(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}

/** The signal that a jail, like a shell, tells by its exit code. */
export function signalIn(code: number | null): NodeJS.Signals | null {
  const number = (code ?? 0) - 128;
  return (Object.entries(constants.signals).find(([, one]) => one === number)?.[0] ?? null) as NodeJS.Signals | null;
}

/** There is no such program, or it may not be started: trying again helps nobody. */
export function isMissing({ code }: NodeJS.ErrnoException): boolean {
  return code === "ENOENT" || code === "EACCES" || code === "EPERM";
}

/** The only process that this one has started; 0 for none. */
function inside(pid: number): number {
  return childrenOf(pid)[0] ?? 0;
}

/** Empty where the system does not tell. */
function childrenOf(pid: number): number[] {
  return (readProc(`/proc/${pid}/task/${pid}/children`) ?? "").split(" ").filter(Boolean).map(Number);
}
