import { existsSync, lstatSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Git } from "../../runtime/kernel/ports.ts";
import { createGit, type GitOptions } from "../../runtime/workspace/git/git.ts";
import { fetchRefs } from "../../runtime/workspace/git/proposal-refs.ts";
import { createRepository, type Repository, setFiles } from "./git-repository.ts";

let repository: Repository;
let git: Git;
const JOURNAL = "journal/2026/11.journal";

beforeEach(async () => {
  repository = createRepository({ [JOURNAL]: "one\n", "notes.txt": "mine\n", "other.txt": "other\n" });
  git = await createGit(repository.dir, { branch: () => "main" });
});
afterEach(async () => {
  await git.close();
  repository.remove();
});

/** A second door on the same repository, closed with the test. */
async function reopen(options: Partial<GitOptions> = {}): Promise<void> {
  await git.close();
  git = await createGit(repository.dir, { branch: () => "main", ...options });
}

const status = (): string => repository.git("status", "--porcelain");

test("staged, unstaged and untracked work elsewhere is neither committed nor changed", async () => {
  repository.write("notes.txt", "staged\n");
  repository.git("add", "notes.txt");
  repository.write("notes.txt", "staged\nand more\n");
  repository.write("other.txt", "unstaged\n");
  repository.write("brand new.txt", "untracked\n");
  repository.write("added.txt", "added\n");
  repository.git("add", "added.txt");
  const before = status();
  const staged = repository.git("diff", "--cached");
  const end = await git.commit(setFiles({ [JOURNAL]: "one\ntwo\n", "journal/2026/12.journal": "x\n" }));
  expect(end.status).toBe("committed");
  expect(status()).toBe(before);
  expect(repository.git("diff", "--cached")).toBe(staged);
  expect(repository.git("show", "--stat", "--format=", "--name-only").trim().split("\n")).toEqual([JOURNAL, "journal/2026/12.journal"]);
  repository.git("commit", "-q", "-a", "-m", "mine");
  expect(repository.git("show", `HEAD:${JOURNAL}`)).toBe("one\ntwo\n");
});

test("an edit that git can only see by content survives the rewrite of the index", async () => {
  for (let i = 0; i < 5; i++) {
    repository.write("notes.txt", "AAAA\n");
    repository.git("commit", "-qam", `a${i}`, "--allow-empty");
    repository.write("notes.txt", "BBBB\n");
    expect((await git.commit(setFiles({ [JOURNAL]: `${i}\n` }))).status).toBe("committed");
    expect(status()).toBe(" M notes.txt\n");
  }
});

test("an edited file that the commit would touch defers the commit and stays as it is", async () => {
  const before = await git.head();
  repository.write(JOURNAL, "one\nmy line\n");
  expect(await git.commit(setFiles({ [JOURNAL]: "one\ntwo\n" }))).toEqual({ status: "user_edit", paths: [JOURNAL] });
  expect(await git.edited([JOURNAL, "notes.txt", "none.txt"])).toEqual([JOURNAL]);
  repository.git("add", JOURNAL);
  repository.write(JOURNAL, "one\n");
  expect(await git.commit(setFiles({ [JOURNAL]: "one\ntwo\n" }))).toEqual({ status: "user_edit", paths: [JOURNAL] });
  expect(await git.head()).toBe(before);
  expect(repository.git("show", `:${JOURNAL}`)).toBe("one\nmy line\n");
  repository.git("reset", "-q", "--hard");
  expect((await git.commit(setFiles({ [JOURNAL]: "one\ntwo\n" }))).status).toBe("committed");
});

