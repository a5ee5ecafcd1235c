/** Headers of scripts, read once for each content: the checks of one file ask for it several times. */
import { createHash } from "node:crypto";
import { type Header, parseHeader } from "../../scripts/header.ts";

const kept = new Map<string, { header: Header } | { error: unknown }>();
const MOST_KEPT = 1000;

/** Never changed by who gets it. @throws what parseHeader throws */
export function headerOf(source: string, file: string): Header {
  const key = createHash("sha256").update(file).update("\0").update(source).digest("base64");
  let found = kept.get(key);
  if (found === undefined) {
    try {
      found = { header: parseHeader(source, file) };
    } catch (error) {
      found = { error };
    }
    if (kept.size >= MOST_KEPT) kept.clear();
    kept.set(key, found);
  }
  if ("error" in found) throw found.error;
  return found.header;
}
