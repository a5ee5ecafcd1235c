/** Rows of statements that are no longer in the books: nothing brings them back by itself but the import that was undone. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Change, Entry, Finding, Receipt } from "../../runtime/kernel/ports.ts";
import { allReceipts, existingIn, goneFrom, receiptsAbout } from "../../runtime/workspace/books/claims.ts";
import { parseConfig } from "../../runtime/workspace/settings/config.ts";
import { leaveOut, reviveRows } from "../../runtime/workspace/books/decide-rows.ts";
import { receiptFile } from "../../runtime/workspace/layout.ts";
import { findEntry } from "../../runtime/workspace/books/months.ts";
import { type KeptReceipt, receiptFromYaml } from "../../runtime/workspace/statements/receipt.ts";
import { book, commit, memoryWorkspace, statement, type Workspace } from "./books-bench.ts";
import { expectSound, memoryTree, withChanges } from "./memory-tree.ts";

let workspace: Workspace;
let titles: string[] = [];
let n = 0;
beforeEach(() => {
  workspace = memoryWorkspace();
});
afterEach(() => workspace.dispose());

const JOURNAL = "journal/2026/10.journal";
const ROWS: Parameters<typeof statement>[1] = [
  ["2026-10-02", "RENT", -3000],
  ["2026-10-05", "GITHUB", -2100],
  ["2026-10-05", "GITHUB", -2100],
  ["2026-10-09", "CLIENT", 5000],
  ["2026-10-12", "AWS", -700],
];

async function imported(opening: number, rows: typeof ROWS): Promise<Receipt> {
  const name = `s${++n}.csv`;
  workspace.drop(name, statement(opening, rows));
  const view = await workspace.view(`run_${n}`);
  await book(view, await view.ports.imports.parse(name, { all: false }));
  const receipt = await view.ports.imports.markProcessed(name);
  titles = view.takeChanges().flatMap((change: Change) => (change.op === "review" ? [change.title] : []));
  await commit(view);
  await view.tidy();
  return receipt;
}

const tree = () => memoryTree(workspace.files);
const config = () => parseConfig(workspace.files.get("config.yaml") ?? "");
const gone = async (): Promise<string[]> =>
  (await goneFrom(await allReceipts(tree()), (ids) => existingIn(tree(), ids))).flatMap(({ ids }) => ids);
const idsOf = (word: string): string[] =>
  [...(workspace.files.get(JOURNAL) ?? "").matchAll(new RegExp(`\\((\\S+)\\) ${word}$`, "gm"))].map(([, id = ""]) => id);

/** Deletes entries from the journal's text, as a person with an editor does. */
async function remove(ids: string[]): Promise<Map<string, Entry>> {
  const past = new Map<string, Entry>();
  for (const id of ids) past.set(id, (await findEntry(tree(), id)) as Entry);
  const text = (workspace.files.get(JOURNAL) ?? "").trimEnd().split("\n\n");
  const left = text.filter((one) => !ids.some((id) => one.includes(id)));
  workspace.files.set(JOURNAL, `${left.join("\n\n")}\n`);
  return past;
}

test("a script that reads all rows and removes the known ones gets no deleted one", async () => {
  await imported(10_000, ROWS.slice(0, 4));
  await remove(idsOf("RENT"));
  workspace.drop("all.csv", statement(10_000, ROWS));
  const { imports } = (await workspace.view("run_all")).ports;
  const rows = await imports.parse("all.csv", { all: true });
  expect(rows).toHaveLength(5);
  expect((await imports.deduplicate(rows)).map(({ description }) => description)).toEqual(["AWS"]);
});

