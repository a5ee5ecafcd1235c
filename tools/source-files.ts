/** Which files count as our source: what git tracks or would track, so that a check sees a file before it is committed. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "..");

export interface SourceFile {
  /** Relative to the repository, with forward slashes. */
  path: string;
  text: string;
}

/** Files below these folders with one of these endings, sorted by path. */
export function sourceFiles(folders: string[], endings: string[]): SourceFile[] {
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ...folders], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const paths = [...new Set(listed.split("\0"))].filter((path) => endings.some((ending) => path.endsWith(ending))).sort();
  // A file that git still lists but that was just removed is not source.
  const there = paths.filter((path) => existsSync(join(ROOT, path)));
  return there.map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
}
