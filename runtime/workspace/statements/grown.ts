/**
 * Files that were written on after they were taken. The longer one is a new statement whose known rows are known; what it begins with is
 * named on its receipt, and a row that was cut off in the middle when it was booked is a question.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { ClearedError } from "../../kernel/errors.ts";
import type { Finding, Tree } from "../../kernel/ports.ts";
import { filesIn, type ImportFile, namesLike, readWhole, sha256, statOf } from "./import-files.ts";
import type { ImportFolder } from "./import-folder.ts";
import { IMPORT, PROCESSED, STATEMENTS } from "../layout.ts";
import { receiptAt } from "./receipt.ts";
import { receiptHashes } from "./view-receipt.ts";
import type { Statement } from "./types.ts";

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

/** Findings FILE_UNFINISHED: files in import/processed/ that were written on after they were booked, so that rows of them are not in the books. */
export async function changedStatements(dir: string, tree: Tree): Promise<Finding[]> {
  const known = await receiptHashes(tree);
  const files = await filesIn(dir, PROCESSED);
  const strangers = files.filter(({ hash }) => !known.has(hash));
  if (strangers.length === 0) return [];
  // A file without a receipt may be one whose import was reverted. It was changed when what was booked under its name is not there.
  const lying = new Set(files.map(({ hash }) => hash));
  const gone = new Set<string>();
  for (const hash of known) {
    const receipt = lying.has(hash) ? null : await receiptAt(tree, hash);
    if (receipt !== null) gone.add(receipt.file);
  }
  return strangers
    .filter(({ name }) => gone.has(name) || gone.has(name.replace(/-\d+(?=\.[^.]*$|$)/, "")))
    .map(({ name }) => ({
      code: "FILE_UNFINISHED",
      at: { file: `${PROCESSED}${name}` },
      message: `${PROCESSED}${name} was changed after it was booked. Move it to ${IMPORT}: what is new in it is booked then.`,
    }));
}
