/**
 * The committer: one run's changes become one commit on the branch, and the user's index and files follow at exactly those paths.
 * The order: objects, a record of the commit, the branch by compare-and-swap, then index and files. The swap is the point of no return:
 * after a kill before it nothing has happened; after a kill behind it the next call finishes from the record.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { ClearedError } from "../../kernel/errors.ts";
import type { CommitRequest, CommitResult } from "../../kernel/ports.ts";
import { createTurns } from "../../kernel/turns.ts";
import { keepNote, writing } from "./leftovers.ts";
import { composeMessage } from "./past.ts";
import { gitFailed, KeptGit, lockedBy, type Take } from "./git-process.ts";
import { type RecordParts, createRecord } from "./commit-record.ts";
import { objectId, isFile, type FileTree } from "./tree.ts";
import { assertPath, type Touched } from "./worktree.ts";

export type Stage = "objects" | "draft" | "locked" | "recorded" | "moved" | "index" | "files";

export interface CommitterParts extends RecordParts {
  gitDir: string;
  branch(): string;
  /** Called when a stage has been reached; the crash tests kill the process here. */
  reached(stage: Stage): void;
}

interface Change extends Touched {
  bytes: Buffer | null;
}

const LOCK_WAIT_MS = 2000;
// Each failed try means that another process committed in the same few milliseconds.
const TRIES = 12;
// fast-import remembers every object it wrote; restarting it now and then bounds its memory.
const IMPORTS_PER_PROCESS = 500;
/** Author and committer of commits by the runtime. */
const AUTHOR = "Cleared <cleared@localhost>";
export const IMPORT = ["fast-import", "--quiet", "--force", "--date-format=raw"];

const takeMoved: Take<true> = (output) => {
  const end = output.indexOf("commit: ok\n");
  return end === -1 ? { need: output.length + 1 } : { value: true, used: end + "commit: ok\n".length };
};

/** A file for fast-import: its content, the id of a blob that the repository has, or null to remove it. */
export type ImportedFile = [path: string, file: { mode: string; text: string | Uint8Array } | { mode: string; oid: string } | null];

/** One commit for fast-import, marked :1, and the commands `after` it. The files are laid over those of the first parent, unless `alone`. */
export function commitStream(
  ref: string,
  commit: { at: number; message: string; parents: readonly string[]; alone?: boolean; files: Iterable<ImportedFile> },
  after: string,
): Buffer {
  const data = (text: string | Uint8Array) => [`data ${Buffer.byteLength(text)}\n`, text, "\n"];
  const quote = (path: string): string => `"${path.replace(/["\\]/g, "\\$&")}"`;
  const chunks = [
    `commit ${ref}\nmark :1\ncommitter ${AUTHOR} ${Math.floor(commit.at / 1000)} +0000\n`,
    ...data(commit.message),
    ...commit.parents.map((parent, place) => `${place === 0 ? "from" : "merge"} ${parent}\n`),
    ...(commit.alone === true ? ["deleteall\n"] : []),
    ...[...commit.files].flatMap(([path, file]) => {
      if (file === null) return [`D ${quote(path)}\n`];
      if ("oid" in file) return [`M ${file.mode} ${file.oid} ${quote(path)}\n`];
      return [`M ${file.mode} inline ${quote(path)}\n`, ...data(file.text)];
    }),
    `\n${after}`,
  ];
  return Buffer.concat(chunks.map((chunk) => (typeof chunk === "string" ? Buffer.from(chunk) : chunk)));
}

