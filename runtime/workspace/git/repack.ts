/**
 * Keeping the repository small: git's own repack, commit-graph, pack-refs and gc, in processes that yield to everything else. Nothing is
 * pruned that a ref, the index or a reflog reaches or that is younger than two weeks, whatever the user's settings say: the objects of a
 * commit are there before a ref names them. Killed at any point the repository is whole; what lies half-written then is told by the
 * note of the process that began it, and swept where no git is at work (leftovers.ts).
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { commonOf, keepNote, writing } from "./leftovers.ts";
import { git, gitFailed, tryGit } from "./git-process.ts";

// One thread and a bound on what it remembers: on a small machine a run comes first. A cruft pack (git 2.37) keeps the age of each object;
// elsewhere the daily repack makes it young again, and it would never go. Refs and reflogs are not gc's: their locks are told.
const MODEST = [
  "gc.cruftPacks=true",
  "pack.threads=1",
  "pack.windowMemory=100m",
  "gc.packRefs=false",
  "gc.reflogExpire=never",
  "gc.reflogExpireUnreachable=never",
].flatMap((setting) => ["-c", setting]);
const PRUNE = "--prune=2.weeks.ago";
// One age for both, because telling what is unreachable walks all history while the branch is locked.
const EXPIRE = ["--expire=90.days.ago", "--expire-unreachable=90.days.ago"];
const RUN = /run_[0-9A-Z]{14}/g;

export type GitUpkeep = ReturnType<typeof createGitUpkeep>;

export function createGitUpkeep(dir: string, gitDir: string) {
  async function aside(stop: AbortSignal, command: string, ...args: string[]): Promise<boolean> {
    const note = keepNote(gitDir);
    try {
      const said = await tryGit(dir, [...MODEST, command, ...args], { aside: stop });
      if (said.killed) note.killed();
      if (said.status !== 0 && !stop.aborted) throw gitFailed(`git ${command}`, said);
      return said.status === 0;
    } finally {
      note.drop();
    }
  }

  /** Short, and not stopped: the branch is locked meanwhile. */
  async function refs(): Promise<void> {
    const listed = (await git(dir, ["for-each-ref", "--format=%(refname) %(objectname)"])).toString();
    const others = [...listed.matchAll(/^(?!refs\/cleared\/)(\S+) (\w+)$/gm)].map(([, ref = "", oid = ""]) => [ref, oid]);
    const told = (...command: string[]) => writing(gitDir, Object.fromEntries(others), () => git(dir, command));
    await told("pack-refs", "--all");
    await told("reflog", "expire", "--all", ...EXPIRE);
  }

  return {
    /** How many objects lie in files of their own. */
    loose(): number {
      const objects = join(commonOf(gitDir), "objects");
      const folders = readdirSync(objects).filter((name) => /^[0-9a-f]{2}$/.test(name));
      return folders.reduce((sum, name) => sum + readdirSync(join(objects, name)).length, 0);
    },
    /** Loose objects and small packs become larger packs; drops nothing. False: it was stopped. @throws GIT_FAILED, STORE_FULL */
    async repack(stop: AbortSignal): Promise<boolean> {
      // --geometric (git 2.32): only packs that are small beside the rest are written again.
      if (!(await aside(stop, "repack", "-d", "-l", "-q", "--geometric=2"))) return false;
      return aside(stop, "commit-graph", "write", "--reachable", "--changed-paths", "--split");
    },
    /** Everything becomes one pack, and what nothing reaches any more goes. False: it was stopped. @throws GIT_FAILED, GIT_STATE, STORE_FULL */
    async collect(stop: AbortSignal): Promise<boolean> {
      await refs();
      return aside(stop, "gc", "--quiet", PRUNE);
    },
    /** Ids of runs that anything on a local branch or in a proposal names: entries, cases, audit lines, reports, commits of runs. */
    async namedRuns(): Promise<Set<string>> {
      const refs = await git(dir, ["for-each-ref", "--format=%(objectname)", "refs/heads", "refs/cleared/proposals"]);
      const tips = [...new Set(refs.toString().split("\n"))].filter((oid) => oid !== "");
      const trailers = await git(dir, ["log", "--branches", "--no-show-signature", "--format=%(trailers:key=Run,valueonly)"]);
      const found = new Set(trailers.toString().match(RUN) ?? []);
      for (let at = 0; at < tips.length; at += 200) {
        const said = await tryGit(dir, ["grep", "-h", "-I", "-o", "-E", RUN.source, ...tips.slice(at, at + 200)]);
        // 1 is nothing found.
        if (said.status > 1) throw gitFailed("git grep", said.stderr);
        for (const id of said.stdout.toString().match(RUN) ?? []) found.add(id);
      }
      return found;
    },
  };
}