test("a deleted row does not return with the next statement, the gap is reported, and it returns on request", async () => {
  await imported(10_000, ROWS.slice(0, 4));
  const [id = ""] = idsOf("RENT");
  const past = await remove([id]);
  expect(await gone()).toEqual([id]);
  const receipt = await imported(10_000, ROWS);
  expect(receipt).toMatchObject({ new: 1, known: 3, removed: [id], gap: "-30.00" });
  expect(titles).toEqual(
    ["s2.csv: the bank says 71.00, which is 30.00 less than the books", "1 row of statement s1.csv is no longer in the books"].map(
      (title) => title.replace(/s(\d)/g, (_, at) => `s${n - 2 + Number(at)}`),
    ),
  );
  expect(workspace.files.get(JOURNAL)).not.toContain("= 71.00 USD");
  workspace.files = withChanges(workspace.files, await reviveRows(tree(), [id], past, { by: "ann" }, config()));
  await expectSound(workspace.files);
  expect(workspace.files.get(JOURNAL)).toContain("= 71.00 USD");
  const after: KeptReceipt = receiptFromYaml(workspace.files.get(receiptFile(receipt.hash)) ?? "");
  expect(after).toMatchObject({ known: 4, removed: [], gap: null });
  expect(await gone()).toEqual([]);
});

test("one of two equal rows is missed like any other", async () => {
  await imported(10_000, ROWS.slice(0, 4));
  const [first = "", second = ""] = idsOf("GITHUB");
  for (const id of [first, second]) {
    const past = await remove([id]);
    expect(await imported(10_000, [...ROWS, [`2026-10-1${id === first ? 3 : 4}`, "TEA", -100]])).toMatchObject({ removed: [id] });
    workspace.files = withChanges(workspace.files, await reviveRows(tree(), [id], past, { by: "ann" }, config()));
    await expectSound(workspace.files);
  }
});

test("rows that break a balance only one by one are restored together", async () => {
  await imported(10_000, [...ROWS.slice(0, 4), ["2026-10-09", "RENT BACK", 3000]]);
  const ids = [...idsOf("RENT"), ...idsOf("RENT BACK")];
  const past = await remove(ids);
  await expectSound(workspace.files);
  await expect(reviveRows(tree(), ids.slice(0, 1), past, { by: "ann" }, config())).rejects.toMatchObject({ code: "JOURNAL_ASSERTION" });
  workspace.files = withChanges(workspace.files, await reviveRows(tree(), ids, past, { by: "ann" }, config()));
  await expectSound(workspace.files);
  expect(await gone()).toEqual([]);
});

test("rows that a person excludes stay excluded without another question, until revived", async () => {
  await imported(10_000, ROWS.slice(0, 4));
  const [id = ""] = idsOf("RENT");
  const past = await remove([id]);
  workspace.files = withChanges(workspace.files, await leaveOut(tree(), [id]));
  expect(await gone()).toEqual([]);
  expect(await imported(10_000, ROWS)).toMatchObject({ new: 1, removed: [id] });
  expect(titles.filter((title) => title.includes("no longer"))).toEqual([]);
  workspace.files = withChanges(workspace.files, await reviveRows(tree(), [id], past, { by: "ann" }, config()));
  await remove([id]);
  expect(await gone()).toContain(id);
});

test("an opening waits while earlier rows are gone, and is stated when they return", async () => {
  const view = await workspace.view("run_plain");
  workspace.drop("plain.csv", "Date,Description,Amount\n2026-10-02,RENT,-30.00\n2026-10-05,GITHUB,-21.00\n");
  await book(view, await view.ports.imports.parse("plain.csv", { all: false }));
  await view.ports.imports.markProcessed("plain.csv");
  await commit(view);
  const past = await remove(idsOf("RENT"));
  const receipt = await imported(4900, ROWS.slice(3));
  expect(receipt.gap).not.toBeNull();
  expect(workspace.files.get(JOURNAL)).not.toContain("Opening balance");
  workspace.files = withChanges(workspace.files, await reviveRows(tree(), [...past.keys()], past, { by: "ann" }, config()));
  await expectSound(workspace.files);
  expect(workspace.files.get(JOURNAL)).toContain("= 92.00 USD");
  expect(receiptFromYaml(workspace.files.get(receiptFile(receipt.hash)) ?? "").gap).toBeNull();
});

test("without its receipt a row is new, and an assertion from which it had been removed holds again", async () => {
  const first = await imported(10_000, ROWS.slice(0, 4));
  await remove(idsOf("RENT"));
  workspace.files.delete(receiptFile(first.hash));
  expect(await imported(10_000, ROWS)).toMatchObject({ new: 2, known: 3, removed: [], gap: null });
  await expectSound(workspace.files);
});

