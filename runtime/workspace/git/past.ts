/**
 * The one reader of commits: their messages and trailers, which files one changed, which carry a trailer, which commits of the branch
 * touched certain files, and whether a commit has been reverted. Reads only; the committer alone moves the branch.
 * Trailers are only the last paragraph of a message, so text that a script wrote can never pass as a trailer.
 */
import { git, tryGit } from "./git-process.ts";
import type { LogEntry, Objects } from "../../kernel/ports.ts";
import { visible } from "../../kernel/text.ts";

export interface PastCommit extends LogEntry {
  parent: string;
  message: string;
  /** Commit time, ms. */
  at: number;
}

const FIELDS = ["%H", "%P", "%aI", "%an", "%ct", "%B"];

/** Commits in the order of `git log` with these arguments. No field can contain the NUL that ends it. @throws GIT_FAILED */
export async function readLog(dir: string, args: readonly string[]): Promise<PastCommit[]> {
  const shown = ["--no-show-signature", "--no-color", "--no-patch", "-z", `--format=${FIELDS.join("%x00")}`];
  const fields = (await git(dir, ["log", ...shown, ...args])).toString("utf8").split("\0");
  return Array.from({ length: Math.floor(fields.length / FIELDS.length) }, (_, n) => {
    const [commit = "", parents = "", date = "", author = "", seconds = "", message = ""] = fields.slice(n * FIELDS.length);
    const [[parent = ""], [subject = ""], trailers] = [parents.split(" "), message.split("\n"), parseTrailers(message)];
    return { commit, parent, date, author, at: Number(seconds) * 1000, message, subject, trailers };
  });
}

/** The same, with only the fields that people and scripts see. */
export async function readEntries(dir: string, args: readonly string[]): Promise<LogEntry[]> {
  return (await readLog(dir, args)).map(({ commit, date, author, subject, trailers }) => ({ commit, date, author, subject, trailers }));
}

/** Commits reachable from `head` whose message contains the text, newest first. The text search only narrows: check the trailers. */
export async function commitsSaying(dir: string, head: string, text: string, since?: string, most = -1): Promise<PastCommit[]> {
  const range = since === undefined ? [head] : [head, `^${since}`];
  const search = [`--max-count=${most}`, "--fixed-strings", `--grep=${text}`];
  return readLog(dir, [...search, ...range, "--"]);
}

// Most questions are about the newest commits of the branch.
const NEAR = 20;

/** The commits after `last` (null: all) up to `head`, oldest first, if they are few and no merges; else null. Both are ids. Starts no process. */
export async function newestSince(objects: Objects, last: string | null, head: string) {
  const found = [];
  for (let at: string | null = head; at !== last; ) {
    const commit: Awaited<ReturnType<Objects["commit"]>> = at === null ? null : await objects.commit(at);
    if (at === null || commit === null || commit.parents.length > 1 || found.length === NEAR) return null;
    found.unshift({ ...commit, commit: at, trailers: parseTrailers(commit.message) });
    at = commit.parents[0] ?? null;
  }
  return found;
}

/** True also for a commit and itself. */
export async function isAncestor(dir: string, commit: string, of: string): Promise<boolean> {
  return (await tryGit(dir, ["merge-base", "--is-ancestor", commit, of])).status === 0;
}

