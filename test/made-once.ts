/** What many test files need and takes a second to make: made by the first that asks, for all files of this run. Nobody writes into it. */
import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

export async function madeOnce(name: string, make: (dir: string) => Promise<void>): Promise<string> {
  const place = join(process.env["CLEARED_MADE"] as string, name);
  if (existsSync(place)) return place;
  const own = `${place}.${process.pid}`;
  await make(own);
  try {
    renameSync(own, place);
  } catch {
    // Another file's worker has made it meanwhile.
    rmSync(own, { recursive: true, force: true });
  }
  return place;
}
