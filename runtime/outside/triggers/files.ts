/**
 * Files start runs: one run per agent for all whole files of its folder. What makes such a run unique is what is in the files, the script
 * and the settings that say how statements are read, so nothing is tried twice, and what failed is tried again once it can end otherwise.
 * When a run over several files fails, each is tried alone: the one that fails alone is refused with a card, the others are imported.
 */
import { createHash, randomUUID } from "node:crypto";
import type { Json, RunStatus } from "../../kernel/ports.ts";
import { type ImportFile, PORTION } from "../../workspace/statements/import-files.ts";
import type { Waiting } from "../../workspace/statements/import-folder.ts";
import { type StartPorts, listensTo, watchedFolder } from "./events.ts";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { FSWatcher } from "chokidar";

export interface FoundFile extends ImportFile {
  /** What a file with a receipt is imported again for: changes with what its refusal depends on, or with the rows that are left. "" for a new one. */
  mark: string;
}

/** A run over files that failed after it had read one of them. */
export interface Failure {
  run: string;
  code: string;
  files: readonly FoundFile[];
  /** How many rows it got, where that was less than usual. */
  rows: number | null;
}

export interface FilePorts extends Pick<StartPorts, "agents" | "start"> {
  /** Whole files in a folder that are to be imported, and those that wait. */
  look(folder: string): Promise<{ files: FoundFile[]; waiting: Waiting[] }>;
  /** Changes with config.yaml and importers/ at HEAD. */
  settings(): Promise<string>;
  /** True while a run that files started is not over, or the agent is paused: what came since is looked at when it is not. */
  importing(agent: string): Promise<boolean>;
  status(run: string): Promise<RunStatus | null>;
  /** The last commit that took away a receipt of these contents (an import was undone), or null. */
  undone(hashes: readonly string[]): Promise<string | null>;
  /** Newest first. `state`: what their keys hold, which stands for the script and the settings. */
  failures(agent: string, state: string): Promise<Failure[]>;
  /** The file made its run fail, alone: its receipt and a card say so. */
  refuse(file: FoundFile, failure: Failure): Promise<void>;
}

export interface FileStart {
  /** A person wants them imported although they have been. */
  again?: boolean;
  /** A person asks: what ended before is tried once more. */
  insist?: boolean;
}

export interface FileRun {
  id: string;
  created: boolean;
  agent: string;
}

const ENDED: readonly (RunStatus | null)[] = ["done", "failed", "diverged", "canceled"];
// Fewer rows than this go over no limit by their number.
const FEWEST_ROWS = 100;

/** Starts at most one run for each agent that watches the folder. */
export async function startForFiles(
  ports: FilePorts,
  folder: string,
  files: readonly FoundFile[],
  { again = false, insist = false }: FileStart = {},
): Promise<FileRun[]> {
  const started: FileRun[] = [];
  const settings = files.length === 0 ? "" : await ports.settings();
  for (const { name, header, blob } of files.length === 0 ? [] : await ports.agents()) {
    if (!listensTo(header, "file_watch") || watchedFolder(header) !== folder || (await ports.importing(name))) continue;
    const state = `@${digest([blob, settings])}`;
    const begin = async (some: readonly FoundFile[], how: { rows?: number | null; repeats?: true }): Promise<FileRun> => {
      const { rows = null, repeats } = how;
      const repeated = some.filter(({ mark }) => again || mark !== "").map(({ hash }) => hash);
      const detail = {
        files: some.map((file) => file.name),
        again: repeated,
        take: some as unknown as Json,
        ...(rows === null ? {} : { rows }),
        ...(repeats === undefined ? {} : { repeats }),
      };
      const start = (key: string) => ports.start(name, { cause: { kind: "watch", key, detail }, input: {} });
      const contents = digest(some.map((file) => `${file.name}\0${idOf(file)}`).sort());
      const key = `${folder}${contents}${state}${rows === null ? "" : ` ${rows} rows`}`;
      let run = await start(again ? `${key} ${randomUUID()}` : key);
      if (!run.created && ENDED.includes(await ports.status(run.id))) {
        const undone = await ports.undone(some.map(({ hash }) => hash));
        if (undone !== null) run = await start(`${key} after ${undone}`);
        if (!run.created && insist && ENDED.includes(await ports.status(run.id))) run = await start(`${key} ${randomUUID()}`);
      }
      return { ...run, agent: name };
    };
    const failures = again ? [] : await ports.failures(name, state);
    const fresh: FoundFile[] = [];
    let run: FileRun | null = null;
    for (const file of files) {
      if (run?.created === true) break;
      const plan = planFor(file, failures);
      if (plan === "fresh") fresh.push(file);
      else if ("refuse" in plan) await ports.refuse(file, plan.refuse);
      else started.push((run = await begin([file], { ...plan, repeats: true })));
    }
    if (run?.created !== true && fresh.length > 0) started.push(await begin(fresh, {}));
  }
  return started;
}

/** What becomes of a file, by the runs over it that failed: nothing is known against it, it is tried alone, or it has failed alone. */
function planFor(file: FoundFile, failures: readonly Failure[]): "fresh" | { rows: number | null } | { refuse: Failure } {
  const alone = failures.filter(({ files: [first, second] }) => first?.hash === file.hash && second === undefined);
  const overLimit = alone.filter(({ code }) => code.startsWith("LIMIT_"));
  const [last] = alone
    .filter(({ files: [first] }) => first !== undefined && idOf(first) === idOf(file))
    .sort((a, b) => rowsOf(a) - rowsOf(b));
  if (last !== undefined && (!overLimit.includes(last) || rowsOf(last) <= FEWEST_ROWS)) return { refuse: last };
  // A script that goes over its limits gets fewer rows at once, of this file's next part, too.
  if (overLimit.length > 0) return { rows: Math.floor(Math.min(...overLimit.map(rowsOf)) / 4) };
  return failures.some(({ files }) => files.some((one) => idOf(one) === idOf(file))) ? { rows: null } : "fresh";
}

const rowsOf = ({ rows }: Failure): number => rows ?? PORTION.rows;
const idOf = ({ hash, mark }: FoundFile): string => `${hash}${mark}`;

function digest(parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\n")).digest("hex");
}

// One look for the many events of one copy. Whether a file is whole is not decided by this: whoever looks says when to look again.
const SETTLE_MS = 300;
// A watcher that misses events (network drives, full inotify tables) is made up for by looking anyway.
const LOOK_MS = 15_000;

/**
 * File triggers: folders are watched with chokidar, a change settles for a moment, then the caller looks at what is there.
 * What is there decides, not the event: a lost or doubled event changes nothing.
 * Calls `look(folder)` some time after something changed below a folder, once at the start and now and then.
 */
export function createWatch(dir: string, look: (folder: string) => void) {
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
    async set(folders: string[]): Promise<void> {
      wanted = [...new Set(folders)];
      for (const folder of [...watchers.keys()]) if (!wanted.includes(folder)) await drop(folder);
      await follow();
    },
    /** Look again in so many ms: something there may be whole by then. */
    lookAgain: (folder: string, inMs: number): void => {
      if (wanted.includes(folder)) after(Math.max(SETTLE_MS, inMs), folder, "waiting");
    },
    async stop(): Promise<void> {
      clearInterval(regular);
      wanted = [];
      for (const timer of timers.values()) clearTimeout(timer);
      await Promise.all([...watchers.keys()].map(drop));
    },
  };
}