test.each<[string, (r: Repository) => void, string[]]>([
  ["an untracked file in the way", (r) => r.write("data/x.txt", "theirs\n"), ["data/x.txt"]],
  ["a folder in the way", (r) => mkdirSync(join(r.dir, "data/x.txt"), { recursive: true }), ["data/x.txt"]],
  ["a file where a folder is needed", (r) => r.write("data", "theirs\n"), ["data/x.txt"]],
  ["a link where a folder is needed", (r) => symlinkSync("/tmp", join(r.dir, "data")), ["data/x.txt"]],
  [
    "a link in place of the file",
    (r) => {
      mkdirSync(join(r.dir, "data"));
      symlinkSync("../notes.txt", join(r.dir, "data/x.txt"));
    },
    ["data/x.txt"],
  ],
  [
    "an intent to add",
    (r) => {
      r.write("data/x.txt", "z\n");
      r.git("add", "-N", "data/x.txt");
    },
    ["data/x.txt"],
  ],
])("%s defers the commit", async (_name, prepare, paths) => {
  prepare(repository);
  const before = [await git.head(), status()];
  expect(await git.commit(setFiles({ "data/x.txt": "ours\n" }))).toEqual({ status: "user_edit", paths });
  expect([await git.head(), status()]).toEqual(before);
});

test("a deleted tracked file counts as edited; a removal removes file and empty folders", async () => {
  repository.git("rm", "-q", "--cached", "notes.txt");
  expect(await git.commit(setFiles({ "notes.txt": "x\n" }))).toEqual({ status: "user_edit", paths: ["notes.txt"] });
  repository.git("reset", "-q", "--hard");
  expect((await git.commit(setFiles({ [JOURNAL]: null }))).status).toBe("committed");
  expect(existsSync(join(repository.dir, "journal"))).toBe(false);
  expect(status()).toBe("");
});

test.each<[string, (r: Repository) => void, RegExp]>([
  ["another branch", (r) => r.git("switch", "-q", "-c", "feature"), /branch "feature" is checked out.*git switch main/],
  ["a detached HEAD", (r) => r.git("switch", "-q", "--detach"), /detached at/],
  ["a bisect", (r) => r.git("bisect", "start"), /bisect reset/],
])("%s blocks the commit with a sentence that gives the remedy", async (_name, prepare, words) => {
  const before = await git.head();
  prepare(repository);
  const end = await git.commit(setFiles({ [JOURNAL]: "x\n" }));
  expect(end).toEqual({ status: "blocked", reason: expect.stringMatching(words) });
  expect(await git.blockedBy()).toMatch(words);
  expect(repository.git("rev-parse", "main").trim()).toBe(before);
});

test("a merge, rebase or cherry-pick in progress blocks the commit, and is not disturbed", async () => {
  repository.git("switch", "-q", "-c", "side");
  repository.write("notes.txt", "side\n");
  repository.git("commit", "-qam", "side");
  repository.git("switch", "-q", "main");
  repository.write("notes.txt", "main\n");
  repository.git("commit", "-qam", "main");
  const during = async (args: string[], words: RegExp, abort: string[]): Promise<void> => {
    expect(() => repository.git(...args)).toThrow();
    const before = status();
    expect(await git.commit(setFiles({ [JOURNAL]: "x\n" }))).toEqual({ status: "blocked", reason: expect.stringMatching(words) });
    expect(status()).toBe(before);
    repository.git(...abort);
    expect(await git.blockedBy()).toBeNull();
  };
  await during(["merge", "side"], /merge is in progress/, ["merge", "--abort"]);
  await during(["cherry-pick", "side"], /cherry-pick is in progress/, ["cherry-pick", "--abort"]);
  await during(["rebase", "side"], /rebase is in progress/, ["rebase", "--abort"]);
});

test("a file edited while the commit is prepared defers it; edited after the branch moved, it is left alone and named", async () => {
  await reopen({
    reached: (stage) => {
      if (stage === "draft") repository.write(JOURNAL, "one\nedit\n");
    },
  });
  expect(await git.commit(setFiles({ [JOURNAL]: "one\ntwo\n" }))).toEqual({ status: "user_edit", paths: [JOURNAL] });
  repository.write(JOURNAL, "one\n");
  await reopen({
    reached: (stage) => {
      if (stage === "moved") repository.write(JOURNAL, "one\nlate edit\n");
    },
  });
  expect(await git.commit(setFiles({ [JOURNAL]: "one\ntwo\n", "new.txt": "n\n" }))).toMatchObject({ status: "committed", kept: [JOURNAL] });
  expect(repository.read(JOURNAL)).toBe("one\nlate edit\n");
  expect(status()).toBe(` M ${JOURNAL}\n`);
});

