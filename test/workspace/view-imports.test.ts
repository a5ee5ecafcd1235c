import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { verifyBooks } from "../../runtime/workspace/books/verify.ts";
import { book, commit, importAll, memoryWorkspace, statement, stepOf, type Workspace } from "./books-bench.ts";
import { expectSound, memoryTree } from "./memory-tree.ts";

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
const bank = async (): Promise<string | undefined> => (await (await workspace.view("look")).ports.books.balance("1010"))["USD"];

describe("an import", () => {
  test("books every row, opens the account and proves the closing balance", async () => {
    workspace.drop("nov.csv", NOVEMBER);
    const [receipt] = await importAll(workspace, ["nov.csv"]);
    expect(receipt).toMatchObject({
      file: "nov.csv",
      account: "1010",
      rows: 4,
      new: 3,
      twin: 1,
      known: 0,
      refused: [],
      unbooked: [],
      opening: "1000.00",
      closing: "3470.00",
      gap: null,
    });
    const { balances, entries } = await expectSound(workspace.files);
    expect(entries).toBe(6);
    expect(balances["Assets:Bank:Checking"]).toEqual({ USD: "3470.00" });
    const text = workspace.files.get("journal/2026/11.journal") ?? "";
    expect(text).toMatch(/^2026-11-02 \* \(261102-\w{10}\) Opening balance\n/);
    expect(text.trimEnd().endsWith("Assets:Bank:Checking  0.00 USD = 3470.00 USD")).toBe(true);
    expect(existsSync(join(workspace.dir, "import/nov.csv"))).toBe(false);
    expect(readdirSync(join(workspace.dir, "import/processed"))).toEqual(["nov.csv"]);
  });

  test("of the same file ten times changes nothing after the first", async () => {
    workspace.drop("nov.csv", NOVEMBER);
    await importAll(workspace, ["nov.csv"]);
    const once = new Map(workspace.files);
    for (let i = 0; i < 9; i++) {
      workspace.drop("nov.csv", NOVEMBER);
      const view = await workspace.view(`run_${i}`);
      expect(await view.ports.imports.scan()).toEqual([]);
      expect(await view.ports.imports.parse("nov.csv", { all: false })).toEqual([]);
      const rows = await view.ports.imports.parse("nov.csv", { all: true });
      expect((await book(view, rows)).every((answer) => answer.known)).toBe(true);
      expect(await view.ports.imports.deduplicate(rows)).toEqual([]);
      await commit(view);
      await view.tidy();
    }
    expect(workspace.files).toEqual(once);
    expect(readdirSync(join(workspace.dir, "import/processed")).length).toBe(10);
  });

  test("of an overlapping statement books only the new rows and states the new balance", async () => {
    workspace.drop("a.csv", NOVEMBER);
    await importAll(workspace, ["a.csv"]);
    workspace.drop(
      "b.csv",
      statement(99_100, [
        ["2026-11-05", "GITHUB, INC; *team | 4", -2100],
        ["2026-11-09", "CLIENT", 250_000],
        ["2026-11-12", "COFFEE", -450],
      ]),
    );
    const [receipt] = await importAll(workspace, ["b.csv"], "run_2");
    expect(receipt).toMatchObject({ rows: 3, new: 1, known: 2, closing: "3465.50", gap: null });
    const { entries } = await expectSound(workspace.files);
    expect(entries).toBe(8);
  });

  test("of an older statement moves the opening back, and what was proven stays true", async () => {
    workspace.drop("nov.csv", NOVEMBER);
    await importAll(workspace, ["nov.csv"]);
    workspace.drop(
      "oct.csv",
      statement(40_000, [
        ["2026-10-03", "RENT", -90_000],
        ["2026-10-20", "CLIENT", 150_000],
      ]),
    );
    const [receipt] = await importAll(workspace, ["oct.csv"], "run_2");
    expect(receipt).toMatchObject({ new: 2, opening: "400.00", closing: "1000.00", gap: null });
    const { balances } = await expectSound(workspace.files);
    expect(balances["Assets:Bank:Checking"]).toEqual({ USD: "3470.00" });
    expect(balances["Equity:Opening Balances"]).toEqual({ USD: "-400.00" });
    expect(workspace.files.get("journal/2026/11.journal")).not.toContain("Opening balance");
    expect(workspace.files.get("journal/2026/10.journal")).toMatch(/^2026-10-03 \* \S+ Opening balance/);
  });

  test("of an older statement that does not connect carries the difference and says that statements are missing", async () => {
    workspace.drop("nov.csv", NOVEMBER);
    await importAll(workspace, ["nov.csv"]);
    workspace.drop("sep.csv", statement(10_000, [["2026-09-03", "RENT", -5000]]));
    const view = await workspace.view("run_2");
    await book(view, await view.ports.imports.parse("sep.csv", { all: false }));
    expect(await view.ports.imports.markProcessed("sep.csv")).toMatchObject({ new: 1, gap: null });
    expect(
      view
        .takeChanges()
        .filter((change) => change.op === "review")
        .map((change) => change.title),
    ).toEqual(["Assets:Bank:Checking: statements before 2026-11-02 are missing"]);
    await commit(view);
    await expectSound(workspace.files);
    expect(workspace.files.get("journal/2026/11.journal")).toContain("Assets:Bank:Checking  950.00 USD = 1000.00 USD");
    expect(await bank()).toBe("3470.00");
    workspace.drop("oct.csv", statement(5_000, [["2026-10-03", "CLIENT", 95_000]]));
    await importAll(workspace, ["oct.csv"], "run_3");
    expect(workspace.files.get("journal/2026/11.journal")).not.toContain("brought forward");
    const { balances } = await expectSound(workspace.files);
    expect(balances["Equity:Opening Balances"]).toEqual({ USD: "-100.00" });
  });

  test("of a row the bank dated back replaces the proof it makes obsolete if the new one ties", async () => {
    workspace.drop(
      "a.csv",
      statement(0, [
        ["2026-11-02", "A", 1000],
        ["2026-11-04", "C", 500],
      ]),
    );
    await importAll(workspace, ["a.csv"]);
    workspace.drop(
      "b.csv",
      statement(0, [
        ["2026-11-02", "A", 1000],
        ["2026-11-03", "B", 200],
        ["2026-11-04", "C", 500],
        ["2026-11-06", "D", 1],
      ]),
    );
    const [receipt] = await importAll(workspace, ["b.csv"], "run_2");
    expect(receipt).toMatchObject({ new: 2, known: 2, gap: null, closing: "17.01" });
    expect(workspace.files.get("journal/2026/11.journal")?.match(/Statement balance/g)?.length).toBe(1);
    await expectSound(workspace.files);
  });

  test("with a refused row books the others, opens a card, proves nothing and keeps the file", async () => {
    workspace.drop("a.csv", "Date,Description,Amount\n2026-11-02,A,10.00\n2026-02-30,B,1.00\n2026-11-03,C,$120\n2026-11-04,D,5.00\n");
    const view = await workspace.view();
    const rows = await view.ports.imports.parse("a.csv", { all: false });
    await book(view, rows.slice(0, 1));
    const receipt = await view.ports.imports.markProcessed("a.csv");
    expect(receipt).toMatchObject({ rows: 4, new: 1, unbooked: [rows[1]?.reference] });
    expect(receipt.refused.map(({ line }) => line)).toEqual([3, 4]);
    const cards = view.takeChanges().filter((change) => change.op === "review");
    expect(cards.map((card) => card.row?.line)).toEqual([3, 4]);
    await commit(view);
    await view.tidy();
    expect(existsSync(join(workspace.dir, "import/a.csv"))).toBe(true);
    await expectSound(workspace.files);
  });

  test("of a statement in another currency books that currency and proves it", async () => {
    const name = "nationwide_uk_pound_two_columns.csv";
    workspace.files.set("importers/nationwide.yaml", readFileSync(new URL("../../importers/nationwide.yaml", import.meta.url), "utf8"));
    copyFileSync(new URL(`../statements/${name}`, import.meta.url), join(workspace.dir, "import", name));
    workspace.files.set("config.yaml", workspace.files.get("config.yaml")?.replace('"*"', '"*", currency: GBP') ?? "");
    const [receipt] = await importAll(workspace, [name]);
    expect(receipt).toMatchObject({ currency: "GBP", rows: 4, closing: "360.23", gap: null });
    expect((await expectSound(workspace.files)).balances["Assets:Bank:Checking"]).toEqual({ GBP: "360.23" });
  });

  test("without a known account gives a card and a receipt with the reason, and books nothing", async () => {
    workspace.files.set("config.yaml", workspace.files.get("config.yaml")?.replace('"*"', '"other"') ?? "");
    workspace.drop("nov.csv", NOVEMBER);
    const view = await workspace.view();
    expect(await view.ports.imports.parse("nov.csv", { all: false })).toEqual([]);
    const receipt = await view.ports.imports.markProcessed("nov.csv");
    expect(receipt).toMatchObject({ new: 0, account: "", refused: [{ line: 0, code: "STATEMENT_ACCOUNT" }] });
    expect(view.takeChanges().filter((change) => change.op === "review")).toMatchObject([
      {
        rows: { kind: "account", hash: receipt.hash, match: { file: "nov.csv", dialect: "generic" } },
        title: expect.stringMatching(/^nov\.csv: which account of the books is the account of nov\.csv \(content [0-9a-f]{12}\)\?$/),
      },
    ]);
  });

  test("resumed from its recorded steps gives the same receipt and the same books, though the file is gone", async () => {
    workspace.drop("nov.csv", NOVEMBER);
    const plain = memoryWorkspace();
    plain.drop("nov.csv", NOVEMBER);
    const expected = await importAll(plain, ["nov.csv"]);
    plain.dispose();
    const first = await workspace.view();
    const rows = await first.ports.imports.parse("nov.csv", { all: false });
    const steps = [stepOf(1, "importer_parse", rows as never, first.takeChanges())];
    const answers = await book(first, rows.slice(0, 2));
    steps.push(stepOf(2, "journal_add_many", answers as never, first.takeChanges()));
    rmSync(join(workspace.dir, "import/nov.csv"));
    const second = await workspace.view();
    for (const step of JSON.parse(JSON.stringify(steps))) second.restore(step);
    await book(second, rows.slice(2));
    expect(await second.ports.imports.markProcessed("nov.csv")).toEqual(expected[0]);
    await commit(second);
    expect(workspace.files).toEqual(plain.files);
  });

  test("in any split, order and repetition ends in the same books", async () => {
    const rows = Array.from(
      { length: 12 },
      (_, i) =>
        [
          `2026-${i < 6 ? "10" : "11"}-${String(3 + 2 * (i % 6)).padStart(2, "0")}`,
          i % 3 === 0 ? "TWIN" : `R${i}`,
          i % 2 === 0 ? -137 * (i + 1) : 911 * i,
        ] as const,
    );
    const day = (i: number): number => rows.slice(0, i).reduce((sum, row) => sum + row[2], 500_00);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(11), fc.nat(11)), { minLength: 1, maxLength: 6 }), async (ranges) => {
        const own = memoryWorkspace();
        try {
          const covered = new Set<number>();
          for (const [n, [a, b]] of [...ranges, [0, 11] as [number, number]].entries()) {
            const [from, to] = [Math.min(a, b), Math.max(a, b)];
            own.drop(`s${n}.csv`, statement(day(from), rows.slice(from, to + 1)));
            const [receipt] = await importAll(own, [`s${n}.csv`], `run_${n}`);
            for (let i = from; i <= to; i++) covered.add(i);
            const {
              rows: all,
              new: fresh,
              known,
              twin,
              refused,
              unbooked,
            } = receipt ?? { rows: 0, new: 0, known: 0, twin: 0, refused: [], unbooked: [] };
            expect(fresh + known + twin + refused.length + unbooked.length).toBe(all);
          }
          const verified = await verifyBooks(memoryTree(own.files));
          expect(verified.findings).toEqual([]);
          expect(verified.balances["Assets:Bank:Checking"]).toEqual({ USD: (day(12) / 100).toFixed(2) });
          expect(verified.balances["Equity:Opening Balances"]).toEqual({ USD: "-500.00" });
        } finally {
          own.dispose();
        }
      }),
      { numRuns: 25 },
    );
  });
});
