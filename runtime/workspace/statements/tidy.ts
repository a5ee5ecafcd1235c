/**
 * After a commit: statements whose receipt at HEAD has no open row move from import/ to import/processed/. Repeatable, so a crash between
 * the commit and the move costs nothing; existing files are never overwritten. A moved file is hashed again: if a program went on writing it,
 * it moves back to import/ as a new statement, and our copy of the booked content stays in processed/. The new statement's receipt names the
 * earlier one it begins with; rows already booked are known, and a row that was cut off when it was booked becomes a question.
 */
import { constants } from "node:fs";
import { copyFile, link, lstat, readdir, unlink } from "node:fs/promises";
import { join, parse } from "node:path";
import type { Finding, Receipt, Tree } from "../../kernel/ports.ts";
import {
  contentOf,
  filesIn,
  inodeOf,
  markOf,
  namesLike,
  ownName,
  processedAs,
  readWhole,
  sha256,
  statOf,
  writersOf,
} from "./import-files.ts";
import type { ImportFolder, Moved } from "./import-folder.ts";
import { IMPORT, PROCESSED, STATEMENTS } from "../layout.ts";
import { makePlainFolder } from "../own-folders.ts";
import { type KeptReceipt, isOpenReceipt, receiptAt } from "./receipt.ts";
import { ClearedError } from "../../kernel/errors.ts";
import { receiptHashes } from "./view-receipt.ts";
import type { Statement } from "./proof.ts";

// A program we cannot see may continue writing after its file has moved; after this time only `cleared verify` finds that.
const WATCHED_MS = 600_000;
const KEPT_MS = 30 * 86_400_000;

/** Moves finished files. Files that differ from what was booked are reported in `folder.said`. @throws FILE_INVALID for a link in the way */
export const tidyImports = (folder: ImportFolder, head: Tree): Promise<void> => folder.inTurn(() => tidy(folder, head));

async function tidy(folder: ImportFolder, head: Tree): Promise<void> {
  const { dir, said } = folder;
  const failures: unknown[] = [];
  /** A file that cannot be moved, or whose receipt cannot be read, does not stop the others. */
  const each = async <T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> => {
    for (const item of items) await work(item).catch((error: unknown) => void failures.push(error));
  };
  const kept = new Set(await readdir(join(dir, STATEMENTS)).catch(() => []));
  const done = await closed(await filesIn(dir, IMPORT), head, failures);
  // Files that were taken were complete; a copy of a known statement must be complete before it is moved.
  const { whole } = done.every(({ file }) => kept.has(file.hash)) ? { whole: [] } : await folder.look();
  const isTaken = ({ name, hash }: Moved): boolean => kept.has(hash) || whole.some((one) => one.name === name && one.hash === hash);
  const ready: { file: Moved; inode: string }[] = [];
  const stats = [];
  for (const { file } of done.filter((one) => isTaken(one.file))) {
    const stat = await lstat(join(dir, IMPORT, file.name)).catch(() => null);
    if (stat === null) continue;
    stats.push(stat);
    ready.push({ file, inode: inodeOf(stat) });
  }
  const writers = writersOf(stats);
  await each(ready, async ({ file: { name, hash, size }, inode }) => {
    if (writers.has(inode)) return;
    const path = await moveTo(join(dir, IMPORT, name), makePlainFolder(dir, PROCESSED), name);
    if (await isStill(path, name, hash)) {
      folder.moved.set(path, { name, hash, size, mark: markOf(await lstat(path)), until: performance.now() + WATCHED_MS });
      await unlink(join(dir, STATEMENTS, hash)).catch(() => undefined);
    } else said.push(await comeBack(folder, path, { name, hash, size }));
  });
  // Copies of booked statements whose files are no longer in import/: replaced or extended meanwhile.
  const present = new Set((await filesIn(dir, IMPORT)).map(({ hash }) => hash));
  await each([...kept], async (hash) => {
    const copy = join(dir, STATEMENTS, hash);
    const stat = await lstat(copy).catch(() => null);
    if (stat === null || present.has(hash)) return;
    const [one] = await closed([{ hash }], head, failures);
    if (one !== undefined) {
      if (await isInProcessed(dir, one.receipt)) await unlink(copy);
      else await moveTo(copy, makePlainFolder(dir, PROCESSED), one.receipt.file);
    } else if (Date.now() - stat.ctimeMs > KEPT_MS) await unlink(copy);
  });
  await each([...folder.moved], async ([path, { mark, until, ...file }]) => {
    const stat = await statOf(path);
    const isChanged = stat !== null && markOf(stat) !== mark && !(await isStill(path, file.name, file.hash));
    if (isChanged || stat === null || performance.now() > until) folder.moved.delete(path);
    if (isChanged) said.push(await comeBack(folder, path, file));
  });
  if (failures.length > 0) throw failures[0];
}

