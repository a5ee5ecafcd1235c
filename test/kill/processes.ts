/** Processes as the system shows them, for tests that kill and stop them; and seeded chance, so that a drill can be held again. */
import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import { expect } from "vitest";

/** Processes below this one, zombies left out. Asks for the children of each thread: all of /proc takes long where a test asks each millisecond. */
export function below(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [...(isZombie(child) ? [] : [child]), ...below(child)]);
}

function childrenOf(pid: number): number[] {
  const threads = unlessGone(() => readdirSync(`/proc/${pid}/task`)) ?? [];
  const read = (thread: string) => unlessGone(() => readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8")) ?? "";
  return threads.flatMap((thread) => read(thread).split(" ").filter(Boolean).map(Number));
}

function isZombie(pid: number): boolean {
  const stat = unlessGone(() => readFileSync(`/proc/${pid}/stat`, "utf8")) ?? ") X";
  return /^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
}

function unlessGone<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

export const commandOf = (pid: number): string =>
  (unlessGone(() => readFileSync(`/proc/${pid}/cmdline`, "utf8")) ?? "").replaceAll("\0", " ");

/** Answers whether the process was there to hear it. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

/** An ending process loses its command line before its folder; only without both does nobody count it as running any more. */
const isThere = (pid: number): boolean => commandOf(pid) !== "" || folderOf(pid) !== "";

const folderOf = (pid: number): string => unlessGone(() => readlinkSync(`/proc/${pid}/cwd`)) ?? "";

/** Nothing of these is left after a moment. */
export async function expectGone(pids: readonly number[]): Promise<void> {
  for (let i = 0; i < 250 && pids.some(isThere); i++) await new Promise((next) => setTimeout(next, 20));
  expect(pids.filter(isThere).map(commandOf)).toEqual([]);
}

/** Kills a process and all below it, and waits until they are gone. */
export async function killWithAllBelow(pid: number): Promise<void> {
  // Stopped first, until nobody is new: one that starts another while it is being killed would leave that one at work.
  const all = new Set<number>();
  for (let found = [pid]; found.length > 0; found = below(pid).filter((one) => !all.has(one)))
    for (const one of found) {
      all.add(one);
      signal(one, "SIGSTOP");
    }
  for (const one of all) signal(one, "SIGKILL");
  await expectGone([...all]);
}

/** Mulberry32: the same numbers in 0..1 on each machine. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
