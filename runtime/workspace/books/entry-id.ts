/**
 * Entry ids: `YYMMDD-` and 50 bits of the hash of the import key. The same bank row gets the same id in every clone,
 * so the id is the dedupe key and the merge key at once (spec/books.md 2).
 */
import { hash as digest } from "node:crypto";
import type { Entry } from "../../kernel/ports.ts";

// Crockford's alphabet in lower case: no i, l, o, u, so an id can be read aloud.
const LETTERS = "0123456789abcdefghjkmnpqrstvwxyz";

/** `261106-9sd0ee4k2m` of a day (YYYY-MM-DD) and an import key: the first 50 bits of sha256(key), five bits a letter. */
export function entryId(date: string, key: string): string {
  const hash = digest("sha256", key, "buffer");
  let bits = hash.readUIntBE(0, 6) * 4 + (hash.readUInt8(6) >> 6);
  let letters = "";
  for (let i = 0; i < 10; i++) {
    letters = LETTERS.charAt(bits % 32) + letters;
    bits = Math.floor(bits / 32);
  }
  return `${date.slice(2, 4)}${date.slice(5, 7)}${date.slice(8, 10)}-${letters}`;
}

export const isEntryId = (text: string): boolean => /^\d{6}-[0-9a-hjkmnp-tv-z]{10}$/.test(text);

/** `2026-11-06` of an id of that day; its two-digit year means 1970 to 2069. */
export function dayOfId(id: string): string {
  return `${id.slice(0, 2) >= "70" ? "19" : "20"}${id.slice(0, 2)}-${id.slice(2, 4)}-${id.slice(4, 6)}`;
}

/** The kind of an entry with a key of the books' own: a stated balance, a reversal or a correction. Scripts cannot use such keys. */
export function ownKind(entry: Pick<Entry, "tags">): "opening" | "closing" | "void" | "correct" | null {
  const word = /^(opening|closing|void|correct):/.exec(entry.tags["key"] ?? "")?.[1];
  return (word as ReturnType<typeof ownKind> | undefined) ?? null;
}
