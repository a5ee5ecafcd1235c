/** Imports are exact however often, in whatever order and by whichever way the rows come. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { agrees, cleared, put, shell, start, statement, until, workspace, warmUp } from "./command-line.ts";

beforeAll(warmUp);

const OCTOBER = statement([
  ["2026-10-01", "GITHUB PRO", "-21.00"],
  ["2026-10-02", "BLUE BOTTLE", "-4.50"],
  ["2026-10-02", "BLUE BOTTLE", "-4.50"],
  ["2026-10-30", "AWS", "-7.00"],
]);
const NOVEMBER = statement([
  ["2026-10-30", "AWS", "-7.00"],
  ["2026-11-02", "BLUE BOTTLE", "-4.50"],
]);

const receipts = async (dir: string, ...args: string[]) => (await cleared(dir, "import", ...args, "--json")).json();
const entries = async (dir: string) => (await cleared(dir, "verify", "--json")).json().entries;

test("the same file ten times, overlapping ranges in either order, and forced again: every row is booked once", async () => {
  const dir = await workspace();
  put(dir, { "november.csv": NOVEMBER, "october.csv": OCTOBER });
  expect(await receipts(dir, "november.csv")).toMatchObject([{ rows: 2, new: 2, known: 0, twin: 0 }]);
  const [first] = await receipts(dir, "october.csv");
  expect(first).toMatchObject({
    file: "october.csv",
    dialect: "generic",
    account: "1010",
    rows: 4,
    new: 2,
    known: 1,
    twin: 1,
    refused: [],
    opening: null,
    closing: null,
  });
  for (const receipt of await receipts(dir, ...Array<string>(10).fill("october.csv")))
    expect(receipt).toMatchObject({ rows: 4, new: 0, known: 4, twin: 0 });
  expect(await receipts(dir, "october.csv", "--again")).toMatchObject([{ rows: 4, new: 0, known: 4, twin: 0 }]);
  expect(await entries(dir)).toBe(5);
  expect((await cleared(dir, "runs", "--json")).json()).toHaveLength(3);
  await agrees(dir);
});

test("rows whose description, account or payee was edited by a rule are recognized by the bank's text", async () => {
  const dir = await workspace();
  const script = readFileSync(join(dir, "agents/ingest.ts"), "utf8").replace(
    "description: row.description,",
    `description: "Coffee, " + row.description.toLowerCase() + " " + row.date,`,
  );
  put(dir, { "agents/ingest.ts": script, "october.csv": OCTOBER, "november.csv": NOVEMBER });
  await shell(dir, "git commit -qam 'agent: ingest edits descriptions'");
  await receipts(dir, "october.csv");
  expect(await receipts(dir, "november.csv")).toMatchObject([{ new: 1, known: 1 }]);
  expect(await entries(dir)).toBe(5);
  expect(readFileSync(join(dir, "journal/2026/10.journal"), "utf8")).toMatch(/Coffee, blue bottle 2026-10-02/);
  await agrees(dir);
});

const REMARKED = `OFXHEADER:100

<OFX><STMTRS><CURDEF>USD<BANKACCTFROM><ACCTID>4711</BANKACCTFROM>
<BANKTRANLIST><DTSTART>20261001<DTEND>20261005
<STMTTRN><DTPOSTED>20261001<TRNAMT>-21.00<FITID>FIT-100001<NAME>GITHUB PRO</STMTTRN>
</BANKTRANLIST><LEDGERBAL><BALAMT>979.00<DTASOF>20261011</LEDGERBAL></STMTRS></OFX>
`;

test("a remark on a statement is a note once it is booked, and again only if an undo closed it unanswered", async () => {
  const dir = await workspace();
  put(dir, { "october.ofx": REMARKED });
  const notes = async () =>
    (await cleared(dir, "queue", "--json")).json().filter(({ title }: { title: string }) => title.includes("opening balance"));
  for (const _ of [1, 2]) expect(await receipts(dir, "october.ofx")).toMatchObject([{ account: "", refused: [{}] }]);
  expect(await notes()).toEqual([]);
  const config = readFileSync(join(dir, "config.yaml"), "utf8");
  const rule = 'statements:\n  - {match: {bank_account: "4711"}, account: 1010}\n';
  put(dir, { "config.yaml": config.replace(/^statements:.*\n/m, rule) });
  await shell(dir, "git commit -qam 'config: 4711'");
  expect(await receipts(dir)).toMatchObject([{ account: "1010", new: 1 }]);
  expect(await notes()).toHaveLength(1);
  await cleared(dir, "undo", "import", "--yes");
  expect(await notes()).toEqual([]);
  expect(await receipts(dir)).toMatchObject([{ account: "1010", new: 1 }]);
  const [note, ...others] = await notes();
  expect(note).toMatchObject({ kind: "note", title: expect.stringMatching(/opening balance is not known/) });
  expect(others).toEqual([]);
  await cleared(dir, "approve", String(note.id));
  expect(await receipts(dir, "october.ofx", "--again")).toMatchObject([{ known: 1 }]);
  expect(await notes()).toEqual([]);
});

test("a dry run books nothing, moves nothing and sees only the given files", async () => {
  const dir = await workspace();
  put(dir, { "import/november.csv": NOVEMBER, "october.csv": OCTOBER });
  const head = (await shell(dir, "git rev-parse HEAD")).stdout;
  expect(await receipts(dir, "october.csv", "--dry-run")).toMatchObject([{ file: "october.csv", rows: 4, new: 3, twin: 1 }]);
  expect((await shell(dir, "git rev-parse HEAD; ls import")).stdout).toBe(`${head}november.csv\n`);
  expect((await cleared(dir, "runs", "--json")).json()).toEqual([]);
});

test("two simultaneous imports wait for each other, with and without a running start", async () => {
  const dir = await workspace();
  put(dir, { "october.csv": OCTOBER, "november.csv": NOVEMBER });
  const both = async () => (await Promise.all([receipts(dir, "october.csv"), receipts(dir, "november.csv")])).flat();
  expect((await both()).reduce((sum, receipt) => sum + receipt.new + receipt.twin, 0)).toBe(5);
  expect(await entries(dir)).toBe(5);

  await shell(dir, "git rm -qr journal import/receipts && git commit -qm 'undo all'");
  const running = await start(dir);
  expect((await both()).reduce((sum, receipt) => sum + receipt.new + receipt.twin, 0)).toBe(5);
  expect(await entries(dir)).toBe(5);
  await running.stop();
  await agrees(dir);
});

test("a start killed at any moment of an import is completed by the next one", async () => {
  const dir = await workspace();
  const rows = Array.from({ length: 400 }, (_, i): [string, string, string] => [
    `2026-10-${String(1 + (i % 28)).padStart(2, "0")}`,
    `SHOP ${i}`,
    `-${i + 1}.00`,
  ]);
  for (const afterMs of [150, 350, 600]) {
    const running = await start(dir);
    put(dir, { "import/big.csv": statement(rows) });
    await new Promise((resolve) => setTimeout(resolve, 300 + afterMs));
    await running.stop("SIGKILL");
  }
  const running = await start(dir);
  await until(async () => (await shell(dir, "ls import/processed")).stdout.includes("big.csv"));
  await running.stop();
  expect(await entries(dir)).toBe(400);
  expect((await shell(dir, "git log --format=%s --grep '^import:' | wc -l")).stdout.trim()).toBe("1");
  expect((await shell(dir, "git status --short")).stdout).toBe("");
  await agrees(dir);
});
