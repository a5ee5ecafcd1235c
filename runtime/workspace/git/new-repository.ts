/** A repository of our own, made and committed to once; by simple-git, as nobody else has written to it yet. */
import { simpleGit } from "simple-git";
import { SETTINGS, commandEnv } from "./environment.ts";
import { gitFailed } from "./git-process.ts";

/**
 * Makes `dir` a repository and commits all that lies in it. Who commits stands in the user's own configuration, else `person` is kept in
 * this one, so that the person's own commits work too.
 * @throws GIT_FAILED with git's own words, STORE_FULL
 */
export async function makeRepository(dir: string, branch: string, person: string, message: string): Promise<void> {
  const env = commandEnv({});
  const git = simpleGit({
    baseDir: dir,
    config: SETTINGS.map(([key, value]) => `${key}=${value}`),
    allowEnvironment: Object.keys(env),
    // What it would refuse is what switches programs off: no hook, no monitor, no editor, no pager, no question, few protocols.
    unsafe: {
      allowUnsafeHooksPath: true,
      allowUnsafeFsMonitor: true,
      allowUnsafeEditor: true,
      allowUnsafePager: true,
      allowUnsafeAskPass: true,
      allowUnsafeProtocolOverride: true,
    },
  }).env(env);
  try {
    await git.init(["-q", "-b", branch]);
    for (const [key, value] of Object.entries({ "user.name": person, "user.email": "cleared@localhost" }))
      if (((await git.getConfig(key)).value ?? "").trim() === "") await git.addConfig(key, value);
    await git.add("-A");
    await git.commit(message, { "-q": null, "--no-gpg-sign": null });
  } catch (error) {
    throw gitFailed("The first commit", error instanceof Error ? error.message : String(error));
  }
}
