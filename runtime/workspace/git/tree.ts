/**
 * Trees of commits, read through one kept-open `git cat-file --batch` and cached by object id, and trees that lay files over another tree.
 * An object never changes, so the caches need no invalidation, only a bound.
 */
import { createHash } from "node:crypto";
import { ClearedError } from "../../kernel/errors.ts";
import type { Difference, Item, Objects, Tree, TreeEntry } from "../../kernel/ports.ts";
import { Kept } from "../../kernel/kept.ts";
import { WRITTEN_BYTES, isWritten } from "../layout.ts";
import { KeptGit, type Take, unlessKilled } from "./git-process.ts";

export type FileTree = Tree & Required<Pick<Tree, "item">>;

export type ObjectReader = ReturnType<typeof createObjects>;

// Enough for the busy months and scripts of one workspace; the whole host must stay below 200 MB.
const BLOB_BYTES = 16 * 1024 * 1024;
const TREE_COUNT = 4000;
// Some MB of a repository can hold an object of any size, and reading one takes several times its size.
const MOST_BYTES: Record<string, number> = { commit: 2 ** 20, tree: 2 ** 24, blob: 2 ** 26, tag: 2 ** 20 };
// A commit of another clone may name a few trees so often, or nest them so deep, that walking them would never end.
const [MOST, LONGEST] = [1_000_000, 4096];
const counter = (what: string) => {
  let seen = 0;
  return (path: string) => {
    if (++seen > MOST || path.length > LONGEST)
      throw new ClearedError("FILE_TOO_LARGE", `${what} has more than ${MOST} files and folders, or a path longer than ${LONGEST}.`);
  };
};

const FOLDER = "40000";

/** True for plain and executable files; links and submodules do not count as files of a workspace. */
export const isFile = (item: Item | null): item is Item => item?.mode.startsWith("100") === true;

/** The id git gives to these bytes as an object, in the repository's own hash (40 hex digits: sha1, 64: sha256). */
export function objectId(type: string, bytes: Buffer, oidLength: number): string {
  return createHash(oidLength === 64 ? "sha256" : "sha1")
    .update(`${type} ${bytes.length}\0`)
    .update(bytes)
    .digest("hex");
}

type TooLarge = { tooLarge: string };
const takeObject = (output: Buffer, most?: number): ReturnType<Take<{ oid: string; type: string; bytes: Buffer } | TooLarge | null>> => {
  const end = output.indexOf(10);
  if (end === -1) return { need: output.length + 1 };
  const header = output.toString("utf8", 0, end);
  const [, oid, type, size] = /^([0-9a-f]{40,64}) (\w+) (\d+)$/.exec(header) ?? [];
  if (oid === undefined || type === undefined) return { value: null, used: end + 1 };
  const limit = most ?? MOST_BYTES[type] ?? 0;
  if (Number(size) > limit) return { value: { tooLarge: `has ${size} bytes; at most ${limit} are read.` }, used: null };
  const total = end + 1 + Number(size) + 1;
  if (output.length < total) return { need: total };
  return { value: { oid, type, bytes: Buffer.from(output.subarray(end + 1, total - 1)) }, used: total };
};

function parseTree(bytes: Buffer, oidBytes: number): Map<string, Item> {
  const items = new Map<string, Item>();
  let at = 0;
  while (at < bytes.length) {
    const blank = bytes.indexOf(32, at);
    const nul = bytes.indexOf(0, blank);
    if (blank === -1 || nul === -1) break;
    items.set(bytes.toString("utf8", blank + 1, nul), {
      mode: bytes.toString("latin1", at, blank),
      oid: bytes.toString("hex", nul + 1, nul + 1 + oidBytes),
    });
    at = nul + 1 + oidBytes;
  }
  return items;
}

