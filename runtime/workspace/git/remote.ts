/** Refs beside the branch, exchanged with a remote that the user has configured. Nothing of the branch itself is fetched, merged or pushed. */
import { ClearedError, didYouMean } from "../../kernel/errors.ts";
import { gitDirOf, writing } from "./leftovers.ts";
import { git, gitFailed, tryGit } from "./git-process.ts";

/** @throws GIT_STATE when the repository has no remote of that name */
async function assertRemote(dir: string, remote: string): Promise<void> {
  const names = (await git(dir, ["remote"])).toString().trim().split("\n");
  if (names.includes(remote) && /^[\w][\w.-]*$/.test(remote)) return;
  throw new ClearedError(
    "GIT_STATE",
    `This repository has no remote "${remote.slice(0, 100)}".${didYouMean(remote, names)} \`git remote add\` names one.`,
  );
}

/**
 * What git starts at the other end, so that neither our configuration chooses it nor, where the other end is a folder of this machine, the
 * one of that folder: it may have come together with the workspace.
 */
async function otherEnd(dir: string, remote: string, kind: "upload-pack" | "receive-pack"): Promise<string> {
  const urls = (await git(dir, ["remote", "get-url", "--all", ...(kind === "receive-pack" ? ["--push"] : []), remote])).toString().trim();
  const isFolder = (url: string) => /^file:/i.test(url) || !/^[a-z][a-z0-9+.-]*:\/\/|^[^/]+:/i.test(url);
  const quiet = ["core.hooksPath=/dev/null", "core.alternateRefsCommand=:", "receive.denyCurrentBranch=refuse", "receive.autogc=false"];
  return urls.split("\n").some(isFolder) ? `--${kind}=git ${quiet.map((one) => `-c ${one}`).join(" ")} ${kind}` : `--${kind}=git-${kind}`;
}

/** Brings the remote's refs below `from` to below `to`, whatever stood there. @throws GIT_STATE, GIT_FAILED with git's own words */
export async function fetchRefs(dir: string, remote: string, from: string, to: string): Promise<void> {
  await assertRemote(dir, remote);
  const flags = ["--quiet", "--no-tags", "--no-write-fetch-head", "--prune", await otherEnd(dir, remote, "upload-pack")];
  await writing(gitDirOf(dir), {}, () => git(dir, ["fetch", ...flags, remote, `+${from}*:${to}*`]));
}

/** `to` at the remote, if it is at `from` there (null: not there). False: somebody else was quicker. @throws GIT_FAILED */
export async function pushRefs(
  dir: string,
  remote: string,
  moves: readonly { ref: string; from: string | null; to: string }[],
): Promise<boolean> {
  const leases = moves.map(({ ref, from }) => `--force-with-lease=${ref}:${from ?? ""}`);
  const said = await tryGit(dir, [
    "push",
    "--quiet",
    "--porcelain",
    "--no-verify",
    await otherEnd(dir, remote, "receive-pack"),
    ...leases,
    remote,
    ...moves.map(({ ref, to }) => `${to}:${ref}`),
  ]);
  if (said.status === 0) return true;
  if (/stale info|fetch first|cannot lock ref|reference already exists/.test(said.stdout.toString() + said.stderr)) return false;
  throw gitFailed(`git push ${remote}`, said.stderr);
}
