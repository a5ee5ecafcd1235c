/** A workspace for tests of the books: a real import folder, and a branch that is either in memory (fast, for properties) or in git. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Change, EntryDraft, Git, Json, Receipt, Row, Step, WorkspaceView } from "../../runtime/kernel/ports.ts";
import { parseConfig } from "../../runtime/workspace/settings/config.ts";
import { createToolPool } from "../../runtime/app/run-tools.ts";
import { createSent } from "../../runtime/workspace/settings/sent.ts";
import { createImportFolder } from "../../runtime/workspace/statements/import-folder.ts";
import { createView } from "../../runtime/workspace/view.ts";
import { memory } from "../primitives/memory-ports.ts";
import { MAIN, memoryTree, withChanges } from "./memory-tree.ts";

export const CONFIG_TEXT = `business: {name: Test}
timezone: America/New_York
accounts: {opening: 3010, suspense: 3900}
statements:
  - match: {file: "*"}
    account: 1010
`;

export interface Workspace {
  dir: string;
  git: Git;
  /** Files at HEAD, for a branch in memory. */
  files: Map<string, string>;
  today: string;
  /** A view of a new run. */
  view(run?: string, words?: { rows?: number }): Promise<WorkspaceView>;
  /** Put a file into import/. */
  drop(name: string, text: string): void;
  dispose(): void;
}

const DIALECT = readFileSync(new URL("../../importers/generic.yaml", import.meta.url), "utf8");

export function startFiles(): Map<string, string> {
  return new Map([
    ["main.journal", MAIN],
    ["config.yaml", CONFIG_TEXT],
    ["importers/generic.yaml", DIALECT],
  ]);
}

export function memoryWorkspace(): Workspace {
  const dir = mkdtempSync(join(tmpdir(), "cleared-view-"));
  mkdirSync(join(dir, "import"));
  const workspace = assemble(dir);
  return workspace;
}

function assemble(dir: string): Workspace {
  const workspace: Workspace = {
    dir,
    files: startFiles(),
    git: undefined as unknown as Git,
    today: "2026-11-20",
    drop: (name, text) => writeFileSync(join(dir, "import", name), text),
    dispose: () => rmSync(dir, { recursive: true, force: true }),
    view: async (run = "run_1", words) => viewOf(workspace, run, words),
  };
  workspace.git = memoryGit(workspace);
  return workspace;
}

export async function viewOf(workspace: Workspace, run: string, words: { rows?: number } = {}): Promise<WorkspaceView> {
  const base = workspace.git.tree(await workspace.git.head());
  const config = parseConfig((await base.read("config.yaml")) ?? "");
  return createView({
    dir: workspace.dir,
    folder: createImportFolder(workspace.dir, { settleMs: () => 0 }),
    git: workspace.git,
    base,
    config,
    run,
    ...words,
    now: () => Date.parse(`${workspace.today}T12:00:00Z`),
    pending: () => [],
    wishes: {
      by: "agent:bench",
      admit: async () => ({ accepted: false, proposal: null, reason: "" }),
      rules: async () => ({ offered: [], unclear: [] }),
      process: async () => ({ agent: null, request: null, says: "none" }),
    },
    log: () => undefined,
    notices: {
      send: async () => ({ notice: "", channel: "page", state: "sent", due: 0 }),
      schedule: async ({ at }) => ({ run: "", at, created: true }),
    },
    llm: memory().ctx.ports.llm,
    agents: memory().ctx.ports.agents,
    session: memory().ctx.ports.session,
    children: { readOnly: async () => false, run: async () => Promise.reject(new Error("the books call no agents")) },
    tools: createToolPool({
      sent: createSent(workspace.dir),
      trust: { mcp: {}, addresses: { allow: [], loopback: false } },
      dir: workspace.dir,
    }).forRun({ run }),
  });
}

function memoryGit(workspace: Workspace): Git {
  let commits = 0;
  const refuse = (): never => {
    throw new Error("not part of this branch in memory");
  };
  return {
    head: async () => String(commits),
    tree: () => memoryTree(workspace.files),
    objects: { find: refuse, commit: refuse, tree: refuse, changes: refuse },
    isOnBranch: refuse,
    commit: async ({ build, guard }) => {
      const changes = await build(memoryTree(workspace.files));
      guard?.();
      const paths = [...changes].filter(([path, text]) => (workspace.files.get(path) ?? null) !== text).map(([path]) => path);
      if (paths.length === 0) return { status: "unchanged" };
      workspace.files = withChanges(workspace.files, changes);
      commits++;
      return { status: "committed", commit: String(commits), paths };
    },
    find: refuse,
    log: refuse,
    blockedBy: async () => null,
    edited: async () => [],
    pin: refuse,
    unpin: refuse,
    close: async () => undefined,
  };
}

export async function commit(view: WorkspaceView): Promise<void> {
  const result = await view.commit("import: test", {}, () => undefined);
  if (result.status !== "committed" && result.status !== "unchanged") throw new Error(JSON.stringify(result));
  view.committed("x");
}

/** Books every row as the starter agent does. */
export async function book(view: WorkspaceView, rows: Row[]): Promise<{ entry_id: string; known: boolean }[]> {
  return view.ports.books.add(
    rows.map((row) => {
      const out = row.amount.startsWith("-");
      const amount = out ? row.amount.slice(1) : row.amount;
      return {
        date: row.date,
        description: row.description,
        reference: row.reference,
        status: "auto-confirmed" as const,
        tags: {},
        legs: [
          { account: out ? "5020" : "1010", debit: amount },
          { account: out ? "1010" : "4010", credit: amount },
        ],
      };
    }),
  );
}

/** Parse, book, mark, commit and tidy, as one run. */
export async function importAll(workspace: Workspace, names: string[], run = "run_1"): Promise<Receipt[]> {
  const view = await workspace.view(run);
  const receipts: Receipt[] = [];
  for (const name of names) {
    await book(view, await view.ports.imports.parse(name, { all: false }));
    receipts.push(await view.ports.imports.markProcessed(name));
  }
  await commit(view);
  await view.tidy();
  return receipts;
}

/** A step as the engine records it. */
export function stepOf(seq: number, name: string, result: Json, changes: Change[]): Step {
  return {
    seq,
    name,
    effect: "write",
    params: "{}",
    state: "ok",
    result: JSON.stringify(result),
    error: null,
    changes,
    at: 0,
    attempts: 1,
  };
}

/** A statement of the generic dialect whose running balance proves it. Rows: date, description, amount in cents. */
export function statement(opening: number, rows: readonly (readonly [string, string, number])[]): string {
  let balance = opening;
  const lines = rows.map(([date, description, cents]) => {
    balance += cents;
    return `${date},"${description}",${money(cents)},${money(balance)}`;
  });
  return `Date,Description,Amount,Balance\n${lines.join("\n")}\n`;
}

export function money(cents: number): string {
  const text = String(Math.abs(cents)).padStart(3, "0");
  return `${cents < 0 ? "-" : ""}${text.slice(0, -2)}.${text.slice(-2)}`;
}

export function writeFiles(dir: string, files: ReadonlyMap<string, string>): void {
  for (const [path, text] of files) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
}

/** A pending entry of 10.00 of an import key, changed by `words`. */
export function draft(key: string, words: Partial<EntryDraft> = {}): EntryDraft {
  const legs = [
    { account: "5020", debit: "10.00" },
    { account: "1010", credit: "10.00" },
  ];
  return { date: "2026-11-06", description: "x", key, status: "pending-review", tags: {}, legs, ...words };
}