export function createCommitter(parts: CommitterParts) {
  const { gitDir, objects, worktree, lock } = parts;
  const record = createRecord(parts);
  const startImporter = () => new KeptGit(gitDir, IMPORT, () => note?.killed());
  let importer = startImporter();
  const mover = new KeptGit(gitDir, ["update-ref", "-m", "cleared: commit", "--stdin"]);
  let imports = 0;
  let note: ReturnType<typeof keepNote> | null = null;
  const ref = () => `refs/heads/${parts.branch()}`;

  /** The wanted files that differ from the tree. */
  async function compare(tree: FileTree, wanted: Map<string, string | null>): Promise<Change[]> {
    const changes: Change[] = [];
    for (const [path, text] of wanted) {
      assertPath(path);
      const old = await tree.item(path);
      if (old !== null && !isFile(old)) {
        throw new ClearedError(
          "GIT_STATE",
          `${path} is a folder or a link in the repository; a commit writes plain files only. Move it away and commit that.`,
        );
      }
      if (text === null) {
        if (old !== null) changes.push({ path, old, next: null, bytes: null });
        continue;
      }
      const bytes = Buffer.from(text, "utf8");
      const oid = objectId("blob", bytes, tree.commit.length);
      if (oid !== old?.oid) changes.push({ path, old, next: { mode: old?.mode ?? "100644", oid }, bytes });
    }
    return changes.sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** Writes blobs, trees and the commit; returns its id. Moves no ref but refs/cleared/wip. */
  async function write(parent: string, message: string, changes: readonly Change[]): Promise<string> {
    if (++imports % IMPORTS_PER_PROCESS === 0) {
      await importer.close();
      importer = startImporter();
      note?.drop();
      note = null;
    }
    note ??= keepNote(gitDir);
    const done = `progress cleared ${imports}\n`;
    const files = changes.map(({ path, next, bytes }): ImportedFile => [path, next && bytes && { mode: next.mode, text: bytes }]);
    // The answer to `progress` comes after the checkpoint, so the objects are on disk when it arrives.
    const stream = commitStream(
      "refs/cleared/wip",
      { at: Date.now(), message, parents: [parent], files },
      `checkpoint\nget-mark :1\n${done}`,
    );
    const id = await writing(gitDir, {}, async () => {
      const answer = importer.ask(stream, (output) => {
        const said = output.toString("latin1");
        const end = said.indexOf(done);
        if (end === -1) return { need: output.length + 1 };
        const id = /([0-9a-f]{40,64})\n/.exec(said.slice(0, end))?.[1];
        return { value: id ?? "", used: end + done.length };
      });
      const report = join(gitDir, `fast_import_crash_${importer.pid}`);
      // Its crash report says no more than its last output does, and contains text of the books.
      answer.catch(() => rm(report, { force: true })).catch(() => undefined);
      return answer;
    });
    // An empty id would tell update-ref to delete the branch.
    if (id.length !== parent.length) throw gitFailed("git fast-import", "it did not name the commit it made");
    return id;
  }

  /** Compare-and-swap of the branch. False: another process moved it. @throws GIT_STATE while another git holds a lock, GIT_FAILED */
  async function move(to: string, from: string): Promise<boolean> {
    return writing(gitDir, { [ref()]: to }, async () => {
      return mover.ask(`start\nupdate ${ref()} ${to} ${from}\ncommit\n`, takeMoved).catch(async (error: unknown) => {
        const now = await parts.head();
        if (now === from) throw error;
        return now === to;
      });
    });
  }

  type Attempt = CommitResult | "again";

  /** Files that differ are a person's edit, unless another process of ours is bringing them to a newer HEAD. */
  async function edit(paths: string[], head: string): Promise<Attempt> {
    return (await record.read()) !== null || (await parts.head()) !== head ? "again" : { status: "user_edit", paths };
  }

  async function attempt(request: CommitRequest, message: string): Promise<Attempt> {
    const reason = await parts.blockedBy();
    if (reason !== null) return { status: "blocked", reason };
    const waits = await record.finish();
    if (waits !== null) return { status: "blocked", reason: waits };
    const head = await parts.head();
    const tree = objects.tree(head);
    const changes = await compare(tree, await request.build(tree));
    if (changes.length === 0) return { status: "unchanged" };
    const inFiles = await worktree.editedFiles(changes);
    if (inFiles.length > 0) return await edit(inFiles, head);
    const barred = await worktree.barred(changes);
    if (barred !== null) return { status: "blocked", reason: barred };

    const mark = await worktree.copyIndex(lock.draft);
    const [commit, edited] = await Promise.all([write(head, message, changes), worktree.edited(changes, lock.draft)]);
    if (edited.length > 0) return await edit(edited, head);
    parts.reached("objects");
    await worktree.updateDraft(lock.draft, changes);
    const staged = new Map<string, string>();
    try {
      for (const { path, next, bytes } of changes)
        if (next !== null && bytes !== null) staged.set(path, await worktree.stage(path, next, bytes));
      parts.reached("draft");
      if (!(await lock.take(LOCK_WAIT_MS))) return { status: "blocked", reason: lockedBy("index.lock") };
      parts.reached("locked");
      // Everything read without the lock is checked again under it: the index by its mark, the files by their content.
      if ((await worktree.indexMark()) !== mark || (await parts.blockedBy()) !== null) return "again";
      if ((await worktree.editedFiles(changes)).length > 0) return "again";
      await record.write({ commit, touched: changes.map(({ path, old, next }) => ({ path, old, next })) });
      parts.reached("recorded");
      let moved = false;
      try {
        request.guard?.();
        moved = await move(commit, head);
      } finally {
        if (!moved) lock.assertHeld();
        if (!moved) await record.drop();
      }
      if (!moved) return "again";
      parts.reached("moved");
      lock.assertHeld();
      await worktree.installIndex(lock.draft);
      parts.reached("index");
      const kept: string[] = [];
      for (const change of changes) {
        if (!(await worktree.replace(change, staged.get(change.path) ?? null))) kept.push(change.path);
      }
      parts.reached("files");
      lock.assertHeld();
      await record.drop();
      staged.clear();
      return { status: "committed", commit, paths: changes.map((change) => change.path), ...(kept.length === 0 ? {} : { kept }) };
    } finally {
      lock.release();
      for (const name of staged.values()) await rm(name, { force: true });
    }
  }

  const inTurn = createTurns();

  return {
    /** Finishes the commit of a killed process; returns why that must wait, or null. */
    finish: record.finish,
    /** Commits are made one at a time; a failed commit does not stop the next. */
    commit: (request: CommitRequest): Promise<CommitResult> =>
      inTurn(async () => {
        const message = composeMessage(request.message, request.trailers);
        for (let left = TRIES; left > 0; left--) {
          const end = await attempt(request, message).catch((error: unknown): CommitResult => {
            if (error instanceof ClearedError && error.data?.["lock"] !== undefined) return { status: "blocked", reason: error.message };
            const full = (error as NodeJS.ErrnoException).code === "ENOSPC" || (error as NodeJS.ErrnoException).code === "EDQUOT";
            throw full ? gitFailed("The commit", "No space left on device") : error;
          });
          if (end !== "again") return end;
        }
        return {
          status: "blocked",
          reason: `The branch or the files kept changing while the commit was made (${TRIES} tries). It is tried again automatically.`,
        };
      }),
    close: (): Promise<void> =>
      inTurn(async () => {
        await Promise.all([importer.close(), mover.close()]);
        note?.drop();
      }),
  };
}
