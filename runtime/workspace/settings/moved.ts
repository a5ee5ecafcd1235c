/**
 * What this user's state folder has of a workspace by its path goes along when the folder is moved or copied: the sums of profiles and what was done
 * once (sent.ts). Else a new path would begin a new day, and repeat what the store does not know. It only adds, so it frees nothing.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CONFIRMED, idOf, keepFor, makeOwnFolder, namesIn, placeFile, readOr, userState } from "../own-folders.ts";
import { SENT } from "./sent.ts";

/** Sums that profiles of trust.yaml have granted: a file in the user's state folder. */
export const GRANTED = "granted";

type Sums = { granted?: Record<string, object> };

/** To be called when a person confirms a folder for the first time at this path, while it has the id of its last confirmation elsewhere. */
export function takeAlong(dir: string): void {
  const [id, here] = [idOf(dir), placeFile(CONFIRMED, dir)];
  if (id === null) return;
  const sumsIn = (file: string) => (JSON.parse(readOr(file, "{}")) as Sums).granted ?? {};
  for (const name of namesIn(join(userState(), CONFIRMED))) {
    const place = (kind: string) => join(userState(), kind, name);
    // As keepFor writes it, indented by two: nothing deeper in the file has such a line.
    if (place(CONFIRMED) === here || !readOr(place(CONFIRMED), "").includes(`\n  "id": ${JSON.stringify(id)},\n`)) continue;
    const granted = { ...sumsIn(place(GRANTED)), ...sumsIn(placeFile(GRANTED, dir)) };
    if (Object.keys(granted).length > 0) keepFor(GRANTED, dir, { granted });
    if (!existsSync(`${place(SENT)}l`)) continue;
    makeOwnFolder(join(userState(), SENT));
    appendFileSync(`${placeFile(SENT, dir)}l`, `\n${readFileSync(`${place(SENT)}l`, "utf8")}`, { mode: 0o600 });
  }
}
