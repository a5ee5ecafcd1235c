/** One process of the sandbox, with or without bubblewrap around it: knows which process does the work, and ends all of them together. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { constants } from "node:os";
import { readProc, standsStill } from "../kernel/processes.ts";
import { type Way, giveFilter } from "./jail.ts";

// Characters kept of a tool's message about why it cannot start a child.
const MAX_OUTPUT = 500;
// A process that is starting another one stops some ms later.
const STOP_MS = 50;
const SLEEP = new Int32Array(new SharedArrayBuffer(4));

export type Launched = NonNullable<ReturnType<typeof launch>>;

// FILTER_FD comes after an unused descriptor.
const JAILED = ["ignore", "pipe"] as const;

/** Null when the machine has no process or file descriptor left. */
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
  words?.on("data", (text: Buffer) => (said = (said + text.toString()).slice(0, MAX_OUTPUT))).on("error", () => undefined);
  giveFilter(stdio, filter);
  const { pid } = child;
  const jailed = filter !== null;
  let working = jailed ? 0 : pid;
  return {
    process: child,
    socket,
    /** Pid of the started process: the program, or the jail around it. */
    pid,
    /** The process that does the work; 0 before it exists, or where unknown. */
    innermost: (): number => (working ||= inside(reaper ? inside(pid) : pid)),
    said: (): string => said.trim(),
    /** Also ends the jail around it, in any state. */
    kill(): void {
      // bubblewrap killed before it signals its first process would leave that process waiting forever. So it is stopped first: then it
      // starts no other process, and those it has started end before it.
      if (jailed && stop(child)) for (const one of childrenOf(pid)) killNow(one);
      child.kill("SIGKILL");
    },
  };
}

/** Waits a moment until the process is stopped: it may be starting another one. */
function stop(child: ChildProcess): boolean {
  if (!child.kill("SIGSTOP")) return false;
  for (let i = 0; i < STOP_MS && !standsStill(child.pid ?? 0); i++) Atomics.wait(SLEEP, 0, 0, 1);
  return true;
}

function killNow(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has already ended.
  }
}

/** The signal that a jail, like a shell, reports in its exit code. */
export function signalIn(code: number | null): NodeJS.Signals | null {
  const number = (code ?? 0) - 128;
  return (Object.entries(constants.signals).find(([, one]) => one === number)?.[0] ?? null) as NodeJS.Signals | null;
}

/** The program does not exist or may not be started: trying again is useless. */
export const isMissing = ({ code }: NodeJS.ErrnoException): boolean => code === "ENOENT" || code === "EACCES" || code === "EPERM";

/** The only child process of this one; 0 for none. */
const inside = (pid: number): number => childrenOf(pid)[0] ?? 0;

/** Empty where unknown. */
const childrenOf = (pid: number): number[] => (readProc(`/proc/${pid}/task/${pid}/children`) ?? "").split(" ").filter(Boolean).map(Number);
