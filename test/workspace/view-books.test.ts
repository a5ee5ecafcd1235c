import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { EntryDraft, WorkspaceView } from "../../runtime/kernel/ports.ts";
import { confirmEntry } from "../../runtime/workspace/books/decisions.ts";
import { verifyBooks } from "../../runtime/workspace/books/verify.ts";
import { book, commit, draft, importAll, memoryWorkspace, money, statement, stepOf, type Workspace } from "./books-bench.ts";
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

describe("an entry that is added", () => {
  test.each([
    [
      "unbalanced legs",
      {
        legs: [
          { account: "5020", debit: "10.00" },
          { account: "1010", credit: "9.99" },
        ],
      },
      "JOURNAL_UNBALANCED",
      "0.01 USD",
    ],
    [
      "currencies mixed without a price",
      {
        legs: [
          { account: "5020", debit: "10.00", currency: "EUR" },
          { account: "1010", credit: "10.00" },
        ],
      },
      "JOURNAL_UNBALANCED",
      "EUR",
    ],
    [
      "a leg with debit and credit",
      {
        legs: [
          { account: "5020", debit: "1", credit: "1" },
          { account: "1010", credit: "1" },
        ],
      },
      "JOURNAL_LEG",
      "exactly one",
    ],
    ["a leg with neither", { legs: [{ account: "5020" }, { account: "1010", credit: "1" }] }, "JOURNAL_LEG", "exactly one"],
    [
      "a negative amount",
      {
        legs: [
          { account: "5020", debit: "-1" },
          { account: "1010", credit: "1" },
        ],
      },
      "JOURNAL_LEG",
      "positive",
    ],
    [
      "zero",
      {
        legs: [
          { account: "5020", debit: "0.00" },
          { account: "1010", credit: "0" },
        ],
      },
      "JOURNAL_LEG",
      "positive",
    ],
    ["one leg", { legs: [{ account: "5020", debit: "1" }] }, "JOURNAL_LEG", "only one leg"],
    ["no legs", { legs: [] }, "JOURNAL_LEG", "no legs"],
    [
      "an unknown account",
      {
        legs: [
          { account: "5021", debit: "1" },
          { account: "1010", credit: "1" },
        ],
      },
      "ACCOUNT_UNKNOWN",
      'Did you mean "5020"',
    ],
    [
      "a float's text",
      {
        legs: [
          { account: "5020", debit: "1e3" },
          { account: "1010", credit: "1e3" },
        ],
      },
      "JOURNAL_AMOUNT",
      "1e3",
    ],
    [
      "too many decimals",
      {
        legs: [
          { account: "5020", debit: "1.001" },
          { account: "1010", credit: "1.001" },
        ],
      },
      "JOURNAL_AMOUNT",
      "more than 2 digits",
    ],
    ["30 February", { date: "2026-02-30" }, "JOURNAL_DATE", "2026-02-30"],
    ["no key", { key: undefined }, "JOURNAL_KEY", "no reference and no key"],
    ["a reference of no row", { key: undefined, reference: "R1" }, "JOURNAL_KEY", '"R1"'],
    ["a tag of the books", { tags: { voids: "x" } }, "PARAMS_INVALID", "voids"],
    ["a tag that is no name", { tags: { "a b": "x" } }, "PARAMS_INVALID", "a b"],
    ["the status voided", { status: "voided" as const }, "JOURNAL_STATUS", "journal_void"],
  ])("with %s is refused and changes nothing", async (_, words, code, message) => {
    await expect(view.ports.books.add([draft("ok"), draft("k", words as Partial<EntryDraft>)])).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
    expect([view.dirty(), view.takeChanges(), await view.ports.books.query({})]).toEqual([false, [], []]);
  });

  test("accepts numbers and names of accounts, prices in another currency, and declares what is new", async () => {
    await add(
      draft("fx", {
        tags: { conf: "0.9" },
        legs: [
          { account: "Expenses:Software", debit: "90", currency: "CHF", cost: { amount: "100.00", currency: "USD" } },
          { account: "1010", credit: "100" },
        ],
      }),
    );
    await commit(view);
    const { balances } = await expectSound(workspace.files);
    expect(balances["Expenses:Software"]).toEqual({ CHF: "90.00" });
    expect(workspace.files.get("main.journal")).toContain("commodity CHF\n    format 1,000.00 CHF\n");
    expect(workspace.files.get("main.journal")).toContain("tag conf\n");
  });

  test("under an existing key is known, in the run, in the call and in the books", async () => {
    const [a, b] = await view.ports.books.add([draft("rent"), draft("rent")]);
    expect([a?.known, b?.known, a?.entry_id === b?.entry_id]).toEqual([false, true, true]);
    expect((await view.ports.books.add([draft("rent")]))[0]?.known).toBe(true);
    await commit(view);
    const other = await workspace.view("run_2");
    expect((await other.ports.books.add([draft("rent")]))[0]).toEqual({ entry_id: a?.entry_id, known: true });
    expect(other.dirty()).toBe(false);
  });

  test("for a row a second time is a second entry, also if the first was known and after a resume", async () => {
    workspace.drop("a.csv", statement(0, [["2026-11-02", "A", -1000]]));
    await importAll(workspace, ["a.csv"], "run_0");
    workspace.drop("a.csv", statement(0, [["2026-11-02", "A", -1000]]));
    const rows = await view.ports.imports.parse("a.csv", { all: true });
    const steps = [stepOf(1, "importer_parse", rows as never, view.takeChanges())];
    expect((await book(view, rows))[0]?.known).toBe(true);
    steps.push(stepOf(2, "journal_add_many", [], view.takeChanges()));
    const resumed = await workspace.view();
    for (const step of steps) resumed.restore(step);
    const [again] = await book(resumed, rows);
    expect(again).toEqual((await book(view, rows))[0]);
    expect(again?.known).toBe(false);
    await expect(book(resumed, [{ ...rows[0]!, date: "2026-11-03" }])).rejects.toMatchObject({ code: "JOURNAL_DATE" });
  });

  test("in a closed period is refused, also if the period was closed while the run waited", async () => {
    await add(draft("a"));
    workspace.files.set("config.yaml", `${workspace.files.get("config.yaml") ?? ""}closed_through: 2026-11-30\n`);
    await expect(view.check()).rejects.toMatchObject({ code: "JOURNAL_CLOSED" });
    await expect((await workspace.view()).ports.books.add([draft("b")])).rejects.toMatchObject({ code: "JOURNAL_CLOSED" });
  });
});

