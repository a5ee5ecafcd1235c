/**
 * What happens once: calls sent outside, mails, decisions carried out, runs started by a schedule or an event. Kept in the user's state folder, so
 * that a store which comes from a backup, or which somebody has changed, repeats none of it without a person. Each is written after the store's own
 * record of it, so that a crash between the two leaves that record.
 */
import { hash } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Once } from "../../kernel/ports.ts";
import { makeOwnFolder, placeFile, userState, writePrivate } from "../own-folders.ts";

/** Kind of the file in the user's state folder. */
export const SENT = "sent";
const lineOf = (what: string): string => hash("sha256", what);
// Some 70 bytes each; of a longer file the newer half is kept.
const MOST_BYTES = 2 ** 24;

export function createSent(dir: string): Once {
  const file = `${placeFile(SENT, dir)}l`;
  let known: Set<string> | null = null;
  const read = (): Set<string> => {
    if (known !== null) return known;
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    const lines = text.split("\n");
    if (text.length > MOST_BYTES) writePrivate(file, lines.slice(lines.length / 2).join("\n"));
    return (known = new Set(lines));
  };
  return {
    has: (what) => read().has(lineOf(what)),
    keep(what) {
      const line = lineOf(what);
      if (read().has(line)) return;
      makeOwnFolder(userState());
      makeOwnFolder(join(userState(), SENT));
      // Begins a line of its own, whatever a power cut or a full disk has left of the one before.
      appendFileSync(file, `\n${line}\n`, { mode: 0o600 });
      read().add(line);
    },
  };
}
