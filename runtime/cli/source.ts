/** A script that is in no commit yet: its blob id, and the tree it would be in. */
import { createHash } from "node:crypto";
import type { Cause, Tree } from "../ports.ts";

/** Git's blob id of a text. */
export function sourceBlob(text: string): string {
  const bytes = Buffer.from(text);
  return createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}

/** A tree in which one file has another text. */
export function withFile(tree: Tree, file: string, text: string): Tree {
  return {
    ...tree,
    read: async (path) => (path === file ? text : tree.read(path)),
    blob: async (path) => (path === file ? sourceBlob(text) : tree.blob(path)),
  };
}

/** A script that is in no commit: `cleared exec` carries its text in the cause, so that even such a run can be resumed or forked. */
export function execSource(cause: Cause): { file: string; text: string; lint: boolean } | null {
  // Only these two are made from a file a person named; any other cause may carry words from outside.
  if (cause.kind !== "exec" && cause.kind !== "fork") return null;
  const detail = cause.detail as { file?: string; text?: string; lint?: boolean } | undefined;
  if (detail?.text === undefined || detail.file === undefined) return null;
  return { file: detail.file, text: detail.text, lint: detail.lint !== false };
}
