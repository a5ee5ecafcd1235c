/** Trees that are in no commit: files laid over those of another tree. What is not laid over is read from below. */
import { createHash } from "node:crypto";
import type { Tree, TreeEntry } from "../../kernel/ports.ts";

/** Git's blob id of a text. */
export function sourceBlob(text: string): string {
  const bytes = Buffer.from(text);
  return createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}

/** `files`: text by path; null takes the file away. */
export function treeOver(tree: Tree, files: ReadonlyMap<string, string | null>): Tree {
  return {
    commit: tree.commit,
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
