/** Sums are of everything or refused, and an assertion that was broken by hand accepts what makes it true again. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { confirmEntry } from "../../runtime/workspace/books/decisions.ts";
import { totalsOf } from "../../runtime/workspace/books/assertions.ts";
import { verifyBooks } from "../../runtime/workspace/books/verify.ts";
import { book, commit, draft, importAll, memoryWorkspace, statement, type Workspace } from "./books-bench.ts";
import { expectSound, memoryTree } from "./memory-tree.ts";

let workspace: Workspace;
beforeEach(async () => {
  workspace = memoryWorkspace();
  workspace.drop(
    "oct.csv",
    statement(10_000, [
      ["2026-10-02", "RENT", -3000],
      ["2026-10-05", "GITHUB", -2100],
      ["2026-10-09", "CLIENT", 5000],
    ]),
  );
  await importAll(workspace, ["oct.csv"]);
});
afterEach(() => workspace.dispose());

const OCTOBER = "journal/2026/10.journal";
const edit = (path: string, change: (text: string) => string): void => {
  const was = workspace.files.get(path) ?? "";
  const now = change(was);
  expect(now).not.toBe(was);
  workspace.files.set(path, now);
};
const entryOf = (word: string): string => (workspace.files.get(OCTOBER) ?? "").split("\n\n").find((one) => one.includes(word)) ?? "";
const idOf = (word: string): string => /\((\S+)\)/.exec(entryOf(word))?.[1] ?? "";
const refused = { code: "JOURNAL_FORM" };

describe.each([
  ["whose first line is spoiled", OCTOBER, (t: string) => t.replace(/^2026-10-05 \* /m, "2026-10-05 ")],
  ["with an amount nobody can read", OCTOBER, (t: string) => t.replace("  21.00 USD", "  21,00 USD")],
  ["without a status", OCTOBER, (t: string) => t.replace(/( {4}; run: .*\n) {4}; status: auto-confirmed\n( {4}Expenses)/, "$1$2")],
  ["between the marks of a conflict", OCTOBER, (t: string) => t.replace(/^2026-10-05/m, "<<<<<<< HEAD\n2026-10-05")],
  ["that an editor has indented", OCTOBER, (t: string) => t.replace(/^2026-10-05/m, " 2026-10-05")],
  ["in a file with the line ends of Windows", OCTOBER, (t: string) => t.replaceAll("\n", "\r\n")],
  ["that stands in another month's file", OCTOBER, (t: string) => t.replace(/^2026-10-05 \*/m, "2026-09-05 *")],
])("an entry %s", (_, path, change) => {
  beforeEach(() => edit(path, change));

  test("is in no sum, and every sum says so", async () => {
    const view = await workspace.view("run_2");
    const { books } = view.ports;
    await expect(books.balance("1010")).rejects.toMatchObject(refused);
    await expect(books.query({})).rejects.toMatchObject(refused);
    await expect(books.query({ year: 2026, month: 10 })).rejects.toMatchObject(refused);
    await expect(totalsOf(memoryTree(workspace.files))).rejects.toMatchObject(refused);
  });

  test("stops what touches its month, and nothing is booked again", async () => {
    const before = new Map(workspace.files);
    workspace.drop("again.csv", statement(7000, [["2026-10-05", "GITHUB", -2100]]));
    await expect(importAll(workspace, ["again.csv"], "run_2")).rejects.toMatchObject(refused);
    const { books } = (await workspace.view("run_3")).ports;
    await expect(books.add([draft("x", { date: "2026-10-20" })])).rejects.toMatchObject(refused);
    await expect(books.void(idOf("RENT"), "r")).rejects.toMatchObject(refused);
    expect(workspace.files).toEqual(before);
  });

  test("does not stop what does not touch its month", async () => {
    const view = await workspace.view("run_2");
    const [added] = await view.ports.books.add([draft("x", { date: "2026-11-20" })]);
    await commit(view);
    expect(await view.ports.books.query({ id: added?.entry_id ?? "" })).toHaveLength(1);
    expect(await view.ports.books.query({ year: 2026, month: 11 })).toHaveLength(1);
  });

  test("allows rows of another month to be booked, and their balance is not reported to tie", async () => {
    workspace.drop("nov.csv", statement(9900, [["2026-11-20", "COFFEE", -400]]));
    const view = await workspace.view("run_2");
    await book(view, await view.ports.imports.parse("nov.csv", { all: false }));
    await view.ports.imports.markProcessed("nov.csv");
    const told = view.takeChanges().flatMap((one) => (one.op === "review" ? [one.title] : []));
    expect(told).toEqual(["nov.csv: its balances are not compared with the books"]);
    await commit(view);
    expect(workspace.files.get("journal/2026/11.journal")).not.toContain("Statement balance");
  });
});