test("rows known from another statement are missed when the import that booked them is undone, and return with it", async () => {
  const before = new Map(workspace.files);
  const first = await imported(10_000, ROWS.slice(0, 3));
  const second = "Date,Description,Amount\n2026-10-05,GITHUB,-21.00\n2026-10-05,GITHUB,-21.00\n2026-10-12,AWS,-7.00\n";
  const name = "overlap.csv";
  workspace.drop(name, second);
  const view = await workspace.view("run_o");
  await book(view, await view.ports.imports.parse(name, { all: false }));
  expect(await view.ports.imports.markProcessed(name)).toMatchObject({ known: 2, new: 1 });
  await commit(view);
  const ids = [...idsOf("RENT"), ...idsOf("GITHUB"), ...idsOf("Opening balance"), ...idsOf("Statement balance")];
  await remove(ids);
  workspace.files.delete(receiptFile(first.hash));
  expect(before.has(JOURNAL)).toBe(false);
  expect(await gone()).toHaveLength(2);
  expect(await imported(10_000, ROWS.slice(0, 3))).toMatchObject({ new: 2, twin: 1, removed: [], gap: null });
  expect(await gone()).toEqual([]);
  await expectSound(workspace.files);
});

test("a row on the day of a stated balance is restored before it, by a command or by its statement", async () => {
  const first = await imported(10_000, ROWS.slice(0, 4));
  const past = await remove(idsOf("CLIENT"));
  workspace.files = withChanges(workspace.files, await reviveRows(tree(), [...past.keys()], past, { by: "ann" }, config()));
  await expectSound(workspace.files);
  await remove(idsOf("CLIENT"));
  workspace.files.delete(receiptFile(first.hash));
  await imported(10_000, ROWS);
  await expectSound(workspace.files);
});

test("an unreadable entry is not reported as gone", async () => {
  await imported(10_000, ROWS.slice(0, 4));
  workspace.files.set(JOURNAL, (workspace.files.get(JOURNAL) ?? "").replace("  30.00 USD", "  30,00 USD"));
  expect(await gone()).toEqual([]);
});

test("receipts are found by their days, even if a person has written them in another form", async () => {
  const first = await imported(10_000, ROWS.slice(0, 3));
  const about = async (from: string, to: string): Promise<string[]> =>
    (await receiptsAbout(tree(), { account: "1010", from, to })).map(({ hash }) => hash);
  const path = receiptFile(first.hash);
  for (const text of [workspace.files.get(path) ?? "", JSON.stringify(toPlain(workspace.files.get(path) ?? ""))]) {
    workspace.files.set(path, text);
    expect(await about("2026-10-05", "2026-10-09")).toEqual([first.hash]);
    expect(await about("2026-10-06", "2026-10-09")).toEqual([]);
    workspace.files.set(
      path,
      text.replace(/gap: null|"gap":null/, (one) => one.replace("null", '"1.00"')),
    );
    expect(await about("2026-10-06", "2026-10-09")).toEqual([first.hash]);
  }
});

test("an unreadable receipt stops no import, and is named", async () => {
  const first = await imported(10_000, ROWS.slice(0, 4));
  workspace.files.set(receiptFile(first.hash), "<<<<<<< HEAD\n");
  expect(await imported(10_000, ROWS)).toMatchObject({ new: 1, known: 4, gap: null });
  const findings: Finding[] = [];
  await allReceipts(tree(), findings);
  expect(findings.map(({ code, at }) => `${code} ${at.file}`)).toEqual([`FILE_INVALID ${receiptFile(first.hash)}`]);
});

/** As YAML that no code of ours would write. */
function toPlain(text: string): unknown {
  const { record, ...receipt } = receiptFromYaml(text);
  const days = Map.groupBy(Object.entries(record.booked), ([id]) => id.slice(0, 6));
  const booked = Object.fromEntries(
    [...days].map(([day, rows]) => [day, rows.map(([id, amount]) => `${id.slice(7)}=${amount}`).join(" ")]),
  );
  return { ...receipt, record: { ...record, booked, known: {}, left_out: {} } };
}
