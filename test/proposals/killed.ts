/** Run by killed.slow.test.ts in a process of its own: approves or undoes a proposal, or undoes the last import, and kills itself at a stage. */
import { openHost } from "../../runtime/app/open-host.ts";
import { undo } from "../../runtime/change/proposals/undo.ts";
import { createProposals } from "../../runtime/change/proposals/store.ts";
import { createGit } from "../../runtime/workspace/git/git.ts";
import { decide } from "./ready.ts";
import { confirm } from "../confirm.ts";

const [dir = "", what = "", name = "", deadly = ""] = process.argv.slice(2);
const die = () => process.kill(process.pid, "SIGKILL");
confirm(dir);
const owner = await openHost(dir, { mode: "owner" });
const git = await createGit(dir, {
  branch: () => "main",
  reached: (stage) => {
    if (stage === deadly) die();
  },
});
// The moment before the committer is asked at all: the state ref says approved, or nothing has begun.
const first: typeof git.commit = (request) => (deadly === "asked" ? new Promise(() => die()) : git.commit(request));
const dying = { ...owner, git: { ...git, commit: first } };
if (what === "approve") await decide(dying, await createProposals(dying).get(name));
else await undo(dying, name, { by: "Pat" });
if (deadly === "done") die();
