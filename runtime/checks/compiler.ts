/**
 * The native TypeScript compiler in a process of its own, kept from one check to the next because starting it takes longer than checking.
 * It sees the files it is given and its own library, nothing of the disk. It is killed when it needs more than 10 s (its parser takes over a
 * minute for hostile nesting) and replaced when it dies, and after many uses. The only door to typescript, pinned by its exact version.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { API, Project } from "typescript/unstable/async";
import { SCRIPT_OPTIONS } from "./write-types.ts";

const TIMEOUT_MS = 10_000;
const IDLE_MS = 30_000;
// What it keeps of texts it has seen is unknown; a fresh one now and then costs nothing.
const MOST_USES = 200;

/** Where the files seem to lie. */
const FOLDER = "/cleared-scripts";
const PROJECT = `${FOLDER}/tsconfig.json`;

interface Kept {
  api: API;
  /** Text by path. */
  files: Map<string, string>;
  uses: number;
  /** It died by itself. */
  gone: Promise<CompilerGone>;
}

/** Why the compiler could not say anything about the files. */
export class CompilerGone {
  readonly why: string;
  constructor(why: string) {
    this.why = why;
  }
}

/** Enumerations of the compiler, loaded with the first use. */
export async function compilerNames() {
  const [{ SymbolFlags, TypeFlags }, { SyntaxKind }] = await Promise.all([
    import("typescript/unstable/async"),
    import("typescript/unstable/ast"),
  ]);
  return { SymbolFlags, TypeFlags, SyntaxKind };
}

let kept: Kept | null = null;
let idle: NodeJS.Timeout | null = null;
let tail: Promise<unknown> = Promise.resolve();

/**
 * `use` sees a project of exactly these files (text by name), by the paths it asks for; one caller after the other.
 * Answers CompilerGone when the compiler died or took too long: then nothing is known of the texts.
 */
export function withProject<T>(
  files: ReadonlyMap<string, string>,
  use: (project: Project, path: (name: string) => string) => Promise<T>,
): Promise<T | CompilerGone> {
  const turn = tail.then(() => useOnce(files, use));
  tail = turn.catch(() => undefined);
  return turn;
}

/** Starts the compiler while there is something else to do first. A failure is told to who uses it. */
export function warmCompiler(): void {
  tail = tail.then(async () => void (kept ??= await start())).catch(() => undefined);
}

async function useOnce<T>(
  files: ReadonlyMap<string, string>,
  use: (project: Project, path: (name: string) => string) => Promise<T>,
): Promise<T | CompilerGone> {
  if (idle !== null) clearTimeout(idle);
  if (kept !== null && (kept.uses >= MOST_USES || !isAlive(kept))) drop();
  const current = (kept ??= await start());
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<CompilerGone>((resolve) => {
    // While it runs it keeps this process from ending, which the released compiler does not.
    timer = setTimeout(() => resolve(new CompilerGone(`did not finish within ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS);
  });
  const work = look(current, files, use).catch((error: unknown) => {
    if (isAlive(current)) throw error;
    return new CompilerGone("stopped");
  });
  // When the race is lost the answer comes later, or fails: nobody waits for it.
  work.catch(() => undefined);
  try {
    const answer = await Promise.race([work, late, current.gone]);
    if (answer instanceof CompilerGone) drop();
    return answer;
  } catch (error) {
    drop();
    throw error;
  } finally {
    clearTimeout(timer);
    idle = setTimeout(drop, IDLE_MS);
    idle.unref();
  }
}

async function look<T>(
  current: Kept,
  files: ReadonlyMap<string, string>,
  use: (project: Project, path: (name: string) => string) => Promise<T>,
): Promise<T> {
  const { api } = current;
  // It would answer the text a file had in the check before.
  api.clearSourceFileCache();
  const fileChanges = renew(current.files, files);
  const snapshot = await api.updateSnapshot(current.uses++ === 0 ? { openProjects: [PROJECT] } : { fileChanges });
  const project = snapshot.getProjects()[0];
  if (project === undefined) throw new Error("The compiler opened no project.");
  const answer = await use(project, (name) => `${FOLDER}/${name}`);
  await snapshot.dispose();
  return answer;
}

/** Makes the project's files the wanted ones; answers what has changed, as the compiler wants to hear it. */
function renew(files: Map<string, string>, wanted: ReadonlyMap<string, string>) {
  const texts = new Map([...wanted].map(([name, text]) => [`${FOLDER}/${name}`, text]));
  const deleted = [...files.keys()].filter((path) => path !== PROJECT && !texts.has(path));
  const created = [...texts.keys()].filter((path) => !files.has(path));
  const changed = [...texts].flatMap(([path, text]) => (files.has(path) && files.get(path) !== text ? [path] : []));
  for (const path of deleted) files.delete(path);
  for (const [path, text] of texts) files.set(path, text);
  return { changed, created, deleted };
}

async function start(): Promise<Kept> {
  const { API } = await import("typescript/unstable/async");
  const files = new Map([[PROJECT, JSON.stringify({ compilerOptions: SCRIPT_OPTIONS, include: ["*.ts"] })]]);
  const api = new API({
    cwd: FOLDER,
    fs: {
      // undefined: as it is on disk; null: not there.
      readFile: (path) => files.get(path) ?? (/[/\\]lib[/\\]lib\.[\w.]*d\.ts$/.test(path) ? undefined : null),
      fileExists: (path) => files.has(path),
      directoryExists: (path) => path === FOLDER || path === "/",
      getAccessibleEntries: (path) => ({
        files: path === FOLDER ? [...files.keys()].map((file) => file.slice(FOLDER.length + 1)) : [],
        directories: [],
      }),
    },
  });
  // It starts with the first request.
  await api.parseConfigFile(PROJECT);
  const child = childOf(api);
  if (child === undefined) throw new Error("The compiler has no process.");
  const gone = Promise.withResolvers<CompilerGone>();
  child.once("exit", () => gone.resolve(new CompilerGone("stopped")));
  // A kept compiler must not keep a command from ending; it ends when its input does, unless it is busy.
  child.unref();
  endWithUs(child);
  for (const stream of [child.stdin, child.stdout]) (stream as { unref?(): void } | null)?.unref?.();
  return { api, files, uses: 0, gone: gone.promise };
}

/** Killed in the middle of an answer, this process would leave a compiler that waits for the rest for ever: a shell that sees us end ends it. */
function endWithUs(child: ChildProcess): void {
  if (process.platform === "win32") return;
  const watch = spawn("/bin/sh", ["-c", 'read -r nothing; kill -9 "$0"', String(child.pid)], { stdio: ["pipe", "ignore", "ignore"] });
  // Without a shell the compiler is only ended by its own end of input.
  watch.once("error", () => undefined);
  child.once("exit", () => watch.kill("SIGKILL"));
  watch.unref();
  (watch.stdin as unknown as { unref(): void }).unref();
}

/** The compiler's process. The API does not show it, but only its owner can kill it. */
function childOf(api: API): ChildProcess | undefined {
  return (api as unknown as { client: { process?: ChildProcess } }).client.process;
}

function isAlive({ api }: Kept): boolean {
  const child = childOf(api);
  return child !== undefined && child.exitCode === null && child.signalCode === null;
}

/** Its own way of closing waits for an answer, and a busy compiler gives none for minutes. */
function drop(): void {
  if (kept !== null) childOf(kept.api)?.kill("SIGKILL");
  kept = null;
}

process.once("exit", drop);
