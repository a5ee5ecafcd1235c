/** The import folder for file triggers and manual imports: runs over its files, and what the refusal of a file depends on. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { NOTHING_ASKED } from "../engine/store/cards.ts";
import { formatAt, toWire } from "../kernel/errors.ts";
import type { Git, LogEntry, Receipt, Refused, RunRecord, Tree } from "../kernel/ports.ts";
import type { Failure, FilePorts, FoundFile } from "../outside/triggers/files.ts";
import { createTurns } from "../kernel/turns.ts";
import { confirmedSince } from "../workspace/settings/confirmation.ts";
import { type ImportFile, statOf } from "../workspace/statements/import-files.ts";
import type { ImportFolder } from "../workspace/statements/import-folder.ts";
import { CONFIG, IMPORT, IMPORTERS, receiptFile } from "../workspace/layout.ts";
import { titleOf } from "../workspace/statements/questions.ts";
import { dependsOn, NOTHING_RECORDED, receiptFromYaml, receiptToYaml } from "../workspace/statements/receipt.ts";
import { receiptHashes } from "../workspace/statements/view-receipt.ts";
import type { Host } from "./host.ts";
import { stepsOf } from "./look.ts";
import { keepFiles, keptOf } from "./receipts.ts";

const listing = async (tree: Tree, paths: readonly string[]): Promise<string> =>
  (
    await Promise.all(
      paths.map(async (path) =>
        path.endsWith("/") ? (await tree.list(path)).map((one) => `${one.path} ${one.blob}`) : [`${path} ${await tree.blob(path)}`],
      ),
    )
  )
    .flat()
    .join("\n");

/**
 * The file, if it is to be imported; null if its receipt at HEAD says that nothing is left to do. A refused one is imported again if what its
 * refusal depends on has changed since the receipt was written, or when it was renamed: by the name a rule recognizes its account and format.
 */
export async function toImport({ git, dir }: Pick<Host, "git" | "dir">, head: Tree, file: ImportFile): Promise<FoundFile | null> {
  const path = receiptFile(file.hash);
  const text = await head.read(path);
  if (text === null) return { ...file, mark: "" };
  const { refused, later, file: before } = receiptFromYaml(text, path);
  if (later !== undefined) return { ...file, mark: ` ${later} left` };
  const paths = [...new Set(refused.flatMap(dependsOn))];
  if (paths.length > 0 && before !== file.name && !existsSync(join(dir, IMPORT, before))) return { ...file, mark: ` named ${file.name}` };
  const written = paths.length === 0 ? null : await triedAt(git, head, path);
  if (written === null) return null;
  const now = await listing(head, paths);
  if ((await listing(git.tree(written.commit), paths)) === now) return null;
  return { ...file, mark: ` ${createHash("sha256").update(now).digest("hex")}` };
}

// A receipt is written a few times for each part of its statement.
const MOST_WRITTEN = 1000;

/**
 * The commit in which a run last left the receipt as it is at HEAD, but for what answers and `revive` rewrote since: they have not tried the file.
 * Nor has an undo that restores an old receipt: its run counts.
 */
async function triedAt(git: Git, head: Tree, path: string): Promise<LogEntry | null> {
  const log = (await git.log({ limit: MOST_WRITTEN, path })).reverse();
  const blobs = await Promise.all(log.map(({ commit }) => git.tree(commit).blob(path)));
  let at = blobs.indexOf(await head.blob(path));
  while (at > 0 && !hasTried(log[at])) at = blobs.indexOf(blobs[at - 1] ?? null);
  return log[at] ?? null;
}

const hasTried = (one?: LogEntry): boolean => one?.trailers["Run"] !== undefined || one?.trailers["Failed-run"] !== undefined;

