/** Stretches of the branch: which commits came after one, and which of them touched certain files. Reads only. */
import type { LogEntry } from "../../kernel/ports.ts";
import { parseTrailers } from "./message.ts";
import { git, tryGit } from "./git-process.ts";

// A year of a busy workspace.
const LONGEST = 50_000;

/** The steps of the branch itself, newest first: the place of each. @throws GIT_FAILED */
export async function placesOn(dir: string, head: string): Promise<Map<string, number>> {
  const said = await git(dir, ["rev-list", "--first-parent", `--max-count=${LONGEST}`, head, "--"]);
  return new Map(
    said
      .toString()
      .trimEnd()
      .split("\n")
      .map((commit, place) => [commit, place]),
  );
}

/** The step of the branch by which a commit came to it: itself, or the merge that brought it; null when it is not there. @throws GIT_FAILED */
export async function arrivalOf(dir: string, head: string, commit: string): Promise<string | null> {
  if ((await tryGit(dir, ["merge-base", "--is-ancestor", commit, head])).status !== 0) return null;
  const said = await git(dir, ["rev-list", "--first-parent", "--ancestry-path", head, `^${commit}`, "--"]);
  const steps = said
    .toString()
    .split("\n")
    .filter((line) => line !== "");
  const oldest = steps.at(-1) ?? head;
  const parents = (await git(dir, ["rev-list", "--parents", "--max-count=1", oldest, "--"])).toString().trim().split(" ");
  return steps.length === 0 || parents[1] === commit ? commit : oldest;
}

/** The steps of the branch itself after `since` that touched one of these paths or folders, oldest first; a merge is one step. @throws GIT_FAILED */
export async function stepsTouching(dir: string, since: string, head: string, paths: readonly string[]): Promise<LogEntry[]> {
  const range = ["--first-parent", "-m", "--reverse", head, `^${since}`, "--", ...paths];
  const said = await git(dir, ["log", "--no-show-signature", "--no-color", "--no-patch", "--format=%H%x00%aI%x00%an%x00%B%x01", ...range]);
  return said
    .toString("utf8")
    .split("\u0001")
    .map((record) => record.replace(/^\n/, "").split("\0"))
    .filter((fields) => fields.length === 4)
    .map(([commit = "", date = "", author = "", message = ""]) => ({
      commit,
      date,
      author,
      subject: message.split("\n")[0] ?? "",
      trailers: parseTrailers(message),
    }));
}
