/**
 * Starting git: one-shot commands, and kept-open commands for the hot path, in the environment of environment.ts.
 * Nothing else in the product starts git processes, except `withoutIgnored` (environment.ts), and simple-git for the first commit (init.ts).
 */
import { spawn, type ChildProcess } from "node:child_process";
import { constants, setPriority } from "node:os";
import { ClearedError } from "../../kernel/errors.ts";
import { standsStill, whileAwake } from "../../kernel/processes.ts";
import { type Lost, isLost, persist } from "../../sandbox/lost.ts";
import { FLAGS, commandEnv, endlessFile, heldBack } from "./environment.ts";

// A separate process group: Ctrl-C reaches the whole terminal group and would kill a commit that is being finished.
const DETACHED = process.platform !== "win32";

const configOf = async (dir: string): Promise<string> => (await tryGit(dir, ["config", "--list", "--show-scope", "-z"])).stdout.toString();

export interface GitOutput {
  status: number;
  stdout: Buffer;
  stderr: string;
  /** Ended by a signal: whether it did its work is unknown. */
  killed: boolean;
}

interface GitInput {
  input?: string | Buffer;
  env?: Record<string, string>;
  /** Runs at low priority; an abort ends the command and those it has started. */
  aside?: AbortSignal;
}

// Commands that only read, so they can be repeated after a kill.
const READS = new Set(
  "cat-file config diff-tree for-each-ref hash-object log ls-files merge-base remote rev-list rev-parse status".split(" "),
);

/** Runs one git command and returns its status and output. @throws GIT_FAILED when git cannot be started, or a read is killed each time */
export async function tryGit(dir: string, args: string[], options: GitInput = {}): Promise<GitOutput> {
  const given = { ...options, env: { ...(await heldBack(dir, args, configOf)), ...options.env } };
  if (!READS.has(args[0] ?? "")) return runOnce(dir, args, given);
  return unlessKilled(async () => {
    const done = await runOnce(dir, args, given);
    if (done.killed) throw gitFailed(`git ${args[0]}`, done);
    return done;
  });
}

/** Repeats work that failed because its git was killed, a few times, each after `tidy`. */
export async function unlessKilled<T>(work: () => Promise<T>, tidy: () => void = () => undefined): Promise<T> {
  let last: unknown;
  const done = await persist(async (): Promise<{ value: T } | Lost> => {
    try {
      return { value: await work() };
    } catch (error) {
      if (!(error instanceof ClearedError) || error.data?.["killed"] !== true) throw error;
      last = error;
      tidy();
      return { kind: "lost", killed: true };
    }
  });
  if (isLost(done)) throw last;
  return done.value;
}

/** Running git processes that this process started. */
const running = new Set<number>();

export const isOurGit = (pid: number): boolean => running.has(pid);

// A suspended git process (SIGSTOP) blocks whoever waits for its answer, and may hold a lock: it is killed after this time.
const STOPPED_MS = 5000;

/** `stuck` is called with the reason when git will never answer; `waits`: whether anything waits for its answer. */
function startGit(dir: string, args: string[], env: Record<string, string>, stuck: (why: ClearedError) => unknown, waits = () => true) {
  const child = spawn("git", [...FLAGS, ...args], { cwd: dir, env: commandEnv(env), stdio: "pipe", detached: DETACHED });
  const { pid } = child;
  if (pid === undefined) return child;
  running.add(pid);
  let [stopped, waited, patience] = [0, 0, 2000];
  const watch = whileAwake(STOPPED_MS / 5, (passed) => {
    stopped = standsStill(pid) ? stopped + passed : 0;
    if (stopped > STOPPED_MS) child.kill("SIGKILL");
    waited = waits() ? waited + passed : 0;
    if (waited < patience) return;
    [waited, patience] = [0, patience * 4]; // git may as well be busy
    const why = endlessFile(dir);
    if (why === undefined) return;
    stuck(why);
    child.kill("SIGKILL");
  });
  watch.unref();
  child.once("close", () => {
    running.delete(pid);
    clearInterval(watch);
  });
  return child;
}

