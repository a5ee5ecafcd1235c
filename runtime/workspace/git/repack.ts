/**
 * Keeping the repository small: git's own repack, commit-graph, pack-refs and gc, in low-priority processes. Objects that a ref, the index or
 * a reflog reaches or that are younger than two weeks are never pruned, whatever the user's settings say: the objects of a commit exist
 * before a ref names them. A kill at any point leaves the repository intact; half-written files are listed in the note of the process that
 * began them, and swept once no git is running (leftovers.ts).
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { commonOf, keepNote, writing } from "./leftovers.ts";
import { git, gitFailed, tryGit } from "./git-process.ts";
import { createObjects } from "./tree.ts";

// One thread and bounded memory: on a small machine runs come first. A cruft pack (git 2.37) stores the age of each object; without it the
// daily repack would reset the age, and nothing would ever be pruned. `refs` below handles refs and reflogs, so that their locks are noted.
const MODEST = [
  "gc.cruftPacks=true",
  "pack.threads=1",
  "pack.windowMemory=100m",
  "pack.packSizeLimit=0",
  "gc.packRefs=false",
  "gc.reflogExpire=never",
  "gc.reflogExpireUnreachable=never",
].flatMap((setting) => ["-c", setting]);
const PRUNE = "--prune=2.weeks.ago";
// One age for both, because finding unreachable entries would walk all history while the branch is locked.
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

  /** Packs refs and expires reflogs; short, and not abortable, because the branch is locked meanwhile. */
  async function refs(): Promise<void> {
    const listed = (await git(dir, ["for-each-ref", "--format=%(refname) %(objectname)"])).toString();
    const others = [...listed.matchAll(/^(?!refs\/cleared\/)(\S+) (\w+)$/gm)].map(([, ref = "", oid = ""]) => [ref, oid]);
    const noted = (...command: string[]) => writing(gitDir, Object.fromEntries(others), () => git(dir, command));
    await noted("pack-refs", "--all");
    await noted("reflog", "expire", "--all", ...EXPIRE);
  }

  return {
    /** The number of loose objects. */
    loose(): number {
      const objects = join(commonOf(gitDir), "objects");
      const folders = readdirSync(objects).filter((name) => /^[0-9a-f]{2}$/.test(name));
      return folders.reduce((sum, name) => sum + readdirSync(join(objects, name)).length, 0);
    },
    /** Combines loose objects and small packs into larger packs; drops nothing. False: it was stopped. @throws GIT_FAILED, STORE_FULL */
    async repack(stop: AbortSignal): Promise<boolean> {
      // --geometric (git 2.32): only packs that are small relative to the rest are rewritten.
      if (!(await aside(stop, "repack", "-d", "-l", "-q", "--geometric=2"))) return false;
      return aside(stop, "commit-graph", "write", "--reachable", "--changed-paths", "--split");
    },
    /** Combines everything into one pack and prunes unreachable objects. False: it was stopped. @throws GIT_FAILED, GIT_STATE, STORE_FULL */
    async collect(stop: AbortSignal): Promise<boolean> {
      await refs();
      return aside(stop, "gc", "--quiet", PRUNE);
    },
    /** Ids of runs that anything on a local branch or in a proposal names: entries, cases, audit lines, reports, commits of runs. */
    async namedRuns(): Promise<Set<string>> {
      const refs = await git(dir, ["for-each-ref", "--format=%(objectname)", "refs/heads", "refs/cleared/proposals"]);
      const tips = [...new Set(refs.toString().match(/.+/g))];
      await using objects = createObjects(dir);
      // Fails for a commit whose few trees stand for no end of files; git grep would not end.
      for (const tip of tips) await objects.tree(tip).list("");
      const trailers = await git(dir, ["log", "--branches", "--no-show-signature", "--format=%(trailers:key=Run,valueonly)"]);
      const found = new Set(trailers.toString().match(RUN) ?? []);
      for (let at = 0; at < tips.length; at += 200) {
        const said = await tryGit(dir, ["grep", "-h", "-I", "-o", "-E", RUN.source, ...tips.slice(at, at + 200)]);
        // Status 1: nothing found.
        if (said.status > 1) throw gitFailed("git grep", said.stderr);
        for (const id of said.stdout.toString().match(RUN) ?? []) found.add(id);
      }
      return found;
    },
  };
}
