/**
 * Closed histories in git: one ref of this clone below refs/cleared/runs/. Its commit has the bundles as files named by their blob ids, and as
 * parents the commits to which their runs are pinned, so git's gc keeps the scripts of every stored history, and a push or a clone of
 * refs/cleared/ carries both. The commit does not have the ref's previous commit as a parent, so dropped bundles can be collected.
 */
import { randomBytes } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { TEXT_BYTES } from "../../engine/store/database.ts";
import type { Archive } from "../../kernel/ports.ts";
import { git, gitFailed, tryGit } from "./git-process.ts";
import { type SideFile, createSideRefs } from "./proposal-refs.ts";
import { objectId, createObjects, type ObjectReader } from "./tree.ts";
import { findGitDir } from "./git.ts";

const FOLDER = "refs/cleared/runs/";
// Each failed try means that another process moved the ref at the same moment.
const TRIES = 5;

/** Two levels, because git rewrites a folder for each new file in it. */
const pathOf = (name: string): string => `${name.slice(0, 2)}/${name.slice(2)}.jsonl.zst`;

/** Stores bundles under this clone's own ref; the refs of other clones are read and never moved. */
export function createArchive(dir: string, branch: () => string): Archive {
  const refs = createSideRefs(dir);

  /** The clone's name, a file in the git folder: it survives a loss of the run store, and no clone or fetch copies it. */
  async function clone(): Promise<string> {
    const file = join(await findGitDir(dir), "cleared-clone");
    await writeFile(file, `${randomBytes(5).toString("hex")}\n`, { flag: "wx" }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw gitFailed(`Writing ${file}`, error.message);
    });
    const name = /^[0-9a-f]{10}$/m.exec(await readFile(file, "utf8"))?.[0];
    if (name !== undefined) return name;
    // A full disk or a power cut left the file incomplete.
    await rm(file, { force: true });
    return clone();
  }

  /** Those of these ids that the repository has, as objects of one type. */
  async function here(names: readonly string[], type: "blob" | "commit"): Promise<string[]> {
    const input = names.map((name) => `${name}\n`).join("");
    const said = await git(dir, ["cat-file", "--batch-check=%(objecttype) %(objectname)"], { input });
    return [...said.toString().matchAll(/^(\w+) (\w+)$/gm)].flatMap(([, found, name = ""]) => (found === type ? [name] : []));
  }

  /** The fewest commits that reach all of these: usually just the branch, which reaches the commits of nearly all runs. */
  async function tips(commits: readonly string[], held: readonly string[]): Promise<string[]> {
    const head = (await tryGit(dir, ["rev-parse", "--verify", "--quiet", `refs/heads/${branch()}`])).stdout.toString().trim();
    const roots = await here([...new Set([head, ...held])], "commit");
    const wanted = await here(commits, "commit");
    const input = [...wanted, ...roots.map((one) => `^${one}`), ""].join("\n");
    const beside = wanted.length === 0 ? [] : (await git(dir, ["rev-list", "--stdin"], { input })).toString().split("\n");
    const all = [...new Set([...roots, ...wanted.filter((one) => beside.includes(one))])];
    return all.length < 2 ? all : (await git(dir, ["merge-base", "--independent", ...all])).toString().trim().split("\n");
  }

  async function namesIn(objects: ObjectReader, commit: string): Promise<string[]> {
    // That of another clone may be damaged.
    const tree = objects.tree(commit);
    return (await tree.list("").catch(() => [])).flatMap(({ blob, path }) => (path === pathOf(blob) ? [blob] : []));
  }

  return {
    async read(name) {
      if (!/^[0-9a-f]{40,64}$/.test(name)) return null;
      await using objects = createObjects(dir);
      const found = await objects.find(name, TEXT_BYTES).catch(() => null);
      return found?.type === "blob" ? found.bytes : null;
    },
    async names() {
      const found = new Set<string>();
      await using objects = createObjects(dir);
      for (const commit of (await refs.list(FOLDER)).values()) for (const name of await namesIn(objects, commit)) found.add(name);
      return [...found];
    },
    async keep(fresh, { needed, commits, message, guard }) {
      const ref = `${FOLDER}${await clone()}`;
      await using objects = createObjects(dir);
      for (let left = TRIES; ; left--) {
        const listed = await refs.list(FOLDER);
        const old = listed.get(ref) ?? null;
        guard();
        // A lost bundle cannot be stored; reading a run in it throws HISTORY_GONE.
        const others = await here(needed(), "blob");
        if (fresh.length === 0 && others.sort().join() === (old === null ? [] : await namesIn(objects, old)).sort().join()) return [];
        const held: string[] = [];
        for (const commit of listed.values()) held.push(...((await objects.commit(commit))?.parents ?? []));
        const parents = await tips(commits, held);
        const digits = (parents[0] ?? old ?? "").length || 40;
        const names = fresh.map((bytes) => objectId("blob", Buffer.from(bytes), digits));
        const files = new Map<string, SideFile>(others.map((oid) => [pathOf(oid), { mode: "100644", oid }]));
        for (const [i, text] of fresh.entries()) files.set(pathOf(names[i] ?? ""), { mode: "100644", text });
        const to = await refs.write({ parents, alone: true, message: `cleared: ${message}\n`, at: Date.now(), files });
        if (await refs.move([{ ref, from: old, to }])) return names;
        if (left === 0) throw gitFailed(`Moving ${ref}`, "another process moved it each time");
      }
    },
  };
}
