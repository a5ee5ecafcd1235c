/** Locks of git: what a kill of ours left is removed and the work done again; what is somebody else's is waited for by its name, and stays. */
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { toWire } from "../../runtime/kernel/errors.ts";
import type { Git } from "../../runtime/kernel/ports.ts";
import { createSideRefs } from "../../runtime/workspace/git/proposal-refs.ts";
import { createGit } from "../../runtime/workspace/git/git.ts";
import { below, commandOf, seeded, signal } from "../kill/processes.ts";
import { createRepository, type Repository, setFiles } from "./git-repository.ts";
import { share } from "../share.ts";

const LONG = process.env["CLEARED_LONG"] === "1";
let repository: Repository;
let git: Git;
beforeEach(async () => {
  repository = createRepository({ "a.txt": "a\n" });
  git = await createGit(repository.dir, { branch: () => "main" });
});
afterEach(async () => {
  await git.close();
  repository.remove();
});

const sleep = (ms: number) => new Promise((next) => setTimeout(next, ms));
const at = (name: string) => join(repository.dir, ".git", name);
/** What no git of ours may leave in the git folder. */
const leftovers = (): string[] =>
  readdirSync(join(repository.dir, ".git"), { recursive: true })
    .map(String)
    .filter((name) => /\.lock$|tmp_|^cleared-|packed-refs\.new|fast_import_crash/.test(name));
const helpers = () => below(process.pid).filter((pid) => /^git /.test(commandOf(pid)) && !/cat-file/.test(commandOf(pid)));

describe.each(share(["refs/heads/main.lock", "HEAD.lock", "index.lock"], 3, String))("somebody's %s", (name) => {
  test("is waited for by name and never removed; the commit is made once it is gone", async () => {
    writeFileSync(at(name), "");
    expect(await git.blockedBy()).toBe(null);
    expect(await git.commit(setFiles({ "a.txt": "b\n" }))).toEqual({ status: "blocked", reason: expect.stringContaining(`.git/${name}`) });
    await sleep(300);
    expect(await git.blockedBy()).toContain(`.git/${name}`);
    await git.close();
    git = await createGit(repository.dir, { branch: () => "main" });
    expect(existsSync(at(name))).toBe(true);
    rmSync(at(name));
    expect(await git.blockedBy()).toBe(null);
    expect((await git.commit(setFiles({ "a.txt": "b\n" }))).status).toBe("committed");
    expect(repository.git("status", "--porcelain")).toBe("");
  });
});

test.each(["packed-refs.lock", "config.lock", "shallow.lock"])("somebody's %s is in no commit's way and stays", async (name) => {
  writeFileSync(at(name), "");
  await git.close();
  git = await createGit(repository.dir, { branch: () => "main" });
  expect((await git.commit(setFiles({ "a.txt": "b\n" }))).status).toBe("committed");
  expect(existsSync(at(name))).toBe(true);
});

test("a note of a dead process, which may have come with the folder, removes nothing outside of the repository, through links neither", async () => {
  await git.close();
  const outside = join(repository.dir, "theirs");
  for (const name of ["a.lock", "deep/b.lock", "tmp_c/d.txt"]) {
    mkdirSync(dirname(join(outside, name)), { recursive: true });
    writeFileSync(join(outside, name), "");
  }
  const [own, theirs] = [at("refs/cleared/mine.lock"), readdirSync(outside, { recursive: true }).sort()];
  mkdirSync(dirname(own), { recursive: true });
  writeFileSync(own, "");
  symlinkSync(outside, at("refs/cleared/linked"));
  symlinkSync(outside, at("objects/infox"));
  const moves = ["../theirs/a", "refs/../../theirs/a", "refs/cleared/linked/a"].map((ref) => ({ at: Date.now(), refs: { [ref]: "" } }));
  writeFileSync(at("cleared-git-4194000-1-abcdef01"), JSON.stringify([{ at: Date.now(), refs: {} }, ...moves]));
  git = await createGit(repository.dir, { branch: () => "main" });
  expect(readdirSync(outside, { recursive: true }).sort()).toEqual(theirs);
  expect([existsSync(own), ...leftovers().filter((name) => !/infox|linked/.test(name))]).toEqual([false]);
});

test("while a ref beside the branch is locked by somebody, moving that ref names the lock", async () => {
  const head = await git.head();
  mkdirSync(dirname(at("refs/cleared/x.lock")), { recursive: true });
  writeFileSync(at("refs/cleared/x.lock"), "");
  const side = createSideRefs(repository.dir);
  const move = () => side.move([{ ref: "refs/cleared/x", from: null, to: head }]);
  await expect(move()).rejects.toMatchObject({ code: "GIT_STATE", message: expect.stringContaining(".git/refs/cleared/x.lock") });
  rmSync(at("refs/cleared/x.lock"));
  expect(await move()).toBe(true);
});

