/**
 * After a commit: statements whose receipt at HEAD has no open row leave import/ for import/processed/. Repeatable, so a crash between
 * the commit and the move costs nothing; a file that is there already is never overwritten.
 */
import { link, mkdir, unlink } from "node:fs/promises";
import { join, parse } from "node:path";
import type { Tree } from "../ports.ts";
import { scanImports } from "./imports.ts";
import { IMPORT, PROCESSED, receiptFile } from "./layout.ts";
import { receiptFromYaml } from "./receipt.ts";

/** Moves what is done; answers the names of the moved files. A file that cannot be moved stays for the next time. */
export async function tidyImports(dir: string, head: Tree): Promise<string[]> {
  const moved: string[] = [];
  for (const { name, hash } of await scanImports(dir, new Set())) {
    const path = receiptFile(hash);
    const text = await head.read(path);
    if (text === null) continue;
    const receipt = receiptFromYaml(text, path);
    if (receipt.refused.length + receipt.unbooked.length > 0) continue;
    await mkdir(join(dir, PROCESSED), { recursive: true });
    await moveTo(join(dir, IMPORT, name), join(dir, PROCESSED), name);
    moved.push(name);
  }
  return moved;
}

/** link + unlink instead of rename, which would silently replace a file of that name. */
async function moveTo(from: string, folder: string, name: string): Promise<void> {
  const { name: stem, ext } = parse(name);
  for (let n = 1; ; n++) {
    try {
      await link(from, join(folder, n === 1 ? name : `${stem}-${n}${ext}`));
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
  await unlink(from);
}
