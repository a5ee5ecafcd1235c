/**
 * Files that were written on after they were taken. The longer one is a new statement whose known rows are known; what it begins with is
 * named on its receipt, and a row that was cut off in the middle when it was booked is a question.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { ClearedError } from "../errors.ts";
import { type ImportFile, namesLike, readWhole, sha256, statOf } from "./import-files.ts";
import type { ImportFolder } from "./import-folder.ts";
import { PROCESSED, STATEMENTS } from "./layout.ts";
import type { Statement } from "./statements/types.ts";

/** The longest statement of this name that the content begins with; null when there is none. */
export async function earlierOf(
  { dir }: ImportFolder,
  { name, hash }: ImportFile,
  content: Buffer,
  parse: (content: Uint8Array) => Statement[],
): Promise<{ hash: string; statements: Statement[] } | null> {
  const paths = (await readdir(join(dir, STATEMENTS)).catch(() => []))
    .filter((one) => one !== hash)
    .map((one) => join(dir, STATEMENTS, one));
  for (const like of namesLike(name)) {
    const path = join(dir, PROCESSED, like);
    if ((await statOf(path)) === null) break;
    paths.push(path);
  }
  let longest: Buffer | null = null;
  for (const path of paths) {
    const size = (await statOf(path))?.size ?? 0;
    if (size <= (longest?.length ?? 0) || size >= content.length) continue;
    const { bytes } = await readWhole(path, name);
    if (content.subarray(0, bytes.length).equals(bytes)) longest = bytes;
  }
  if (longest === null) return null;
  try {
    const statements = parse(longest);
    return statements.some((one) => one.rows.length > 0) ? { hash: sha256(longest), statements } : null;
  } catch (error) {
    if (error instanceof ClearedError) return null; // it was cut off where nothing could be read of it
    throw error;
  }
}

/** Statements in import/processed/ that are not what was booked, in sentences: somebody went on writing them. */
export async function changedSince(dir: string, receipts: readonly { file: string; hash: string }[]): Promise<string[]> {
  const known = new Set(receipts.map(({ hash }) => hash));
  const said: string[] = [];
  for (const file of new Set(receipts.map((receipt) => receipt.file))) {
    for (const like of namesLike(file)) {
      const path = join(dir, PROCESSED, like);
      const stat = await statOf(path);
      if (stat === null) break;
      const { bytes } = await readWhole(path, like).catch(() => ({ bytes: null }));
      if (bytes !== null && !known.has(sha256(bytes)))
        said.push(
          `${PROCESSED}${like} is not what was booked: it was changed afterwards. Move it to import/, so that its new rows are booked, too.`,
        );
    }
  }
  return said;
}
