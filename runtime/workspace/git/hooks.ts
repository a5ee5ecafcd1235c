/** The hook that checks a person's commits. Only where nobody has a hook of their own: theirs is never touched. */
import { chmod, lstat, mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { readIfThere } from "../own-folders.ts";
import { git, tryGit } from "./git-process.ts";

export interface HookPlace {
  file: string;
  /** What the hook runs, as one line of shell. */
  line: string;
  /** made; there: it does this already; foreign: somebody's own, or hooks are kept elsewhere. */
  status: "made" | "there" | "foreign";
}

/** Writes .git/hooks/pre-commit unless there is one. program: the launcher, by its absolute path. */
export async function installHook(dir: string, program: string): Promise<HookPlace> {
  const line = `node '${program.replaceAll("'", "'\\''")}' check --staged`;
  const elsewhere = await hooksPath(dir);
  const folder = elsewhere ?? join(resolve(dir, (await git(dir, ["rev-parse", "--git-common-dir"])).toString().trim()), "hooks");
  const file = join(folder, "pre-commit");
  const own = readIfThere(file);
  if (own?.includes(line) === true) return { file, line, status: "there" };
  // A link that leads nowhere yet is somebody's own, too.
  if (own !== null || elsewhere !== null || (await lstat(file).catch(() => null)) !== null) return { file, line, status: "foreign" };
  await mkdir(dirname(file), { recursive: true });
  const about = "Checks what is about to be committed; made by cleared init --hooks. Once without: git commit --no-verify";
  await writeFile(file, `#!/bin/sh\n# ${about}\nexec ${line}\n`, { flag: "wx" });
  await chmod(file, 0o755);
  return { file, line, status: "made" };
}

/** Where the user's own git keeps hooks, when that is not .git/hooks. Our own commands set it, which does not count. */
async function hooksPath(dir: string): Promise<string | null> {
  const { stdout } = await tryGit(dir, ["config", "--show-scope", "--type=path", "--get-all", "core.hooksPath"]);
  const own = /^(?!command\t)\w+\t(.*)$/m.exec(stdout.toString())?.[1];
  return own === undefined ? null : resolve(dir, own);
}
