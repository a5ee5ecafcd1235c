/** What is read of a repository without starting git is what git itself reads there. */
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { deflateSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Git } from "../../runtime/kernel/ports.ts";
import { createGit } from "../../runtime/workspace/git/git.ts";
import { readLog } from "../../runtime/workspace/git/past.ts";
import { createObjects } from "../../runtime/workspace/git/tree.ts";
import { createGitUpkeep } from "../../runtime/workspace/git/repack.ts";
import { createArchive } from "../../runtime/workspace/git/run-archive.ts";
import { createSideRefs } from "../../runtime/workspace/git/proposal-refs.ts";
import { below, commandOf, seeded } from "../kill/processes.ts";
import { createRepository, type Repository, setFiles } from "./git-repository.ts";

let repository: Repository;
let git: Git;
let head: string;

beforeEach(async () => {
  repository = createRepository({ "a.txt": "a\n", "d/b.txt": "b\n", "d/e/c.txt": "c\n" });
  git = await createGit(repository.dir, { branch: () => "main" });
  head = await git.head();
});
afterEach(async () => {
  await git.close();
  repository.remove();
});

const list = async (folder: string) => [...(await createSideRefs(repository.dir).list(folder))];
const byGit = (folder: string) => {
  const lines = repository.git("for-each-ref", "--format=%(refname) %(objectname)", folder).split("\n");
  return lines.filter((line) => line !== "").map((line) => line.split(" "));
};
const put = (name: string, text: string) => {
  const file = join(repository.dir, ".git", name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
};

test("refs are listed as git lists them: loose, packed, both, removed, locked, symbolic", async () => {
  const { commit: next } = (await git.commit(setFiles({ "a.txt": "2\n" }))) as { commit: string };
  const folder = "refs/cleared/p/";
  const same = async () => expect(await list(folder)).toEqual(byGit(folder));
  await same();
  for (const name of ["a/state", "a/change", "b-1/state", "c_2/state"]) repository.git("update-ref", `${folder}${name}`, head);
  // Its name begins like that of the folder.
  repository.git("update-ref", "refs/cleared/pp/x", head);
  await same();
  repository.git("pack-refs", "--all");
  await same();
  repository.git("update-ref", `${folder}a/state`, next);
  repository.git("update-ref", "-d", `${folder}b-1/state`);
  put(`${folder}d/state.lock`, "");
  await same();
  expect(await list(`${folder}a/state`)).toEqual([[`${folder}a/state`, next]]);
  expect(await list(`${folder}c_2/state`)).toEqual([[`${folder}c_2/state`, head]]);
  expect(await list(`${folder}b-1/state`)).toEqual([]);
  expect(await list(`${folder}d/state`)).toEqual([]);
  repository.git("symbolic-ref", `${folder}e/state`, "refs/heads/main");
  repository.git("update-ref", `${folder}ü.x@y/state`, head);
  await same();
  expect(await list(folder)).toContainEqual([`${folder}e/state`, next]);
});

test("a ref without a valid id is listed without one, and hides no other", async () => {
  const folder = "refs/cleared/p/";
  repository.git("update-ref", `${folder}good`, head);
  for (const text of ["", "\n", "0".repeat(40), `${"0".repeat(40)}\n`, "words\n", `${head.slice(1)}\n`, "ref: refs/heads/none\n"]) {
    put(`${folder}bad`, text);
    expect(new Map(await list(folder)).get(`${folder}good`), JSON.stringify(text)).toBe(head);
    expect(new Map(await list(folder)).get(`${folder}bad`) ?? "", JSON.stringify(text)).toBe("");
  }
  // git takes these as ids.
  for (const text of [head, `${head}\r\n`, `${head} tail\n`]) {
    put(`${folder}bad`, text);
    expect(await list(folder), JSON.stringify(text)).toEqual(byGit(folder));
  }
  rmSync(join(repository.dir, ".git", folder, "bad"));
  symlinkSync(join(repository.dir, ".git/refs/heads/main"), join(repository.dir, ".git", folder, "link"));
  expect(await list(folder)).toEqual(byGit(folder));
  rmSync(join(repository.dir, ".git", folder, "link"));
  repository.git("pack-refs", "--all");
  appendFileSync(join(repository.dir, ".git/packed-refs"), "words\n");
  await expect(list(folder)).rejects.toMatchObject({ code: "GIT_FAILED" });
});

test("refs are listed from a linked work tree", async () => {
  repository.git("update-ref", "refs/cleared/p/x", head);
  repository.git("worktree", "add", "-q", "-b", "other", "linked");
  const linked = createSideRefs(join(repository.dir, "linked"));
  expect([...(await linked.list("refs/cleared/p/"))]).toEqual([["refs/cleared/p/x", head]]);
});

test("changes between two commits are those of git, for files, folders, modes and links", async () => {
  const random = seeded(11);
  const names = ["a.txt", "d", "d/b.txt", "d/e", "d/e/c.txt", "x", "x/y"];
  const commits = [head];
  for (let n = 0; n < 25; n++) {
    for (let k = 0; k < 3; k++) {
      const path = join(repository.dir, names[Math.floor(random() * names.length)] ?? "a.txt");
      rmSync(path, { recursive: true, force: true });
      const kind = random();
      try {
        if (kind < 0.5) repository.write(path.slice(repository.dir.length + 1), `${Math.floor(random() * 3)}\n`);
        else if (kind < 0.65) symlinkSync("a.txt", path);
      } catch {
        // A file stands where its folder would be.
      }
    }
    if (random() < 0.3) repository.git("config", "core.fileMode", "true");
    repository.git("add", "-A");
    repository.git("commit", "-q", "--allow-empty", "-m", `${n}`);
    commits.push(repository.git("rev-parse", "HEAD").trim());
  }
  const flags = ["-r", "--raw", "--no-abbrev", "--no-renames"];
  for (let n = 0; n < 100; n++) {
    const [from = "", to = ""] = [0, 1].map(() => commits[Math.floor(random() * commits.length)]);
    const said = repository.git("diff-tree", ...flags, from, to);
    const item = (mode = "", oid = "") => (/^0+$/.test(mode) ? null : { mode, oid });
    const theirs = [...said.matchAll(/^:(\d+) (\d+) (\w+) (\w+) \w+\t(.+)$/gm)].map(([, was, now, wasId, nowId, path]) => {
      return { path, was: item(was, wasId), now: item(now, nowId) };
    });
    const ours = await git.objects.changes(from, to);
    expect(ours).toEqual(theirs.sort((a, b) => ((a.path ?? "") < (b.path ?? "") ? -1 : 1)));
  }
  await expect(git.objects.changes(head, "1".repeat(40))).rejects.toMatchObject({ code: "GIT_FAILED" });
});

test("whether a commit is on the branch: its newest ones, old ones, merged ones, and those beside it", async () => {
  const commits = [head];
  for (let n = 0; n < 30; n++) commits.push(((await git.commit(setFiles({ "a.txt": `${n}\n` }))) as { commit: string }).commit);
  repository.git("branch", "side", commits[28] ?? "");
  const tree = repository.git("rev-parse", "side^{tree}").trim();
  const beside = repository.git("commit-tree", tree, "-p", "side", "-m", "beside").trim();
  for (const commit of commits) expect(await git.isOnBranch(commit)).toBe(true);
  for (const commit of [beside, "1".repeat(40), "", "main^{"]) expect(await git.isOnBranch(commit)).toBe(false);
  repository.git("merge", "-q", "--no-ff", "-m", "merge", beside);
  for (const commit of [...commits, beside]) expect(await git.isOnBranch(commit)).toBe(true);
});

test("a commit whose few trees stand for a trillion files ends every walk", async () => {
  const input = (text: string, ...args: string[]) =>
    execFileSync("git", args, { cwd: repository.dir, input: text, encoding: "utf8" }).trim();
  let bomb = `100644 blob ${input("x", "hash-object", "-w", "--stdin")}`;
  for (let level = 0; level < 12; level++)
    bomb = `040000 tree ${input(Array.from({ length: 10 }, (_, n) => `${bomb}\t${n}\n`).join(""), "mktree")}`;
  const commit = repository.git("commit-tree", bomb.replace(/.* /, ""), "-p", head, "-m", "x").trim();
  const refused = { code: "FILE_TOO_LARGE", message: expect.stringMatching(/more than 1000000 files/) };
  await expect(git.tree(commit).list("")).rejects.toMatchObject(refused);
  await expect(git.objects.changes(head, commit)).rejects.toMatchObject(refused);
  let deep = `100644 blob ${input("x", "hash-object", "-w", "--stdin")}\ta`;
  const folder = "d".repeat(200);
  for (let level = 0; level < 21; level++) deep = `040000 tree ${input(`${deep}\n`, "mktree")}\t${folder}`;
  const long = repository.git("commit-tree", input(`${deep}\n`, "mktree"), "-p", head, "-m", "x").trim();
  await expect(git.objects.changes(head, long)).rejects.toMatchObject(refused);
  // Of another clone: it holds no run of ours.
  repository.git("update-ref", "refs/cleared/runs/0123456789", commit);
  expect(await createArchive(repository.dir, () => "main").names()).toEqual([]);
  // Which runs it names is unknown, so no history is dropped.
  repository.git("update-ref", "refs/cleared/proposals/prop_AAAAAAAAAA/change", commit);
  await expect(createGitUpkeep(repository.dir, join(repository.dir, ".git")).namedRuns()).rejects.toMatchObject(refused);
});

test("an object that is too large for memory is refused with its name, and what is read beside it is found", async () => {
  const input = (bytes: Buffer) =>
    execFileSync("git", ["hash-object", "-w", "--stdin"], { cwd: repository.dir, input: bytes, encoding: "utf8" });
  const [large, most] = [1, 0].map((more) => input(Buffer.alloc(64 * 1024 * 1024 + more)).trim()) as [string, string];
  const small = repository.git("rev-parse", "HEAD:a.txt").trim();
  const asked = [small, large, small, large, most, small].map((oid) => git.objects.find(oid).then((found) => found?.bytes.length));
  const refused = {
    reason: expect.objectContaining({ code: "FILE_TOO_LARGE", message: expect.stringContaining(`--find-object=${large}`) }),
  };
  const read = (value: number) => ({ value });
  expect(await Promise.allSettled(asked)).toMatchObject([read(2), refused, read(2), refused, read(64 * 1024 * 1024), read(2)]);
});

test("a commit message that is too large for memory ends the question, by name where it is read alone", async () => {
  const tree = repository.git("rev-parse", "HEAD^{tree}").trim();
  const who = "x <x@x> 1790000000 +0000";
  const input = Buffer.concat([
    Buffer.from(`tree ${tree}\nparent ${head}\nauthor ${who}\ncommitter ${who}\n\n`),
    Buffer.alloc(2 ** 28, "x"),
  ]);
  const large = execFileSync("git", ["hash-object", "-w", "-t", "commit", "--stdin"], { cwd: repository.dir, input, encoding: "utf8" });
  repository.git("update-ref", "refs/heads/main", large.trim());
  await expect(git.objects.commit(large.trim())).rejects.toMatchObject({
    code: "FILE_TOO_LARGE",
    message: expect.stringContaining(large.trim()),
  });
  await expect(readLog(repository.dir, ["main"])).rejects.toMatchObject({
    code: "GIT_FAILED",
    message: expect.stringMatching(/^git log .*commit message/),
  });
});

test("what is asked while the repository is being closed fails, and leaves no process", async () => {
  const large = execFileSync("git", ["hash-object", "-w", "--stdin"], {
    cwd: repository.dir,
    input: Buffer.alloc(2 ** 27),
    encoding: "utf8",
  });
  const asked = [large.trim(), head, head, head].map((name) => git.objects.find(name));
  const ended = Promise.allSettled(asked);
  await Promise.race(asked).catch(() => undefined);
  await git.close();
  await ended;
  await expect(git.objects.find(head)).rejects.toMatchObject({ code: "GIT_FAILED" });
  await expect.poll(() => below(process.pid).filter((pid) => commandOf(pid).includes("cat-file"))).toEqual([]);
});

test("an object that was exchanged in .git is refused by its name, whatever kind it is, and never read as what its id says", async () => {
  const id = (name: string) => repository.git("rev-parse", name).trim();
  const fileOf = (oid: string) => join(repository.dir, ".git/objects", oid.slice(0, 2), oid.slice(2));
  const forged = repository.git("cat-file", "commit", "HEAD").replace("\n\n", "\n\nforged: ");
  const commit = deflateSync(`commit ${Buffer.byteLength(forged)}\0${forged}`);
  const exchanged = [
    ["blob", id("HEAD:d/e/c.txt"), readFileSync(fileOf(id("HEAD:a.txt")))],
    ["tree", id("HEAD:d/e"), readFileSync(fileOf(id("HEAD:d")))],
    ["commit", head, commit],
  ] as const;
  for (const [type, oid, bytes] of exchanged) {
    await using fresh = createObjects(repository.dir);
    const was = readFileSync(fileOf(oid));
    const put = (instead: Uint8Array) => {
      rmSync(fileOf(oid), { force: true });
      writeFileSync(fileOf(oid), instead);
    };
    put(bytes);
    const why = expect.stringMatching(new RegExp(`The ${type} ${oid} was changed in the repository`));
    await expect(fresh.tree(head).read("d/e/c.txt")).rejects.toMatchObject({ code: "GIT_FAILED", message: why });
    put(was);
    expect(await fresh.tree(head).read("d/e/c.txt")).toBe("c\n");
  }
});