/** Files whose receipt at HEAD has no open row. */
async function closed<T extends { hash: string }>(
  files: readonly T[],
  head: Tree,
  failures: unknown[],
): Promise<{ file: T; receipt: Receipt }[]> {
  const found: { file: T; receipt: Receipt }[] = [];
  for (const file of files) {
    try {
      const receipt = await receiptAt(head, file.hash);
      if (receipt !== null && !isOpenReceipt(receipt)) found.push({ file, receipt });
    } catch (error) {
      failures.push(error);
    }
  }
  return found;
}

/** True if the file still has this hash. `name`: its name when it was hashed, which is part of the hash of a file too large to read. */
async function isStill(path: string, name: string, hash: string): Promise<boolean> {
  const stat = await statOf(path);
  const content = stat === null ? null : await contentOf(path, name, stat);
  return content !== null && typeof content !== "string" && content.hash === hash;
}

/** Moves an extended file back as a new statement. Its booked beginning, if intact, is stored as a copy, which tidying moves to processed/. */
async function comeBack({ dir, keep }: ImportFolder, path: string, { name, hash, size }: Moved): Promise<string> {
  const { bytes } = await readWhole(path, name).catch(() => ({ bytes: Buffer.alloc(0) }));
  if (sha256(bytes.subarray(0, size)) === hash) await keep(bytes.subarray(0, size));
  const back = await moveTo(path, makePlainFolder(dir, IMPORT), name);
  return `${IMPORT}${parse(back).base} was extended after it was booked: it is imported again as a new statement; rows already in the books are recognized.`;
}

async function isInProcessed(dir: string, { file, hash }: Receipt): Promise<boolean> {
  for await (const path of processedAs(dir, file)) if (await isStill(path, file, hash)) return true;
  return false;
}

/** link + unlink instead of rename, which would silently replace a file of that name. Returns the new path. */
async function moveTo(from: string, folder: string, name: string): Promise<string> {
  for (const free of namesLike(name)) {
    const to = join(folder, free);
    try {
      // Not every file system has hard links, and processed/ may be on another one.
      await link(from, to).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "EEXIST" || error.code === "ENOENT") throw error;
        return copyFile(from, to, constants.COPYFILE_EXCL);
      });
      await unlink(from);
      return to;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
  throw new Error(`There is no free name for ${name} in ${folder}.`);
}

/** The longest earlier statement with which the content begins; null when there is none. */
export async function earlierOf(
  { dir }: ImportFolder,
  { name, hash }: Moved,
  content: Buffer,
  parse: (content: Uint8Array) => Statement[],
): Promise<{ hash: string; statements: Statement[] } | null> {
  const taken = (await readdir(join(dir, STATEMENTS)).catch(() => [])).filter((one) => one !== hash);
  const paths = [...taken.map((one) => join(dir, STATEMENTS, one)), ...(await Array.fromAsync(processedAs(dir, name)))];
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
    if (error instanceof ClearedError) return null; // it was cut off so early that it cannot be read
    throw error;
  }
}

/** Statements in import/processed/ of which the books have nothing, because plain git took their import back: by name. `changed`: of changedStatements. */
export async function unbookedStatements(dir: string, receipts: readonly KeptReceipt[], changed: readonly Finding[]): Promise<string[]> {
  const byHash = new Map(receipts.map((one) => [one.hash, one]));
  const lacks = (receipt: KeptReceipt | undefined) =>
    receipt === undefined ||
    (receipt.refused.some(({ account }) => account !== undefined) && Object.keys(receipt.record.booked).length === 0);
  return (await filesIn(dir, PROCESSED))
    .filter(({ hash, name }) => lacks(byHash.get(hash)) && !changed.some(({ at }) => at.file === `${PROCESSED}${name}`))
    .map(({ name }) => name);
}

/** Findings FILE_UNFINISHED: files in import/processed/ that were extended after they were booked, so that the books lack rows of them. */
export async function changedStatements(dir: string, tree: Tree): Promise<Finding[]> {
  const known = await receiptHashes(tree);
  const files = await filesIn(dir, PROCESSED);
  const unknown = files.filter(({ hash }) => !known.has(hash));
  if (unknown.length === 0) return [];
  // The import of a file without a receipt may have been reverted. If the statement booked under its name is missing, the file was changed.
  const present = new Set(files.map(({ hash }) => hash));
  const gone = new Set<string>();
  for (const hash of known) {
    const receipt = present.has(hash) ? null : await receiptAt(tree, hash);
    if (receipt !== null) gone.add(receipt.file);
  }
  return unknown
    .filter(({ name }) => gone.has(name) || gone.has(ownName(name)))
    .map(({ name }) => ({
      code: "FILE_UNFINISHED",
      at: { file: `${PROCESSED}${name}` },
      message: `${PROCESSED}${name} was changed after it was booked. Move it to ${IMPORT} to have the new rows booked.`,
    }));
}
