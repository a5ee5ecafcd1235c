/** Packing the repository: in nobody's way, dropping nothing that anybody needs, and harmless wherever it is killed. */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Git } from "../../runtime/kernel/ports.ts";
import { createGitUpkeep } from "../../runtime/workspace/git/repack.ts";
import { createGit } from "../../runtime/workspace/git/git.ts";
import { killWithAllBelow } from "../kill/processes.ts";
import { type Repository, createRepository, setFiles } from "./git-repository.ts";

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

const upkeep = () => createGitUpkeep(repository.dir, join(repository.dir, ".git"));
const never = new AbortController().signal;
const text = (n: number) => Array.from({ length: n * 10 }, (_, i) => `line ${i} of a month that grows\n`).join("");
const objects = () => Number(/^count: (\d+)$/m.exec(repository.git("count-objects", "-v"))?.[1]);
const unfinished = () =>
  readdirSync(join(repository.dir, ".git"), { recursive: true })
    .map(String)
    .filter((name) => /(?:^|\/)(?:tmp_|\.tmp-)|\.lock$|packed-refs\.new$|gc\.pid$/.test(name));

async function commits(from: number, to: number): Promise<void> {
  for (let n = from; n < to; n++) {
    const end = await git.commit(setFiles({ "journal/month.txt": text(n + 1), [`receipts/${n}.txt`]: `${n}\n` }, n));
    expect(end.status).toBe("committed");
  }
}

test("loose objects become one pack, small packs larger ones, while commits continue, and nothing is lost", async () => {
  await commits(0, 20);
  const orphan = execFileSync("git", ["hash-object", "-w", "--stdin"], { cwd: repository.dir, input: "nobody's", encoding: "utf8" }).trim();
  const before = objects();
  expect(before).toBeGreaterThan(100);
  expect(upkeep().loose()).toBe(before);
  const size = () => Number(/^size-pack: (\d+)$/m.exec(repository.git("count-objects", "-v"))?.[1]);
  // The committer's commands stay open over it.
  await Promise.all([upkeep().repack(never), commits(20, 25)]);
  await commits(25, 28);
  await upkeep().repack(never);
  expect(objects()).toBe(0);
  expect(readdirSync(join(repository.dir, ".git/objects/pack")).filter((name) => name.endsWith(".pack")).length).toBeLessThan(4);
  expect(size()).toBeLessThan(100);
  await commits(28, 30);
  expect(repository.git("cat-file", "-p", orphan)).toBe("nobody's");
  expect(repository.git("fsck", "--strict", "--no-dangling")).toBe("");
  expect(repository.git("status", "--porcelain")).toBe("");
  // A path's history is found without walking all of it.
  expect(repository.git("commit-graph", "verify")).toBe("");
});

test("collecting removes nothing that is pinned or about to be committed, whatever the user's settings", async () => {
  for (const key of ["gc.pruneExpire", "gc.reflogExpire", "gc.reflogExpireUnreachable"]) repository.git("config", key, "now");
  await commits(0, 3);
  const pinned = await git.head();
  await git.pin(pinned);
  repository.git("reset", "-q", "--hard", "HEAD~2");
  await git.close();
  // It is collected between the moment in which the objects of a commit are there and that in which the branch names them.
  git = await createGit(repository.dir, {
    branch: () => "main",
    reached: (stage) => {
      if (stage === "objects") execFileSync(process.execPath, [join(import.meta.dirname, "git-collect.ts"), repository.dir, "collect"]);
    },
  });
  await commits(7, 8);
  expect(await upkeep().collect(never)).toBe(true);
  expect(repository.git("cat-file", "-t", pinned).trim()).toBe("commit");
  expect(repository.git("show", `${pinned}:receipts/2.txt`)).toBe("2\n");
  expect(repository.git("fsck", "--strict", "--no-dangling")).toBe("");
  await commits(8, 10);
});

test("when told to stop, it ends at once and leaves nothing behind", async () => {
  await commits(0, 20);
  await git.close();
  const stop = new AbortController();
  const packing = upkeep().repack(stop.signal);
  await sleep(5);
  stop.abort();
  expect(await packing).toBe(false);
  expect(unfinished()).toEqual([]);
  git = await createGit(repository.dir, { branch: () => "main" });
  await commits(30, 31);
});

test("killed with everything it started, at any point, it leaves an intact repository, and the next run removes its leftovers", async () => {
  await commits(0, 30);
  await git.close();
  const began = performance.now();
  await kill(-1);
  const whole = performance.now() - began;
  for (let n = 0; n < 12; n++) {
    git = await createGit(repository.dir, { branch: () => "main" });
    expect(unfinished()).toEqual([]);
    await commits(30 + n * 2, 32 + n * 2);
    await git.close();
    await kill(whole * (0.2 + (0.8 * n) / 12));
    expect(repository.git("fsck", "--strict", "--no-dangling")).toBe("");
  }
  git = await createGit(repository.dir, { branch: () => "main" });
  expect(unfinished()).toEqual([]);
  await commits(200, 202);
  await upkeep().repack(never);
  expect(await upkeep().collect(never)).toBe(true);
  expect(objects()).toBe(0);
  expect(repository.git("fsck", "--strict", "--no-dangling")).toBe("");
  expect(repository.git("rev-list", "--count", "HEAD").trim()).toBe(String(1 + 30 + 24 + 2));
});

