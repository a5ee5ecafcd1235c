/** Stretches of the branch: which commits came after one, and which of them touched certain files. Reads only. */
import type { LogEntry } from "../ports.ts";
import { parseTrailers } from "./git-message.ts";
import { git } from "./git-process.ts";

/** Commits that are in `head` and not in `since`, without `since` itself. @throws GIT_FAILED */
export async function commitsSince(dir: string, since: string, head: string): Promise<Set<string>> {
  const said = await git(dir, ["rev-list", head, `^${since}`, "--"]);
  return new Set(
    said
      .toString()
      .split("\n")
      .filter((line) => line !== ""),
  );
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