test.each(["opening:1010", "closing:1010:2026-11-06:abcdef01", "void:261106-9sd0ee4k2m"])(
  "the key %j of the books themselves cannot be used by a script",
  async (key) => {
    await expect(add(draft(key))).rejects.toMatchObject({ code: "JOURNAL_KEY" });
  },
);

describe("the books of a run", () => {
  test("show HEAD and what the run wrote, by every filter", async () => {
    const first = await add(draft("a", { description: "GitHub seats" }));
    await commit(view);
    const second = await add(draft("b", { date: "2026-10-01", counterparty: "Amazon", status: "auto-confirmed" }));
    const ids = async (filter: object): Promise<string[]> => (await view.ports.books.query(filter)).map((entry) => entry.id);
    expect(await ids({})).toEqual([second, first]);
    expect([
      await ids({ status: "pending-review" }),
      await ids({ year: 2026, month: 10 }),
      await ids({ text: "amaz" }),
      await ids({ id: first }),
      await ids({ account: "4010" }),
      await ids({ limit: 1 }),
    ]).toEqual([[first], [second], [second], [first], [], [second]]);
    expect(await view.ports.books.balance("1010")).toEqual({ USD: "-20.00" });
    expect(await view.ports.books.balance("Assets:Bank:Checking", "2026-10-31")).toEqual({ USD: "-10.00" });
    expect(view.ports.books.last()).toBe(second);
    await expect(view.ports.books.balance("9")).rejects.toMatchObject({ code: "ACCOUNT_UNKNOWN" });
  });

  test("void by a mirror image dated today, once", async () => {
    const id = await add(draft("a", { status: "auto-confirmed" }));
    await commit(view);
    const { void_entry_id } = await view.ports.books.void(id, "twice");
    await expect(view.ports.books.void(id, "again")).rejects.toMatchObject({ code: "JOURNAL_STATUS" });
    await expect(view.ports.books.void(void_entry_id, "no")).rejects.toMatchObject({ code: "JOURNAL_STATUS" });
    await expect(view.ports.books.void("261106-0000000000", "no")).rejects.toMatchObject({ code: "JOURNAL_ENTRY_MISSING" });
    await commit(view);
    const [reversal] = await view.ports.books.query({ id: void_entry_id });
    expect(reversal).toMatchObject({ date: "2026-11-20", status: "voided", tags: { voids: id, note: "twice" } });
    const { balances } = await expectSound(workspace.files);
    expect(balances).toEqual({});
    await expect((await workspace.view("run_2")).ports.books.void(id, "again")).rejects.toMatchObject({ code: "JOURNAL_STATUS" });
  });

  test("change the status of a pending entry only, in place", async () => {
    const id = await add(draft("a"));
    await commit(view);
    await view.ports.books.setStatus(id, "user-confirmed");
    await expect(view.ports.books.setStatus(id, "pending-review")).rejects.toMatchObject({ code: "JOURNAL_STATUS" });
    await commit(view);
    expect(workspace.files.get("journal/2026/11.journal")).toMatch(/^2026-11-06 \* .*\n.*\n.*\n {4}; status: user-confirmed\n/);
    await expectSound(workspace.files);
  });

  test("refuse a commit over an entry that a person decided meanwhile", async () => {
    const id = await add(draft("a"));
    await commit(view);
    await view.ports.books.setStatus(id, "auto-confirmed");
    workspace.files = withChanges(
      workspace.files,
      await confirmEntry(memoryTree(workspace.files), id, { approve: true, by: "ann" }, rules),
    );
    await expect(commit(view)).rejects.toMatchObject({ code: "WORKSPACE_CONFLICT" });
  });

  test("refuse a commit into a month that somebody wrote in another form, naming the line", async () => {
    workspace.files.set("journal/2026/11.journal", "; my note\n");
    await add(draft("a"));
    await expect(commit(view)).rejects.toMatchObject({ code: "JOURNAL_FORM", at: { file: "journal/2026/11.journal", line: 1 } });
  });

  test("stay valid under any sequence of adds, voids, status changes and commits", async () => {
    const action = fc.oneof(
      fc.record({
        do: fc.constant("add" as const),
        day: fc.integer({ min: 1, max: 28 }),
        month: fc.integer({ min: 9, max: 11 }),
        cents: fc.integer({ min: 1, max: 10_000_000 }),
        text: fc.string({ unit: "binary", maxLength: 20 }),
      }),
      fc.record({ do: fc.constantFrom("void" as const, "status" as const), at: fc.nat(20) }),
      fc.record({ do: fc.constant("commit" as const) }),
    );
    let n = 0;
    let sample = new Map<string, string>();
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 25 }), async (actions) => {
        const own = memoryWorkspace();
        try {
          const run = await own.view();
          const ids: string[] = [];
          for (const step of actions) {
            if (step.do === "commit") await commit(run);
            else if (step.do === "add") {
              const amount = money(step.cents);
              const date = `2026-${String(step.month).padStart(2, "0")}-${String(step.day).padStart(2, "0")}`;
              const legs = [
                { account: "5030", debit: amount },
                { account: "2010", credit: amount },
              ];
              ids.push(
                (
                  await run.ports.books.add([draft(`k${n++}${step.text}`, { date, legs, description: step.text, counterparty: step.text })])
                )[0]?.entry_id ?? "",
              );
            } else if (ids.length > 0) {
              const id = ids[step.at % ids.length] ?? "";
              const change = step.do === "void" ? run.ports.books.void(id, "r") : run.ports.books.setStatus(id, "user-confirmed");
              await change.catch((error) => expect(error.code).toBe("JOURNAL_STATUS"));
            }
          }
          await commit(run);
          expect((await verifyBooks(memoryTree(own.files))).findings).toEqual([]);
          if (own.files.size >= sample.size) sample = own.files;
        } finally {
          own.dispose();
        }
      }),
      { numRuns: 60 },
    );
    await expectSound(sample);
  });
});
