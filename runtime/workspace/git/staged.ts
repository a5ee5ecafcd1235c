/** What the next commit would have: the index, read as it is; for `cleared check --staged`, often from inside a git hook, and before a store is opened. */
import { ClearedError } from "../../kernel/errors.ts";
import { git } from "./git-process.ts";
import { STATE } from "../layout.ts";

// A hook of `git commit -a` or `git commit FILE` sees an index of its own, which git names here.
const indexEnv = (): Record<string, string> => {
  const file = process.env["GIT_INDEX_FILE"];
  return file === undefined ? {} : { GIT_INDEX_FILE: file };
};

/** Blob and mode by path. @throws GIT_STATE while files are unmerged */
export async function stagedFiles(dir: string): Promise<Map<string, { blob: string; mode: string }>> {
  const listed = await git(dir, ["ls-files", "--stage", "-z"], { env: indexEnv() });
  const files = new Map<string, { blob: string; mode: string }>();
  for (const line of listed.toString().split("\0")) {
    const [, mode = "", blob = "", stage, path] = /^(\d+) ([0-9a-f]+) (\d)\t(.*)$/s.exec(line) ?? [];
    if (path === undefined) continue;
    if (stage !== "0") throw new ClearedError("GIT_STATE", `${path} is not merged yet. Finish the merge first.`, { at: { file: path } });
    files.set(path, { blob, mode });
  }
  return files;
}

/** Text of a staged blob. */
export async function stagedText(dir: string, blob: string): Promise<string> {
  return (await git(dir, ["cat-file", "blob", blob])).toString();
}

/**
 * Refuses a repository that brings what belongs to one machine alone: a clone or a pull would put somebody else's store, or code that nobody
 * here installed, in its place. `installed`: trust.yaml starts code, which could load packages. @throws FOLDER_UNSAFE
 */
export async function assertUntracked(dir: string, installed = false): Promise<void> {
  const tracked = async (...only: string[]) => (await git(dir, ["ls-files", "-z", ...only])).toString().split("\0");
  const own = STATE.slice(0, -1);
  let path = (await tracked("--", own))[0] ?? "";
  if (path === "" && installed) path = (await tracked()).find((one) => INSTALLED.test(one)) ?? "";
  if (path === "") return;
  const folder = (path.startsWith(own) ? own : INSTALLED.exec(path)?.[1]) ?? path;
  throw new ClearedError(
    "FOLDER_UNSAFE",
    `This repository contains ${path}, so what lies in ${folder} may come from somebody else. Take it out (git rm -r --cached ${folder}), commit, and delete or restore the folder.`,
  );
}

// Where packages are installed; what lies there is not among the code that a person confirms (brought-code.ts).
const INSTALLED = /^(.*?(?:^|\/)node_modules)(?:\/|$)|^(.*\/)?pyvenv\.cfg$/;
