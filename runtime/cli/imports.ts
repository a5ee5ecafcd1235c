/**
 * Imports asked for by hand: statements are put into import/ (whole, under a name of their own), what watches the folder runs, and the
 * receipts come out of that run's own steps. A content that has a receipt already is answered without a run.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, extname, join, resolve } from "node:path";
import { ClearedError, fromWire } from "../errors.ts";
import type { Receipt, RunRecord, Tree } from "../ports.ts";
import { type FilePorts, type FoundFile, startForFiles } from "../triggers/files.ts";
import { scanImports, sha256 } from "../workspace/imports.ts";
import { CONFIG, IMPORT, IMPORTERS, PROCESSED, RECEIPTS, receiptFile } from "../workspace/layout.ts";
import { receiptFromYaml } from "../workspace/receipt.ts";
import { isSettingsRefusal } from "../workspace/view-imports.ts";
import { receiptHashes } from "../workspace/view-receipt.ts";
import type { Host } from "./host.ts";
import { receiptsOf } from "./receipts.ts";

const LARGEST = 64 * 2 ** 20;

/** How the file triggers and an import by hand see the import folder and its runs. */
export function filePorts(host: Host): Omit<FilePorts, "start" | "importing"> & { readable(head: Tree, hash: string): Promise<boolean> } {
  const { git, engine } = host;
  const settingsOf = async (tree: Tree) =>
    [(await tree.blob(CONFIG)) ?? "", ...(await tree.list(IMPORTERS)).map((one) => `${one.path} ${one.blob}`)].join("\n");
  const lastLog = async (hash: string) => (await git.log({ limit: 1, path: receiptFile(hash) }))[0] ?? null;
  const lastTouch = async (hash: string) => (await lastLog(hash))?.commit ?? null;

  /** A file that was refused as a whole is new again when dialects or accounts have changed since its receipt was written. */
  const readable = async (head: Tree, hash: string): Promise<boolean> => {
    const text = await head.read(receiptFile(hash));
    if (text === null || !receiptFromYaml(text, receiptFile(hash)).refused.some(isSettingsRefusal)) return false;
    const since = await lastTouch(hash);
    return since !== null && (await settingsOf(git.tree(since))) !== (await settingsOf(head));
  };

  return {
    readable,
    agents: () => host.agents(),
    status: async (run) => (await engine.get(run))?.status ?? null,
    settings: async () => settingsOf(git.tree(await git.head())),
    async files(folder, again) {
      // Receipts are of statements; what lies in another watched folder starts its agent once for each content.
      if (folder !== IMPORT) return scanImports(host.dir, new Set(), folder);
      const head = git.tree(await git.head());
      const known = await receiptHashes(head);
      const found: FoundFile[] = [];
      for (const { name, hash } of await scanImports(host.importsFrom.dir, new Set())) {
        if (!known.has(hash) || again.includes(hash)) found.push({ name, hash });
        else if (await readable(head, hash)) found.push({ name, hash, again: true });
      }
      return found;
    },
    async undone(hashes) {
      const touches = await Promise.all(hashes.map(lastLog));
      // Who said `cleared undo` says as well when it is imported again; until then nothing does it that would end alike.
      const taken = touches.map((one) => (one?.trailers["Undone-by"] === undefined ? (one?.commit ?? null) : null));
      return taken.some((one) => one !== null) ? taken.join(" ") : null;
    },
  };
}

/** Runs that files started and that are not over. */
export async function importing(host: Host, agent: string): Promise<RunRecord[]> {
  const unfinished = await host.engine.list({ agent, status: ["queued", "running", "waiting"], limit: 1000 });
  return unfinished.filter((one) => one.cause.kind === "watch");
}

/** What lies in import/ and is no statement, in sentences. */
export async function oddities(dir: string, folder: string): Promise<string[]> {
  if (folder !== IMPORT) return [];
  const entries = await readdir(join(dir, IMPORT), { withFileTypes: true }).catch(() => []);
  return entries
    .filter((one) => !one.isFile() && !one.name.startsWith(".") && ![PROCESSED, RECEIPTS].includes(`${IMPORT}${one.name}/`))
    .map(
      (one) =>
        `${IMPORT}${one.name} is ${one.isDirectory() ? "a folder" : one.isSymbolicLink() ? "a link" : "not a regular file"} and is not read. Put the statement itself into ${IMPORT}.`,
    );
}

