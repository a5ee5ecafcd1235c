/** Row identity: whatever way a bank exports a row, it gets one id, and two rows never share one. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { entryId, isEntryId } from "../../../runtime/workspace/books/entry-id.ts";
import { toKeyedRows } from "../../../runtime/workspace/statements/identity.ts";
import { CHASE, read, readOne, sample } from "./shipped.ts";

const toRows = (statements: Parameters<typeof toKeyedRows>[0], account: string) => toKeyedRows(statements, account).map(({ row }) => row);
const ids = (csv: string) => toRows([readOne(csv)], "1010").map((row) => row.id);
const line = (day: number, text: string, amount: string) => `DEBIT,01/${String(day).padStart(2, "0")}/2025,${text},${amount},ACH_DEBIT,,\n`;

test("an id is the day and 50 bits of the key's hash", () => {
  expect(entryId("2026-11-06", "abc")).toBe("261106-q9w1dfwf07");
  expect(isEntryId(entryId("2026-11-06", "abc"))).toBe(true);
});

test("every id is the hash of its key, and keys are one plain word", () => {
  for (const name of [
    "chase_checking_header.csv",
    "austria_semicolon_decimalcomma_plus_sign.csv",
    "checking_sgml_102.ofx",
    "qfx_html_entities_cad.qfx",
    "nz_creditcard_inverted_sign.csv",
  ]) {
    for (const { row, key } of toKeyedRows(read(name, sample(name)), "1010")) {
      expect(entryId(row.date, key)).toBe(row.id);
      expect(key).toMatch(/^[A-Za-z0-9._~/+=:-]+$/);
    }
  }
});

test("two equal coffees on one day are two rows, the second a twin", () => {
  const keyed = toKeyedRows(read("c.csv", sample("own_chase_card.csv")), "2010");
  expect(keyed.map((one) => one.twin)).toEqual([true, false, false, false]);
  expect(new Set(keyed.map((one) => one.row.id)).size).toBe(4);
});

test("any export of the same rows, in any range and order, gives the same ids", () => {
  const row = fc.record({
    day: fc.integer({ min: 1, max: 4 }),
    text: fc.constantFrom("COFFEE", "RENT"),
    amount: fc.constantFrom("-1.00", "-2.50"),
  });
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 25 }), fc.integer({ min: 1, max: 4 }), (rows, from) => {
      const sorted = rows.toSorted((a, b) => a.day - b.day);
      const csv = (list: typeof rows) => CHASE + list.map((one) => line(one.day, one.text, one.amount)).join("");
      const whole = ids(csv(sorted));
      expect(new Set(whole).size).toBe(rows.length);
      expect(new Set(ids(csv(sorted.toReversed())))).toEqual(new Set(whole));
      const later = sorted.filter((one) => one.day >= from);
      if (later.length > 0) expect(ids(csv(later)).every((id) => whole.includes(id))).toBe(true);
    }),
    { numRuns: 100 },
  );
});

test("an export that starts within a day has ids as in the complete day", () => {
  const noon = ids(CHASE + line(3, "COFFEE", "-1.00"));
  const evening = ids(CHASE + line(3, "COFFEE", "-1.00") + line(3, "COFFEE", "-1.00"));
  expect(evening).toContain(noon[0]);
  expect(evening.length).toBe(2);
});

test("the raw text counts, not the collapsed one", () => {
  const [a, b] = ids(CHASE + line(3, "COFFEE  SHOP", "-1.00") + line(3, "COFFEE SHOP", "-1.00"));
  expect(a).not.toBe(b);
});

test("one row in two accounts is two entries", () => {
  const one = readOne(CHASE + line(3, "COFFEE", "-1.00"));
  expect(toRows([one], "1010")[0]?.id).not.toBe(toRows([one], "1020")[0]?.id);
});

const ofx = (rows: [fitid: string, day: string, amount: string, name: string][]) =>
  `OFXHEADER:100\n\n<OFX><STMTRS><CURDEF>USD<BANKACCTFROM><ACCTID>1</BANKACCTFROM><BANKTRANLIST>${rows
    .map(([fitid, day, amount, name]) => `<STMTTRN><DTPOSTED>${day}<TRNAMT>${amount}<FITID>${fitid}<NAME>${name}</STMTTRN>\n`)
    .join("")}</BANKTRANLIST></STMTRS></OFX>`;
const ofxRows = (...rows: Parameters<typeof ofx>[0]) => toRows(read("a.ofx", ofx(rows)), "1010");

test("a bank id is the reference if it names one row", () => {
  expect(ofxRows(["TX-900001", "20250103", "-4.00", "A"])[0]?.reference).toBe("TX-900001");
});

test("a bank id that stands for two rows loses neither", () => {
  const rows = ofxRows(
    ["X1", "20250103", "-4.00", "A"],
    ["X1", "20250104", "-4.00", "A"],
    ["X1", "20250103", "-5.00", "A"],
    ["X1", "20250103", "-4.00", "B"],
    ["X1", "20250103", "-4.00", "B"],
  );
  expect(new Set(rows.map((row) => row.id)).size).toBe(5);
  expect(new Set(rows.map((row) => row.reference)).size).toBe(5);
});

test("rows under one bank id keep their ids when the file is reversed", () => {
  const rows: [string, string, string, string][] = [
    ["X1", "20250103", "-4.00", "A"],
    ["X1", "20250103", "-4.00", "B"],
  ];
  const id = (list: typeof rows, text: string) => ofxRows(...list).find((row) => row.description === text)?.id;
  expect(id(rows, "A")).toBe(id(rows.toReversed(), "A"));
});

test("a bank id identifies its row although the bank rewrites the text", () => {
  expect(ofxRows(["TX-900001", "20250103", "-4.00", "PENDING COFFEE"])[0]?.id).toBe(
    ofxRows(["TX-900001", "20250103", "-4.00", "COFFEE BAR"])[0]?.id,
  );
});

test("ids that only number the rows of a file are not taken for ids", () => {
  const long = ofxRows(["1", "20250103", "-4.00", "A"], ["2", "20250104", "-4.00", "B"]);
  const short = ofxRows(["1", "20250104", "-4.00", "B"]);
  expect(short[0]?.id).toBe(long[1]?.id);
  expect(short[0]?.reference).toBe(short[0]?.id);
});

test("equal rows in two statements of one file for one account stay two", () => {
  const text = ofx([["", "20250103", "-4.00", "A"]]).replace("</OFX>", ofx([["", "20250103", "-4.00", "A"]]).replace(/^[^<]*<OFX>/, ""));
  expect(new Set(toRows(read("a.ofx", text), "1010").map((row) => row.id)).size).toBe(2);
});
