/** One text for equal values: what approvals, histories and signatures compare and hash. */
import { createHash } from "node:crypto";

/** JSON with sorted keys and no blanks: equal values are equal text. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(",")}]`;
  let text = "";
  for (const key of keysInOrder(value)) {
    const item = (value as Record<string, unknown>)[key];
    if (item !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(item)}`;
  }
  return `{${text}}`;
}

/** The keys of a value, sorted. Up to 16 are sorted by insertion: each `sort` call allocates 1.4 kB, a gigabyte over a hundred thousand entries. */
export function keysInOrder(value: object): string[] {
  const keys = Object.keys(value);
  if (keys.length > 16) return keys.sort();
  for (let n = 1; n < keys.length; n++) {
    const key = keys[n] as string;
    let at = n;
    for (; at > 0 && (keys[at - 1] as string) > key; at--) keys[at] = keys[at - 1] as string;
    keys[at] = key;
  }
  return keys;
}

/** 24 hex digits of SHA-256 over the canonical text. */
export const digestOf = (value: unknown): string => createHash("sha256").update(canonicalJson(value)).digest("hex").slice(0, 24);

/** SHA-256 over the canonical text, in base64url: the hash that reports and approvals are compared by. */
export const canonicalHash = (value: unknown): string => createHash("sha256").update(canonicalJson(value)).digest("base64url");
