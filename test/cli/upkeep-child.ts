/** Run by upkeep.test.ts in a process of its own: owns the workspace, and moves, packs and collects without pause until it is killed. */
import { openHost } from "../../runtime/app/open-host.ts";
import { packClosed } from "../../runtime/engine/store/packing.ts";
import { createGitUpkeep } from "../../runtime/workspace/git/repack.ts";
import { findGitDir } from "../../runtime/workspace/git/git.ts";

const [dir = ""] = process.argv.slice(2);
const opened = await openHost(dir, { mode: "owner" });
const git = createGitUpkeep(dir, await findGitDir(dir));
const never = new AbortController().signal;
process.stdout.write("begins\n");
await packClosed(opened.packing, Number.MAX_SAFE_INTEGER);
for (;;) {
  await git.repack(never);
  await git.collect(never);
}
