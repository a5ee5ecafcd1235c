/**
 * Commits beside the branch: written as objects first, made visible by moving a ref by compare-and-swap. Every call starts and ends its own
 * git process, so nothing has to be closed.
 */
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, join, posix } from "node:path";
import { ClearedError, didYouMean } from "../../kernel/errors.ts";
import { type ImportedFile, IMPORT, commitStream } from "./commit.ts";
import { fileOfGit, gitDirOf, writing } from "./leftovers.ts";
import { git, gitFailed, tryGit } from "./git-process.ts";
import { type PastCommit, commitOf, isAncestor, readLog } from "./past.ts";

export interface SideCommit {
  /** The files are laid over those of the first parent, unless `alone`. */
  parents: readonly string[];
  alone?: true;
  message: string;
  /** ms; git stores seconds. */
  at: number;
  /** null removes the file. */
  files: ReadonlyMap<string, SideFile | null>;
}

export type SideFile = NonNullable<ImportedFile[1]>;

/** `from` null: the ref must not exist yet; `to` null: it is deleted. */
export interface RefMove {
  ref: string;
  from: string | null;
  to: string | null;
}

/** Refs below a folder of refs, or of this very name, read without starting git; null if they need git to be read. */
function plainRefs(gitDir: string, folder: string): Map<string, string> | null {
  if (["commondir", "reftable"].some((name) => existsSync(join(gitDir, name))) || !existsSync(join(gitDir, "refs/heads"))) return null;
  const loose = new Map<string, string>();
  const read = (ref: string): boolean => {
    const id = fileOfGit(join(gitDir, ref), 100)?.toString("latin1") ?? "";
    if (!/^(?!0+\n)[0-9a-f]{40,64}\n$/.test(id)) return false;
    loose.set(ref, id.trimEnd());
    return true;
  };
  const walk = (path: string): boolean =>
    readdirSync(join(gitDir, path), { withFileTypes: true }).every((entry) => {
      const ref = posix.join(path, entry.name);
      if (entry.name.endsWith(".lock")) return true;
      return /^[\w-]+$/.test(entry.name) && (entry.isDirectory() ? walk(ref) : entry.isFile() && read(ref));
    });
  const found = statSync(join(gitDir, folder), { throwIfNoEntry: false });
  try {
    if (found !== undefined && !(found.isDirectory() ? walk(folder) : read(folder))) return null;
  } catch {
    // A folder of refs was removed just now, or cannot be read.
    return null;
  }
  // After the loose ones: a ref that git packs meanwhile is in both.
  const file = join(gitDir, "packed-refs");
  const packed = existsSync(file) ? fileOfGit(file)?.toString("latin1") : "";
  if (packed === undefined) return null;
  const all = new Map<string, string>();
  for (const line of packed.includes(folder) ? packed.split("\n") : []) {
    const [, id = "", ref = ""] = /^([0-9a-f]{40,64}) (refs\/\S+)$/.exec(line) ?? [];
    if (ref === "" && !/^(?:#.*|\^[0-9a-f]+|)$/.test(line)) return null;
    if (`${ref}/`.startsWith(folder.endsWith("/") ? folder : `${folder}/`)) all.set(ref, id);
  }
  return new Map([...new Map([...all, ...loose])].sort(([a], [b]) => (a < b ? -1 : 1)));
}

export type SideRefs = ReturnType<typeof createSideRefs>;

export function createSideRefs(dir: string) {
  const gitDir = gitDirOf(dir);

  /** Refs below a folder of refs, by name; "" for a ref whose content is not an object id. */
  async function list(folder: string): Promise<Map<string, string>> {
    const plain = plainRefs(gitDir, folder);
    if (plain !== null) return plain;
    const said = await tryGit(dir, ["for-each-ref", "--format=%(refname) %(objectname)", folder]);
    if (said.status !== 0) throw gitFailed("git for-each-ref", said);
    const listed = said.stdout.toString().matchAll(/^(\S+) (\S*)$/gm);
    const refs = new Map(Array.from(listed, ([, name = "", oid = ""]) => [name, oid]));
    for (const broken of said.stderr.matchAll(/broken ref (\S+)/g)) refs.set(broken[1] ?? "", "");
    return refs;
  }

  return {
    list,
    /** Writes the objects durably and moves no ref. Returns the commit's id. */
    async write({ parents, alone, message, at, files }: SideCommit): Promise<string> {
      const ref = `refs/cleared/wip/${randomBytes(8).toString("hex")}`;
      // fast-import needs a ref to work on; this one is reset before it would be written.
      const gone = `reset ${ref}\nfrom ${"0".repeat((parents[0] ?? "").length || 40)}\n\nget-mark :1\n`;
      const input = commitStream(ref, { at, message, parents, alone: alone === true, files }, gone);
      return writing(gitDir, {}, async () => {
        const said = await tryGit(dir, IMPORT, { input });
        // Its crash report says no more than its last output does.
        const report = /crash report to (\S+)/.exec(said.stderr)?.[1];
        if (report !== undefined) await rm(join(gitDir, basename(report)), { force: true });
        const id = said.stdout.toString().trim();
        if (said.status !== 0 || !/^[0-9a-f]{40,64}$/.test(id)) throw gitFailed("git fast-import", said);
        return id;
      });
    },
    /** Moves all refs or none. False: one is not at its `from`. */
    async move(moves: readonly RefMove[]): Promise<boolean> {
      const lines = moves.map(({ ref, from, to }) => {
        if (to === null) return `delete ${ref} ${from ?? ""}\n`;
        return from === null ? `create ${ref} ${to}\n` : `update ${ref} ${to} ${from}\n`;
      });
      const areAt = async (at: "from" | "to"): Promise<boolean> => {
        for (const move of moves) if (((await list(move.ref)).get(move.ref) ?? null) !== move[at]) return false;
        return true;
      };
      return writing(gitDir, {}, async () => {
        const said = await tryGit(dir, ["update-ref", "--stdin"], { input: `start\n${lines.join("")}commit\n` });
        if (said.status === 0 || (said.killed && (await areAt("to")))) return true;
        if (!(await areAt("from"))) return false;
        throw gitFailed("git update-ref", said);
      });
    },
    /** Where a branch, tag or commit forked from `head`. @throws GIT_STATE when there is no such name, or no common commit */
    async fork(head: string, name: string): Promise<{ base: string; tip: string }> {
      const tip = await commitOf(dir, name);
      if (tip === null)
        throw new ClearedError("GIT_STATE", `There is no branch or commit "${name.slice(0, 100)}". \`git branch\` lists the branches.`);
      const base = (await tryGit(dir, ["merge-base", head, tip])).stdout.toString().trim();
      if (base === "") throw new ClearedError("GIT_STATE", `"${name.slice(0, 100)}" has no commit in common with the workspace's branch.`);
      return { base, tip };
    },
    /** The change of one commit as a patch for people, without the user's own diff programs. */
    async patch(commit: string): Promise<string> {
      const flags = ["-p", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"];
      return (await git(dir, ["diff-tree", ...flags, "--no-commit-id", "-r", commit])).toString();
    },
    isAncestor: (commit: string, of: string) => isAncestor(dir, commit, of),
    /** Commits from `last` (null: from the beginning) to `head` whose message has one of these texts, oldest first; null when `last` is not an ancestor. */
    async mentioning(texts: readonly string[], last: string | null, head: string): Promise<PastCommit[] | null> {
      if (last !== null && !(await isAncestor(dir, last, head))) return null;
      const grep = ["--topo-order", "--reverse", "--fixed-strings", ...texts.map((text) => `--grep=${text}`)];
      return readLog(dir, [...grep, head, ...(last === null ? [] : [`^${last}`]), "--"]);
    },
  };
}

/** @throws GIT_STATE when the repository has no remote of that name */
async function assertRemote(dir: string, remote: string): Promise<void> {
  const names = (await git(dir, ["remote"])).toString().trim().split("\n");
  if (names.includes(remote) && /^[\w][\w.-]*$/.test(remote)) return;
  throw new ClearedError(
    "GIT_STATE",
    `This repository has no remote "${remote.slice(0, 100)}".${didYouMean(remote, names)} ${names.join("") === "" ? "`git remote add` adds one." : `It has ${names.join(", ")}: \`cleared proposals sync REMOTE\`.`}`,
  );
}

/**
 * The option that sets the program git starts at the other end, so that no configuration chooses it: neither ours nor, if the other end is a
 * folder of this machine, that folder's, which may have been received together with the workspace.
 */
async function otherEnd(dir: string, remote: string, kind: "upload-pack" | "receive-pack"): Promise<string> {
  const urls = (await git(dir, ["remote", "get-url", "--all", ...(kind === "receive-pack" ? ["--push"] : []), remote])).toString().trim();
  const isFolder = (url: string) => /^file:/i.test(url) || !/^[a-z][a-z0-9+.-]*:\/\/|^[^/]+:/i.test(url);
  const quiet = ["core.hooksPath=/dev/null", "core.alternateRefsCommand=:", "receive.denyCurrentBranch=refuse", "receive.autogc=false"];
  return urls.split("\n").some(isFolder) ? `--${kind}=git ${quiet.map((one) => `-c ${one}`).join(" ")} ${kind}` : `--${kind}=git-${kind}`;
}

/** Fetches the remote's refs below `from` to below `to`, overwriting those. @throws GIT_STATE, GIT_FAILED with the message of git */
export async function fetchRefs(dir: string, remote: string, from: string, to: string): Promise<void> {
  await assertRemote(dir, remote);
  // Without --refmap, git would also write the refs that remote.NAME.fetch names for what it fetches.
  const flags = ["--quiet", "--no-tags", "--no-write-fetch-head", "--prune", "--refmap=", await otherEnd(dir, remote, "upload-pack")];
  await writing(gitDirOf(dir), {}, () => git(dir, ["fetch", ...flags, remote, `+${from}*:${to}*`]));
}

/** Pushes each ref to `to` if the remote has it at `from` (null: not at all). False: the remote has changed. @throws GIT_FAILED */
export async function pushRefs(
  dir: string,
  remote: string,
  moves: readonly { ref: string; from: string | null; to: string }[],
): Promise<boolean> {
  const leases = moves.map(({ ref, from }) => `--force-with-lease=${ref}:${from ?? ""}`);
  const flags = ["--quiet", "--porcelain", "--no-verify", await otherEnd(dir, remote, "receive-pack"), ...leases];
  const said = await tryGit(dir, ["push", ...flags, remote, ...moves.map(({ ref, to }) => `${to}:${ref}`)]);
  if (said.status === 0) return true;
  if (/stale info|fetch first|cannot lock ref|reference already exists/.test(said.stdout.toString() + said.stderr)) return false;
  throw gitFailed(`git push ${remote}`, said.stderr);
}