// Bytes; no repository of people comes near it.
const MOST_OUTPUT = 2 ** 28;
const TOO_MUCH = `its answer has more than ${MOST_OUTPUT} bytes. Look for a very long commit message, or very many files.`;

function runOnce(dir: string, args: string[], options: GitInput): Promise<GitOutput> {
  return new Promise((resolve, reject) => {
    const child = startGit(dir, args, options.env ?? {}, reject);
    if (options.aside !== undefined && child.pid !== undefined) stepAside(child, child.pid, options.aside);
    const [out, err]: [Buffer[], Buffer[]] = [[], []];
    let left = MOST_OUTPUT;
    const collect = (into: Buffer[]) => (chunk: Buffer) => {
      into.push(chunk);
      left -= chunk.length;
      if (left >= 0) return;
      reject(gitFailed(`git ${args[0] ?? ""}`, TOO_MUCH));
      child.kill("SIGKILL");
    };
    child.stdout.on("data", collect(out));
    child.stderr.on("data", collect(err));
    child.on("error", (cause) =>
      reject(new ClearedError("GIT_FAILED", `git cannot be started: ${cause.message}. Install git and put it in PATH.`, { cause })),
    );
    child.on("close", (status, signal) =>
      resolve({
        status: status ?? 128,
        stdout: Buffer.concat(out),
        stderr: Buffer.concat(err).toString() || (signal ?? ""),
        killed: signal !== null,
      }),
    );
    // A command that ends early closes its input; its error output says why.
    child.stdin.on("error", () => undefined);
    child.stdin.end(options.input ?? "");
  });
}

function stepAside(child: ChildProcess, pid: number, stop: AbortSignal): void {
  const unlessGone = (act: () => void) => {
    try {
      act();
    } catch {
      // It has ended, or the system refuses priorities: it works without.
    }
  };
  const end = () => unlessGone(() => void (DETACHED ? process.kill(-pid, "SIGTERM") : child.kill()));
  unlessGone(() => setPriority(pid, constants.priority.PRIORITY_LOW));
  stop.addEventListener("abort", end);
  // The abort may have come before the start, while the repository's configuration was read.
  if (stop.aborted) end();
  child.once("close", () => stop.removeEventListener("abort", end));
}

/** Like tryGit, but a non-zero exit is an error. @throws GIT_FAILED with the message of git */
export async function git(dir: string, args: string[], options: GitInput = {}): Promise<Buffer> {
  const done = await tryGit(dir, args, options);
  if (done.status !== 0) throw gitFailed(`git ${args[0] ?? ""}`, done);
  return done.stdout;
}

/** STORE_FULL for a full disk, GIT_STATE for a lock that another git holds (`data.lock` names it), GIT_FAILED for everything else. */
export function gitFailed(what: string, how: string | Pick<GitOutput, "stderr" | "killed">): ClearedError {
  const { stderr, killed } = typeof how === "string" ? { stderr: how, killed: false } : how;
  const said = stderr.trim().slice(-600);
  const lock = /Unable to create '(?:.*\/\.git\/)?(?:\.\/)?([^']+\.lock)': File exists/.exec(stderr)?.[1];
  if (lock !== undefined) return new ClearedError("GIT_STATE", lockedBy(lock), { data: { lock } });
  if (/No space left on device|Out of diskspace|Disk quota exceeded/i.test(said))
    return new ClearedError(
      "STORE_FULL",
      `The disk is full: ${what} did not take effect. Free space; the run continues from its last recorded step.`,
    );
  const filter = /filter '([^']*)' failed/.exec(said)?.[1];
  if (filter !== undefined)
    return new ClearedError(
      "GIT_STATE",
      `${what} needs filter.${filter}, a program that this repository's own configuration names and Cleared does not run. Set it in your own configuration (git config --global), or remove it from .gitattributes.`,
    );
  return new ClearedError(
    "GIT_FAILED",
    `${what} failed: ${said === "" ? "it ended without a message" : said}`,
    killed ? { data: { killed } } : {},
  );
}

