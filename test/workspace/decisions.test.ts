/** What a person's decision does to the books, and what becomes of it when an entry is voided. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { EntryDraft, WorkspaceView } from "../../runtime/kernel/ports.ts";
import { closeRow, confirmEntry } from "../../runtime/workspace/books/decisions.ts";
import { verifyBooks } from "../../runtime/workspace/books/verify.ts";
import { commit, draft, importAll, memoryWorkspace, statement, type Workspace } from "./books-bench.ts";
import { expectSound, memoryTree, withChanges } from "./memory-tree.ts";

let workspace: Workspace;
let view: WorkspaceView;
beforeEach(async () => {
  workspace = memoryWorkspace();
  view = await workspace.view();
});
afterEach(() => workspace.dispose());

const add = async (words: EntryDraft): Promise<string> => (await view.ports.books.add([words]))[0]?.entry_id ?? "";
const rules = { accounts: { suspense: "3900" } };
const decide = async (id: string, decision: Parameters<typeof confirmEntry>[2]): Promise<void> => {
  workspace.files = withChanges(workspace.files, await confirmEntry(memoryTree(workspace.files), id, decision, rules));
};
const JOURNAL = "journal/2026/11.journal";

describe("a person's decision", () => {
  const pending = async (): Promise<string> => {
    workspace.drop("a.csv", statement(0, [["2026-11-02", "A", -1000]]));
    const rows = await view.ports.imports.parse("a.csv", { all: false });
    const [entry] = await view.ports.books.add(rows.map((row) => draft("", { date: row.date, reference: row.reference })));
    await commit(view);
    return entry?.entry_id ?? "";
  };

  test.each([
    ["approves", { approve: true, by: "ann" }, "user-confirmed", "Expenses:Software"],
    ["approves on another account", { approve: true, by: "ann", account: "5030" }, "user-corrected", "Expenses:Office Supplies"],
    ["rejects", { approve: false, by: "ann", reason: "not ours" }, "user-corrected", "Equity:Suspense"],
  ] as const)("that %s changes the entry in place, and again nothing", async (_, decision, status, account) => {
    const id = await pending();
    const decide = () => confirmEntry(memoryTree(workspace.files), id, decision, rules);
    workspace.files = withChanges(workspace.files, await decide());
    await expectSound(workspace.files);
    const [entry] = await view.ports.books.query({ id });
    expect(entry).toMatchObject({
      status,
      tags: { by: "ann" },
      postings: [{ account, amount: "10.00" }, { account: "Assets:Bank:Checking" }],
    });
    expect(await decide()).toEqual(new Map());
    await expect(confirmEntry(memoryTree(workspace.files), id, { approve: true, by: "bob", account: "4010" }, rules)).rejects.toMatchObject(
      { code: "JOURNAL_STATUS" },
    );
  });

  test("on a refused row removes it from the receipt, so that the file can be moved", async () => {
    workspace.drop("a.csv", "Date,Description,Amount\n2026-11-02,A,10.00\n2026-02-30,B,1.00\n");
    const [receipt] = await importAll(workspace, ["a.csv"]);
    const hash = receipt?.hash ?? "";
    workspace.files = withChanges(workspace.files, await closeRow(memoryTree(workspace.files), hash, 3, true));
    expect(workspace.files.get(`import/receipts/${hash}.yaml`)).toContain("refused: []");
    expect(await closeRow(memoryTree(workspace.files), hash, 3, true)).toEqual(new Map());
    await view.tidy();
    expect(await (await workspace.view()).ports.imports.scan()).toEqual([]);
    await expect(closeRow(memoryTree(workspace.files), "../x", 3, true)).rejects.toMatchObject({ code: "FILE_MISSING" });
  });
});

describe("a correction", () => {
  test("of a voided entry does not change its legs, so that both still cancel out", async () => {
    const id = await add(draft("a"));
    await commit(view);
    await view.ports.books.void(id, "twice");
    await commit(view);
    await expect(decide(id, { approve: true, by: "ann", account: "5030" })).rejects.toMatchObject({ code: "JOURNAL_STATUS" });
    await decide(id, { approve: false, by: "ann" });
    await decide(id, { approve: false, by: "ann" });
    expect((await expectSound(workspace.files)).balances).toEqual({});
    expect((await view.ports.books.query({ id }))[0]).toMatchObject({ status: "user-confirmed", tags: { by: "ann", note: "rejected" } });
  });

  test("between a void and its commit makes the run start again", async () => {
    const id = await add(draft("a"));
    await commit(view);
    await view.ports.books.void(id, "twice");
    await decide(id, { approve: false, by: "ann" });
    await expect(commit(view)).rejects.toMatchObject({ code: "WORKSPACE_CONFLICT" });
  });

  test("of a voided entry made by hand is found by verify", async () => {
    const id = await add(draft("a"));
    await commit(view);
    await view.ports.books.void(id, "twice");
    await commit(view);
    workspace.files.set(
      JOURNAL,
      (workspace.files.get(JOURNAL) ?? "").replace("Expenses:Software  10.00", "Expenses:Office Supplies  10.00"),
    );
    const { findings } = await verifyBooks(memoryTree(workspace.files));
    expect(findings).toMatchObject([
      { code: "JOURNAL_STATUS", message: expect.stringContaining(`voids ${id}, whose legs it does not mirror`) },
    ]);
  });

  test("by two runs on two days voids once", async () => {
    const id = await add(draft("a"));
    await commit(view);
    const other = await workspace.view("run_2");
    await view.ports.books.void(id, "twice");
    workspace.today = "2026-11-21";
    await other.ports.books.void(id, "twice");
    await commit(view);
    await expect(commit(other)).rejects.toMatchObject({ code: "WORKSPACE_CONFLICT" });
    expect((await expectSound(workspace.files)).balances).toEqual({});
  });

  test("that rejects an entry of several expenses sets all of them aside", async () => {
    const id = await add(
      draft("a", {
        legs: [
          { account: "5020", debit: "6.00" },
          { account: "5030", debit: "4.00" },
          { account: "1010", credit: "10.00" },
        ],
      }),
    );
    await commit(view);
    await expect(decide(id, { approve: true, by: "ann", account: "4010" })).rejects.toMatchObject({ code: "JOURNAL_STATUS" });
    await decide(id, { approve: false, by: "ann" });
    await decide(id, { approve: false, by: "ann" });
    expect((await expectSound(workspace.files)).balances).toEqual({
      "Assets:Bank:Checking": { USD: "-10.00" },
      "Equity:Suspense": { USD: "10.00" },
    });
  });

  test("to the account of the entry's other leg is refused, because it would cancel the bank's row", async () => {
    const id = await add(draft("a"));
    await commit(view);
    await expect(decide(id, { approve: true, by: "ann", account: "1010" })).rejects.toMatchObject({ code: "JOURNAL_LEG" });
  });

  test("after the balance was proven keeps the proof", async () => {
    workspace.drop("a.csv", statement(0, [["2026-11-02", "A", -1000]]));
    const rows = await view.ports.imports.parse("a.csv", { all: false });
    const [entry] = await view.ports.books.add(rows.map((row) => draft("", { date: row.date, reference: row.reference })));
    await view.ports.imports.markProcessed("a.csv");
    await commit(view);
    await decide(entry?.entry_id ?? "", { approve: false, by: "ann" });
    expect(workspace.files.get(JOURNAL)).toContain("Statement balance");
    await expectSound(workspace.files);
  });
});
