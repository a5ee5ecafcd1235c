/**
 * One run's changes over HEAD of the branch, in memory: a primitive reads HEAD with these changes applied. Applied again from the recorded
 * steps, they give a resumed run the same view; `edits` passes them to the commit as data.
 */
import type { Change, Entry, EntryStatus, Git, Tree } from "../kernel/ports.ts";
import { type Edits, inOrder, plain } from "./books/ledger.ts";
import { ownKind } from "./books/entry-id.ts";
import { entriesOf, toChange } from "./books/journal-text.ts";
import { monthFile } from "./layout.ts";
import { digestOf, findEntry, loadMonth, monthFiles, monthOfId, wholeMonth } from "./books/months.ts";

// A run may read ten thousand times, so git is not asked for HEAD at each read; what the run reads is recorded anyway.
const HEAD_FRESH_MS = 100;

export type Overlay = ReturnType<typeof createOverlay>;

/** The new text of a file (null: removed), and its blob when the run first wrote it. */
type HeldFile = Omit<Extract<Change, { op: "file" }>, "op" | "path">;

/** The changes of an overlay over HEAD. */
interface Held {
  added: Map<string, Entry>;
  byFile: Map<string, Set<string>>;
  status: Map<string, EntryStatus>;
  removed: Set<string>;
  files: Map<string, HeldFile>;
  mine: Map<string, Entry>;
  usedKeys: Set<string>;
}

/** An empty overlay over one tree. */
export const overlayOn = (tree: Tree): Overlay => createOverlay({ head: async () => tree.commit, tree: () => tree });

/** A copy of the view, to try changes on. */
export const forkOf = ({ git, held }: Overlay): Overlay => createOverlay(git, held);