/** The message that names a lock, and says what a person can do about it. */
export function lockedBy(lock: string): string {
  return `Another git command holds .git/${lock}. Work continues when that ends; if no git is running, remove the file ".git/${lock}".`;
}

/** Takes an answer from the front of the output, or returns how many bytes it needs at least. `used` null: no more of it will be read. */
export type Take<T> = (output: Buffer) => { value: T; used: number | null } | { need: number };

interface Asked {
  take: Take<unknown>;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/**
 * A git command that stays open and answers questions in order. The first question starts it, as does the next one after it died;
 * unanswered questions are rejected. It ends with its owner, because its input then closes; a closed one starts no other.
 */
export class KeptGit {
  readonly #dir: string;
  readonly #args: string[];
  readonly #killed: () => void;
  #child: ChildProcess | null = null;
  #asked: Asked[] = [];
  #chunks: Buffer[] = [];
  #size = 0;
  #need = 1;
  #words = "";
  #closed = false;

  /** `killed` is called each time the process is ended by a signal. */
  constructor(dir: string, args: string[], killed: () => void = () => undefined) {
    this.#dir = dir;
    this.#args = args;
    this.#killed = killed;
  }

  /** Process id while the command is open. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  ask<T>(question: string | Buffer, take: Take<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) throw gitFailed(`git ${this.#args[0] ?? ""}`, "its owner has ended");
      const child = this.#start();
      this.#asked.push({ take, resolve: resolve as (value: unknown) => void, reject });
      child.stdin?.write(question);
    });
  }

  #start(): ChildProcess {
    if (this.#child !== null) return this.#child;
    const stuck = ({ message }: ClearedError) => this.#child !== null && this.#lost(this.#child, { stderr: message, killed: false });
    const child = startGit(this.#dir, this.#args, {}, stuck, () => this.#asked.length > 0);
    this.#child = child;
    [this.#words, this.#chunks, this.#size, this.#need] = ["", [], 0, 1];
    child.stdout.on("data", (chunk: Buffer) => this.#receive(child, chunk));
    child.stderr.on("data", (chunk: Buffer) => {
      this.#words = (this.#words + chunk.toString()).slice(-2000);
    });
    child.stdin.on("error", () => undefined);
    child.on("error", (error) => this.#lost(child, { stderr: error.message, killed: false }));
    child.on("close", (_, signal) => this.#lost(child, { stderr: this.#words, killed: signal !== null }));
    return child;
  }

  #receive(child: ChildProcess, chunk: Buffer): void {
    if (child !== this.#child) return;
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    // Chunks are joined only when an answer can be complete, so that a large blob takes linear time.
    while (this.#asked.length > 0 && this.#size >= this.#need) {
      const output = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
      this.#chunks = [output];
      const first = this.#asked[0] as Asked;
      const taken = first.take(output);
      if ("need" in taken) {
        this.#need = Math.max(taken.need, this.#size + 1);
        return;
      }
      this.#asked.shift();
      if (taken.used === null) {
        first.resolve(taken.value);
        this.#lost(child, { stderr: "", killed: true });
        child.kill("SIGKILL");
        return;
      }
      const rest = output.subarray(taken.used);
      this.#chunks = rest.length === 0 ? [] : [rest];
      this.#size = rest.length;
      this.#need = 1;
      first.resolve(taken.value);
    }
  }

  #lost(child: ChildProcess, how: Pick<GitOutput, "stderr" | "killed">): void {
    if (child !== this.#child) return;
    this.#child = null;
    if (how.killed) this.#killed();
    const left = this.#asked;
    this.#asked = [];
    for (const asked of left) asked.reject(gitFailed(`git ${this.#args[0] ?? ""}`, how));
  }

  /** Closes its input and waits until it has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    const child = this.#child;
    if (child === null) return;
    const gone = new Promise<void>((resolve) => child.once("close", () => resolve()));
    child.stdin?.end();
    const late = setTimeout(() => child.kill("SIGKILL"), 3000);
    await gone;
    clearTimeout(late);
  }
}
