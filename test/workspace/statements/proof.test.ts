/** Opening and closing balances are handed on only when they tie with the rows. */
import { expect, test } from "vitest";
import { CHASE, readOne } from "./shipped.ts";

const row = (day: number, amount: string, balance: string) =>
  `DEBIT,01/${String(day).padStart(2, "0")}/2025,X${day},${amount},T,${balance},\n`;
const proven = (...rows: string[]) => readOne(CHASE + rows.join(""));

test("a running balance proves the file in either order, also within one day", () => {
  const rows = [row(2, "-10.00", "90.00"), row(2, "-20.00", "70.00"), row(2, "5.00", "75.00")];
  for (const order of [rows, rows.toReversed()]) {
    expect(proven(...order)).toMatchObject({ opening: "100.00", closing: { date: "2025-01-02", amount: "75.00" }, warnings: [] });
  }
  expect(proven(...rows.toReversed()).newest_first).toBe(true);
});

test("a missing row breaks the proof at the line after it", () => {
  const statement = proven(row(2, "-10.00", "90.00"), row(4, "5.00", "75.00"), row(5, "1.00", "76.00"));
  expect(statement).toMatchObject({ opening: null, closing: null, warnings: [{ line: 3, code: "STATEMENT_BALANCE" }] });
  expect(statement.warnings[0]?.message).toContain("the file says 75.00, the rows before give 95.00");
  expect(statement.rows.length).toBe(3);
});

test("a refused row interrupts the proof without breaking it", () => {
  expect(proven(row(2, "-10.00", "90.00"), row(40, "-20.00", "70.00"), row(4, "5.00", "75.00"))).toMatchObject({
    opening: "100.00",
    closing: { amount: "75.00" },
    warnings: [],
  });
});

test("after a refused last row the closing balance is unknown, before a refused first row the opening is", () => {
  expect(proven(row(2, "-10.00", "90.00"), row(40, "-20.00", "70.00"))).toMatchObject({ opening: "100.00", closing: null });
  expect(proven(row(40, "-10.00", "90.00"), row(3, "-20.00", "70.00"))).toMatchObject({ opening: null, closing: { amount: "70.00" } });
});

test("rows without a balance are added up", () => {
  expect(proven(row(2, "-10.00", ""), row(3, "-20.00", "70.00"), row(4, "1.00", ""))).toMatchObject({
    opening: "100.00",
    closing: { date: "2025-01-04", amount: "71.00" },
  });
});

test("sums are exact beyond the precision of a double", () => {
  expect(proven(row(2, "0.01", "90071992547409930.01"), row(3, "0.02", "90071992547409930.03"))).toMatchObject({
    opening: "90071992547409930.00",
    warnings: [],
  });
});

test("a balance in the middle of the rows is not used as closing balance", () => {
  const ofx =
    "<OFX><STMTRS><CURDEF>USD<BANKTRANLIST><STMTTRN><DTPOSTED>20250110<TRNAMT>1.00<FITID>A-1<NAME>X</STMTTRN></BANKTRANLIST><LEDGERBAL><BALAMT>5.00<DTASOF>20250109</LEDGERBAL></STMTRS></OFX>";
  expect(readOne(ofx)).toMatchObject({ opening: null, closing: null, warnings: [{ code: "STATEMENT_BALANCE" }] });
});
