import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createGit } from "../../runtime/workspace/git/git.ts";
import { verifyBooks, verifyIndependent } from "../../runtime/workspace/books/verify.ts";
import { book, importAll, memoryWorkspace, money, startFiles, statement, viewOf, type Workspace, writeFiles } from "./books-bench.ts";

async function gitWorkspace(work: (workspace: Workspace) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "cleared-books-git-"));
  const git = (...args: string[]) => execFileSync("git", ["-C", dir, "-c", "user.name=t", "-c", "user.email=t@localhost", ...args]);
  git("init", "-q", "-b", "main");
  mkdirSync(join(dir, "import"));
  writeFiles(dir, startFiles());
  git("add", ".");
  git("commit", "-q", "-m", "start");
  const door = await createGit(dir, { branch: () => "main" });
  const template = memoryWorkspace();
  template.dispose();
  const workspace: Workspace = {
    ...template,
    dir,
    git: door,
    drop: (name, text) => writeFiles(dir, new Map([[`import/${name}`, text]])),
    dispose: () => undefined,
  };
  workspace.view = (run = "run_1") => viewOf(workspace, run);
  try {
    await work(workspace);
  } finally {
    await door.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

const rows = (n: number) =>
  Array.from(
    { length: n },
    (_, i) =>
      [
        `2026-${String(1 + (i % 11)).padStart(2, "0")}-${String(1 + (i % 28)).padStart(2, "0")}`,
        `ROW ${i}`,
        i % 3 === 0 ? 1000 + i : -500 - i,
      ] as const,
  ).sort((a, b) => (a[0] < b[0] ? -1 : 1));

test("an import is one commit in git that both tools accept in the work tree", () =>
  gitWorkspace(async (workspace) => {
    workspace.drop("a.csv", statement(0, rows(40)));
    const [receipt] = await importAll(workspace, ["a.csv"]);
    expect(receipt).toMatchObject({ rows: 40, new: 40, gap: null });
    expect((await workspace.git.log({ limit: 9 })).length).toBe(2);
    const verified = await verifyBooks(workspace.git.tree(await workspace.git.head()));
    expect(verified.findings).toEqual([]);
    for (const opinion of await verifyIndependent(workspace.dir, verified.balances))
      expect(["agrees", "not installed"]).toContain(opinion.status);
  }));

test(
  "5,000 rows booked one by one cost little more than in batches",
  () =>
    gitWorkspace(async (workspace) => {
      workspace.drop("a.csv", statement(0, rows(5000)));
      const view = await workspace.view();
      const parsed = await view.ports.imports.parse("a.csv", { all: false });
      const start = process.cpuUsage();
      for (const row of parsed) await book(view, [row]);
      const { user, system } = process.cpuUsage(start);
      console.log(`5,000 single entries: ${((user + system) / 5e3).toFixed(0)} us of CPU each`);
      expect((user + system) / 5000).toBeLessThan(1000);
    }),
  120_000,
);

test(
  "10,000 rows are parsed, booked in batches, proven, committed and verified in seconds",
  () =>
    gitWorkspace(async (workspace) => {
      const all = rows(10_000);
      workspace.drop("a.csv", statement(0, all));
      const took: Record<string, string> = {};
      const start = process.cpuUsage();
      let last = performance.now();
      const lap = (name: string): void => {
        took[name] = `${Math.round(performance.now() - last)} ms`;
        last = performance.now();
      };
      const view = await workspace.view();
      const parsed = await view.ports.imports.parse("a.csv", { all: false });
      lap("parse");
      for (let i = 0; i < parsed.length; i += 1000) await book(view, parsed.slice(i, i + 1000));
      lap("book");
      const receipt = await view.ports.imports.markProcessed("a.csv");
      lap("mark");
      expect(receipt).toMatchObject({ new: 10_000, closing: money(all.reduce((sum, row) => sum + row[2], 0)), gap: null });
      await view.commit("import: a.csv", {}, () => undefined);
      lap("commit");
      const { user, system } = process.cpuUsage(start);
      const { findings, entries } = await verifyBooks(workspace.git.tree(await workspace.git.head()));
      lap("verify");
      expect([findings, entries]).toEqual([[], 10_002]);
      console.log(`10,000 rows: ${JSON.stringify(took)}, ${((user + system) / 1e6).toFixed(2)} s of CPU before verify`);
      expect((user + system) / 1e6).toBeLessThan(6);
    }),
  120_000,
);