/** Id of the commit that git resolves a name to; null when there is none. */
export async function commitOf(dir: string, name: string): Promise<string | null> {
  const found = await tryGit(dir, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`]);
  return found.status === 0 ? found.stdout.toString().trim() || null : null;
}

/** A commit by its id or the beginning of it, if it is an ancestor of `head`; else null. */
export async function commitNamed(dir: string, head: string, name: string): Promise<PastCommit | null> {
  const commit = /^[0-9a-f]{7,64}$/.test(name) ? await commitOf(dir, name) : null;
  if (commit === null || !(await isAncestor(dir, commit, head))) return null;
  return (await readLog(dir, ["-1", commit, "--"]))[0] ?? null;
}

/** The newest commit that changed the path after `since`, or null. */
export async function changedBy(dir: string, head: string, path: string, since: string): Promise<PastCommit | null> {
  return (await readLog(dir, ["-1", head, `^${since}`, "--", path]))[0] ?? null;
}

/** Commits that changed something below a folder, newest first; at most 200, for a person to look through. */
export async function newestTouching(dir: string, head: string, folder: string): Promise<PastCommit[]> {
  return readLog(dir, ["-200", head, "--", folder]);
}

/** The commit that reverts this one, by our trailer or the text of `git revert`, and is not itself reverted; null if none does. */
export async function revertOf(dir: string, head: string, commit: string): Promise<PastCommit | null> {
  for (const one of await commitsSaying(dir, head, commit, commit)) {
    // In a commit of a run or a proposal the text is not from git, and could claim a revert of any commit.
    const words = !isOurs(one.trailers) && one.message.includes(`This reverts commit ${commit}`);
    const named = words || (one.trailers["Reverts"] ?? "").split(", ").includes(commit);
    if (named && (await revertOf(dir, head, one.commit)) === null) return one;
  }
  return null;
}

// Commits of a year in a busy workspace.
const LONGEST = 50_000;

/** The first-parent commits of the branch with their positions, newest first from 0. @throws GIT_FAILED */
export async function placesOn(dir: string, head: string): Promise<Map<string, number>> {
  const said = await git(dir, ["rev-list", "--first-parent", `--max-count=${LONGEST}`, head, "--"]);
  const commits = said.toString().trimEnd().split("\n");
  return new Map(commits.map((commit, place) => [commit, place]));
}

/** The first-parent commit by which a commit came to the branch: itself, or the merge that brought it; null if it is not on it. @throws GIT_FAILED */
export async function arrivalOf(dir: string, head: string, commit: string): Promise<string | null> {
  if (!(await isAncestor(dir, commit, head))) return null;
  const said = await git(dir, ["rev-list", "--first-parent", "--ancestry-path", head, `^${commit}`, "--"]);
  const steps = said.toString().match(/.+/g) ?? [];
  const oldest = steps.at(-1) ?? head;
  const parents = (await git(dir, ["rev-list", "--parents", "--max-count=1", oldest, "--"])).toString().trim().split(" ");
  return steps.length === 0 || parents[1] === commit ? commit : oldest;
}

/** The first-parent commits after `since` that touched one of these paths or folders, oldest first; a merge is one commit. @throws GIT_FAILED */
export async function stepsTouching(dir: string, since: string, head: string, paths: readonly string[]): Promise<LogEntry[]> {
  return readEntries(dir, ["--first-parent", "-m", "--reverse", head, `^${since}`, "--", ...paths]);
}

const MESSAGE_LENGTH = 20_000;

/**
 * The full message of a commit: subject and body, an empty line, the trailers. Invisible characters are made visible, because `git log` would
 * show something else than what was committed.
 */
export function composeMessage(message: string, trailers: Record<string, string>): string {
  const body = visible(message.toWellFormed().replace(/\r\n?/g, "\n")).slice(0, MESSAGE_LENGTH).trim();
  const lines = Object.entries(trailers)
    .filter(([key]) => /^[A-Za-z][A-Za-z0-9-]*$/.test(key))
    .map(([key, value]) => [key, visible(value.toWellFormed().replace(/\s+/g, " ")).trim()] as const)
    // One without a value would make of all of them a paragraph of text.
    .flatMap(([key, value]) => (value === "" ? [] : [`${key}: ${value}`]));
  const said = body === "" ? "update: workspace" : body;
  return lines.length === 0 ? `${said}\n` : `${said}\n\n${lines.join("\n")}\n`;
}

/** Trailers of a message: its last paragraph, if it is not the first one and every line of it has the form `Key: value`. */
export function parseTrailers(message: string): Record<string, string> {
  const paragraphs = message.trimEnd().split(/\n{2,}/);
  const last = paragraphs.length > 1 ? (paragraphs.at(-1) ?? "") : "";
  const pairs = last.split("\n").map((line) => /^([A-Za-z][A-Za-z0-9-]*): (.*)$/.exec(line));
  if (last === "" || pairs.some((pair) => pair === null)) return {};
  return Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? "", pair?.[2] ?? ""]));
}

/** True for a commit of a run or a proposal, whose text a script or a proposer wrote. */
export function isOurs(trailers: Readonly<Record<string, string>>): boolean {
  return trailers["Run"] !== undefined || trailers["Proposal"] !== undefined;
}
