/**
 * The Git port of a workspace: one-shot commands for rare questions, kept-open ones for the committer's hot path.
 * Reads and commits the configured branch, whatever is checked out.
 */
import { existsSync, lstatSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { ClearedError } from "../../kernel/errors.ts";
import type { Git, Tree } from "../../kernel/ports.ts";
import { createCommitter, type Stage } from "./commit.ts";
import { standingLock, sweepLeftovers, writing, sweepScratch } from "./leftovers.ts";
import { createIndexLock } from "./index-lock.ts";
import { git, gitFailed, lockedBy, tryGit } from "./git-process.ts";
import { commitsSaying, isAncestor, newestSince, readEntries } from "./past.ts";
import { createObjects } from "./tree.ts";
import { readOr } from "../own-folders.ts";
import { createWorktree } from "./worktree.ts";

export interface GitOptions {
  /** The configured branch; read each time, because config.yaml may change. */
  branch: () => string;
  /** The disk cache for texts derived from files. */
  kept?: NonNullable<Tree["kept"]>;
  /** For the crash tests: called at each stage of a commit. */
  reached?: (stage: Stage) => void;
}

/** In the order a person should deal with them. */
const IN_PROGRESS: [string, string][] = [
  ["rebase-merge", 'A rebase is in progress. Finish it ("git rebase --continue") or drop it ("git rebase --abort").'],
  ["rebase-apply", 'A rebase or "git am" is in progress. Finish it ("git rebase --continue") or drop it ("git rebase --abort").'],
  ["MERGE_HEAD", 'A merge is in progress. Finish it ("git commit") or drop it ("git merge --abort").'],
  ["CHERRY_PICK_HEAD", 'A cherry-pick is in progress. Finish it ("git cherry-pick --continue") or drop it ("git cherry-pick --abort").'],
  ["REVERT_HEAD", 'A revert is in progress. Finish it ("git revert --continue") or drop it ("git revert --abort").'],
  ["sequencer", 'A cherry-pick or revert of several commits is in progress. Finish or abort it; "git status" says how.'],
  ["BISECT_LOG", 'A bisect is in progress. End it with "git bisect reset".'],
];

/**
 * The common case, found without starting git: a .git folder of this user that does not move its work tree. Everything else, and everything
 * git itself might refuse, is left to git.
 */
function plainGitDir(dir: string): string | null {
  try {
    const gitDir = join(realpathSync(dir), ".git");
    const found = lstatSync(gitDir);
    if (!found.isDirectory() || found.uid !== process.getuid?.() || statSync(dir).uid !== found.uid) return null;
    if (existsSync(join(gitDir, "commondir"))) return null;
    if (!statSync(join(gitDir, "objects")).isDirectory() || !statSync(join(gitDir, "refs")).isDirectory()) return null;
    if (!/^(?:ref: refs\/|[0-9a-f]{40,64}$)/m.test(readOr(join(gitDir, "HEAD"), ""))) return null;
    return /worktree|bare|include/i.test(readOr(join(gitDir, "config"), "include").replace(/^\s*bare = false$/m, "")) ? null : gitDir;
  } catch {
    return null;
  }
}

/** @throws WORKSPACE_MISSING when `dir` is not the top of a git work tree */
export async function findGitDir(dir: string): Promise<string> {
  const plain = plainGitDir(dir);
  if (plain !== null) return plain;
  const said = await tryGit(dir, ["rev-parse", "--absolute-git-dir", "--show-toplevel", "--git-common-dir"]);
  const [gitDir, top, shared = ""] = said.stdout.toString().trimEnd().split("\n");
  if (said.status !== 0 || gitDir === undefined || top === undefined) {
    if (/dubious ownership|unable to access/.test(said.stderr)) throw gitFailed("Opening the repository", said.stderr);
    throw new ClearedError(
      "WORKSPACE_MISSING",
      `${dir} is not a git repository with files. Make a workspace with "cleared init DIR", or change into one.`,
    );
  }
  if (realpathSync(top) !== realpathSync(dir))
    throw new ClearedError(
      "WORKSPACE_MISSING",
      `${dir} is inside the git repository ${top}; a workspace must be the top folder of its own repository.`,
    );
  const [own, common] = [join(realpathSync(dir), ".git"), realpathSync(resolve(dir, shared))];
  // The repository must list this linked work tree as its own; a `.git` file or link alone could lead to any repository.
  const added =
    dirname(realpathSync(gitDir)) === join(common, "worktrees") && realpathSync(`${readFileSync(join(gitDir, "gitdir"))}`.trim()) === own;
  if (added || (common === realpathSync(gitDir) && (common === own || basename(common) !== ".git"))) return gitDir;
  throw new ClearedError("FOLDER_UNSAFE", `${own} leads to the repository ${common}, which belongs to another folder. Remove ${own}.`);
}

/**
 * Opens the repository at `dir`; first finishes a commit that a killed process had begun.
 * @throws WORKSPACE_MISSING, GIT_FAILED
 */
export async function createGit(dir: string, options: GitOptions): Promise<Git> {
  const gitDir = await findGitDir(dir);
  const ref = (): string => `refs/heads/${options.branch()}`;
  const objects = createObjects(dir, options.kept);
  const lock = createIndexLock(gitDir);
  const worktree = createWorktree(dir, gitDir);

  // The last commit that git itself has found on the branch.
  let found: string | null = null;
  async function head(): Promise<string> {
    // A loose ref takes precedence over a packed one. Any other content, and a commit seen for the first time, is left to git.
    const loose = readOr(join(gitDir, ref()), "");
    if (found !== null && loose === `${found}\n`) return found;
    const asked = await objects.find(ref());
    if (asked?.type === "commit") return (found = asked.oid);
    throw new ClearedError(
      "GIT_STATE",
      `The branch "${options.branch()}" has no commit. Make a first one, or set branch: in config.yaml to the branch that holds the workspace.`,
    );
  }

  async function blockedBy(): Promise<string | null> {
    for (const [name, words] of IN_PROGRESS) if (existsSync(join(gitDir, name))) return words;
    const branch = options.branch();
    const checkedOut = readOr(join(gitDir, "HEAD"), "").trim();
    if (checkedOut === `ref: ${ref()}`) return null;
    const name = /^ref: refs\/heads\/(.+)$/.exec(checkedOut)?.[1];
    const what =
      name === undefined
        ? `No branch is checked out (HEAD is detached at ${checkedOut.slice(0, 10)})`
        : `The branch "${name}" is checked out`;
    return `${what}; runs commit to "${branch}". Go back with "git switch ${branch}", or set branch: in config.yaml.`;
  }

  const committer = createCommitter({
    dir,
    gitDir,
    branch: options.branch,
    objects,
    worktree,
    lock,
    head,
    blockedBy,
    reached: options.reached ?? (() => undefined),
  });

  const pinRef = (commit: string): string => {
    if (!/^[0-9a-f]{40,64}$/.test(commit)) throw new ClearedError("GIT_FAILED", `"${commit.slice(0, 80)}" is not a commit id.`);
    return `refs/cleared/pins/${commit}`;
  };

  sweepLeftovers(gitDir);
  sweepScratch(dir);
  const close = async () => {
    await committer.close();
    await objects.close();
    lock.close();
    sweepLeftovers(gitDir);
  };
  await committer.finish().catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return {
    head,
    async blockedBy() {
      const lock = standingLock(gitDir, ref());
      return (await blockedBy()) ?? (lock === null ? null : lockedBy(lock));
    },
    tree: (commit) => objects.tree(commit),
    objects,
    isOnBranch: async (commit) => (await newestSince(objects, commit, await head())) !== null || isAncestor(dir, commit, ref()),
    commit: (request) => committer.commit(request),
    async find(run, step, since) {
      const inRange = (await objects.commit(since)) === null ? undefined : since;
      // The text search only narrows; the trailers in the last paragraph decide.
      const entries = (await newestSince(objects, since, await head())) ?? (await commitsSaying(dir, ref(), `Run: ${run}`, inRange));
      return entries.find(({ trailers }) => trailers["Run"] === run && trailers["Step"] === String(step))?.commit ?? null;
    },
    async log({ limit, path }) {
      return readEntries(dir, [`--max-count=${Math.max(0, Math.floor(limit))}`, ref(), "--", ...(path === undefined ? [] : [path])]);
    },
    async edited(paths) {
      const tree = objects.tree(await head());
      const touched = await Array.fromAsync(paths, async (path) => {
        const item = await tree.item(path);
        return { path, old: item, next: item };
      });
      return touched.length === 0 ? [] : worktree.edited(touched);
    },
    async pin(commit) {
      await writing(gitDir, {}, () => git(dir, ["update-ref", pinRef(commit), commit]));
    },
    async unpin(commit) {
      await writing(gitDir, {}, () => git(dir, ["update-ref", "-d", pinRef(commit)]));
    },
    close,
  };
}

/** Opens a repository for one task, without the rest of its workspace. */
export async function withGit<T>(dir: string, branch: string, ask: (git: Git) => Promise<T>): Promise<T> {
  const asked = await createGit(dir, { branch: () => branch });
  return ask(asked).finally(() => asked.close());
}
