/** A statement that contradicts the bank holds back no other; one of many rows is imported in parts; another run's receipt is left alone. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { book, commit, importAll, memoryWorkspace, statement, type Workspace } from "./books-bench.ts";
import { expectSound } from "./memory-tree.ts";

let workspace: Workspace;
beforeEach(() => {
  workspace = memoryWorkspace();
});
afterEach(() => workspace.dispose());

const NOVEMBER = statement(100_000, [
  ["2026-11-02", "COFFEE", -450],
  ["2026-11-02", "COFFEE", -450],
  ["2026-11-05", "GITHUB, INC; *team | 4", -2100],
  ["2026-11-09", "CLIENT", 250_000],
]);

describe("an import", () => {
  test("that contradicts a stated balance is one card with the likeliest cause, and the other statements of the run are booked", async () => {
    workspace.drop(
      "a.csv",
      statement(0, [
        ["2026-11-02", "A", 1000],
        ["2026-11-04", "C", 500],
      ]),
    );
    await importAll(workspace, ["a.csv"]);
    const before = workspace.files.get("journal/2026/11.journal");
    workspace.drop("b.csv", "Date,Description,Amount\n2026-11-02,B,7.00\n");
    workspace.drop("c.csv", "Date,Description,Amount\n2026-12-01,D,1.00\n");
    const view = await workspace.view("run_2");
    for (const name of ["b.csv", "c.csv"]) {
      await book(view, await view.ports.imports.parse(name, { all: false }));
      await view.ports.imports.markProcessed(name);
    }
    const cards = view.takeChanges().filter((change) => change.op === "review");
    await commit(view);
    await view.tidy();
    expect(cards.map(({ title }) => title)).toEqual(["b.csv contradicts a balance of the bank and is not booked"]);
    expect(cards.map(({ body }) => (body as { message: string }).message)).toEqual([
      "The bank stated 15.00 USD on Assets:Bank:Checking for 2026-11-04; with the rows of this file the books would say 22.00 USD, so none of it is booked. " +
        'The row 2026-11-02 "B" 7.00 alone is the whole difference.',
    ]);
    expect(workspace.files.get("journal/2026/11.journal")).toBe(before);
    expect(workspace.files.get("journal/2026/12.journal")).toContain(" D\n");
    expect(readdirSync(join(workspace.dir, "import")).sort()).toEqual(["b.csv", "processed"]);
    await expectSound(workspace.files);
  });

  test.each([
    [
      "a payment under other words on another day",
      "2026-11-06,B,10.00",
      /1 of its rows is in the books with the same amount at most 5 days apart .*in the books 2026-11-02 "A".*Without them the balance holds/,
    ],
    ["one row too many", "2026-11-03,X,7.00\n2026-11-03,Y,8.00", /A statement in between may be missing/],
    ["the whole difference", "2026-11-03,X,7.00", /The row 2026-11-03 "X" 7.00 alone is the whole difference/],
  ])("that contradicts names %s", async (_, rows, cause) => {
    workspace.drop(
      "a.csv",
      statement(0, [
        ["2026-11-02", "A", 1000],
        ["2026-11-08", "C", 500],
      ]),
    );
    await importAll(workspace, ["a.csv"]);
    workspace.drop("b.csv", `Date,Description,Amount\n${rows}\n`);
    const [receipt] = await importAll(workspace, ["b.csv"], "run_2");
    expect(receipt?.refused[0]?.message).toMatch(cause);
  });

  test("of more rows than fit into one run continues in the next, with the same books and one consistent receipt", async () => {
    const rows = Array.from({ length: 30 }, (_, i) => [`2026-11-${String(1 + (i % 28)).padStart(2, "0")}`, `R${i}`, 100 + i] as const);
    const whole = memoryWorkspace();
    whole.drop("nov.csv", statement(0, rows));
    await importAll(whole, ["nov.csv"]);
    workspace.drop("nov.csv", statement(0, rows));
    const receipts = [];
    for (let run = 1; run <= 3; run++) {
      const view = await workspace.view(`run_${run}`, { rows: 12 });
      const listed = await view.ports.imports.scan();
      expect(listed.map(({ name }) => name)).toEqual(["nov.csv"]);
      await book(view, await view.ports.imports.parse("nov.csv", { all: false }));
      receipts.push(await view.ports.imports.markProcessed("nov.csv"));
      await commit(view);
      await view.tidy();
    }
    expect(receipts.map(({ rows: all, new: fresh, known, later = 0 }) => [all, fresh, known, later])).toEqual([
      [30, 12, 0, 18],
      [30, 12, 12, 6],
      [30, 6, 24, 0],
    ]);
    const plain = (files: Map<string, string>) => (files.get("journal/2026/11.journal") ?? "").replace(/run: run_\d/g, "run: run_1");
    expect(plain(workspace.files)).toBe(plain(whole.files));
    const path = [...whole.files.keys()].find((one) => one.startsWith("import/receipts/")) ?? "";
    expect(workspace.files.get(path)).toBe(whole.files.get(path));
    expect(readdirSync(join(workspace.dir, "import"))).toEqual(["processed"]);
    whole.dispose();
  });

  test("that a failed run repeats after another has imported it leaves the other's receipt as it is", async () => {
    workspace.drop("nov.csv", NOVEMBER);
    const failed = await workspace.view("run_1");
    const rows = await failed.ports.imports.parse("nov.csv", { all: false });
    await importAll(workspace, ["nov.csv"], "run_2");
    const before = new Map(workspace.files);
    // A view asks for HEAD at most ten times a second.
    await new Promise((resolve) => setTimeout(resolve, 150));
    await book(failed, rows);
    expect(await failed.ports.imports.markProcessed("nov.csv")).toMatchObject({ new: 0, twin: 0, known: 4 });
    await commit(failed);
    expect(workspace.files).toEqual(before);
  });
});
