/**
 * Holds the user's index.lock while a run's commit is made: for these milliseconds no `git add` or `git commit` of the user may
 * read an index that does not know the run's files yet. Without the lock such a commit would delete the run's entries.
 * The lock contains our token; a small shell that outlives us removes it if we are killed, and so does the next start.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { linkSync, readdirSync, rmSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ClearedError } from "../../kernel/errors.ts";
import { exists, standsStill } from "../../kernel/processes.ts";
import { readOr } from "../own-folders.ts";

const TOKEN = /^cleared lock (\d+) [0-9a-f]+$/;
// Acts only when its input closes, which means that we are gone; it removes the lock only if the token in it is ours.
const CARETAKER =
  'while IFS= read -r line; do :; done; first=; IFS= read -r first < "$1"; [ "$first" = "$2" ] && rm -f -- "$1"; rm -f -- "$3" "$4"';

export type IndexLock = ReturnType<typeof createIndexLock>;

// A process that holds the lock longer than this is suspended; when it continues it checks the lock first (assertHeld).
const HELD_MS = 10_000;

/** Removes files of killed processes of ours from the git folder; never touches a lock without a token of ours. */
function sweep(gitDir: string): void {
  const lock = join(gitDir, "index.lock");
  const holder = Number(TOKEN.exec(readOr(lock, "").slice(0, 200).trim())?.[1] ?? Number.NaN);
  // By ctime: the lock is a hard link, and its content is older.
  const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.ctimeMs ?? Number.POSITIVE_INFINITY);
  if (!Number.isNaN(holder) && (!exists(holder) || (age > HELD_MS && standsStill(holder)))) rmSync(lock, { force: true });
  for (const name of readdirSync(gitDir)) {
    const pid = /^cleared-(?:lock|index)-(\d+)-[0-9a-f]+(?:\.lock)?$/.exec(name)?.[1];
    if (pid !== undefined && !exists(Number(pid))) rmSync(join(gitDir, name), { force: true });
  }
}

const AT_REST_MS = 5000;

/**
 * Reads HEAD, index or files between two commits of ours: during one they disagree for some milliseconds, and its files look as if a person
 * had removed them. If a lock stays in place, it reads after AT_REST_MS anyway.
 */
export async function betweenCommits<T>(gitDir: string, read: () => Promise<T>): Promise<T> {
  const standing = (): string | null => {
    if (TOKEN.test(readOr(join(gitDir, "index.lock"), "").slice(0, 200).trim())) return null;
    const index = statSync(join(gitDir, "index"), { throwIfNoEntry: false });
    return `${index?.ino} ${index?.mtimeMs}`;
  };
  for (const until = performance.now() + AT_REST_MS; performance.now() < until; ) {
    const before = standing();
    const value = before === null ? null : { read: await read() };
    if (value !== null && standing() === before) return value.read;
    await sleep(20);
  }
  return read();
}

export function createIndexLock(gitDir: string) {
  sweep(gitDir);
  const lock = join(gitDir, "index.lock");
  const name = `${process.pid}-${randomBytes(6).toString("hex")}`;
  const token = `cleared lock ${name.replace("-", " ")}`;
  const tokenFile = join(gitDir, `cleared-lock-${name}`);
  const draft = join(gitDir, `cleared-index-${name}`);
  let caretaker: ChildProcess | null = null;
  let held = false;

  function prepare(): void {
    if (caretaker !== null) return;
    writeFileSync(tokenFile, `${token}\n`);
    if (process.platform === "win32") return;
    // In a separate process group, so that kill -9 of our group does not end it too.
    const shell = spawn("/bin/sh", ["-c", CARETAKER, "sh", lock, token, tokenFile, draft], {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
    });
    shell.on("error", () => undefined);
    shell.stdin?.on("error", () => undefined);
    caretaker = shell;
  }

  return {
    /** Where the next index is prepared before it is renamed into place. */
    draft,
    /** False if another process held the lock the whole time. */
    async take(timeoutMs: number): Promise<boolean> {
      prepare();
      const until = Date.now() + timeoutMs;
      for (;;) {
        try {
          // A hard link appears with its content in one step, so a kill never leaves a lock without a token.
          linkSync(tokenFile, lock);
          held = true;
          return true;
        } catch (error) {
          const code = (error as NodeJS.ErrnoException).code;
          if (code === "ENOENT") writeFileSync(tokenFile, `${token}\n`);
          else if (code !== "EEXIST") throw error;
        }
        if (Date.now() >= until) return false;
        sweep(gitDir);
        await sleep(20);
      }
    },
    /** @throws OWNER_FENCED when another process took the lock while this one was suspended: that process finishes the commit */
    assertHeld(): void {
      if (readOr(lock, "").trim() === token) return;
      held = false;
      throw new ClearedError("OWNER_FENCED", "Another process took this commit over while this one was suspended.");
    },
    release(): void {
      if (!held) return;
      held = false;
      if (readOr(lock, "").trim() === token) unlinkSync(lock);
    },
    close(): void {
      this.release();
      rmSync(tokenFile, { force: true });
      rmSync(draft, { force: true });
      caretaker?.stdin?.end();
      caretaker = null;
    },
  };
}