/** Whether the file lay here, or was committed, before this folder was first confirmed: where that came from it may have been processed. */
async function wasHereBefore({ dir, git }: Pick<Host, "dir" | "git">, path: string): Promise<boolean> {
  const since = confirmedSince(dir);
  if (((await statOf(join(dir, path)))?.mtimeMs ?? since) < since) return true;
  const isTracked = (await git.tree(await git.head()).blob(path)) !== null;
  const [last] = isTracked ? await git.log({ limit: 1, path }) : [];
  return last !== undefined && Date.parse(last.date) < since;
}

const PAGE = 200;

/** Newest first; without `isAll` the last ones. */
async function* doneRuns({ engine }: Pick<Host, "engine">, agent: string, isAll: boolean): AsyncGenerator<RunRecord> {
  for (let from: { before?: string } = {}; ; ) {
    const runs = await engine.list({ agent, status: ["done"], limit: PAGE, ...from });
    yield* runs;
    const before = runs[PAGE - 1]?.id;
    if (!isAll || before === undefined) return;
    from = { before };
  }
}

export function filePorts(host: Host): Omit<FilePorts, "start" | "importing"> {
  const { git, engine, folder } = host;
  const { sent } = host.world;
  /** Ended runs that had read a statement when they failed, cached because their steps never change and may be large. */
  const readers = new Map<string, boolean>();
  /** Agents all of whose runs have been looked through. */
  const past = new Set<string>();
  const hasRead = async (run: string): Promise<boolean> => {
    const known = readers.get(run) ?? (await stepsOf(engine, run)).some((step) => step.changes.some((change) => change.op === "rows"));
    readers.set(run, known);
    return known;
  };

  return {
    agents: () => host.agents(),
    status: async (run) => (await engine.get(run))?.status ?? null,
    settings: async () => listing(git.tree(await git.head()), [CONFIG, IMPORTERS]),
    async look(place) {
      const { whole, waiting } = await folder.look(place);
      // Receipts exist only for statements; a file in another watched folder starts its agent once per content.
      if (place !== IMPORT) return { files: whole.map((file) => ({ ...file, mark: "" })), waiting };
      const head = git.tree(await git.head());
      const known = await receiptHashes(head);
      const files: FoundFile[] = [];
      for (const file of whole) {
        try {
          const found = known.has(file.hash) ? await toImport(host, head, file) : { ...file, mark: "" };
          // Copies with the same content are one statement; a file that is changing now is checked again later.
          if (found !== null && !files.some(({ hash }) => hash === file.hash) && (await folder.take(file))) files.push(found);
        } catch (error) {
          // A receipt edited by hand, or a full disk, must not keep the other files from being imported.
          waiting.push({ name: file.name, kind: "unreadable", why: `cannot be taken: ${toWire(error).message}`, inMs: null, tell: true });
        }
      }
      return { files, waiting };
    },
    async undone(hashes) {
      const touches = await Promise.all(hashes.map(async (hash) => (await git.log({ limit: 1, path: receiptFile(hash) }))[0] ?? null));
      // A run that wrote the receipt took nothing back. After `cleared undo` a person decides when it is imported again; until then nothing
      // retries it to the same end.
      const taken = touches.map((one) => {
        const { Run, "Undone-by": by } = one?.trailers ?? {};
        return one === null || Run !== undefined || by !== undefined ? null : one.commit;
      });
      const commits = taken.some((one) => one !== null) ? taken.join(" ") : null;
      return { commits, byUndo: commits === null && touches.some((one) => one?.trailers["Undone-by"] !== undefined) };
    },
    async failures(agent, state) {
      const found: Failure[] = [];
      for (const run of await engine.list({ agent, status: ["failed"], limit: 200 })) {
        const { take, rows = null } = (run.cause.detail ?? {}) as { take?: FoundFile[]; rows?: number };
        const isOne = run.cause.kind === "watch" && run.mode === "live" && run.cause.key.includes(state);
        if (isOne && take !== undefined && (await hasRead(run.id)))
          found.push({ run: run.id, code: run.error?.code ?? "INTERNAL", files: take, rows });
      }
      return found;
    },
    async known(agent, place, files) {
      const before = new Set<FoundFile>();
      const unknown = files.filter((file) => !keptOf(sent, agent, file).completed);
      for (const file of unknown) if (await wasHereBefore(host, `${place}${file.name}`)) before.add(file);
      // Of a run that has ended this moment, and of all runs where this folder came from, only the store knows.
      const isAll = before.size > 0 && !past.has(agent);
      if (isAll) past.add(agent);
      if (unknown.length > 0) for await (const run of doneRuns(host, agent, isAll)) keepFiles(sent, run, "completed");
      return files.map((file) => {
        const { acted, completed, isCopy } = keptOf(sent, agent, file);
        // What becomes of a statement is told by its receipt, also once somebody takes that back.
        return { acted, completed: completed && (acted || place !== IMPORT), isCopy, elsewhere: before.has(file) };
      });
    },
    refuse: (file, failure) => refuse(host, file, failure),
  };
}

