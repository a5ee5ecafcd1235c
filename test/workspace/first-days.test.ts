/**
 * Statements that meet within a day. A row that cannot be told from one that is in the books is left out, and then the gap is said:
 * an opening or an assertion gives way to nothing but rows that have just come in.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Receipt } from "../../runtime/kernel/ports.ts";
import { importAll, memoryWorkspace, statement, type Workspace } from "./books-bench.ts";
import { expectSound } from "./memory-tree.ts";

let workspace: Workspace;
let run = 0;
beforeEach(() => {
  workspace = memoryWorkspace();
});
afterEach(() => workspace.dispose());

type Rows = Parameters<typeof statement>[1];
const DAY = "2026-11-02";
const JOURNAL = "journal/2026/11.journal";
const imported = async (opening: number, rows: Rows): Promise<Receipt> => {
  workspace.drop(`s${++run}.csv`, statement(opening, rows));
  const [receipt] = await importAll(workspace, [`s${run}.csv`], `run_${run}`);
  if (receipt === undefined) throw new Error("no receipt");
  await expectSound(workspace.files);
  return receipt;
};
const stated = (): string[] =>
  [...(workspace.files.get(JOURNAL) ?? "").matchAll(/(\S+) USD = (\S+) USD/g)].map(([, amount, balance]) => `${amount} = ${balance}`);

test("in an evening statement, the second of two equal payments is missing, and the gap is reported", async () => {
  await imported(100_000, [[DAY, "COFFEE", -450]]);
  const before = stated();
  expect(await imported(99_550, [[DAY, "COFFEE", -450]])).toMatchObject({ new: 0, asked: [{ why: "twin" }], gap: "-4.50" });
  expect(stated()).toEqual(before);
});

test("the same in the other order", async () => {
  await imported(99_550, [
    [DAY, "COFFEE", -450],
    [DAY, "LUNCH", -1200],
  ]);
  const before = stated();
  expect(await imported(100_000, [[DAY, "COFFEE", -450]])).toMatchObject({ new: 0, asked: [{ why: "twin" }], gap: "4.50" });
  expect(stated()).toEqual(before);
});

test("the same with a new row as well, and if the statement covers several days", async () => {
  await imported(100_000, [[DAY, "COFFEE", -450]]);
  const before = stated();
  expect(
    await imported(99_550, [
      [DAY, "COFFEE", -450],
      [DAY, "LUNCH", -1200],
    ]),
  ).toMatchObject({ new: 1, asked: [{ why: "twin" }], gap: "-4.50" });
  expect(stated()).toEqual(before);
  expect(
    await imported(99_550, [
      [DAY, "COFFEE", -450],
      [DAY, "LUNCH", -1200],
      ["2026-11-04", "TEA", -300],
    ]),
  ).toMatchObject({ new: 1, known: 1, asked: [{ why: "twin" }], gap: "-4.50" });
  expect(stated()).toEqual(before);
});

test("the whole day brings the second payment, and everything ties", async () => {
  await imported(100_000, [[DAY, "COFFEE", -450]]);
  await imported(99_550, [[DAY, "COFFEE", -450]]);
  const whole: Rows = [
    [DAY, "COFFEE", -450],
    [DAY, "COFFEE", -450],
  ];
  expect(await imported(100_000, whole)).toMatchObject({ twin: 1, known: 1, gap: null });
  expect(stated()).toEqual(["1000.00 = 1000.00", "0.00 = 995.50", "0.00 = 991.00"]);
});

test("the next morning's statement moves the opening to the beginning of the day", async () => {
  await imported(98_000, [[DAY, "LUNCH", -1200]]);
  expect(await imported(100_000, [[DAY, "RENT", -2000]])).toMatchObject({ new: 1, gap: null });
  expect(stated()).toEqual(["1000.00 = 1000.00", "0.00 = 968.00"]);
});

test("a day on which a payment is canceled by an equal one moves nothing", async () => {
  await imported(100_000, [
    [DAY, "COFFEE", -450],
    [DAY, "REFUND", 450],
  ]);
  const before = stated();
  expect(await imported(99_550, [[DAY, "REFUND", 450]])).toMatchObject({ new: 0, known: 1, gap: null });
  expect(stated()).toEqual(before);
});

const ofx = (balance: string, rows: [day: string, amount: string, name: string][]): string =>
  `OFXHEADER:100\n\n<OFX><STMTRS><CURDEF>USD<BANKACCTFROM><ACCTID>1</BANKACCTFROM><BANKTRANLIST>${rows
    .map(([day, amount, name]) => `<STMTTRN><DTPOSTED>${day}<TRNAMT>${amount}<FITID>${day}-${name}<NAME>${name}</STMTTRN>`)
    .join("")}</BANKTRANLIST><LEDGERBAL><BALAMT>${balance}<DTASOF>${rows.at(-1)?.[0]}</LEDGERBAL></STMTRS></OFX>`;

test.each([
  ["the same day", 0],
  ["a later day", 1],
])("a row missing from the first statement corrects the opening that included it: a second one from %s", async (_, from) => {
  const rows: [string, string, string][] = [
    ["20261102", "-10.00", "A"],
    ["20261103", "-20.00", "B"],
    ["20261105", "-40.00", "C"],
    ["20261109", "-80.00", "D"],
  ];
  workspace.drop("a.ofx", ofx("930.00", [rows[0], rows[2]] as typeof rows));
  await importAll(workspace, ["a.ofx"], "run_a");
  expect(stated()).toEqual(["980.00 = 980.00", "0.00 = 930.00"]);
  workspace.drop("b.ofx", ofx("850.00", rows.slice(from)));
  const [receipt] = await importAll(workspace, ["b.ofx"], "run_b");
  expect(receipt).toMatchObject({ new: 2, gap: null });
  expect(stated()).toEqual(["1000.00 = 1000.00", "0.00 = 930.00", "0.00 = 850.00"]);
  await expectSound(workspace.files);
});
