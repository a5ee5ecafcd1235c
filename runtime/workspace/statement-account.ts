/**
 * The import folder on the host's side: which files lie there, reading one safely, and to which account of the books a statement
 * belongs. Names come from scripts and file systems and are not trusted: nothing outside import/ can be reached.
 */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, lstat, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { ClearedError } from "../errors.ts";
import type { Account } from "../ports.ts";
import type { StatementRule } from "./config.ts";
import { IMPORT } from "./layout.ts";
import { excerpt } from "./statements/cells.ts";
import { SIZE_LIMIT } from "./statements/size.ts";

export interface ImportFile {
  name: string;
  size: number;
  /** ISO time. */
  modified: string;
  /** sha256 of the content, hex; of a file over the size limit, which is never read, of its name, size and time. */
  hash: string;
}

// Browsers and copy tools write under these names until a file is whole.
const UNFINISHED = /\.(?:part|partial|crdownload|download|tmp|temp|filepart)$|~$/i;
// An empty file this young is one whose first bytes are still to come.
const SETTLE_MS = 2000;

/**
 * Whole regular files directly in import/ (or another watched folder) whose content is not among `known`, sorted by name.
 * A file that changes while it is read is left for the next scan. Never throws for a file that vanishes.
 */
export async function scanImports(dir: string, known: ReadonlySet<string>, folder = IMPORT): Promise<ImportFile[]> {
  const found: ImportFile[] = [];
  for (const entry of await entries(join(dir, folder))) {
    if (!entry.isFile() || entry.name.startsWith(".") || UNFINISHED.test(entry.name)) continue;
    const file = await describe(join(dir, folder), entry.name);
    if (file !== null && !known.has(file.hash)) found.push(file);
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function entries(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw new ClearedError("FILE_INVALID", `${folder} cannot be listed: ${codeOf(error)}. It must be a folder.`, {
      at: { file: IMPORT },
      cause: error,
    });
  }
}

// Hashing 64 MiB takes a tenth of a second, and every file event scans again. Bounded; a changed file has another key.
const hashes = new Map<string, string>();

async function describe(folder: string, name: string): Promise<ImportFile | null> {
  const path = join(folder, name);
  try {
    const before = await lstat(path);
    if (!before.isFile() || (before.size === 0 && Date.now() - before.mtimeMs < SETTLE_MS)) return null;
    const key = `${path}\0${before.ino}\0${before.size}\0${before.mtimeMs}\0${before.ctimeMs}`;
    const hash =
      hashes.get(key) ??
      (before.size > SIZE_LIMIT ? sha256(Buffer.from(`${name}\0${before.size}\0${before.mtimeMs}`)) : sha256(await readWhole(path, name)));
    const after = await lstat(path);
    if (after.size !== before.size || after.mtimeMs !== before.mtimeMs) return null;
    if (hashes.size >= 1000) hashes.clear();
    hashes.set(key, hash);
    return { name, size: before.size, modified: before.mtime.toISOString(), hash };
  } catch (error) {
    // Gone or replaced since the listing: the next scan sees what is there then.
    if (codeOf(error) === "ENOENT" || error instanceof ClearedError) return null;
    throw error;
  }
}

/**
 * The bytes of one file in import/ and their sha256.
 * @throws FILE_MISSING, FILE_INVALID (folder, link, path with a slash, changing file), FILE_TOO_LARGE (by its size, unread)
 */
export async function readImport(dir: string, name: string): Promise<{ bytes: Buffer; hash: string }> {
  if (name === "" || name === "." || name === ".." || /[/\\\0]/.test(name)) {
    throw new ClearedError(
      "FILE_INVALID",
      `"${excerpt(name)}" is not a name of a file in ${IMPORT}: give the name alone, as importer_scan lists it.`,
    );
  }
  const bytes = await readWhole(join(dir, IMPORT, name), name);
  return { bytes, hash: sha256(bytes) };
}

async function readWhole(path: string, name: string): Promise<Buffer> {
  const at = { file: `${IMPORT}${name}` };
  let handle: FileHandle;
  try {
    // Neither following a link out of the folder nor waiting for the writer of a pipe.
    handle = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") throw new ClearedError("FILE_MISSING", `There is no file "${excerpt(name)}" in ${IMPORT}.`, { at });
    const why = code === "ELOOP" ? "it is a link; copy the file itself" : code;
    throw new ClearedError("FILE_INVALID", `"${excerpt(name)}" cannot be read: ${why}.`, { at, cause: error });
  }
  try {
    const before = await handle.stat();
    if (!before.isFile())
      throw new ClearedError(
        "FILE_INVALID",
        `"${excerpt(name)}" is ${before.isDirectory() ? "a folder" : "not a regular file"}. Put the statement itself into ${IMPORT}.`,
        { at },
      );
    if (before.size > SIZE_LIMIT)
      throw new ClearedError(
        "FILE_TOO_LARGE",
        `"${excerpt(name)}" has ${Math.ceil(before.size / 1_048_576)} MiB; at most 64 MiB are read. Export it in shorter ranges.`,
        { at },
      );
    const bytes = await handle.readFile();
    const after = await handle.stat();
    if (after.size !== before.size || after.mtimeMs !== before.mtimeMs || bytes.length !== before.size) {
      throw new ClearedError("FILE_INVALID", `"${excerpt(name)}" changes while it is read. Try again once it is whole.`, { at });
    }
    return bytes;
  } finally {
    await handle.close();
  }
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function codeOf(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : String(error);
}

/** Numbers of the accounts statements may belong to: assets below `Assets:Bank`. */
export function bankAccounts(accounts: Account[]): string[] {
  return accounts.filter((account) => account.type === "asset" && account.name.startsWith("Assets:Bank:")).map((account) => account.id);
}

/** Dialect and mapping for a file by its name alone, before its bank account is known. */
export function settingsFor(rules: readonly StatementRule[], file: string): { dialect?: string | undefined; mapping?: unknown } {
  const rule = rules.find(
    (one) => one.match.file !== undefined && matchesGlob(one.match.file, file) && (one.dialect !== undefined || one.mapping !== undefined),
  );
  return { dialect: rule?.dialect, mapping: rule?.mapping };
}

/**
 * The books' account of a statement: the first rule whose conditions all hold; without one, the workspace's only bank account.
 * `banks` are the numbers of its bank accounts.
 * @throws STATEMENT_ACCOUNT with the line to add to config.yaml
 */
export function matchAccount(
  rules: readonly StatementRule[],
  banks: readonly string[],
  statement: { file: string; bankAccount: string | null },
): string {
  const { file, bankAccount } = statement;
  const fits = ({ match }: StatementRule) =>
    (match.file !== undefined || match.bank_account !== undefined) &&
    (match.file === undefined || matchesGlob(match.file, file)) &&
    (match.bank_account === undefined || (bankAccount !== null && plainId(match.bank_account) === plainId(bankAccount)));
  const rule = rules.find(fits);
  if (rule !== undefined) return rule.account;
  const [only, second] = banks;
  if (only !== undefined && second === undefined) return only;
  const which = bankAccount === null ? `file: "${excerpt(file)}"` : `bank_account: "${excerpt(bankAccount)}"`;
  const why =
    only === undefined
      ? "the chart has no account below Assets:Bank"
      : `the chart has ${banks.length} bank accounts (${banks.slice(0, 5).join(", ")})`;
  throw new ClearedError(
    "STATEMENT_ACCOUNT",
    `It is not known to which account this statement belongs: no rule fits and ${why}. Add to config.yaml under statements: - match: { ${which} } with its account.`,
    {
      at: { file: `${IMPORT}${file}` },
      data: { bank_account: bankAccount },
    },
  );
}

/** Banks write one id with and without blanks: `NL28 INGB 1200 3244 16`. */
function plainId(text: string): string {
  return text.replace(/\s+/g, "").toUpperCase();
}

/** `*` is any text, `?` one character. Linear in the name for each star, so no pattern can hang the host. */
function matchesGlob(pattern: string, name: string): boolean {
  let [p, n, star, mark] = [0, 0, -1, 0];
  while (n < name.length) {
    if (pattern[p] === "*") [star, mark] = [p++, n];
    else if (p < pattern.length && (pattern[p] === "?" || pattern[p] === name[n])) [p, n] = [p + 1, n + 1];
    else if (star >= 0) [p, n] = [star + 1, ++mark];
    else return false;
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}
