/** A tree in memory and on disk, for tests of the books that need no git: the three methods of Tree over a map of texts. */
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import type { Tree } from "../../runtime/kernel/ports.ts";
import { type Verified, verifyBooks, verifyIndependent } from "../../runtime/workspace/books/verify.ts";

export const MAIN = `; The books of a test
commodity USD
    format 1,000.00 USD
commodity EUR
    format 1,000.00 EUR

tag key
tag status

account Assets:Bank:Checking
    ; type: A, id: 1010
account Assets:Bank:Savings
    ; type: A, id: 1020
account Liabilities:Card
    ; type: L, id: 2010
account Equity:Opening Balances
    ; type: E, id: 3010
account Equity:Suspense
    ; type: E, id: 3900
account Income:Services
    ; type: R, id: 4010
account Expenses:Software
    ; type: X, id: 5020
account Expenses:Office Supplies
    ; type: X, id: 5030
`;

export function blobOf(text: string): string {
  return createHash("sha1")
    .update(`blob ${Buffer.byteLength(text)}\0`)
    .update(text)
    .digest("hex");
}

export function memoryTree(files: ReadonlyMap<string, string>): Tree {
  return {
    commit: "0".repeat(40),
    read: async (path) => files.get(path) ?? null,
    blob: async (path) => (files.has(path) ? blobOf(files.get(path) ?? "") : null),
    list: async (folder) =>
      [...files.keys()]
        .filter((path) => path.startsWith(folder))
        .sort()
        .map((path) => ({ path, blob: blobOf(files.get(path) ?? "") })),
  };
}

/** The files after changes as a commit would make them. */
export function withChanges(files: ReadonlyMap<string, string>, changes: ReadonlyMap<string, string | null>): Map<string, string> {
  const next = new Map(files);
  for (const [path, text] of changes) {
    if (text === null) next.delete(path);
    else next.set(path, text);
  }
  return next;
}

/** Our own verification without findings, and both outside tools in agreement. */
export async function expectSound(files: ReadonlyMap<string, string>): Promise<Verified> {
  const verified = await verifyBooks(memoryTree(files));
  expect(verified.findings).toEqual([]);
  const dir = mkdtempSync(join(tmpdir(), "cleared-books-"));
  try {
    for (const [path, text] of files) {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      writeFileSync(join(dir, path), text);
    }
    for (const opinion of await verifyIndependent(dir, verified.balances)) {
      if (opinion.status !== "not installed") expect(opinion).toMatchObject({ status: "agrees" });
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  return verified;
}
