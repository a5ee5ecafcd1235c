/** Statements an accountant would try: closed periods, gaps and overlaps, odd years, other currencies. */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { EntryDraft, WorkspaceView } from "../../runtime/kernel/ports.ts";
import { confirmEntry } from "../../runtime/workspace/books/decisions.ts";
import { entryId } from "../../runtime/workspace/books/entry-id.ts";
import { verifyBooks } from "../../runtime/workspace/books/verify.ts";
import { book, commit, draft, importAll, memoryWorkspace, statement, type Workspace } from "./books-bench.ts";
import { expectSound, memoryTree } from "./memory-tree.ts";

let workspace: Workspace;
let view: WorkspaceView;
beforeEach(async () => {
  workspace = memoryWorkspace();
  view = await workspace.view();
});
afterEach(() => workspace.dispose());

const add = async (words: EntryDraft): Promise<string> => (await view.ports.books.add([words]))[0]?.entry_id ?? "";
const rules = { accounts: { suspense: "3900" } };
const close = (day: string): void =>
  void workspace.files.set("config.yaml", `${workspace.files.get("config.yaml") ?? ""}closed_through: ${day}\n`);

describe("a closed period", () => {
  const ROWS = [
    ["2026-10-30", "OLD", -1000],
    ["2026-10-31", "OLDER", -500],
    ["2026-11-02", "NEW", -200],
    ["2026-11-03", "NEWER", 7000],
  ] as const;

  test("refuses the rows in it and books the others, opened and proven", async () => {
    close("2026-10-31");
    workspace.drop("a.csv", statement(10_000, ROWS));
    const [receipt] = await importAll(workspace, ["a.csv"]);
    expect(receipt).toMatchObject({ rows: 4, new: 2, opening: "85.00", closing: "153.00", gap: null });
    expect(receipt?.refused.map(({ line, code }) => `${line} ${code}`)).toEqual(["2 JOURNAL_CLOSED", "3 JOURNAL_CLOSED"]);
    expect((await expectSound(workspace.files)).balances["Assets:Bank:Checking"]).toEqual({ USD: "153.00" });
    expect(workspace.files.has("journal/2026/10.journal")).toBe(false);
  });

  test("recognizes rows that were booked before it was closed", async () => {
    workspace.drop("a.csv", statement(10_000, ROWS.slice(0, 2)));
    await importAll(workspace, ["a.csv"]);
    close("2026-10-31");
    workspace.drop("b.csv", statement(10_000, ROWS));
    const [receipt] = await importAll(workspace, ["b.csv"], "run_2");
    expect(receipt).toMatchObject({ rows: 4, new: 2, known: 2, refused: [], closing: "153.00", gap: null });
    await expectSound(workspace.files);
  });

  test("keeps its entries as they are and says how a person can continue", async () => {
    const id = await add(draft("a"));
    await commit(view);
    const decision = confirmEntry(
      memoryTree(workspace.files),
      id,
      { approve: true, by: "ann" },
      { ...rules, closed_through: "2026-11-30" },
    );
    await expect(decision).rejects.toMatchObject({ code: "JOURNAL_CLOSED", message: expect.stringContaining("closed_through") });
    close("2026-11-19");
    const { void_entry_id } = await (await workspace.view("run_2")).ports.books.void(id, "wrong");
    expect(void_entry_id.slice(0, 6)).toBe("261120");
  });
});

test.each([
  ["1969-12-31", "2070-01-01"],
  ["0001-01-01", "9999-12-31"],
])("rows of %s and %s, which no entry can have, are refused and stop nothing", async (early, late) => {
  workspace.drop("a.csv", `Date,Description,Amount\n${early},A,1.00\n2026-11-02,B,2.00\n${late},C,3.00\n`);
  const [receipt] = await importAll(workspace, ["a.csv"]);
  expect(receipt).toMatchObject({
    new: 1,
    refused: [
      { line: 2, code: "STATEMENT_ROW" },
      { line: 4, code: "STATEMENT_ROW" },
    ],
  });
  await expectSound(workspace.files);
});

test("an opening that only the second statement states is adopted, whichever comes first", async () => {
  const balances: unknown[] = [];
  for (const order of [
    ["jan.csv", "feb.csv"],
    ["feb.csv", "jan.csv"],
  ]) {
    const own = memoryWorkspace();
    own.drop("jan.csv", "Date,Description,Amount\n2026-01-30,A,-10.00\n");
    own.drop("feb.csv", statement(9000, [["2026-02-02", "B", 500]]));
    for (const name of order) expect((await importAll(own, [name], name))[0]).toMatchObject({ gap: null, refused: [] });
    balances.push((await expectSound(own.files)).balances["Assets:Bank:Checking"]);
    own.dispose();
  }
  expect(balances).toEqual([{ USD: "95.00" }, { USD: "95.00" }]);
});

