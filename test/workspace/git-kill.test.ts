/** kill -9 between any two stages of a commit: the user's git works at once, and the next door leaves a clean tree. */
import { spawn } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createGit } from "../../runtime/workspace/git/git.ts";
import { createRepository, type Repository, setFiles } from "./git-repository.ts";

const FILES = { "a.txt": "a2\n", "new/b.txt": "b\n", "gone.txt": null };
const STAGES = ["objects", "draft", "locked", "recorded", "moved", "index", "files"] as const;

let repository: Repository;
beforeEach(() => {
  repository = createRepository({ "a.txt": "a\n", "gone.txt": "g\n", "mine.txt": "m\n" });
});
afterEach(() => repository.remove());

/** Resolves when the process is dead and whoever looks after its lock has had the time to. */
async function killAt(stage: string): Promise<void> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "git-killed.ts"), repository.dir, stage, JSON.stringify(FILES)], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const signal = await new Promise((resolve) => child.on("exit", (_, name) => resolve(name)));
  expect(signal).toBe("SIGKILL");
  for (let i = 0; i < 100 && existsSync(join(repository.dir, ".git/index.lock")); i++) await sleep(20);
}

const open = () => createGit(repository.dir, { branch: () => "main" });
const leftovers = (): string[] => [
  ...readdirSync(join(repository.dir, ".git")).filter((name) => /^cleared-|\.lock$/.test(name)),
  ...(existsSync(join(repository.dir, ".cleared/refresh.json")) ? ["refresh.json"] : []),
];

test.each(STAGES)("killed at %s: no lock remains, the user's work is unchanged, and the commit exists once", async (stage) => {
  repository.write("mine.txt", "edited\n");
  repository.write("staged.txt", "s\n");
  repository.git("add", "staged.txt");
  await killAt(stage);
  // The user's git goes on at once, before anything of ours runs again.
  repository.write("later.txt", "l\n");
  repository.git("add", "later.txt");
  const git = await open();
  const end = await git.commit(setFiles(FILES));
  expect(end.status).toBe(["moved", "index", "files"].includes(stage) ? "unchanged" : "committed");
  expect(repository.git("log", "--format=%s").trim().split("\n")).toEqual(["import: rows", "start: books"]);
  expect(repository.git("status", "--porcelain")).toBe("A  later.txt\n M mine.txt\nA  staged.txt\n");
  expect([repository.read("a.txt"), repository.read("new/b.txt"), existsSync(join(repository.dir, "gone.txt"))]).toEqual([
    "a2\n",
    "b\n",
    false,
  ]);
  await git.close();
  await sleep(50);
  expect(leftovers()).toEqual([]);
});

test("after a kill a file the user has edited meanwhile is left alone", async () => {
  await killAt("moved");
  repository.write("a.txt", "a\nmine\n");
  const git = await open();
  expect(repository.read("a.txt")).toBe("a\nmine\n");
  expect(repository.git("status", "--porcelain")).toBe(" M a.txt\n");
  expect(repository.git("show", ":a.txt")).toBe("a2\n");
  await git.close();
});

test("after a kill the refresh waits while another branch is checked out or git is busy, and is done later", async () => {
  await killAt("moved");
  const lock = join(repository.dir, ".git/index.lock");
  writeFileSync(lock, "");
  const git = await open();
  expect(repository.read("a.txt")).toBe("a\n");
  expect((await git.commit(setFiles({ "x.txt": "x\n" }))).status).toBe("blocked");
  await import("node:fs/promises").then(({ rm }) => rm(lock));
  expect((await git.commit(setFiles({ "x.txt": "x\n" }))).status).toBe("committed");
  expect(repository.git("status", "--porcelain")).toBe("");
  await git.close();
});

test("after a kill a commit of the user on top is not undone", async () => {
  await killAt("moved");
  repository.write("mine.txt", "m2\n");
  repository.git("commit", "-q", "-m", "only mine", "mine.txt");
  const git = await open();
  expect(repository.git("status", "--porcelain")).toBe("");
  expect(repository.git("log", "--format=%s").trim().split("\n")).toEqual(["only mine", "import: rows", "start: books"]);
  expect(repository.git("show", "HEAD:a.txt")).toBe("a2\n");
  expect(repository.read("new/b.txt")).toBe("b\n");
  await git.close();
});

test("a truncated or invented record does no harm", async () => {
  repository.git("status");
  for (const text of [
    "",
    "{",
    "[]",
    '{"commit": "x", "touched": [{"path": "../../etc/x", "old": null, "next": null}]}',
    `{"commit": "${"0".repeat(40)}", "touched": []}`,
  ]) {
    repository.write(".cleared/refresh.json", text);
    const git = await open();
    expect((await git.commit(setFiles({ "a.txt": `${text.length}\n` }))).status).toBe("committed");
    await git.close();
  }
});