/** Who is about to start an import: the folder watch, which does not wait, and manual imports, which do. */
const turns = new WeakMap<ImportFolder, { take: ReturnType<typeof createTurns>; open: number }>();

/** One start at a time: two runs over overlapping statements would both count the shared rows as new. Null if another one is starting. */
export async function inTurn<T>({ folder }: Host, work: () => Promise<T>, { wait }: { wait: boolean }): Promise<T | null> {
  const turn = turns.getOrInsertComputed(folder, () => ({ take: createTurns(), open: 0 }));
  if (turn.open > 0 && !wait) return null;
  turn.open++;
  return turn.take(work).finally(() => turn.open--);
}

/** Runs started by files that are not over. */
export async function importing(host: Host, agent: string): Promise<RunRecord[]> {
  const unfinished = await host.engine.list({ agent, status: ["queued", "running", "waiting"], limit: 1000 });
  return unfinished.filter((one) => one.cause.kind === "watch");
}

const NOTHING_READ: Omit<Receipt, "file" | "hash" | "rows" | "refused" | "unbooked"> = {
  ...{ dialect: "", account: "", currency: "", opening: null, closing: null, gap: null },
  ...{ new: 0, known: 0, twin: 0, asked: [], removed: [] },
};

/** First the card, then the receipt: after an interruption the next check repeats it. */
async function refuse({ git, engine, cards, clock }: Host, { name, hash }: FoundFile, { run, code }: Failure): Promise<void> {
  const error = (await engine.get(run))?.error;
  const where = error?.at === undefined ? "" : `${formatAt(error.at)}: `;
  const refused: Refused = { line: 0, code, message: `${where}${error?.message ?? ""}`.slice(0, 2000) };
  const path = receiptFile(hash);
  const isSaid = ({ refused: [first] }: Receipt): boolean => first?.code === refused.code && first.message === refused.message;
  const head = await git.tree(await git.head()).read(path);
  if (head !== null && isSaid(receiptFromYaml(head, path))) return;
  const about = { file: `${IMPORT}${name}`, ...refused };
  cards.open(
    `row:${hash}:0`,
    { ...NOTHING_ASKED, kind: "row", title: titleOf(name, refused).slice(0, 200), body: { hash, line: 0, about }, run },
    clock.now(),
  );
  await git.commit({
    message: `import: ${name.slice(0, 30)} is not booked`,
    trailers: { "Failed-run": run },
    build: async (tree) => {
      const text = await tree.read(path);
      const before = text === null ? null : receiptFromYaml(text, path);
      const { later: _, ...kept } = before ?? { ...NOTHING_READ, record: NOTHING_RECORDED };
      // Nothing of the file was read: what it asked about accounts before is still to be answered.
      const all = [refused, ...(before?.refused ?? []).filter(({ account }) => account !== undefined)];
      const rows = kept.new + kept.known + kept.twin + kept.asked.length + kept.removed.length + all.length;
      return new Map([[path, receiptToYaml({ ...kept, file: name, hash, rows, refused: all, unbooked: [] })]]);
    },
  });
}