test("a gap between two statements is named on the receipt and reported, and closed by the one in between", async () => {
  workspace.drop("jan.csv", statement(10_000, [["2026-01-05", "A", 100]]));
  workspace.drop("feb.csv", statement(10_100, [["2026-02-05", "B", 200]]));
  workspace.drop("mar.csv", statement(10_300, [["2026-03-05", "C", 300]]));
  await importAll(workspace, ["jan.csv"]);
  const march = await workspace.view("run_2");
  await book(march, await march.ports.imports.parse("mar.csv", { all: false }));
  expect(await march.ports.imports.markProcessed("mar.csv")).toMatchObject({ gap: "2.00" });
  const notes = march.takeChanges().flatMap((change) => (change.op === "review" ? [change.title] : []));
  expect(notes).toEqual(["mar.csv: the bank says 106.00, which is 2.00 more than the books"]);
  await commit(march);
  await march.tidy();
  await expectSound(workspace.files);
  expect((await importAll(workspace, ["feb.csv"], "run_3"))[0]).toMatchObject({ gap: null });
  expect((await expectSound(workspace.files)).balances["Assets:Bank:Checking"]).toEqual({ USD: "106.00" });
});

test("two statements that meet within one day tie in either order", async () => {
  for (const order of [
    ["a.csv", "b.csv"],
    ["b.csv", "a.csv"],
  ]) {
    const own = memoryWorkspace();
    own.drop(
      "a.csv",
      statement(1000, [
        ["2026-01-30", "A", 100],
        ["2026-01-31", "B", 200],
      ]),
    );
    own.drop(
      "b.csv",
      statement(1300, [
        ["2026-01-31", "C", 400],
        ["2026-02-01", "D", 800],
      ]),
    );
    for (const name of order) expect((await importAll(own, [name], name))[0], `${order} ${name}`).toMatchObject({ gap: null });
    expect((await expectSound(own.files)).balances["Assets:Bank:Checking"], order.join()).toEqual({ USD: "25.00" });
    own.dispose();
  }
});

test("statements cut within days tie in any order, or are refused as a whole", async () => {
  const cut = fc.tuple(fc.nat(7), fc.nat(7)).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
  const check = async (steps: number[], cuts: (readonly [number, number])[]): Promise<void> => {
    const day = (i: number): string => `2026-10-${String(1 + steps.slice(0, i + 1).reduce((a, b) => a + b, 0)).padStart(2, "0")}`;
    const rows = steps.map((_, i) => [day(i), i % 3 === 0 ? "TWIN" : `R${i}`, i % 2 === 0 ? -137 * (i + 1) : 911 * i] as const);
    const at = (i: number): number => rows.slice(0, i).reduce((sum, row) => sum + row[2], 50_000);
    const own = memoryWorkspace();
    try {
      for (const [n, [from, to]] of [...cuts, [0, 7] as const].entries()) {
        own.drop("s.csv", statement(at(from), rows.slice(from, to + 1)));
        // What is missing within a day cannot be said in the books; then nothing of the statement is booked.
        await importAll(own, ["s.csv"], `run_${n}`).catch((error) => expect(error.code).toBe("JOURNAL_ASSERTION"));
        expect((await verifyBooks(memoryTree(own.files))).findings).toEqual([]);
      }
      const { balances } = await verifyBooks(memoryTree(own.files));
      expect(balances["Assets:Bank:Checking"]).toEqual({ USD: (at(8) / 100).toFixed(2) });
    } finally {
      own.dispose();
    }
  };
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 8, maxLength: 8 }),
      fc.array(cut, { minLength: 1, maxLength: 4 }),
      check,
    ),
    { numRuns: 30, seed: 7 },
  );
});

test.each([
  ["JPY", "1500", "-300", "1200", "1200.00"],
  ["KWD", "1.500", "-0.125", "1.375", "1.375"],
])("a statement in %s is opened, booked and proven in its own digits", async (currency, opening, amount, closing, expected) => {
  workspace.drop("a.csv", `Date,Description,Amount,Currency,Balance\n2026-11-02,A,${amount},${currency},${closing}\n`);
  workspace.files.set(
    "config.yaml",
    `${(workspace.files.get("config.yaml") ?? "").replace('"*"', `"*", currency: ${currency}`).trimEnd()}\n    dialect: generic\n    mapping: {columns: {date: Date, description: Description, amount: Amount, currency: Currency, balance: Balance}, date: YYYY-MM-DD}\n`,
  );
  const [receipt] = await importAll(workspace, ["a.csv"]);
  expect(receipt).toMatchObject({ currency, new: 1, opening, closing, gap: null });
  expect((await expectSound(workspace.files)).balances["Assets:Bank:Checking"]).toEqual({ [currency]: expected });
});

test("the turn of the year sorts entries and months by their days", async () => {
  workspace.drop(
    "a.csv",
    statement(0, [
      ["2026-12-31", "A", 100],
      ["2027-01-01", "B", 200],
    ]),
  );
  await importAll(workspace, ["a.csv"]);
  workspace.drop("b.csv", statement(-50, [["2025-12-31", "Z", 50]]));
  await importAll(workspace, ["b.csv"], "run_2");
  expect([...(workspace.files.get("main.journal") ?? "").matchAll(/^include journal\/(.*)\.journal$/gm)].map((match) => match[1])).toEqual([
    "2025/12",
    "2026/12",
    "2027/01",
  ]);
  await expectSound(workspace.files);
});