/** An overlay over the branch of `git`: empty, or with the changes of another one. */
export function createOverlay(git: Pick<Git, "head" | "tree">, from?: Held) {
  const added = new Map(from?.added);
  const byFile = new Map([...(from?.byFile ?? [])].map(([file, ids]) => [file, new Set(ids)]));
  const status = new Map(from?.status);
  const removed = new Set(from?.removed);
  const files = new Map(from?.files);
  const mine = new Map(from?.mine);
  const usedKeys = new Set(from?.usedKeys);
  const held: Held = { added, byFile, status, removed, files, mine, usedKeys };
  let fresh: Change[] = [];
  let lastId: string | null = null;
  let version = 0;
  let headTree: Tree | null = null;
  let headAt = 0;

  const head = async (): Promise<Tree> => {
    if (headTree === null || performance.now() - headAt > HEAD_FRESH_MS) {
      headTree = git.tree(await git.head());
      headAt = performance.now();
    }
    return headTree;
  };

  const put = (entry: Entry): void => {
    version++;
    added.set(entry.id, entry);
    mine.set(entry.id, entry);
    usedKeys.add(entry.tags["key"] ?? "");
    byFile.getOrInsertComputed(monthFile(entry.date), () => new Set<string>()).add(entry.id);
    lastId = entry.id;
  };

  const apply = (change: Change): void => {
    version++;
    if (change.op === "entries") entriesOf(change).map(plain).forEach(put);
    else if (change.op === "status") {
      const own = added.get(change.id);
      if (own === undefined) status.set(change.id, change.status);
      else added.set(change.id, { ...own, status: change.status });
    } else if (change.op === "remove") {
      const own = added.get(change.id);
      if (own === undefined) removed.add(change.id);
      else {
        added.delete(change.id);
        byFile.get(monthFile(own.date))?.delete(change.id);
      }
    } else if (change.op === "known") for (const key of change.keys) usedKeys.add(key);
    else if (change.op === "file") files.set(change.path, { text: change.text, base: change.base });
    else if (change.op === "committed") committed();
  };

  const committed = (): void => {
    for (const set of [added, byFile, status, removed, files]) set.clear();
    headTree = null;
  };

  /** The entry with the status that the run set. */
  const asIs = (entry: Entry): Entry => {
    const changed = status.get(entry.id);
    return changed === undefined ? entry : { ...entry, status: changed };
  };

  const month = async (file: string): Promise<readonly Entry[]> => {
    const base = await wholeMonth(await head(), file);
    const entries = base?.entries ?? [];
    const ids = byFile.get(file);
    if ((ids === undefined || ids.size === 0) && status.size === 0 && removed.size === 0) return entries;
    const kept = entries.filter((entry) => !removed.has(entry.id)).map(asIs);
    for (const id of ids ?? []) {
      const entry = added.get(id);
      if (entry !== undefined && (base?.byId.has(id) !== true || removed.has(id))) kept.push(entry);
    }
    return inOrder(kept);
  };

  return {
    ...{ git, held },
    /** The tree at HEAD. */
    head,
    /** Apply a change of a recorded step. */
    apply,
    /** Call when everything written so far has been committed to HEAD. */
    committed,
    /** Entries of a month in file order. @throws JOURNAL_FORM, as `existing` and `get`, when an entry of their month cannot be read */
    month,
    /** HEAD, if the run has not changed the month; null if it may have. */
    untouched: async (file: string): Promise<Tree | null> => {
      const isTouched = (byFile.get(file)?.size ?? 0) + status.size + removed.size > 0;
      return isTouched ? null : head();
    },
    /** Files written and not yet committed. */
    files: files as ReadonlyMap<string, HeldFile>,
    /** Every entry this run added, committed or not. */
    mine: mine as ReadonlyMap<string, Entry>,
    /** Keys this run has used for entries, new or known. */
    usedKeys: usedKeys as ReadonlySet<string>,
    /** Apply a change and hold it for `takeChanges` and the next commit. */
    record: (change: Change): void => {
      apply(change);
      fresh.push(change);
    },
    /** Add entries. They must be clean (`cleanEntry`): their text would parse to exactly these entries, so it is not parsed again. */
    add: (entries: readonly Entry[]): void => {
      entries.forEach(put);
      fresh.push(toChange(entries));
    },
    takeChanges: (): Change[] => {
      const taken = fresh;
      fresh = [];
      return taken;
    },
    dirty: (): boolean => added.size + status.size + removed.size + files.size > 0,
    edits: (): Edits => ({
      add: [...added.values()],
      status: new Map(status),
      replace: new Map(),
      remove: new Set(removed),
      // An entry that is also removed only moves to another place, so it is never left out.
      soft: new Set([...added.values()].filter((entry) => ownKind(entry) === "closing" && !removed.has(entry.id)).map((entry) => entry.id)),
    }),
    /** Counts the changes: while this and HEAD stay the same, entries read earlier are still up to date. */
    version: (): number => version,
    /** Entry added last, or null. */
    last: (): string | null => lastId,
    /** Those of the ids that exist. */
    existing: async (ids: Iterable<string>): Promise<Set<string>> => {
      const found = new Set<string>();
      const tree = await head();
      for (const [file, group] of Map.groupBy(ids, monthOfId)) {
        const { ids: there } = await digestOf(tree, file);
        for (const id of group) if (added.has(id) || (!removed.has(id) && there.has(id))) found.add(id);
      }
      return found;
    },
    get: async (id: string): Promise<Entry | null> => {
      if (removed.has(id)) return added.get(id) ?? null;
      const own = added.get(id);
      const entry =
        own === undefined ? await findEntry(await head(), id) : ((await loadMonth(await head(), monthOfId(id)))?.byId.get(id) ?? own);
      return entry === null ? null : asIs(entry);
    },
    /** Months with entries, oldest first. */
    months: async (): Promise<string[]> =>
      [...new Set([...(await monthFiles(await head())), ...[...byFile].filter(([, ids]) => ids.size > 0).map(([file]) => file)])].sort(),
  };
}
