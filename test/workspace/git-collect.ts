/** Run by git-upkeep.test.ts in a process of its own: packs, or collects, or both. */
import { join } from "node:path";
import { createGitUpkeep } from "../../runtime/workspace/git/repack.ts";

const [dir = "", what = ""] = process.argv.slice(2);
const git = createGitUpkeep(dir, join(dir, ".git"));
const never = new AbortController().signal;
if (what === "both") await git.repack(never);
await git.collect(never);
