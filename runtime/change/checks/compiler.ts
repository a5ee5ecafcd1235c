/**
 * The native TypeScript compiler in a process of its own, kept between checks because starting it takes longer than checking. It sees the files
 * it is given and its own library, nothing else on the disk. It is killed when it needs more than 10 s (its parser takes over a minute for
 * hostile nesting), replaced when it dies, and after many uses. The only door to typescript, pinned by its exact version.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { API, Project } from "typescript/unstable/async";
import { ClearedError } from "../../kernel/errors.ts";
import { rests } from "../../kernel/processes.ts";
import { type Lost, isLost, lostBy, persist } from "../../sandbox/lost.ts";
import { watchAnswer } from "../../sandbox/watchdog.ts";
import { createTurns } from "../../kernel/turns.ts";
import { SCRIPT_OPTIONS } from "./write-types.ts";

const TIMEOUT_MS = 10_000;
const IDLE_MS = 30_000;
const END_MS = 500;
// What it retains of earlier texts is unknown; an occasional fresh one costs nothing.
const MOST_USES = 200;

/** The folder that the files appear to be in. */
const FOLDER = "/cleared-scripts";
const PROJECT = `${FOLDER}/tsconfig.json`;

interface Kept {
  api: API;
  child: ChildProcess;
  /** Text by path. */
  files: Map<string, string>;
  uses: number;
  /** Resolves when it has died or was killed. */
  gone: Promise<Lost>;
}

/** Why the compiler has no result for these files. */
export class CompilerGone {
  readonly why: string;
  constructor(why: string) {
    this.why = why;
  }
}

/** Enumerations of the compiler, loaded on first use. */
export async function compilerNames() {
  const [{ SymbolFlags, TypeFlags }, { SyntaxKind }] = await Promise.all([
    import("typescript/unstable/async"),
    import("typescript/unstable/ast"),
  ]);
  return { SymbolFlags, TypeFlags, SyntaxKind };
}

type Use<T> = (project: Project, path: (name: string) => string) => Promise<T>;

let kept: Kept | null = null;
const inTurn = createTurns();

/**
 * Calls `use` with a project of exactly these files (text by name), by the paths it asks for; one caller at a time. Returns CompilerGone if
 * the compiler dies of the texts or takes too long for them. One that is killed from outside is replaced and asked again.
 * @throws SANDBOX_CRASHED if it is killed again and again
 */
export function withProject<T>(files: ReadonlyMap<string, string>, use: Use<T>): Promise<T | CompilerGone> {
  return inTurn(async () => {
    const answer = await persist(() => useOnce(files, use));
    if (!isLost(answer)) return answer;
    if (!answer.killed) return new CompilerGone("stopped");
    throw new ClearedError("SANDBOX_CRASHED", "The type checker was killed repeatedly, so the types are not checked. Check again.");
  });
}

/** Starts the compiler in advance. A failure is reported to its user. */
export function warmCompiler(): void {
  inTurn(async () => void (kept ??= await start())).catch(() => undefined);
}

async function useOnce<T>(files: ReadonlyMap<string, string>, use: Use<T>): Promise<T | CompilerGone | Lost> {
  rests(drop, null);
  if (kept !== null && (kept.uses >= MOST_USES || !isAlive(kept))) drop();
  let unwatch = (): void => undefined;
  try {
    const current = (kept ??= await start());
    // Its connection may close a moment before its process ends.
    const work = look(current, files, use).catch((error: unknown) =>
      Promise.race([current.gone, sleep(END_MS, null, { ref: false }).then(() => Promise.reject(error))]),
    );
    // If the race is lost, the late result or failure is ignored.
    work.catch(() => undefined);
    const given = new Promise<CompilerGone | Lost>((resolve) => {
      unwatch = watchAnswer({ pid: current.child.pid ?? 0 }, TIMEOUT_MS, {
        late: () => resolve(new CompilerGone(`did not finish within ${TIMEOUT_MS / 1000} s`)),
        lost: () => resolve({ kind: "lost", killed: true }),
      });
    });
    const answer = await Promise.race([work, given, current.gone]);
    if (answer instanceof CompilerGone || isLost(answer)) drop();
    return answer;
  } catch (error) {
    drop();
    throw error;
  } finally {
    unwatch();
    rests(drop, IDLE_MS);
  }
}

