/**
 * Rows that are in the books under another name: a pending row that is booked now, the same days in another format, references numbered
 * anew. A person is asked, nothing is booked twice and no two payments become one. Every state is sound for hledger and Ledger.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AskedRow, Change, Receipt } from "../../runtime/kernel/ports.ts";
import { parseConfig } from "../../runtime/workspace/settings/config.ts";
import { decideSame } from "../../runtime/workspace/books/decide-rows.ts";
import { receiptFile } from "../../runtime/workspace/layout.ts";
import { type KeptReceipt, receiptFromYaml } from "../../runtime/workspace/statements/receipt.ts";
import { book, commit, memoryWorkspace, statement, stepOf, type Workspace } from "./books-bench.ts";
import { expectSound, memoryTree, withChanges } from "./memory-tree.ts";

let workspace: Workspace;
let cards: Extract<Change, { op: "review" }>[] = [];
let n = 0;
beforeEach(() => {
  workspace = memoryWorkspace();
});
afterEach(() => workspace.dispose());

const csv = (rows: [day: string, text: string, amount: string][]): string =>
  `Date,Description,Amount\n${rows.map((row) => row.join(",")).join("\n")}\n`;
const ofx = (rows: [id: string, day: string, text: string, amount: string][], balance?: string): string =>
  `OFXHEADER:100\n\n<OFX><STMTRS><CURDEF>USD<BANKACCTFROM><ACCTID>1</BANKACCTFROM><BANKTRANLIST>${rows
    .map(([id, day, text, amount]) => `<STMTTRN><DTPOSTED>${day.replaceAll("-", "")}<TRNAMT>${amount}<FITID>${id}<NAME>${text}</STMTTRN>`)
    .join("")}</BANKTRANLIST>${
    balance === undefined ? "" : `<LEDGERBAL><BALAMT>${balance}<DTASOF>${rows.at(-1)?.[1].replaceAll("-", "")}</LEDGERBAL>`
  }</STMTRS></OFX>`;

async function imported(text: string): Promise<Receipt> {
  const name = `s${++n}.${text.startsWith("OFX") ? "ofx" : "csv"}`;
  workspace.drop(name, text);
  const view = await workspace.view(`run_${n}`);
  await book(view, await view.ports.imports.parse(name, { all: false }));
  const receipt = await view.ports.imports.markProcessed(name);
  cards = view.takeChanges().flatMap((change) => (change.op === "review" ? [change] : []));
  await commit(view);
  await view.tidy();
  const { rows, new: fresh, known, twin, refused, unbooked, asked, removed } = receipt;
  expect(fresh + known + twin + refused.length + unbooked.length + asked.length + removed.length).toBe(rows);
  await expectSound(workspace.files);
  return receipt;
}

async function decided({ hash }: Receipt, row: AskedRow | undefined, approve: boolean): Promise<KeptReceipt> {
  const config = parseConfig(workspace.files.get("config.yaml") ?? "");
  const question = { hash, question: row?.question ?? "" };
  const files = await decideSame(memoryTree(workspace.files), question, { approve, by: "ann" }, config);
  workspace.files = withChanges(workspace.files, files);
  await expectSound(workspace.files);
  return receiptFromYaml(workspace.files.get(receiptFile(hash)) ?? "");
}

const bank = async (): Promise<string | undefined> => (await (await workspace.view("look")).ports.books.balance("1010"))["USD"];
const journal = (): string => [...workspace.files].flatMap(([path, text]) => (path.startsWith("journal/") ? [text] : [])).join("\n");

describe("a pending row that the next statement has as booked", () => {
  const PENDING: Parameters<typeof statement>[1] = [
    ["2026-11-02", "RENT", -90_000],
    ["2026-11-05", "AMZN MKTP PENDING", -4299],
  ];
  const BOOKED: Parameters<typeof statement>[1] = [
    ["2026-11-02", "RENT", -90_000],
    ["2026-11-07", "AMZN MKTP US*2X3", -4299],
    ["2026-11-09", "CLIENT", 250_000],
  ];

  test("is asked about, and the proof waits for the answer", async () => {
    await imported(statement(100_000, PENDING));
    const receipt = await imported(statement(100_000, BOOKED));
    expect(receipt).toMatchObject({ new: 1, known: 1, asked: [{ why: "near", date: "2026-11-07", amount: "-42.99" }] });
    expect(cards.map(({ title }) => title)).toEqual([
      `s${n}.csv: is AMZN MKTP US*2X3 -42.99 of 2026-11-07 the same as AMZN MKTP PENDING of 2026-11-05?`,
    ]);
    expect(journal().match(/AMZN/g)?.length).toBe(1);
    const after = await decided(receipt, receipt.asked[0], true);
    expect(after).toMatchObject({ new: 1, known: 2, asked: [], gap: null });
    expect(await bank()).toBe("2557.01");
    expect(journal()).toContain("= 2557.01 USD");
    expect(await imported(statement(10_000, BOOKED.slice(1)))).toMatchObject({ new: 0, known: 2, asked: [], gap: null });
  });

  test("that is a separate payment after all is booked like the one it resembles", async () => {
    await imported(statement(100_000, PENDING));
    const receipt = await imported(statement(95_701, BOOKED));
    const after = await decided(receipt, receipt.asked[0], false);
    expect(after).toMatchObject({ new: 2, known: 1, asked: [] });
    expect(journal().match(/Expenses:Software {2}42.99 USD/g)?.length).toBe(2);
    expect(await imported(csv([["2026-11-07", "AMZN MKTP US*2X3", "-42.99"]]))).toMatchObject({ new: 0, known: 1, asked: [] });
  });

  test("is found whichever statement comes first, and across statements that do not overlap", async () => {
    await imported(csv([["2026-11-07", "AMZN MKTP US", "-42.99"]]));
    expect((await imported(csv([["2026-11-05", "AMZN MKTP PENDING", "-42.99"]]))).asked).toHaveLength(1);
    await imported(csv([["2026-11-20", "UBER TRIP", "-18.40"]]));
    expect((await imported(csv([["2026-11-22", "UBER *TRIP HELP.UBER.COM", "-18.40"]]))).asked).toHaveLength(1);
  });

  test("is no question if the bank's own balance says that both are payments", async () => {
    await imported(statement(100_000, PENDING));
    expect(await imported(statement(100_000, [...PENDING, ["2026-11-07", "AMZN MKTP US*2X3", -4299]]))).toMatchObject({
      new: 1,
      known: 2,
      asked: [],
      gap: null,
    });
  });

  test("is no question among recurring payments", async () => {
    const coffee = (day: number): [string, string, string] => [`2026-11-${String(day).padStart(2, "0")}`, "BLUE BOTTLE", "-4.50"];
    await imported(csv([2, 3, 4, 5].map(coffee)));
    expect(await imported(csv([6, 7, 8].map(coffee)))).toMatchObject({ new: 3, asked: [] });
    expect(await imported(csv([8, 9, 10].map(coffee)))).toMatchObject({ new: 2, known: 1, asked: [] });
    await imported(csv([["2026-11-20", "GYM", "-20.00"]]));
    expect(await imported(csv([["2026-11-27", "GYM", "-20.00"]]))).toMatchObject({ new: 1, asked: [] });
  });
});

describe("the same days in another format", () => {
  const DAYS: [string, string, string][] = [
    ["2026-11-02", "COFFEE BAR", "-4.50"],
    ["2026-11-02", "COFFEE BAR", "-4.50"],
    ["2026-11-05", "GITHUB", "-21.00"],
    ["2026-11-09", "CLIENT", "2500.00"],
  ];
  const OFX = ofx(
    DAYS.map(([day, text, amount], i) => [`FIT-90000${i}`, day, text, amount]),
    "3470.00",
  );
  const LONG: [string, string, string][] = DAYS.map(([day, text, amount]) => [day, `CHECKCARD ${text} 0042 PORTLAND`, amount]);

  test("are one question, and one answer settles them permanently", async () => {
    await imported(OFX);
    const before = journal();
    const receipt = await imported(csv(LONG));
    expect(receipt).toMatchObject({ rows: 4, new: 0, known: 0 });
    expect([receipt.asked.length, cards.length]).toEqual([4, 1]);
    expect(cards[0]?.title).toBe(`s${n}.csv: are 4 rows the same as entries of the books?`);
    expect(journal()).toBe(before);
    expect(await decided(receipt, receipt.asked[0], true)).toMatchObject({ known: 4, asked: [] });
    expect(journal()).toBe(before);
    expect(await imported(csv([...LONG.slice(2), ["2026-11-12", "TEA", "-3.00"]]))).toMatchObject({ new: 1, known: 2, asked: [] });
    expect(await bank()).toBe("3467.00");
  });

  test("in either order, with a balance that ties once it is decided", async () => {
    await imported(csv(LONG));
    const receipt = await imported(OFX);
    expect(receipt.asked.length).toBe(4);
    expect(journal()).not.toContain("Statement balance");
    expect(await decided(receipt, receipt.asked[0], true)).toMatchObject({ known: 4, gap: null });
    expect(journal()).toContain("= 3470.00 USD");
    expect(journal()).toContain("; ref: FIT-900002");
    expect(await bank()).toBe("3470.00");
  });
});

describe("a script that reads all rows of such a statement", () => {
  const ROWS: [string, string, string][] = [
    ["2026-11-02", "COFFEE BAR", "-4.50"],
    ["2026-11-05", "GITHUB", "-21.00"],
  ];
  const LONG = csv(ROWS.map(([day, text, amount]) => [day, `CHECKCARD ${text}`, amount]));

  test("books none of them, is told which entries they may be, and finds nothing to deduplicate", async () => {
    await imported(csv(ROWS));
    const before = journal();
    workspace.drop("all.csv", LONG);
    const view = await workspace.view("run_all");
    const rows = await view.ports.imports.parse("all.csv", { all: true });
    expect(await view.ports.imports.deduplicate(rows)).toEqual([]);
    const answers = await book(view, rows);
    expect(answers.every(({ known }) => known)).toBe(true);
    for (const { entry_id } of answers) expect(before).toContain(entry_id);
    expect(await view.ports.imports.markProcessed("all.csv")).toMatchObject({
      rows: 2,
      new: 0,
      known: 0,
      unbooked: [],
      asked: { length: 2 },
    });
    await commit(view);
    expect(journal()).toBe(before);
  });

  test("continues after an interruption as if there had been none", async () => {
    await imported(csv(ROWS));
    workspace.drop("all.csv", `${LONG}2026-11-07,NEW,-1.00\n`);
    const first = await workspace.view("run_all");
    const rows = await first.ports.imports.parse("all.csv", { all: true });
    const step = stepOf(1, "importer_parse", rows as never, first.takeChanges());
    const second = await workspace.view("run_all");
    second.restore(JSON.parse(JSON.stringify(step)));
    await book(second, rows);
    expect(await second.ports.imports.markProcessed("all.csv")).toMatchObject({ rows: 3, new: 1, asked: { length: 2 }, unbooked: [] });
    await commit(second);
    await expectSound(workspace.files);
  });
});

describe("an export with new reference numbers", () => {
  const rows = (prefix: string, from = 0): Parameters<typeof ofx>[0] =>
    [
      ["2026-11-02", "COFFEE", "-4.50"],
      ["2026-11-02", "COFFEE", "-4.50"],
      ["2026-11-05", "GITHUB", "-21.00"],
      ["2026-11-09", "CLIENT", "2500.00"],
    ].map(([day = "", text = "", amount = ""], i) => [`${prefix}${100_000 + i + from}`, day, text, amount]);

  test.each(["R", "2026110", "TX-77-"])("with references such as %s100000 is one question", async (prefix) => {
    await imported(ofx(rows("A")));
    const receipt = await imported(ofx(rows(prefix, 3)));
    expect([receipt.new, receipt.asked.length, cards.length]).toEqual([0, 4, 1]);
    expect(await decided(receipt, receipt.asked[0], true)).toMatchObject({ known: 4, asked: [] });
    expect(await bank()).toBe("2470.00");
    expect(journal()).toContain(`; ref: ${prefix}100003`);
    expect(await imported(ofx(rows(prefix, 3).slice(1)))).toMatchObject({ known: 3, asked: [] });
    expect(await imported(ofx(rows("A")))).toMatchObject({ known: 4, asked: [] });
  });

  test("differs from two payments of one price on one day", async () => {
    await imported(ofx([["A1", "2026-11-02", "COFFEE", "-4.50"]].map(([id = "", ...rest]) => [`${id}-00001`, ...rest] as never)));
    expect(
      await imported(
        ofx([
          ["A1-00001", "2026-11-02", "COFFEE", "-4.50"],
          ["A1-00002", "2026-11-02", "COFFEE", "-4.50"],
        ]),
      ),
    ).toMatchObject({ new: 1, known: 1, asked: [] });
    const receipt = await imported(ofx([["A1-00003", "2026-11-02", "COFFEE", "-4.50"]]));
    expect(receipt.asked).toHaveLength(1);
    expect(await decided(receipt, receipt.asked[0], false)).toMatchObject({ new: 1 });
    expect(await bank()).toBe("-13.50");
  });

  test("asked about in two statements is answered once", async () => {
    await imported(ofx(rows("A")));
    const first = await imported(ofx(rows("R")));
    const second = await imported(ofx(rows("R").slice(1)));
    expect([first.asked.length, second.asked.length]).toEqual([4, 3]);
    await decided(first, first.asked[0], false);
    expect(receiptFromYaml(workspace.files.get(receiptFile(second.hash)) ?? "")).toMatchObject({ asked: [], known: 3 });
  });
});

test("a second equal payment known only from the bank's balance is booked by an answer", async () => {
  await imported(statement(100_000, [["2026-11-02", "COFFEE", -450]]));
  const receipt = await imported(statement(99_550, [["2026-11-02", "COFFEE", -450]]));
  expect(cards.map(({ title }) => title)).toEqual([`s${n}.csv: is there a second COFFEE -4.50 of 2026-11-02?`]);
  expect(await decided(receipt, receipt.asked[0], false)).toMatchObject({ new: 1, known: 0, asked: [], gap: null });
  expect(await bank()).toBe("991.00");
  expect(journal()).toContain("= 991.00 USD");
  expect(
    await imported(
      statement(100_000, [
        ["2026-11-02", "COFFEE", -450],
        ["2026-11-02", "COFFEE", -450],
      ]),
    ),
  ).toMatchObject({ new: 0, known: 2, gap: null });
});

test("a statement that did not tie is stated once what was missing has arrived", async () => {
  await imported(statement(10_000, [["2026-01-05", "A", 100]]));
  const march = await imported(statement(10_300, [["2026-03-05", "C", 300]]));
  expect(march.gap).toBe("2.00");
  await imported(statement(10_100, [["2026-02-05", "B", 200]]));
  expect(receiptFromYaml(workspace.files.get(receiptFile(march.hash)) ?? "").gap).toBeNull();
  expect(journal()).toContain("= 106.00 USD");
});

test("the next morning's statement makes the evening's tie", async () => {
  await imported(statement(100_000, [["2026-11-01", "A", -100]]));
  const evening = await imported(statement(98_900, [["2026-11-02", "LUNCH", -1200]]));
  expect(evening.gap).toBe("-10.00");
  expect(await imported(statement(99_900, [["2026-11-02", "RENT", -1000]]))).toMatchObject({ gap: null });
  expect(receiptFromYaml(workspace.files.get(receiptFile(evening.hash)) ?? "").gap).toBeNull();
  expect(journal()).toContain("= 977.00 USD");
});