describe.each(["SIGKILL", "SIGSTOP"] as const)("helpers of git that get %s", (name) => {
  test("at seeded moments: every commit exists once and every ref where it was moved, with nothing left behind", async () => {
    const random = seeded(name.length + 7);
    const side = createSideRefs(repository.dir);
    let hits = 0;
    let over = false;
    const killing = (async () => {
      // One that is stopped is given five seconds.
      while (!over && hits < (name === "SIGKILL" ? 1000 : 2)) {
        await sleep(random() * (name === "SIGKILL" ? 900 : 150));
        for (const pid of helpers()) if (!over) hits += Number(signal(pid, name));
      }
    })();
    const least = LONG ? 200 : 10;
    let [tip, commits] = [await git.head(), 0];
    // Until somebody was hit twice, however fast or slow commits are here.
    while (commits < least || hits < 2) {
      const n = ++commits;
      expect(await git.commit(setFiles({ "a.txt": `${n}\n`, [`f${n}.txt`]: "x\n" }))).toMatchObject({ status: "committed" });
      const commit = await side.write({
        parents: [tip],
        message: `side ${n}`,
        at: n,
        files: new Map([["s.txt", { mode: "100644", text: `${n}` }]]),
      });
      expect(await side.move([{ ref: "refs/cleared/s", from: n === 1 ? null : tip, to: commit }])).toBe(true);
      await git.pin(tip);
      if (n > 1) await git.unpin(tip);
      tip = commit;
    }
    over = true;
    await killing;
    await git.close();
    expect(hits).toBeGreaterThan(1);
    expect(repository.git("rev-list", "--count", "HEAD").trim()).toBe(String(commits + 1));
    expect(repository.git("rev-list", "--count", "refs/cleared/s").trim()).toBe(String(commits + 1));
    expect(repository.git("status", "--porcelain")).toBe("");
    expect(leftovers()).toEqual([]);
    repository.git("fsck", "--strict");
  });
});

test("the whole process and its helpers killed midway: the next one finds no lock of theirs and leaves none", async () => {
  const random = seeded(11);
  let left = 0;
  // On a busy machine a child may be killed before it has begun.
  for (let n = 0; n < (LONG ? 60 : 4) || (left === 0 && n < 60); n++) {
    const child = spawn(process.execPath, [
      join(import.meta.dirname, "git-killed.ts"),
      repository.dir,
      "",
      JSON.stringify({ "a.txt": `${n}\n` }),
    ]);
    // From at once to long after its end, in steps: where in this its commit lies depends on the machine.
    await sleep((((n * 7) % 20) + random()) * 30);
    const family = [child.pid ?? 0, ...below(child.pid ?? 0)];
    for (const pid of family) signal(pid, "SIGKILL");
    // The caretaker of the index lock is a process of its own.
    await sleep(30);
    left += leftovers().length;
    await git.close();
    git = await createGit(repository.dir, { branch: () => "main" });
    expect((await git.commit(setFiles({ "a.txt": `${n}\n` }))).status).toMatch(/^(committed|unchanged)$/);
  }
  await git.close();
  expect(left).toBeGreaterThan(0);
  expect(leftovers()).toEqual([]);
  expect(repository.git("status", "--porcelain")).toBe("");
});

test("a full disk is reported as such, also where git words it differently, and leaves nothing behind once there is space", async (context) => {
  const place = `${repository.dir} small`;
  mkdirSync(place);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", place], { stdio: "ignore" });
  } catch {
    rmSync(place, { recursive: true });
    return context.skip("only root can mount a small disk");
  }
  cpSync(repository.dir, place, { recursive: true });
  const ballast = join(place, "ballast");
  try {
    for (let spare = 0; spare < 8; spare++) {
      const small = await createGit(place, { branch: () => "main" });
      expect(() => execFileSync("dd", ["if=/dev/zero", `of=${ballast}`, "bs=4k"], { stdio: "ignore" })).toThrow();
      truncateSync(ballast, statSync(ballast).size - spare * 4096);
      const refused = await small.commit(setFiles({ "a.txt": `${spare}\n` })).then(
        ({ status }) => status,
        (error: unknown) => toWire(error).code,
      );
      expect(["STORE_FULL", "committed"]).toContain(refused);
      if (spare === 0) expect(refused).toBe("STORE_FULL");
      rmSync(ballast);
      expect((await small.commit(setFiles({ "a.txt": `${spare}\n` }))).status).toMatch(/^(?:committed|unchanged)$/);
      await small.close();
      expect(readdirSync(join(place, ".git")).filter((name) => /^cleared-|\.lock$/.test(name))).toEqual([]);
    }
  } finally {
    execFileSync("umount", ["-l", place]);
    rmSync(place, { recursive: true });
  }
});