async function look<T>(current: Kept, files: ReadonlyMap<string, string>, use: Use<T>): Promise<T> {
  const { api } = current;
  // It would return the text that a file had in an earlier check.
  api.clearSourceFileCache();
  const fileChanges = renew(current.files, files);
  const snapshot = await api.updateSnapshot(current.uses++ === 0 ? { openProjects: [PROJECT] } : { fileChanges });
  const project = snapshot.getProjects()[0];
  if (project === undefined) throw new Error("The compiler opened no project.");
  const answer = await use(project, (name) => `${FOLDER}/${name}`);
  await snapshot.dispose();
  return answer;
}

/** Sets the project's files to the wanted ones; returns the changes in the compiler's format. */
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
      // undefined: read it from disk; null: it does not exist.
      readFile: (path) => files.get(path) ?? (/[/\\]lib[/\\]lib\.[\w.]*d\.ts$/.test(path) ? undefined : null),
      fileExists: (path) => files.has(path),
      directoryExists: (path) => path === FOLDER || path === "/",
      getAccessibleEntries: (path) => ({
        files: path === FOLDER ? [...files.keys()].map((file) => file.slice(FOLDER.length + 1)) : [],
        directories: [],
      }),
    },
  });
  // The API exposes neither its process nor its start, but only the owner of the process can kill it.
  const { client } = api as unknown as { client: { process?: ChildProcess; connect(): Promise<void> } };
  await client.connect();
  const child = client.process;
  if (child === undefined) throw new Error("The compiler has no process.");
  const gone = Promise.withResolvers<Lost>();
  child.once("exit", (_, signal) => gone.resolve(lostBy(signal)));
  // A kept compiler must not keep a command from ending; it ends with its input, unless it is busy.
  child.unref();
  endWithUs(child);
  neverRefuse(child.stdin);
  for (const stream of [child.stdin, child.stdout]) (stream as { unref?(): void } | null)?.unref?.();
  // This reads its library in advance; if it is killed now, its next user notices.
  api.parseConfigFile(PROJECT).catch(() => undefined);
  return { api, child, files, uses: 0, gone: gone.promise };
}

/** Errors of writing to a dead compiler are ignored: unhandled, they would end this process. The caller sees the process end. */
function neverRefuse(stdin: Writable | null): void {
  if (stdin === null) return;
  const write = stdin.write.bind(stdin) as (chunk: unknown, encoding: BufferEncoding, done: () => void) => boolean;
  stdin.write = (chunk: unknown, ...more: unknown[]) => {
    const done = more.at(-1);
    const [encoding] = more;
    return write(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8", () => typeof done === "function" && done());
  };
}

/** If this process is killed while an answer is in flight, the compiler would wait forever; a shell that sees the end of this process ends it. */
function endWithUs(child: ChildProcess): void {
  if (process.platform === "win32") return;
  const watch = spawn("/bin/sh", ["-c", 'read -r nothing; kill -9 "$0"', String(child.pid)], { stdio: ["pipe", "ignore", "ignore"] });
  // Without a shell, the compiler ends only with its input.
  watch.once("error", () => undefined);
  child.once("exit", () => watch.kill("SIGKILL"));
  watch.unref();
  (watch.stdin as unknown as { unref(): void }).unref();
}

function isAlive({ child }: Kept): boolean {
  return child.exitCode === null && child.signalCode === null;
}

/** Its own close waits for an answer, which a busy compiler does not give for minutes. */
function drop(): void {
  kept?.child.kill("SIGKILL");
  kept = null;
}

process.once("exit", drop);
