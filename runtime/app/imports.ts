/**
 * Imports requested by hand: statements are read once and put into import/ under names of their own; runs then import exactly these files
 * until each has its receipt. Content that already has a receipt is answered without a run.
 */
import { existsSync, linkSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { ClearedError, fromWire } from "../kernel/errors.ts";
import type { Cause, Receipt, RunRecord, Tree } from "../kernel/ports.ts";
import { type FileRun, type FileStart, type FoundFile, startForFiles } from "../outside/triggers/files.ts";
import { listensTo, watchedFolder } from "../outside/triggers/events.ts";
import { claimedBy, existingIn, listedBy } from "../workspace/books/claims.ts";
import { filesIn, type ImportFile, inodeOf, namesLike, readWhole, SIZE_LIMIT, writersOf } from "../workspace/statements/import-files.ts";
import { IMPORT, receiptFile } from "../workspace/layout.ts";
import { ifWhole } from "../workspace/books/months.ts";
import { overlayOn } from "../workspace/overlay.ts";
import { type KeptReceipt, receiptFromYaml } from "../workspace/statements/receipt.ts";
import { makePlainFolder } from "../workspace/own-folders.ts";
import { gapOf } from "../workspace/books/view-balances.ts";
import { filePorts, importing, inTurn, toImport } from "./file-ports.ts";
import type { Host } from "./host.ts";
import { receiptsOf } from "./receipts.ts";

// A file that is still being copied may become complete within this time.
const PATIENCE_MS = 5000;

export interface Imported {
  receipts: Receipt[];
  runs: string[];
  /** Files of import/ that were left there, each with the reason, when none was named. */
  left?: string[];
}

interface Asked extends FileStart {
  mode: "live" | "dry";
  by?: string;
}

/**
 * @param files none: all complete files in import/
 * @throws FILE_*, AGENT_UNKNOWN, GIT_STATE, and the error of a run that failed before it had read a file
 */
export async function importFiles(
  host: Host,
  { files, dryRun, again, by }: { files: string[]; dryRun: boolean; again: boolean; by?: string },
): Promise<Imported> {
  const blocked = await host.git.blockedBy();
  if (blocked !== null && !dryRun) throw new ClearedError("GIT_STATE", blocked);
  const head = host.git.tree(await host.git.head());
  const receipts: Receipt[] = [];
  const fresh = new Map<string, { path: string; bytes: Buffer; modified: Date }>();
  const copies: { path: string; hash: string }[] = [];
  const { paths, left } = files.length > 0 ? { paths: files, left: [] } : await lyingIn(host);
  for (const path of paths) {
    const content = await readOnce(path);
    // Copied by content first: the path may hold another file a moment later.
    const hash = await host.folder.keep(content.bytes, content.modified);
    const receipt = await head.read(receiptFile(hash));
    const file = { name: basename(path), hash, size: content.bytes.length, modified: content.modified.toISOString() };
    if (receipt !== null && !again && (await toImport(host, head, file)) === null)
      receipts.push(await repeated(head, receiptFromYaml(receipt, receiptFile(hash)), basename(path)));
    else if (fresh.has(hash)) copies.push({ path, hash });
    else fresh.set(hash, { path, ...content });
  }
  if (fresh.size === 0) return { receipts, runs: [], left };
  const how: Asked = { mode: dryRun ? "dry" : "live", again, ...(by === undefined ? {} : { by }) };
  const placed: ImportFile[] = [];
  // Content that is already there is not added twice; a dry run adds nothing, its run reads the copy made above.
  const lying = new Map((await filesIn(host.dir, IMPORT)).map((file) => [file.hash, file.name]));
  for (const [hash, { path, bytes, modified }] of [...fresh].sort(([, a], [, b]) => (basename(a.path) < basename(b.path) ? -1 : 1))) {
    const free = (): string => namesLike(basename(path)).find((one) => ![...lying.values()].includes(one)) ?? basename(path);
    const name = lying.get(hash) ?? (dryRun ? free() : place(host.dir, path, bytes));
    lying.set(hash, name);
    placed.push({ name, hash, size: bytes.length, modified: modified.toISOString() });
  }
  const imported = await runImports(host, placed, how);
  for (const { path, hash } of copies) {
    const first = imported.receipts.find((receipt) => receipt.hash === hash);
    if (first !== undefined)
      imported.receipts.push({ ...first, file: basename(path), new: 0, twin: 0, known: first.new + first.known + first.twin });
  }
  return { receipts: [...receipts, ...imported.receipts], runs: imported.runs, left };
}

/** @throws FILE_MISSING if import/ has no complete file */
async function lyingIn({ dir, folder }: Host): Promise<{ paths: string[]; left: string[] }> {
  const { whole, waiting } = await folder.settled();
  const left = waiting.map((one) => `${one.name} ${one.why}.`);
  if (whole.length > 0) return { paths: whole.map(({ name }) => join(dir, IMPORT, name)), left };
  const why = left.map((one) => ` ${one}`).join("");
  throw new ClearedError(
    "FILE_MISSING",
    `${IMPORT} has no statement to import.${why} Put one there or name its file: \`cleared import FILE\`.`,
  );
}

/** The cause of a run over these files of the folder that an agent watches, whether or not it has processed them. @throws USAGE, FILE_MISSING */
export async function filesAgain(host: Host, agent: string, names: readonly string[], key: string): Promise<Cause> {
  const header = (await host.agents()).find(({ name }) => name === agent)?.header ?? null;
  const folder = listensTo(header, "file_watch") ? watchedFolder(header) : null;
  if (folder === null || folder === IMPORT)
    throw new ClearedError(
      "USAGE",
      `${agent} ${folder === null ? "watches no folder" : `watches ${IMPORT}: \`cleared import --again FILE\` repeats an import`}.`,
    );
  const { whole } = await host.folder.settled(folder);
  const take = names.map((name) => {
    const found = whole.find((file) => [file.name, `${folder}${file.name}`].includes(name));
    if (found === undefined) throw new ClearedError("FILE_MISSING", `${folder} has no complete file "${name}".`);
    return { ...found, mark: "" };
  });
  return {
    kind: "watch",
    key: `${folder} ${key}`,
    detail: { files: take.map(({ name }) => name), again: take.map(({ hash }) => hash), take },
  };
}

/** Runs until every file has a receipt: one run over all of them, one per file if that fails, and more while rows are left. */
async function runImports(host: Host, files: readonly ImportFile[], how: Asked): Promise<Imported> {
  const agents = (await host.agents()).filter(({ header }) => listensTo(header, "file_watch") && watchedFolder(header) === IMPORT);
  if (agents.length === 0)
    throw new ClearedError("AGENT_UNKNOWN", `No agent at HEAD has trigger: [file_watch] on ${IMPORT}, so nothing imports statements.`);
  const runs: string[] = [];
  const receipts = new Map<string, Receipt>();
  let failure: RunRecord | null = null;
  for (let round = 0; round === 0 || how.mode === "live"; round++) {
    const started = await inTurn(host, () => startRound(host, files, agents, how, round), { wait: true });
    const begun = started?.filter((one) => one.created) ?? [];
    for (const { id } of begun) {
      runs.push(id);
      const run = await host.engine.result(id);
      if (run.status === "waiting")
        throw new ClearedError(
          "RUN_WAITS",
          // A sentence names the obstacle; anything else is a list of files with a person's edits.
          `The import ${id} waits: ${run.waitsFor?.endsWith(".") === true ? run.waitsFor : `${run.waitsFor} (${run.reason}). Commit or undo your edit.`}`,
        );
      if (run.error !== null) failure = run;
      for (const receipt of run.error === null ? receiptsOf(await host.engine.steps(id)) : []) {
        const before = receipts.get(receipt.hash);
        if (files.some(({ hash }) => hash === receipt.hash))
          receipts.set(receipt.hash, before === undefined ? receipt : joined(before, receipt));
      }
    }
    if (begun.length === 0) break;
  }
  const head = host.git.tree(await host.git.head());
  for (const { hash } of files) {
    // The folder watcher was faster, or the file failed on its own and was refused.
    const text = receipts.has(hash) ? null : await head.read(receiptFile(hash));
    if (text !== null) receipts.set(hash, withoutRecord(receiptFromYaml(text, receiptFile(hash))));
  }
  if (failure?.error != null && files.some(({ hash }) => !receipts.has(hash))) throw fromWire(failure.error);
  return { receipts: files.flatMap(({ hash }) => receipts.get(hash) ?? []), runs };
}

/** Starts runs over the files that are not finished, once no other import is in progress. */
async function startRound(
  host: Host,
  files: readonly ImportFile[],
  agents: readonly { name: string }[],
  how: Asked,
  round: number,
): Promise<FileRun[]> {
  for (const { name } of agents)
    for (const run of await importing(host, name)) if (run.status !== "waiting") await host.engine.result(run.id);
  const open: FoundFile[] = [];
  const head = host.git.tree(await host.git.head());
  for (const file of files) {
    const found = how.again === true && round === 0 ? { ...file, mark: "" } : await toImport(host, head, file);
    if (found !== null) open.push(found);
  }
  const start = (agent: string, options: Parameters<Host["start"]>[1]) =>
    host.start(agent, { ...options, mode: how.mode, ...(how.by === undefined ? {} : { by: how.by }) });
  const asked: FileStart = round === 0 ? { again: how.again ?? false, insist: true } : {};
  return startForFiles({ ...filePorts(host), importing: async () => false, start }, IMPORT, open, asked);
}

/** Combines the receipts of two runs over the same statement. */
function joined(before: Receipt, last: Receipt): Receipt {
  const [fresh, twin] = [before.new + last.new, before.twin + last.twin];
  return { ...last, new: fresh, twin, known: last.known - before.new - before.twin };
}

/** The complete file. @throws FILE_MISSING, FILE_INVALID, FILE_TOO_LARGE, FILE_UNFINISHED while somebody is writing it */
async function readOnce(path: string): Promise<{ bytes: Buffer; modified: Date }> {
  for (const until = performance.now() + PATIENCE_MS; ; await new Promise((resolve) => setTimeout(resolve, 100))) {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) throw new ClearedError("FILE_MISSING", `${path} does not exist.`);
    if (!found.isFile())
      throw new ClearedError(
        "FILE_INVALID",
        `${path} is a ${found.isDirectory() ? "folder" : "special file"}, not a statement. Name a file, or put it into ${IMPORT}.`,
      );
    if (found.size > SIZE_LIMIT)
      throw new ClearedError(
        "FILE_TOO_LARGE",
        `${path} has ${Math.ceil(found.size / 2 ** 20)} MiB; a statement has at most 64. Split it by period.`,
      );
    const writer = writersOf([found]).get(inodeOf(found));
    // A named link stands for its target.
    if (writer === undefined) return readWhole(realpathSync(path), basename(path));
    if (performance.now() > until)
      throw new ClearedError("FILE_UNFINISHED", `${path} is still open for writing in ${writer}. Import it once that has ended.`);
  }
}

const withoutRecord = ({ record: _, ...receipt }: KeptReceipt): Receipt => receipt;

/** All rows are known, except those removed from the books, without which the balance may not tie. */
async function repeated(head: Tree, { record, ...receipt }: KeptReceipt, file: string): Promise<Receipt> {
  const claimed = [...new Set([...claimedBy({ ...receipt, record }), ...receipt.removed])];
  const there = await existingIn(head, claimed);
  const removed = claimed.filter((id) => !there.has(id));
  const booked = receipt.new + receipt.known + receipt.twin + receipt.removed.length;
  const gaps = (): Promise<(string | null)[]> =>
    Promise.all(record.stated.map((part) => gapOf(part, listedBy({ ...receipt, record }), overlayOn(head))));
  const [gap = null] = removed.length === 0 ? [receipt.gap] : (await ifWhole(gaps, () => [receipt.gap])).filter((one) => one !== null);
  return { ...receipt, file, new: 0, twin: 0, known: booked - removed.length, removed, gap };
}

/** Puts a file into import/ in one move, so that no reader sees it incomplete, and never over another one. Returns its name there. */
function place(dir: string, path: string, bytes: Buffer): string {
  const folder = makePlainFolder(dir, IMPORT);
  const part = join(folder, `.${basename(path)}.${process.pid}.part`);
  // Created, not written through a link that may be there.
  rmSync(part, { force: true });
  writeFileSync(part, bytes, { flag: "wx" });
  try {
    for (const name of namesLike(basename(path))) {
      if (moved(part, join(folder, name))) return name;
    }
    throw new ClearedError("FILE_INVALID", `${IMPORT} has too many files named ${basename(path)}.`);
  } finally {
    rmSync(part, { force: true });
  }
}

/** False if a file of that name exists. */
function moved(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST" || existsSync(to)) return false;
    // For file systems without hard links.
    renameSync(from, to);
    return true;
  }
}
