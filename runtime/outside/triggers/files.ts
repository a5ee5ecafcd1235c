/**
 * Files start runs: one run per agent for all complete files of its folder. A run is identified by the contents of the files, the script and the
 * settings for parsing statements, so nothing is tried twice, and a failed file is tried again once the result can be different. A content that an
 * agent has dealt with is not given to it again; where it has only acted outside, or may have acted where this folder came from, no policy decides
 * alone in the next run.
 * If a run over several files fails, each is tried alone: one that fails alone is refused with a card, the others are imported.
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
  /** What a file with a receipt is imported again for: changes with what its refusal depends on, or with the rows that remain. "" for a new file. */
  mark: string;
}

/** A run over files that failed after it had read at least one of them. */
export interface Failure {
  run: string;
  code: string;
  files: readonly FoundFile[];
  /** The number of rows it got, if reduced. */
  rows: number | null;
}

export interface FilePorts extends Pick<StartPorts, "agents" | "start"> {
  /** Complete files in a folder that must be imported, and those that are not complete. */
  look(folder: string): Promise<{ files: FoundFile[]; waiting: Waiting[] }>;
  /** Changes with config.yaml and importers/ at HEAD. */
  settings(): Promise<string>;
  /** True while a run started by files is not over, or the agent is paused: later files are handled afterwards. */
  importing(agent: string): Promise<boolean>;
  status(run: string): Promise<RunStatus | null>;
  /** What last removed receipts of these contents: `commits` of plain git, after which they are imported again; or only `cleared undo`. */
  undone(hashes: readonly string[]): Promise<{ commits: string | null; byUndo: boolean }>;
  /** For each file what the agent did with its content. */
  known(agent: string, folder: string, files: readonly FoundFile[]): Promise<KnownFile[]>;
  /** Newest first. `state`: the part of their keys for the script and the settings. */
  failures(agent: string, state: string): Promise<Failure[]>;
  /** Records that the file alone made its run fail, in a receipt and on a card. */
  refuse(file: FoundFile, failure: Failure): Promise<void>;
}

export interface KnownFile {
  /** The agent acted outside for it. */
  acted: boolean;
  /** It is not given it again. */
  completed: boolean;
  /** Not under this name. */
  isCopy: boolean;
  /** It was here before this folder was the workspace's, and may have been given to the agent where that came from. */
  elsewhere: boolean;
}

export interface FileStart {
  /** A person wants them imported again. */
  again?: boolean;
  /** A person asks: a failed attempt is repeated once. */
  insist?: boolean;
  /** Called for a file that an agent is not given, because it has dealt with its content under another name. */
  onCopy?: (agent: string, file: string) => void;
}

export interface FileRun {
  id: string;
  created: boolean;
  agent: string;
  /** Files that `cleared undo` returned: nothing imports them again until a person asks or something else changes. */
  returned: string[];
}

const ENDED: readonly (RunStatus | null)[] = ["done", "failed", "diverged", "canceled"];
// Fewer rows than this cannot exceed a limit by their number.
const FEWEST_ROWS = 100;

/** Starts at most one run for each agent that watches the folder. */
export async function startForFiles(
  ports: FilePorts,
  folder: string,
  files: readonly FoundFile[],
  { again = false, insist = false, onCopy }: FileStart = {},
): Promise<FileRun[]> {
  const started: FileRun[] = [];
  const settings = files.length === 0 ? "" : await ports.settings();
  for (const { name, header, blob } of files.length === 0 ? [] : await ports.agents()) {
    if (!listensTo(header, "file_watch") || watchedFolder(header) !== folder || (await ports.importing(name))) continue;
    const state = `@${digest([blob, settings])}`;
    const known = new Map(again ? [] : (await ports.known(name, folder, files)).map((one, i) => [files[i], one]));
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
      const says = (what: "acted" | "elsewhere") => some.some((file) => known.get(file)?.[what] === true);
      const doubts = { doubted: says("acted"), elsewhere: says("elsewhere") };
      const start = (key: string) => ports.start(name, { cause: { kind: "watch", key, detail }, input: {}, ...doubts });
      const contents = digest(some.map((file) => `${file.name}\0${idOf(file)}`).sort());
      const key = `${folder}${contents}${state}${rows === null ? "" : ` ${rows} rows`}`;
      let run = await start(again ? `${key} ${randomUUID()}` : key);
      let isReturned = false;
      if (!run.created && ENDED.includes(await ports.status(run.id))) {
        const { commits, byUndo } = await ports.undone(some.map(({ hash }) => hash));
        if (commits !== null) run = await start(`${key} after ${commits}`);
        if (!run.created && insist && ENDED.includes(await ports.status(run.id))) run = await start(`${key} ${randomUUID()}`);
        isReturned = !run.created && byUndo;
      }
      return { ...run, agent: name, returned: isReturned ? detail.files : [] };
    };
    const failures = again ? [] : await ports.failures(name, state);
    const fresh: FoundFile[] = [];
    let run: FileRun | null = null;
    for (const file of files) {
      if (run?.created === true) break;
      const { completed = false, isCopy = false } = known.get(file) ?? {};
      if (completed && isCopy) onCopy?.(name, file.name);
      if (completed && !insist) continue;
      const plan = planFor(file, failures);
      if (plan === "fresh") fresh.push(file);
      else if ("refuse" in plan) await ports.refuse(file, plan.refuse);
      else started.push((run = await begin([file], { ...plan, repeats: true })));
    }
    if (run?.created !== true && fresh.length > 0) started.push(await begin(fresh, {}));
  }
  return started;
}

/** What to do with a file, given the failed runs over it: import it normally, with fewer rows, alone, or refuse it. */
function planFor(file: FoundFile, failures: readonly Failure[]): "fresh" | { rows: number | null } | { refuse: Failure } {
  const alone = failures.filter(({ files: [first, second] }) => first?.hash === file.hash && second === undefined);
  const overLimit = alone.filter(({ code }) => code.startsWith("LIMIT_"));
  const [last] = alone
    .filter(({ files: [first] }) => first !== undefined && idOf(first) === idOf(file))
    .sort((a, b) => rowsOf(a) - rowsOf(b));
  if (last !== undefined && (!overLimit.includes(last) || rowsOf(last) <= FEWEST_ROWS)) return { refuse: last };
  // A script that exceeds its limits gets fewer rows at once, also for the next part of this file.
  if (overLimit.length > 0) return { rows: Math.floor(Math.min(...overLimit.map(rowsOf)) / 4) };
  return failures.some(({ files }) => files.some((one) => idOf(one) === idOf(file))) ? { rows: null } : "fresh";
}

const rowsOf = ({ rows }: Failure): number => rows ?? PORTION.rows;
const idOf = ({ hash, mark }: FoundFile): string => `${hash}${mark}`;

function digest(parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\n")).digest("hex");
}

// Combines the many events of one copy. Whether a file is complete is decided elsewhere, which also says when to look again.
const SETTLE_MS = 300;
// A periodic scan makes up for lost events (network drives, full inotify tables).
const LOOK_MS = 15_000;

/**
 * File triggers: folders are watched with chokidar; after a change and a short delay the caller scans the folder. The scan decides, not the event:
 * a lost or repeated event changes nothing.
 * Calls `look(folder)` some time after a change below a folder, once at the start, and periodically.
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
      // A watched folder that was removed and created again is a different one to the kernel.
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
    /** Scan again after this many ms, when a file may be complete. */
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
