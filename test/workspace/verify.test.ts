/** What verify finds, and that books in the canonical form are accepted, whoever wrote them and whatever words are in them. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { EntryDraft, WorkspaceView } from "../../runtime/kernel/ports.ts";
import { entryId } from "../../runtime/workspace/books/entry-id.ts";
import { verifyBooks } from "../../runtime/workspace/books/verify.ts";
import { commit, draft, importAll, memoryWorkspace, statement, type Workspace } from "./books-bench.ts";
import { expectSound, memoryTree } from "./memory-tree.ts";

let workspace: Workspace;
let view: WorkspaceView;
beforeEach(async () => {
  workspace = memoryWorkspace();
  view = await workspace.view();
});
afterEach(() => workspace.dispose());

const add = async (words: EntryDraft): Promise<string> => (await view.ports.books.add([words]))[0]?.entry_id ?? "";
const JOURNAL = "journal/2026/11.journal";

describe("verify", () => {
  const spoil = async (edit: (text: string) => string, path = "journal/2026/11.journal"): Promise<string[]> => {
    workspace.drop(
      "a.csv",
      statement(5000, [
        ["2026-11-02", "A", -1000],
        ["2026-11-04", "B", -500],
      ]),
    );
    await importAll(workspace, ["a.csv"]);
    expect((await verifyBooks(memoryTree(workspace.files))).findings).toEqual([]);
    workspace.files.set(path, edit(workspace.files.get(path) ?? ""));
    return (await verifyBooks(memoryTree(workspace.files))).findings.map(({ code, at }) => `${code} ${at.file}:${at.line}`);
  };
  const J = "journal/2026/11.journal";
  test.each([
    ["an entry copied", (t: string) => `${t}\n${t.split("\n\n")[0] ?? ""}\n`, [`JOURNAL_DUPLICATE ${J}:`, `JOURNAL_ASSERTION ${J}:`]],
    ["an amount changed on both legs", (t: string) => t.replaceAll("5.00 USD", "6.00 USD"), [`JOURNAL_ASSERTION ${J}:`]],
    ["an amount changed on one leg", (t: string) => t.replace("  5.00 USD", "  6.00 USD"), [`JOURNAL_UNBALANCED ${J}:`]],
    [
      "a day moved out of the month",
      (t: string) => t.replace("2026-11-02 * (", "2026-12-02 * ("),
      [`JOURNAL_DATE ${J}:`, `JOURNAL_KEY ${J}:`],
    ],
    ["a key changed", (t: string) => t.replace("; key: 1010:", "; key: 1011:"), [`JOURNAL_KEY ${J}:`]],
    ["an unknown account", (t: string) => t.replace("Expenses:Software", "Expenses:Softwear"), [`ACCOUNT_UNKNOWN ${J}:`]],
    ["too many decimals", (t: string) => t.replaceAll("5.00 USD", "5.001 USD"), [`JOURNAL_AMOUNT ${J}:`]],
    ["an undeclared tag", (t: string) => t.replace("    ; key", "    ; abc: 1\n    ; key"), [`JOURNAL_FORM ${J}:`]],
    ["legs removed", (t: string) => t.replace(/ {4}Expenses:Software {2}5.00 USD\n.*\n/, ""), [`JOURNAL_LEG ${J}:`]],
  ])("finds %s", async (_, edit, expected) => {
    const found = await spoil(edit);
    for (const start of expected)
      expect(
        found.some((line) => line.startsWith(start)),
        `${start} in ${found.join(", ")}`,
      ).toBe(true);
  });

  test("lists the first two hundred findings of a file, and counts the rest", async () => {
    workspace.files.set(J, "x\n".repeat(70_000));
    const { findings } = await verifyBooks(memoryTree(workspace.files));
    const inFile = findings.filter(({ at }) => at.file === J);
    expect(inFile.length).toBeLessThanOrEqual(201);
    expect(inFile.at(-1)?.message).toMatch(/\(\d+ more findings in journal\/2026\/11\.journal are not listed\.\)$/);
  });

  test("finds a missing include and a missing main.journal", async () => {
    expect(await spoil((t) => t.replace(/include .*\n/, ""), "main.journal")).toEqual([`JOURNAL_FORM ${J}:1`]);
    workspace.files.delete("main.journal");
    expect((await verifyBooks(memoryTree(workspace.files))).findings.map((finding) => finding.code)).toEqual(["FILE_MISSING"]);
  });

  test("finds accounts that config.yaml names and the chart lacks, or no bank has statements of", async () => {
    const { findings } = await verifyBooks(memoryTree(workspace.files), {
      accounts: { opening: "3010", suspense: "3901" },
      statements: [{ account: "99" }, { account: "5020" }],
    });
    expect(findings.map(({ code, at, message }) => [code, at.file, message.split(" ")[0]])).toEqual([
      ["ACCOUNT_UNKNOWN", "config.yaml", "accounts.suspense"],
      ["ACCOUNT_UNKNOWN", "config.yaml", "statements.0.account"],
      ["CONFIG_INVALID", "config.yaml", "statements.1.account"],
    ]);
  });
});

test("words with a meaning in journals are plain words, to us and to both tools", async () => {
  const words = [
    "(no code)",
    "! pending",
    "* cleared",
    "2026-01-01 rent",
    "2026/01/01=2026/01/02",
    "",
    " ",
    ";",
    "| a | b",
    "a  b",
    "\t x \u00a0y",
    "= auto",
    "~ monthly",
    "@ 3 USD",
    "[2026-01-01]",
    "key: x",
    "  ; status: voided",
    "%",
    "#",
    "include x",
    "end comment",
    "\u202eevil",
    '"quoted"',
    "{cost}",
    "-5.00 USD",
  ];
  await view.ports.books.add(
    words.flatMap((text, i) => [
      draft(`d${i}`, { description: text }),
      draft(`c${i}`, { counterparty: text, description: "shop" }),
      draft(`t${i}${text}`, { tags: { note: text } }),
    ]),
  );
  await commit(view);
  const { entries } = await expectSound(workspace.files);
  expect(entries).toBe(3 * words.length);
});

describe("what a person writes", () => {
  test("is accepted in the canonical form, and verify names the id it must have", async () => {
    const entry = (id: string): string =>
      `2026-11-06 * (${id}) Stamps\n    ; key: hand:1\n    ; status: user-confirmed\n    Expenses:Office Supplies  2.00 USD\n    Assets:Bank:Checking  -2.00 USD\n`;
    workspace.files.set("main.journal", `${workspace.files.get("main.journal") ?? ""}\ninclude ${JOURNAL}\n`);
    workspace.files.set(JOURNAL, entry("261106-0000000000"));
    const [finding] = (await verifyBooks(memoryTree(workspace.files))).findings;
    expect(finding).toMatchObject({
      code: "JOURNAL_KEY",
      at: { file: JOURNAL, line: 1 },
      message: expect.stringContaining(entryId("2026-11-06", "hand:1")),
    });
    workspace.files.set(JOURNAL, entry(entryId("2026-11-06", "hand:1")));
    await expectSound(workspace.files);
    await add(draft("a"));
    await commit(view);
    expect((await expectSound(workspace.files)).entries).toBe(2);
  });

  test.each([
    ["amounts are aligned", (text: string) => text.replace("Software  10.00", "Software    10.00"), 5, "two spaces"],
    ["a blank ends a line", (text: string) => text.replace("pending-review\n", "pending-review \n"), 4, "; status: pending-review"],
    [
      "tags are in another order",
      (text: string) => text.replace(/( {4}; key: a\n)(.*\n)( {4}; status: .*\n)/, "$3$2$1"),
      2,
      "    ; key: a",
    ],
    ["lines end as on Windows", (text: string) => text.replaceAll("\n", "\r\n"), 1, "line feed"],
    ["the id is left out", (text: string) => text.replace(/\(\S+\) /, ""), 1, "(261106-"],
    ["the second amount is left out", (text: string) => text.replace(/Checking .*/, "Checking"), 6, "two spaces"],
    ["a comment stands between entries", (text: string) => `; mine\n\n${text}`, 1, "note:"],
  ])("in another form is found at its line with what to write: %s", async (_, edit, line, words) => {
    await add(draft("a"));
    await commit(view);
    workspace.files.set(JOURNAL, edit(workspace.files.get(JOURNAL) ?? ""));
    const [finding] = (await verifyBooks(memoryTree(workspace.files))).findings;
    expect(finding).toMatchObject({ code: "JOURNAL_FORM", at: { file: JOURNAL, line }, message: expect.stringContaining(words) });
  });
});
