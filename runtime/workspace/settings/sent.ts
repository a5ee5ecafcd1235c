/**
 * Which calls a run has sent outside, kept in the user's state folder: a store that comes from a backup, or that somebody has changed, does not
 * make them again. Written after the run's own record of the call, so that a crash between the two leaves that record.
 */
import { hash } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { DoorCall, RunRecord } from "../../kernel/ports.ts";
import { makeOwnFolder, placeFile, userState, writePrivate } from "../own-folders.ts";

const FOLDER = "sent";
// Some 80 bytes a call; of a longer file the newer half is kept.
const MOST_BYTES = 2 ** 24;

export interface Sent {
  has(run: RunRecord, call: DoorCall): boolean;
  /** @throws FOLDER_UNSAFE */
  keep(run: RunRecord, call: DoorCall): void;
}

export function createSent(dir: string): Sent {
  const lineOf = ({ id }: RunRecord, { seq, name, params }: DoorCall) => `${id}/${seq} ${hash("sha256", `${name} ${params}`).slice(0, 32)}`;
  const file = `${placeFile(FOLDER, dir)}l`;
  let known: Set<string> | null = null;
  const read = (): Set<string> => {
    if (known !== null) return known;
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    const lines = text.split("\n");
    if (text.length > MOST_BYTES) writePrivate(file, lines.slice(lines.length / 2).join("\n"));
    return (known = new Set(lines));
  };
  return {
    has: (run, call) => read().has(lineOf(run, call)),
    keep(run, call) {
      const line = lineOf(run, call);
      if (read().has(line)) return;
      makeOwnFolder(userState());
      makeOwnFolder(join(userState(), FOLDER));
      appendFileSync(file, `${line}\n`, { mode: 0o600 });
      read().add(line);
    },
  };
}
