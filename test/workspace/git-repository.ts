/** Real repositories in temp folders for the git tests: made, asked and removed here. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { CommitRequest } from "../../runtime/kernel/ports.ts";

export interface Repository {
  dir: string;
  git(...args: string[]): string;
  write(path: string, text: string): void;
  read(path: string): string;
  remove(): void;
}

/** A repository on branch main whose first commit holds these files. */
export function createRepository(files: Record<string, string>, init: string[] = []): Repository {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "cleared git ")));
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null", LC_ALL: "C" };
  const repository: Repository = {
    dir,
    git: (...args) => execFileSync("git", args, { cwd: dir, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }),
    write(path, text) {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      writeFileSync(join(dir, path), text);
    },
    read: (path) => readFileSync(join(dir, path), "utf8"),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
  repository.git("init", "-q", "-b", "main", ...init);
  repository.git("config", "user.name", "Pat");
  repository.git("config", "user.email", "pat@example.com");
  for (const [path, text] of Object.entries({ ".gitignore": ".cleared/\n", ...files })) repository.write(path, text);
  repository.git("add", "-A");
  repository.git("commit", "-q", "-m", "start: books");
  return repository;
}

/** A request that sets these files, whatever HEAD is. */
export function setFiles(files: Record<string, string | null>, step = 1): CommitRequest {
  return { message: "import: rows", trailers: { Run: "run_1", Step: String(step) }, build: async () => new Map(Object.entries(files)) };
}