// What git has under way while it packs refs, shortens reflogs, writes a pack, a commit-graph, or begins to collect.
const REMAINS = [
  ...["refs/heads/main.lock", "HEAD.lock", "logs/HEAD.lock", "logs/refs/heads/main.lock", "packed-refs.lock", "packed-refs.new"],
  ...[
    "objects/pack/tmp_pack_aaaaaa",
    "objects/pack/.tmp-4194304-pack-b.pack",
    "objects/info/commit-graphs/commit-graph-chain.lock",
    "gc.pid",
    "gc.pid.lock",
  ],
];
const lay = (names: readonly string[]) => {
  for (const file of names.map((name) => join(repository.dir, ".git", name))) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, "");
  }
};

test("every lock and file that a killed run may leave is removed by its note, and then it packs and collects again", async () => {
  await commits(0, 2);
  await git.close();
  const note = join(repository.dir, ".git/cleared-git-4194304-1-00000000");
  writeFileSync(note, JSON.stringify([{ at: Date.now(), refs: { "refs/heads/main": repository.git("rev-parse", "HEAD").trim() } }]));
  lay(REMAINS);
  git = await createGit(repository.dir, { branch: () => "main" });
  expect(unfinished()).toEqual([]);
  expect(existsSync(note)).toBe(false);
  await commits(2, 4);
  expect(await upkeep().repack(never)).toBe(true);
  expect(await upkeep().collect(never)).toBe(true);
});

test("what another git is writing at the moment stays, and so do locks without a note of ours", async () => {
  await git.close();
  const busy = spawn("git", ["cat-file", "--batch"], { cwd: repository.dir, stdio: ["pipe", "ignore", "ignore"] });
  const note = join(repository.dir, ".git/cleared-git-4194304-1-00000000");
  writeFileSync(note, "[]");
  const objects = REMAINS.filter((name) => name.startsWith("objects"));
  lay(objects);
  const sweep = async () => {
    git = await createGit(repository.dir, { branch: () => "main" });
    await git.close();
  };
  await sweep();
  expect(unfinished()).toHaveLength(objects.length);
  busy.stdin.end();
  await new Promise((resolve) => busy.once("exit", resolve));
  await sweep();
  expect(unfinished()).toEqual([]);
  // No note: all of it is somebody's.
  lay(REMAINS);
  await sweep();
  expect(unfinished()).toHaveLength(REMAINS.length);
  for (const name of REMAINS) rmSync(join(repository.dir, ".git", name));
  git = await createGit(repository.dir, { branch: () => "main" });
});

test("while it packs, its note keeps others from cleaning up; nothing of it stays afterwards", async () => {
  await commits(0, 20);
  await git.close();
  const packing = upkeep().repack(never);
  const notes = () => readdirSync(join(repository.dir, ".git")).filter((name) => name.startsWith("cleared-git-"));
  expect(notes()).toHaveLength(1);
  git = await createGit(repository.dir, { branch: () => "main" });
  expect(await packing).toBe(true);
  expect(notes()).toEqual([]);
  expect(unfinished()).toEqual([]);
});

test("a branch locked by somebody is not waited for long, and the lock is named", async () => {
  await commits(0, 2);
  lay(["packed-refs.lock"]);
  await expect(upkeep().collect(never)).rejects.toMatchObject({ code: "GIT_STATE", message: expect.stringContaining("packed-refs.lock") });
  rmSync(join(repository.dir, ".git/packed-refs.lock"));
  expect(await upkeep().collect(never)).toBe(true);
});

test("reflogs are kept for ninety days", async () => {
  await commits(0, 2);
  const log = join(repository.dir, ".git/logs/HEAD");
  const [first = "", ...others] = repository.git("reflog", "show", "--format=%H", "HEAD").trim().split("\n").reverse();
  const day = Math.floor(Date.now() / 1000) - 100 * 86_400;
  writeFileSync(
    log,
    `${"0".repeat(40)} ${first} A <a@b> ${day} +0000\tlong ago\n${others.map((oid, i) => `${[first, ...others][i]} ${oid} A <a@b> ${day + 50 * 86_400} +0000\tx\n`).join("")}`,
  );
  await upkeep().collect(never);
  expect(repository.git("reflog", "show", "--format=%H", "HEAD").trim().split("\n")).toEqual([...others].reverse());
});

/** Packs and collects in a process of its own, which is killed after so many ms with all it has started; -1: it comes to its end. */
async function kill(afterMs: number): Promise<void> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "git-collect.ts"), repository.dir, "both"], { stdio: "ignore" });
  const gone = new Promise((resolve) => child.once("exit", resolve));
  if (afterMs < 0) return void (await gone);
  await Promise.race([gone, sleep(afterMs)]);
  await killWithAllBelow(child.pid ?? 0);
}

test("no upkeep starts a program that the repository names for recent objects", async () => {
  await commits(0, 2);
  const mark = join(repository.dir, "..", "ran");
  repository.git("config", "gc.recentObjectsHook", `touch ${mark}`);
  for (const work of ["collect", "repack"] as const)
    await expect(upkeep()[work](never)).rejects.toMatchObject({
      code: "GIT_STATE",
      message: expect.stringContaining("gc.recentobjectshook"),
    });
  expect(existsSync(mark)).toBe(false);
});
