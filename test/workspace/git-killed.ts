/** Run by git-kill.test.ts in a process of its own: makes one commit and kills itself when a stage is reached. */
import { createGit } from "../../runtime/workspace/git/git.ts";
import { setFiles } from "./git-repository.ts";

const [dir = "", deadly = "", files = "{}"] = process.argv.slice(2);
const git = await createGit(dir, {
  branch: () => "main",
  reached(stage) {
    if (stage === deadly) process.kill(process.pid, "SIGKILL");
  },
});
await git.commit(setFiles(JSON.parse(files) as Record<string, string | null>));
await git.close();