test("an unreadable entry is not reported as missing", async () => {
  const id = idOf("GITHUB");
  edit(OCTOBER, (t) => t.replace("  21.00 USD", "  21,00 USD"));
  expect((await verifyBooks(memoryTree(workspace.files))).whole).toBe(false);
  const decision = confirmEntry(memoryTree(workspace.files), id, { approve: true, by: "ann" }, { accounts: { suspense: "3900" } });
  await expect(decision).rejects.toMatchObject(refused);
});

test("entries in main.journal and removed months are in no sum, and every sum says so", async () => {
  const whole = new Map(workspace.files);
  for (const spoil of [
    () => edit("main.journal", (t) => `${t}\n2026-10-07 * Stamps\n    Expenses:Software  5.00 USD\n    Assets:Bank:Checking\n`),
    () => edit("main.journal", (t) => `${t}include journal/extra.journal\n`),
    () => void workspace.files.delete(OCTOBER),
  ]) {
    workspace.files = new Map(whole);
    spoil();
    const { books } = (await workspace.view("run_2")).ports;
    await expect(books.balance("1010")).rejects.toMatchObject(refused);
    await expect(books.query({})).rejects.toMatchObject(refused);
    expect((await verifyBooks(memoryTree(workspace.files))).whole).toBe(false);
  }
});

test("a remark hides no entry", async () => {
  edit(OCTOBER, (t) => `; my note\n\n${t}`);
  const { books } = (await workspace.view("run_2")).ports;
  expect(await books.balance("1010")).toEqual({ USD: "99.00" });
});

describe("an assertion that a person has broken by hand", () => {
  const remove = (...words: string[]): string[] => {
    const gone = words.map(entryOf);
    edit(OCTOBER, (t) =>
      t
        .split("\n\n")
        .filter((one) => !gone.includes(one))
        .join("\n\n"),
    );
    return gone;
  };
  const put = async (text: string): Promise<void> => {
    const view = await workspace.view("run_2");
    const [, date = ""] = /^(\S+) /.exec(text) ?? [];
    const [, key = ""] = /; key: (\S+)/.exec(text) ?? [];
    const [, amount = ""] = /Software {2}(\S+) USD/.exec(text) ?? [];
    await view.ports.books.add([
      draft(key, {
        date,
        legs: [
          { account: "5020", debit: amount },
          { account: "1010", credit: amount },
        ],
      }),
    ]);
    await commit(view);
  };

  test("accepts what makes it true again", async () => {
    const [github = ""] = remove("GITHUB");
    expect((await verifyBooks(memoryTree(workspace.files))).findings.map(({ code }) => code)).toEqual(["JOURNAL_ASSERTION"]);
    await put(github);
    await expectSound(workspace.files);
  });

  test("accepts what is missing one by one, and nothing beyond it", async () => {
    const [rent = "", github = ""] = remove("RENT", "GITHUB");
    await put(rent);
    expect((await verifyBooks(memoryTree(workspace.files))).findings).toHaveLength(1);
    await expect(put(rent.replace("key: ", "key: second:"))).rejects.toMatchObject({ code: "JOURNAL_ASSERTION" });
    await put(github);
    await expectSound(workspace.files);
    await expect(put(github.replace("key: ", "key: second:"))).rejects.toMatchObject({ code: "JOURNAL_ASSERTION" });
  });
});