test("a row booked by another run meanwhile is not booked again", async () => {
  workspace.drop(
    "a.csv",
    statement(0, [
      ["2026-11-02", "A", -1000],
      ["2026-11-02", "A", -1000],
    ]),
  );
  const other = await workspace.view("run_2");
  await book(view, await view.ports.imports.parse("a.csv", { all: false }));
  await book(other, await other.ports.imports.parse("a.csv", { all: false }));
  await commit(view);
  await commit(other);
  expect((await expectSound(workspace.files)).balances["Assets:Bank:Checking"]).toEqual({ USD: "-20.00" });
});

describe("a rule that names its account", () => {
  const NAME = "Assets:Bank:Checking";
  const byName = (): void =>
    void workspace.files.set("config.yaml", workspace.files.get("config.yaml")?.replace("account: 1010", `account: ${NAME}`) ?? "");
  const ROWS = [
    ["2026-11-02", "COFFEE", -450],
    ["2026-11-02", "COFFEE", -450],
    ["2026-11-05", "GITHUB", -2100],
    ["2026-11-09", "CLIENT", 5000],
  ] as const;
  /** The workspace as versions left it that began keys with the name. */
  const asBefore = (): void => {
    const texts = [...workspace.files];
    const ids = texts.flatMap(([, text]) =>
      [...text.matchAll(/^(\d{4}-\d\d-\d\d) . \(\d{6}-(\w{10})\)(?:.*\n)+? {4}; key: (.*)$/gm)].map(
        ([, day = "", letters = "", key = ""]) => {
          const former = key.replace(/(^|:)1010(?=:|$)/, `$1${NAME}`);
          return { key, former, letters, as: entryId(day, former).slice(7) };
        },
      ),
    );
    for (const [path, text] of texts) {
      const former = ids.reduce(
        (now, one) => now.replaceAll(one.letters, one.as).replace(`key: ${one.key}\n`, `key: ${one.former}\n`),
        text,
      );
      workspace.files.set(path, former.replaceAll('account: "1010"', `account: ${NAME}`).replace(/(\w{10}=)-?[\d.]+/g, "$1"));
    }
  };

  test("books no row of the number's statements again, and keys, claims and receipts have the number", async () => {
    workspace.drop("a.csv", statement(10_000, ROWS.slice(0, 3)));
    await importAll(workspace, ["a.csv"]);
    byName();
    workspace.drop("b.csv", statement(10_000, ROWS));
    expect(await importAll(workspace, ["b.csv"], "run_2")).toMatchObject([{ account: "1010", new: 1, known: 3, gap: null }]);
    expect([...workspace.files].filter(([, text]) => /(?:key:|account:) .*Assets/.test(text)).map(([path]) => path)).toEqual([
      "config.yaml",
    ]);
    await expectSound(workspace.files);
  });

  test("rows that were booked under the name are known, also those that somebody has deleted", async () => {
    workspace.drop("a.csv", statement(10_000, ROWS.slice(0, 3)));
    await importAll(workspace, ["a.csv"]);
    asBefore();
    expect(workspace.files.get("journal/2026/11.journal")).toContain(`; key: ${NAME}:20261105:-21.00:`);
    workspace.drop("b.csv", statement(10_000, ROWS));
    expect(await importAll(workspace, ["b.csv"], "run_2")).toMatchObject([{ account: "1010", rows: 4, new: 1, known: 3, gap: null }]);
    expect((await expectSound(workspace.files)).balances[NAME]).toEqual({ USD: "120.00" });
    // The same payment in another format is asked about.
    workspace.drop("c.csv", "Date,Description,Amount\n2026-11-05,GITHUB INC,-21.00\n");
    expect(await importAll(workspace, ["c.csv"], "run_3")).toMatchObject([{ new: 0, asked: [{ why: "day" }] }]);
    const journal = workspace.files.get("journal/2026/11.journal") ?? "";
    const gone = journal.split("\n\n").filter((entry) => !entry.includes("GITHUB") && !entry.includes("Statement balance"));
    workspace.files.set("journal/2026/11.journal", gone.join("\n\n"));
    workspace.drop("d.csv", statement(7000, ROWS.slice(2)));
    expect(await importAll(workspace, ["d.csv"], "run_4")).toMatchObject([{ new: 0, known: 1, removed: [expect.any(String)] }]);
  });
});

test("a statement of an account that no bank has statements of is refused, not booked", async () => {
  workspace.files.set("config.yaml", (workspace.files.get("config.yaml") ?? "").replace("account: 1010", "account: 4010"));
  workspace.drop("a.csv", statement(10_000, [["2026-11-02", "COFFEE", -450]]));
  const [receipt] = await importAll(workspace, ["a.csv"]);
  expect(receipt).toMatchObject({
    new: 0,
    refused: [{ code: "CONFIG_INVALID", message: expect.stringContaining("4010: Income:Services") }],
  });
  expect([...workspace.files.keys()].filter((path) => path.startsWith("journal/"))).toEqual([]);
});
