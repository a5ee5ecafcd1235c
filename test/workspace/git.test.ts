/** The git door on real repositories: what a run's commit does to the branch, and what can be read from it. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Git } from "../../runtime/kernel/ports.ts";
import { createGit, type GitOptions } from "../../runtime/workspace/git/git.ts";
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

test("a commit has message, trailers and author, and index and files have the new content", async () => {
  const before = await git.head();
  const end = await git.commit({
    message: "import: 2 rows\n\n- from chase.csv",
    trailers: { Run: "run_7", Step: "12", Agent: "ingest@abc" },
    build: async (head) =>
      new Map([
        [JOURNAL, `${await head.read(JOURNAL)}two\n`],
        ["journal/2026/12.journal", "new\n"],
        ["notes.txt", "mine\n"],
      ]),
  });
  expect(end).toMatchObject({ status: "committed", paths: [JOURNAL, "journal/2026/12.journal"] });
  expect(repository.git("log", "-1", "--format=%an <%ae>%n%P%n%B").trim()).toBe(
    `Cleared <cleared@localhost>\n${before}\nimport: 2 rows\n\n- from chase.csv\n\nRun: run_7\nStep: 12\nAgent: ingest@abc`,
  );
  expect(repository.read(JOURNAL)).toBe("one\ntwo\n");
  expect(status()).toBe("");
  expect(repository.git("fsck", "--strict")).toBe("");
  expect(repository.git("reflog", "-1", "--format=%gs").trim()).toBe("cleared: commit");
});

test("a commit that changes nothing is not made", async () => {
  const before = await git.head();
  expect(await git.commit(setFiles({ [JOURNAL]: "one\n", "absent.txt": null }))).toEqual({ status: "unchanged" });
  expect(await git.head()).toBe(before);
});

test("a lost race for the branch is repeated on the new HEAD", async () => {
  let calls = 0;
  const end = await git.commit({
    message: "import: two",
    trailers: { Run: "run_2", Step: "1" },
    build: async (head) => new Map([[JOURNAL, `${await head.read(JOURNAL)}two\n`]]),
    guard() {
      if (calls++ > 0) return;
      // Somebody else commits to the branch after the objects were made.
      const tree = repository.git("rev-parse", "HEAD^{tree}").trim();
      repository.git("update-ref", "refs/heads/main", repository.git("commit-tree", tree, "-p", "HEAD", "-m", "theirs").trim());
    },
  });
  expect(end.status).toBe("committed");
  expect(calls).toBe(2);
  expect(repository.git("log", "--format=%s").trim().split("\n")).toEqual(["import: two", "theirs", "start: books"]);
  expect(status()).toBe("");
});

test("eight concurrent committers lose nothing", async () => {
  const doors = await Promise.all([1, 2, 3, 4].map(() => createGit(repository.dir, { branch: () => "main" })));
  const ends = await Promise.all(
    [...doors, ...doors].map((door, i) =>
      door.commit({
        message: `add: ${i}`,
        trailers: {},
        build: async (head) => new Map([[JOURNAL, `${await head.read(JOURNAL)}line ${i}\n`]]),
      }),
    ),
  );
  await Promise.all(doors.map((door) => door.close()));
  expect(ends.map((end) => end.status)).toEqual(ends.map(() => "committed"));
  expect(repository.read(JOURNAL).match(/^line/gm)).toHaveLength(8);
  expect(repository.git("show", `HEAD:${JOURNAL}`)).toBe(repository.read(JOURNAL));
  expect(status()).toBe("");
});

test("a guard that throws leaves no trace", async () => {
  const before = await git.head();
  const request = {
    ...setFiles({ [JOURNAL]: "x\n", "new.txt": "n\n" }),
    guard: () => {
      throw new Error("fenced");
    },
  };
  await expect(git.commit(request)).rejects.toThrow("fenced");
  expect([await git.head(), status()]).toEqual([before, ""]);
  expect(existsSync(join(repository.dir, ".git/index.lock"))).toBe(false);
  expect(readdirSync(join(repository.dir, ".cleared/tmp"))).toEqual([]);
  expect(existsSync(join(repository.dir, ".cleared/refresh.json"))).toBe(false);
});

test("find sees only the trailers of the last paragraph, and only after the given commit", async () => {
  const start = await git.head();
  await git.commit({ ...setFiles({ "a.txt": "a\n" }), message: "import: x\n\nRun: run_9\nStep: 4" });
  expect(await git.find("run_9", 4, start)).toBeNull();
  const first = await git.head();
  expect(await git.find("run_1", 1, start)).toBe(first);
  expect(await git.find("run_1", 1, first)).toBeNull();
  expect(await git.find("run_1", 11, start)).toBeNull();
  expect(await git.find("run_1", 1, "0".repeat(40))).toBe(first);
  const [entry] = await git.log({ limit: 1 });
  expect(entry).toMatchObject({ commit: first, author: "Cleared", subject: "import: x", trailers: { Run: "run_1", Step: "1" } });
  expect(await git.log({ limit: 5, path: "a.txt" })).toHaveLength(1);
  expect(await git.log({ limit: 5, path: "*" })).toHaveLength(0);
});

test("hostile text in messages, trailers and paths has no effect", async () => {
  const end = await git.commit({
    message: "x\n\0from refs/heads/main\ndata <<E\u202e\n\ncheckpoint\n",
    trailers: { Run: "run_3\nApproved-by: Eve", "Bad Key": "no" },
    build: async () =>
      new Map([
        ['data/we"ird \\n name.txt'.replace("\\", ""), "data 5\ncommit refs/heads/main\n"],
        ["data/ü ñ.txt", "\u{1f600}\n"],
      ]),
  });
  expect(end.status).toBe("committed");
  const [entry] = await git.log({ limit: 1 });
  expect(entry?.trailers).toEqual({ Run: "run_3 Approved-by: Eve" });
  expect(status()).toBe("");
  expect(repository.read("data/ü ñ.txt")).toBe("\u{1f600}\n");
  for (const path of ["../x", "/etc/x", ".git/hooks/x", ".GIT/config", "a//b", "a/./b", ".cleared/x", "a\nb", ""]) {
    await expect(git.commit(setFiles({ [path]: "x" })), path).rejects.toMatchObject({ code: "FILE_INVALID" });
  }
});

test("the caller's git environment and the repository's hooks do not affect the committer", async () => {
  repository.write(".git/hooks/reference-transaction", "#!/bin/sh\nexit 1\n");
  repository.git("config", "core.hooksPath", ".git/hooks");
  process.env["GIT_INDEX_FILE"] = "/nowhere/index";
  process.env["GIT_DIR"] = "/nowhere";
  try {
    await reopen();
    expect((await git.commit(setFiles({ [JOURNAL]: "x\n" }))).status).toBe("committed");
    expect(await git.log({ limit: 5 })).toHaveLength(2);
  } finally {
    delete process.env["GIT_INDEX_FILE"];
    delete process.env["GIT_DIR"];
  }
});

test("trees return files of any commit, and null for anything that is not a file", async () => {
  const old = await git.head();
  symlinkSync("/etc/passwd", join(repository.dir, "link"));
  repository.git("add", "link");
  repository.git("commit", "-qm", "link");
  await git.commit(setFiles({ [JOURNAL]: "two\n" }));
  const tree = git.tree(await git.head());
  expect(await tree.read(JOURNAL)).toBe("two\n");
  expect(await git.tree(old).read(JOURNAL)).toBe("one\n");
  expect(await tree.blob("notes.txt")).toBe(repository.git("rev-parse", "HEAD:notes.txt").trim());
  expect(await tree.read("link")).toBeNull();
  expect(await tree.read("journal")).toBeNull();
  expect(await tree.blob("nothing/here")).toBeNull();
  expect((await tree.list("journal/")).map((entry) => entry.path)).toEqual([JOURNAL]);
  expect(await tree.list("missing/")).toEqual([]);
  await expect(git.tree("f".repeat(40)).read("x")).rejects.toMatchObject({ code: "GIT_FAILED" });
});

test("a pinned commit survives garbage collection until it is unpinned", async () => {
  await git.commit(setFiles({ [JOURNAL]: "two\n" }));
  const pinned = await git.head();
  await git.pin(pinned);
  repository.git("reset", "-q", "--hard", "HEAD~1");
  repository.git("-c", "gc.reflogExpire=now", "reflog", "expire", "--expire=now", "--all");
  repository.git("update-ref", "-d", "refs/cleared/wip");
  repository.git("gc", "-q", "--prune=now");
  expect(await git.tree(pinned).read(JOURNAL)).toBe("two\n");
  await git.unpin(pinned);
  await git.unpin(pinned);
  expect(repository.git("for-each-ref", "refs/cleared/pins")).toBe("");
});

test("killed long-running commands are started again", async () => {
  await git.commit(setFiles({ [JOURNAL]: "two\n" }));
  const children = execFileSync("ps", ["-o", "pid=,args=", "--ppid", String(process.pid)], { encoding: "utf8" });
  const kept = children
    .split("\n")
    .filter((line) => /git .*(cat-file|fast-import|update-ref)/.test(line))
    .map((line) => Number(line.trim().split(" ")[0]));
  expect(kept.length).toBeGreaterThanOrEqual(3);
  for (const pid of kept) process.kill(pid, "SIGKILL");
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect((await git.commit(setFiles({ [JOURNAL]: "three\n" }))).status).toBe("committed");
});

test("an unsuitable repository is refused with a sentence", async () => {
  await expect(createGit(join(repository.dir, "journal"), { branch: () => "main" })).rejects.toMatchObject({
    code: "WORKSPACE_MISSING",
    message: /is inside/,
  });
  const bare = createRepository({});
  bare.git("checkout", "-q", "--orphan", "empty");
  const unborn = await createGit(bare.dir, { branch: () => "empty" });
  await expect(unborn.head()).rejects.toMatchObject({ code: "GIT_STATE", message: /has no commit/ });
  await expect(unborn.commit(setFiles({ "a.txt": "a" }))).rejects.toMatchObject({ code: "GIT_STATE" });
  await unborn.close();
  bare.remove();
});

test("a repository with sha256 ids, and a linked work tree, behave the same", async () => {
  const other = createRepository({}, ["--object-format=sha256"]);
  const linked = `${other.dir} linked`;
  other.git("worktree", "add", "-q", "-b", "books", linked);
  const door = await createGit(linked, { branch: () => "books" });
  expect((await door.commit(setFiles({ "a.txt": "a\n" }))).status).toBe("committed");
  expect(await door.head()).toHaveLength(64);
  expect(await door.tree(await door.head()).read("a.txt")).toBe("a\n");
  expect(other.git("-C", linked, "status", "--porcelain")).toBe("");
  await door.close();
  rmSync(linked, { recursive: true, force: true });
  other.remove();
});