/** @throws FILE_*, AGENT_UNKNOWN, GIT_STATE, and what made the import's run fail */
export async function importFiles(
  host: Host,
  { files, dryRun, again, by }: { files: string[]; dryRun: boolean; again: boolean; by?: string },
): Promise<{ receipts: Receipt[]; runs: string[] }> {
  const blocked = await host.git.blockedBy();
  if (blocked !== null && !dryRun) throw new ClearedError("GIT_STATE", blocked);
  const head = host.git.tree(await host.git.head());
  const ports = filePorts(host);
  const receipts: Receipt[] = [];
  const fresh: { path: string; hash: string }[] = [];
  const copies: { path: string; hash: string }[] = [];
  for (const path of files) {
    const hash = hashOf(path);
    const receipt = await head.read(receiptFile(hash));
    if (receipt !== null && !again && !(await ports.readable(head, hash)))
      receipts.push(repeated(receiptFromYaml(receipt, receiptFile(hash)), basename(path)));
    else (fresh.some((one) => one.hash === hash) ? copies : fresh).push({ path, hash });
  }
  if (fresh.length === 0) return { receipts, runs: [] };
  const hashes = fresh.map((one) => one.hash);
  const imported = dryRun
    ? await inWorkshop(host, fresh, () => runImports(host, hashes, "dry", again, by))
    : await importLive(host, fresh, again, by);
  for (const { path, hash } of copies) {
    const first = imported.receipts.find((receipt) => receipt.hash === hash);
    if (first !== undefined) imported.receipts.push(repeated(first, basename(path)));
  }
  return { receipts: [...receipts, ...imported.receipts], runs: imported.runs };
}

async function importLive(
  host: Host,
  fresh: { path: string; hash: string }[],
  again: boolean,
  by: string | undefined,
): Promise<{ receipts: Receipt[]; runs: string[] }> {
  const hashes = fresh.map((one) => one.hash);
  for (const { path, hash } of fresh) place(host.dir, path, hash, await filePorts(host).files(IMPORT, hashes));
  return runImports(host, hashes, "live", again, by);
}

async function runImports(
  host: Host,
  hashes: string[],
  mode: "live" | "dry",
  again: boolean,
  by: string | undefined,
): Promise<{ receipts: Receipt[]; runs: string[] }> {
  const how = { mode, ...(by === undefined ? {} : { by }) };
  // One import at a time: a second run over the same files would find its receipts written by the first.
  for (const { name } of await host.agents()) {
    for (const run of await importing(host, name)) if (run.status !== "waiting") await host.engine.result(run.id);
  }
  const started = await startForFiles(
    { ...filePorts(host), importing: async () => false, start: (agent, options) => host.start(agent, { ...options, ...how }) },
    IMPORT,
    { again: again ? hashes : [], insist: true },
  );
  const head = host.git.tree(await host.git.head());
  if (started.length === 0) {
    // What watches the folder was faster, or nothing does.
    const receipts = await Promise.all(hashes.map((hash) => head.read(receiptFile(hash))));
    if (receipts.some((text) => text === null))
      throw new ClearedError("AGENT_UNKNOWN", `No agent at HEAD has trigger: [file_watch] on ${IMPORT}, so nothing imports statements.`);
    return { receipts: receipts.map((text, i) => receiptFromYaml(text ?? "", receiptFile(hashes[i] ?? ""))), runs: [] };
  }
  const receipts: Receipt[] = [];
  for (const { id } of started) {
    const run = await host.engine.result(id);
    if (run.error !== null) throw fromWire(run.error);
    if (run.status === "waiting")
      throw new ClearedError(
        "RUN_WAITS",
        `The import ${id} waits (${run.reason}): ${run.waitsFor}. Commit or undo your edit, or check out the branch.`,
      );
    receipts.push(...receiptsOf(await host.engine.steps(id)).filter((receipt) => hashes.includes(receipt.hash)));
  }
  return { receipts, runs: started.map((one) => one.id) };
}

function hashOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new ClearedError("FILE_MISSING", `${path} does not exist.`);
  if (!found.isFile())
    throw new ClearedError("FILE_INVALID", `${path} is a ${found.isDirectory() ? "folder" : "special file"}, not a statement.`);
  if (found.size > LARGEST)
    throw new ClearedError(
      "FILE_TOO_LARGE",
      `${path} has ${Math.ceil(found.size / 2 ** 20)} MiB; a statement has at most 64. Split it by period.`,
    );
  return sha256(readFileSync(path));
}

function repeated(receipt: Receipt, file: string): Receipt {
  const booked = receipt.new + receipt.known + receipt.twin;
  return { ...receipt, file, new: 0, twin: 0, known: booked };
}

/** Puts a file into import/ in one move, so that nobody sees half of it. The same content is not put there twice. */
function place(dir: string, path: string, hash: string, present: { name: string; hash: string }[]): void {
  const folder = join(dir, IMPORT);
  mkdirSync(folder, { recursive: true });
  if (dirname(resolve(path)) === resolve(folder) || present.some((one) => one.hash === hash)) return;
  const extension = extname(path);
  const stem = basename(path, extension);
  let target = join(folder, basename(path));
  for (let n = 2; existsSync(target); n++) target = join(folder, `${stem}-${n}${extension}`);
  const part = `${target}.part`;
  copyFileSync(path, part);
  renameSync(part, target);
}

/** A dry run sees only the files it is asked about, in a folder of its own. */
async function inWorkshop<T>(host: Host, fresh: { path: string; hash: string }[], work: () => Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), "cleared-dry-"));
  try {
    for (const { path, hash } of fresh) place(dir, path, hash, []);
    host.importsFrom.dir = dir;
    return await work();
  } finally {
    host.importsFrom.dir = host.dir;
    rmSync(dir, { recursive: true, force: true });
  }
}
