/**
 * File triggers: folders are watched with chokidar, a change settles for a moment, then the caller looks at what is there.
 * What is there decides, not the event: a lost or doubled event changes nothing.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { FSWatcher } from "chokidar";

// One look for the many events of one copy. Whether a file is whole is not decided by this: whoever looks says when to look again.
const SETTLE_MS = 300;
// A watcher that misses events (network drives, full inotify tables) is made up for by looking anyway.
const LOOK_MS = 15_000;

export interface Watch {
  set(folders: string[]): Promise<void>;
  /** Look again in so many ms: something there may be whole by then. */
  lookAgain(folder: string, inMs: number): void;
  stop(): Promise<void>;
}

/** Calls `look(folder)` some time after something changed below a folder, once at the start and now and then. */
export function createWatch(dir: string, look: (folder: string) => void): Watch {
  const watchers = new Map<string, FSWatcher>();
  const timers = new Map<string, NodeJS.Timeout>();
  let wanted: string[] = [];
  const after = (ms: number, folder: string, what: string) => {
    clearTimeout(timers.get(`${what} ${folder}`));
    timers.set(`${what} ${folder}`, setTimeout(look, ms, folder));
  };
  const settle = (folder: string) => after(SETTLE_MS, folder, "events");
  const drop = async (folder: string) => {
    const watcher = watchers.get(folder);
    watchers.delete(folder);
    await watcher?.close();
  };
  const follow = async () => {
    const { watch } = await import("chokidar");
    for (const folder of wanted) {
      // A watched folder that was removed and made anew is another one to the kernel.
      if (!existsSync(join(dir, folder))) await drop(folder);
      else if (!watchers.has(folder)) {
        const watcher = watch(join(dir, folder), { depth: 0, ignoreInitial: true });
        watcher.on("all", () => settle(folder)).on("error", () => settle(folder));
        watchers.set(folder, watcher);
        settle(folder);
      }
    }
  };
  const regular = setInterval(() => {
    void follow();
    for (const folder of wanted) look(folder);
  }, LOOK_MS);
  return {
    async set(folders) {
      wanted = [...new Set(folders)];
      for (const folder of [...watchers.keys()]) if (!wanted.includes(folder)) await drop(folder);
      await follow();
    },
    lookAgain: (folder, inMs) => wanted.includes(folder) && after(Math.max(SETTLE_MS, inMs), folder, "waiting"),
    async stop() {
      clearInterval(regular);
      wanted = [];
      for (const timer of timers.values()) clearTimeout(timer);
      await Promise.all([...watchers.keys()].map(drop));
    },
  };
}
