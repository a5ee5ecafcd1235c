/**
 * What git knows of commits that are to be taken back: which files one changed, which commits carry a trailer, and whether another one
 * has taken it back since. Reads only; the branch is moved by the committer alone.
 */
import { isOurs, parseTrailers } from "./message.ts";
import { git, tryGit } from "./git-process.ts";

/** A file before and after a commit: blob ids, null where there was none. */
export interface Touch {
  path: string;
  before: string | null;
  after: string | null;
}

export interface PastCommit {
  commit: string;
  parent: string;
  /** ISO time. */
  date: string;
  message: string;
  subject: string;
  trailers: Record<string, string>;
}

const FORMAT = "--format=%H%x00%P%x00%aI%x00%B%x01";

/** The files a commit changed against its first parent, by path. @throws GIT_FAILED */
export async function touchesOf(dir: string, commit: string): Promise<Touch[]> {
  const said = await git(dir, ["diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", `${commit}^1`, commit]);
  const fields = said.toString("utf8").split("\0");
  const touches: Touch[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const [, , before = "", after = ""] = (fields[i] ?? "").slice(1).split(" ");
    touches.push({ path: fields[i + 1] ?? "", before: idOf(before), after: idOf(after) });
  }
  return touches.sort((a, b) => (a.path < b.path ? -1 : 1));
}

const idOf = (text: string): string | null => (/^0+$/.test(text) ? null : text);

/** Commits reachable from `head` whose message holds the text, newest first. The text search only narrows: look at the trailers. */
export async function commitsSaying(dir: string, head: string, text: string, since?: string, most = -1): Promise<PastCommit[]> {
  const range = since === undefined ? [head] : [head, `^${since}`];
  const search = [`--max-count=${most}`, "--fixed-strings", `--grep=${text}`];
  return parse(await git(dir, ["log", "--no-show-signature", "--no-color", FORMAT, ...search, ...range, "--"]));
}

/** A commit by its id or the beginning of it, if `head` can be reached from it; else null. */
export async function commitNamed(dir: string, head: string, name: string): Promise<PastCommit | null> {
  if (!/^[0-9a-f]{7,64}$/.test(name)) return null;
  const found = await tryGit(dir, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`]);
  const commit = found.stdout.toString().trim();
  if (found.status !== 0 || (await tryGit(dir, ["merge-base", "--is-ancestor", commit, head])).status !== 0) return null;
  return parse(await git(dir, ["log", "-1", "--no-show-signature", "--no-color", FORMAT, commit, "--"]))[0] ?? null;
}

/** The newest commit that changed the path after `since`, or null. */
export async function changedBy(dir: string, head: string, path: string, since: string): Promise<PastCommit | null> {
  return parse(await git(dir, ["log", "-1", "--no-show-signature", "--no-color", FORMAT, head, `^${since}`, "--", path]))[0] ?? null;
}

/** Paths that differ between two commits; null when one of them is not here. */
export async function changedPaths(dir: string, from: string, to: string): Promise<string[] | null> {
  const said = await tryGit(dir, ["diff-tree", "-r", "-z", "--no-renames", "--name-only", from, to]);
  return said.status === 0
    ? said.stdout
        .toString("utf8")
        .split("\0")
        .filter((path) => path !== "")
    : null;
}

/** Commits that changed something below a folder, newest first; as many as a person may have to look through. */
export async function newestTouching(dir: string, head: string, folder: string): Promise<PastCommit[]> {
  return parse(await git(dir, ["log", "-200", "--no-show-signature", "--no-color", FORMAT, head, "--", folder]));
}

/** The commit that takes this one back, by our trailer or git's own words, and is not itself taken back; null while it stands. */
export async function revertOf(dir: string, head: string, commit: string): Promise<PastCommit | null> {
  for (const one of await commitsSaying(dir, head, commit, commit)) {
    // In a commit of a run or a proposal the text is not git's, and could say so of any commit.
    const words = !isOurs(one.trailers) && one.message.includes(`This reverts commit ${commit}`);
    const named = words || (one.trailers["Reverts"] ?? "").split(", ").includes(commit);
    if (named && (await revertOf(dir, head, one.commit)) === null) return one;
  }
  return null;
}

function parse(text: Buffer): PastCommit[] {
  return text
    .toString("utf8")
    .split("\u0001")
    .map((record) => record.replace(/^\n/, "").split("\0"))
    .filter((fields) => fields.length === 4)
    .map(([commit = "", parents = "", date = "", message = ""]) => ({
      commit,
      parent: parents.split(" ")[0] ?? "",
      date,
      message,
      subject: message.split("\n")[0] ?? "",
      trailers: parseTrailers(message),
    }));
}