export function createObjects(dir: string, kept?: NonNullable<Tree["kept"]>) {
  const reader = new KeptGit(dir, ["cat-file", "--batch"]);
  const trees = new Kept<string, Map<string, Item>>(TREE_COUNT, ({ size }) => 1 + Math.floor(size / 50));
  const blobs = new Kept<string, string>(BLOB_BYTES, ({ length }) => length + 100);
  const roots = new Kept<string, string>(TREE_COUNT);
  const tooLarge = new Kept<string, TooLarge>(TREE_COUNT);

  /** Id and bytes of an object by id or ref name, or null. @throws FILE_TOO_LARGE for more than `most` bytes; `path`: what to call it then */
  async function find(name: string, most?: number, path?: string): Promise<{ oid: string; type: string; bytes: Buffer } | null> {
    if (/[\n\0]/.test(name)) return null;
    // Each refusal ends a process, so that content found at many paths is asked for once.
    const known = tooLarge.get(`${name} ${most}`);
    const found = known ?? (await unlessKilled(() => reader.ask(`${name}\n`, (output) => takeObject(output, most))));
    if (found === null) return null;
    if (!("tooLarge" in found)) {
      // Git itself does not compare, so a file of .git/objects that was exchanged would change what a commit says.
      if (objectId(found.type, found.bytes, found.oid.length) === found.oid) return found;
      const hint = "Run `git fsck` in the workspace; a clone or a backup may have the object as it was.";
      throw new ClearedError(
        "GIT_FAILED",
        `The ${found.type} ${found.oid} was changed in the repository: its content is not what its id says. ${hint}`,
      );
    }
    if (/^[0-9a-f]{40,64}$/.test(name)) tooLarge.set(`${name} ${most}`, found);
    const hint = ` \`git log --all --find-object=${name}\` shows where it comes from, unless it is a commit.`;
    const message = path === undefined ? `The object ${name} of the repository ${found.tooLarge}${hint}` : `${path} ${found.tooLarge}`;
    throw new ClearedError("FILE_TOO_LARGE", message);
  }

  async function need(oid: string, type: string, ...bound: [most?: number, path?: string]): Promise<Buffer> {
    const found = await find(oid, ...bound);
    if (found?.type === type) return found.bytes;
    throw new ClearedError(
      "GIT_FAILED",
      `The repository has no ${type} ${oid}. Run "git fsck" in the workspace; a clone or a backup may have it.`,
    );
  }

  const folder = (oid: string): Promise<Map<string, Item>> =>
    trees.load(oid, async () => parseTree(await need(oid, "tree"), oid.length / 2));

  async function text(oid: string, path: string): Promise<string> {
    const kept = blobs.get(oid);
    if (kept !== undefined) return kept;
    const read = (await need(oid, "blob", isWritten(path) ? WRITTEN_BYTES : undefined, path)).toString("utf8");
    // A large text would evict all the others, so its reader caches what it needs of it.
    if (read.length < BLOB_BYTES / 64) blobs.set(oid, read);
    return read;
  }

  /** Id of the root tree of a commit. */
  const rootOf = (commit: string): Promise<string> =>
    roots.load(commit, async () => /^tree ([0-9a-f]+)/.exec((await need(commit, "commit")).toString("latin1", 0, 80))?.[1] ?? "");

  function tree(commit: string): FileTree {
    async function item(path: string): Promise<Item | null> {
      let found: Item = { mode: FOLDER, oid: await rootOf(commit) };
      for (const part of path.split("/").filter((name) => name !== "")) {
        if (found.mode !== FOLDER) return null;
        const next = (await folder(found.oid)).get(part);
        if (next === undefined) return null;
        found = next;
      }
      return found;
    }
    async function collect(oid: string, prefix: string, into: TreeEntry[], count: (path: string) => void): Promise<void> {
      for (const [name, entry] of await folder(oid)) {
        count(prefix);
        if (entry.mode === FOLDER) await collect(entry.oid, `${prefix}${name}/`, into, count);
        else if (isFile(entry)) into.push({ path: prefix + name, blob: entry.oid });
      }
    }
    return {
      commit,
      ...(kept === undefined ? {} : { kept }),
      item,
      async read(path) {
        const found = await item(path);
        return isFile(found) ? await text(found.oid, path) : null;
      },
      async blob(path) {
        const found = await item(path);
        return isFile(found) ? found.oid : null;
      },
      async list(path) {
        const found = await item(path);
        if (found === null || found.mode !== FOLDER) return [];
        const names = path.split("/").filter((name) => name !== "");
        const files: TreeEntry[] = [];
        const count = counter(`${path} of the commit ${commit.slice(0, 7)}`);
        await collect(found.oid, names.length === 0 ? "" : `${names.join("/")}/`, files, count);
        return files.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
      },
    };
  }

  async function commit(name: string): Promise<Awaited<ReturnType<Objects["commit"]>>> {
    const object = await find(name);
    if (object?.type !== "commit") return null;
    const text = object.bytes.toString("utf8");
    const end = text.indexOf("\n\n");
    const head = end === -1 ? text : text.slice(0, end);
    const seconds = /^committer .* (\d{1,12}) [+-]\d{4}$/m.exec(head)?.[1];
    if (seconds === undefined) return null;
    return {
      parents: [...head.matchAll(/^parent ([0-9a-f]{40,64})$/gm)].map((match) => match[1] ?? ""),
      at: Number(seconds) * 1000,
      message: end === -1 ? "" : text.slice(end + 2),
    };
  }

  async function changes(from: string, to: string): Promise<Difference[]> {
    const found: Difference[] = [];
    const count = counter(`The difference between the commits ${from.slice(0, 7)} and ${to.slice(0, 7)}`);
    const below = async (item: Item | null) => (item?.mode === FOLDER ? await folder(item.oid) : new Map<string, Item>());
    const leaf = (item: Item | null) => (item?.mode === FOLDER ? null : item);
    const compare = async (path: string, was: Item | null, now: Item | null): Promise<void> => {
      if (was?.oid === now?.oid && was?.mode === now?.mode) return;
      count(path);
      if ((leaf(was) ?? leaf(now)) !== null) found.push({ path, was: leaf(was), now: leaf(now) });
      const [old, next] = [await below(was), await below(now)];
      for (const name of new Set([...old.keys(), ...next.keys()]))
        await compare(path === "" ? name : `${path}/${name}`, old.get(name) ?? null, next.get(name) ?? null);
    };
    await compare("", { mode: FOLDER, oid: await rootOf(from) }, { mode: FOLDER, oid: await rootOf(to) });
    return found.sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  const close = () => reader.close();
  return { find, commit, tree, changes, close, [Symbol.asyncDispose]: close };
}

/** Git's blob id of a text. */
export const sourceBlob = (text: string): string => objectId("blob", Buffer.from(text), 40);

/** `files`: text by path; null removes the file. */
export function treeOver(tree: Tree, files: ReadonlyMap<string, string | null>): Tree {
  return {
    commit: tree.commit,
    ...(tree.kept === undefined ? {} : { kept: tree.kept }),
    read: async (path) => (files.has(path) ? (files.get(path) ?? null) : tree.read(path)),
    blob: async (path) => {
      const text = files.get(path);
      return text === undefined ? tree.blob(path) : text === null ? null : sourceBlob(text);
    },
    async list(folder) {
      const below = (await tree.list(folder)).filter(({ path }) => !files.has(path));
      const over = [...files].flatMap(([path, text]): TreeEntry[] =>
        text !== null && path.startsWith(folder) ? [{ path, blob: sourceBlob(text) }] : [],
      );
      return [...below, ...over].sort((a, b) => (a.path < b.path ? -1 : 1));
    },
  };
}