test("something staged while the commit is prepared defers it", async () => {
  let once = true;
  await reopen({
    reached(stage) {
      if (stage !== "draft" || !once) return;
      once = false;
      repository.write("other.txt", "staged late\n");
      repository.git("add", "other.txt");
    },
  });
  expect((await git.commit(setFiles({ [JOURNAL]: "one\ntwo\n" }))).status).toBe("committed");
  expect(status()).toBe("M  other.txt\n");
});

test("a user's git waits or refuses while the commit is made, so it can never remove the run's entries", async () => {
  let refused = "";
  await reopen({
    reached(stage) {
      if (stage !== "moved") return;
      try {
        repository.git("commit", "-q", "-a", "--allow-empty", "-m", "in between");
      } catch (error) {
        refused = String(error);
      }
    },
  });
  expect((await git.commit(setFiles({ [JOURNAL]: "one\ntwo\n" }))).status).toBe("committed");
  expect(refused).toContain("index.lock");
  repository.git("commit", "-q", "-a", "--allow-empty", "-m", "after");
  expect(repository.git("show", `HEAD:${JOURNAL}`)).toBe("one\ntwo\n");
});

test("a foreign index.lock blocks the commit, is left alone, and the commit is made once it is gone", async () => {
  const lock = join(repository.dir, ".git/index.lock");
  writeFileSync(lock, "garbage");
  const before = await git.head();
  expect(await git.commit(setFiles({ [JOURNAL]: "one\ntwo\n" }))).toEqual({
    status: "blocked",
    reason: expect.stringContaining("index.lock"),
  });
  expect(await git.head()).toBe(before);
  expect(repository.read(".git/index.lock")).toBe("garbage");
  repository.git("status");
  setTimeout(() => rmSync(lock), 300);
  expect((await git.commit(setFiles({ [JOURNAL]: "one\ntwo\n" }))).status).toBe("committed");
});

test("a repository with line-end filters behaves the same", async () => {
  repository.git("config", "core.autocrlf", "true");
  repository.write("notes.txt", "mine\r\n");
  expect(await git.edited(["notes.txt"])).toEqual([]);
  expect((await git.commit(setFiles({ "notes.txt": "ours\n" }))).status).toBe("committed");
  expect(status()).toBe("");
});

test("settings of a received repository open no file to other users, and change neither the form nor the place of what is written", async () => {
  const remote = createRepository({ "x.txt": "theirs\n" });
  remote.git("update-ref", "refs/cleared/proposals/a", "HEAD");
  repository.git("remote", "add", "origin", remote.dir);
  for (const [key, value] of [
    ["core.sharedRepository", "0666"],
    ["core.bigFileThreshold", "1"],
    ["fastimport.unpackLimit", "1"],
    ["i18n.commitEncoding", "ISO-8859-1"],
    ["i18n.logOutputEncoding", "UTF-16"],
    ["remote.origin.fetch", "+refs/cleared/*:refs/heads/*"],
  ] as const)
    repository.git("config", key, value);
  await reopen();
  expect((await git.commit({ ...setFiles({ [JOURNAL]: "two\n" }), message: "import: Zürich" })).status).toBe("committed");
  expect(await git.log({ limit: 1 })).toMatchObject([{ subject: "import: Zürich", trailers: { Run: "run_1" } }]);
  expect(repository.git("cat-file", "commit", "HEAD")).not.toContain("encoding");
  await fetchRefs(repository.dir, "origin", "refs/cleared/proposals/", "refs/cleared/remote/");
  expect(repository.git("for-each-ref", "--format=%(refname)", "refs/heads", "refs/cleared/remote")).toBe(
    "refs/cleared/remote/a\nrefs/heads/main\n",
  );
  const written = readdirSync(join(repository.dir, ".git"), { recursive: true }).map((name) => join(repository.dir, ".git", String(name)));
  expect(written.filter((path) => !lstatSync(path).isSymbolicLink() && (lstatSync(path).mode & 0o022) !== 0)).toEqual([]);
  expect(written.filter((path) => path.endsWith(".pack"))).toEqual([]);
  remote.remove();
});
