/**
 * The record of a commit in progress: written before the branch moves, removed once index and files have followed. After a kill in between,
 * the next process that opens the repository or commits finishes from it.
 */
import { mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { lockedBy } from "./git-process.ts";
import type { IndexLock } from "./index-lock.ts";
import { isAncestor } from "./past.ts";
import type { ObjectReader } from "./tree.ts";
import { assertPath, type Touched, type Worktree } from "./worktree.ts";
import { STATE } from "../layout.ts";
import { readIfThere } from "../own-folders.ts";

export interface RecordParts {
  dir: string;
  objects: ObjectReader;
  worktree: Worktree;
  lock: IndexLock;
  /** Id of the branch's newest commit. @throws GIT_STATE */
  head(): Promise<string>;
  blockedBy(): Promise<string | null>;
}

export interface Intent {
  commit: string;
  touched: Touched[];
}

const LOCK_WAIT_MS = 2000;

export function createRecord({ dir, objects, worktree, lock, head: headOf, blockedBy }: RecordParts) {
  const recordFile = join(dir, STATE, "refresh.json");
  const drop = () => rm(recordFile, { force: true });

  async function read(): Promise<Intent | null> {
    const text = readIfThere(recordFile);
    if (text === null) return null;
    try {
      const intent = JSON.parse(text) as Intent;
      for (const { path } of intent.touched) assertPath(path);
      return intent;
    } catch {
      // We rename complete files into place, so an invalid one is not ours and says nothing about the tree.
      await drop();
      return null;
    }
  }

  async function follow({ commit, touched }: Intent): Promise<string | null> {
    const blocked = (await blockedBy()) ?? (await worktree.barred(touched));
    if (blocked !== null) return blocked;
    const head = await headOf();
    if (head === commit || (await isAncestor(dir, commit, head))) {
      const tree = objects.tree(head);
      const now: Touched[] = [];
      for (const { path, old } of touched) now.push({ path, old, next: await tree.item(path) });
      await worktree.moveIndex(lock.draft, now, () => lock.assertHeld());
      for (const one of now) {
        const text = one.next === null ? null : await objects.find(one.next.oid);
        await worktree.replace(one, one.next === null || text === null ? null : await worktree.stage(one.path, one.next, text.bytes));
      }
    }
    lock.assertHeld();
    await drop();
    return null;
  }

  return {
    read,
    drop,
    async write(intent: Intent): Promise<void> {
      await mkdir(join(dir, STATE), { recursive: true });
      const draft = `${recordFile}.new`;
      const file = await open(draft, "w", 0o600);
      await file.writeFile(JSON.stringify(intent));
      await file.sync();
      await file.close();
      await rename(draft, recordFile);
    },
    /** Brings index and files to the branch if it has moved. Returns why that must wait, or null: git is busy, another branch, a read-only folder. */
    async finish(): Promise<string | null> {
      if ((await read()) === null) return null;
      if (!(await lock.take(LOCK_WAIT_MS))) return lockedBy("index.lock");
      try {
        const intent = await read();
        return intent === null ? null : await follow(intent);
      } finally {
        lock.release();
      }
    },
  };
}
