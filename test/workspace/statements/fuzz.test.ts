/** Whatever the bytes, a statement is read or refused with one of our codes, soon; and large ones are read fast. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ClearedError } from "../../../runtime/kernel/errors.ts";
import { toKeyedRows } from "../../../runtime/workspace/statements/identity.ts";
import { CHASE, read, sample, thrown } from "./shipped.ts";

const NAMES = [
  "chase_checking_header.csv",
  "own_bank_of_america.csv",
  "nationwide_uk_pound_two_columns.csv",
  "fr_preamble_semicolon.csv",
  "ing_nl_af_bij.csv",
  "checking_sgml_102.ofx",
  "suncorp_xml_200_cdata.ofx",
];

function survives(bytes: Uint8Array): void {
  const start = performance.now();
  try {
    for (const statement of read("f.csv", bytes)) {
      for (const { row } of toKeyedRows([statement], "1010")) {
        expect(row.amount).toMatch(/^-?\d{1,30}(\.\d{1,3})?$/);
        expect(row.date).toMatch(/^\d{4}-\d\d-\d\d$/);
        expect(row.raw_description).not.toMatch(/[\p{Cc}\u202e]/u);
      }
    }
  } catch (error) {
    if (!(error instanceof ClearedError)) throw error;
    expect(["STATEMENT_DIALECT", "STATEMENT_ENCODING", "STATEMENT_INVALID"]).toContain(error.code);
  }
  expect(performance.now() - start).toBeLessThan(15_000);
}

describe("no input escapes", () => {
  test("random bytes", () => fc.assert(fc.property(fc.uint8Array({ maxLength: 3000 }), survives), { numRuns: 300 }));

  test("samples with bytes changed, cut, doubled and moved", () => {
    const edit = fc.record({
      at: fc.nat(),
      length: fc.nat({ max: 40 }),
      insert: fc.oneof(
        fc.uint8Array({ maxLength: 8 }),
        fc.constantFrom('"', ",", "\n", "\0", "<", "&", "<![CDATA[", ";", "</OFX>").map((text) => Buffer.from(text)),
      ),
    });
    fc.assert(
      fc.property(fc.constantFrom(...NAMES), fc.array(edit, { minLength: 1, maxLength: 6 }), (name, edits) => {
        let bytes: Uint8Array = sample(name);
        for (const { at, length, insert } of edits) {
          const place = at % (bytes.length + 1);
          bytes = Buffer.concat([bytes.subarray(0, place), insert, bytes.subarray(place + length)]);
        }
        survives(bytes);
      }),
      { numRuns: 600 },
    );
  });

  test("a changed sample never loses a row silently: each data line is a row, a refusal or part of a quoted cell", () => {
    const clean = sample("chase_checking_header.csv").toString();
    fc.assert(
      fc.property(fc.integer({ min: CHASE.length, max: clean.length - 1 }), fc.constantFrom("x", "$", ",", "9", "-", "."), (at, text) => {
        const [statement] = read("c.csv", clean.slice(0, at) + text + clean.slice(at));
        expect((statement?.rows.length ?? 0) + (statement?.refused.length ?? 0)).toBe(
          clean.slice(0, at).endsWith("\n") && at >= clean.length ? 7 : 6,
        );
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    ["commas", ",".repeat(20_000_000)],
    ["line ends", "\n".repeat(1_000_000)],
    ["quotes", '"'.repeat(5_000_000)],
    ["lines with an open quote", `${CHASE}${'"a\n'.repeat(200_000)}`],
    ["one long line", "a".repeat(30_000_000)],
  ])("%s end in a refusal soon", (_, text) => {
    const start = performance.now();
    try {
      read("h.csv", text);
    } catch (error) {
      expect(error).toBeInstanceOf(ClearedError);
    }
    expect(performance.now() - start).toBeLessThan(20_000);
  });
});

describe("size", () => {
  const csv = (count: number) => {
    const lines = [];
    for (let i = 0, balance = 0; i < count; i++) {
      balance += 101 + (i % 7);
      lines.push(
        `CREDIT,${String((i % 12) + 1).padStart(2, "0")}/${String((i % 28) + 1).padStart(2, "0")}/2025,"VENDOR ${i % 500}, SHOP",${((101 + (i % 7)) / 100).toFixed(2)},ACH,${(balance / 100).toFixed(2)},\n`,
      );
    }
    return Buffer.from(CHASE + lines.join(""));
  };

  // The bound only tells seconds from hours; the numbers are printed.
  test.each([10_000, 50_000])("%i rows are read, proven and keyed", (count) => {
    const bytes = csv(count);
    const start = performance.now();
    const [statement] = read("big.csv", bytes);
    const parsed = performance.now();
    const keyed = statement === undefined ? [] : toKeyedRows([statement], "1010");
    const end = performance.now();
    console.log(`${count} rows: parse ${Math.round(parsed - start)} ms, keys ${Math.round(end - parsed)} ms`);
    expect([keyed.length, statement?.warnings.length, new Set(keyed.map((one) => one.row.id)).size]).toEqual([count, 0, count]);
    expect(end - start).toBeLessThan(50_000);
  });

  test("more than 200,000 rows are refused", () => {
    const text = `${CHASE}${"DEBIT,01/03/2025,X,-1.00,T,,\n".repeat(200_001)}`;
    expect(thrown(() => read("a.csv", text))).toMatchObject({ code: "FILE_TOO_LARGE" });
  });

  test("blank lines hide no row", () => {
    expect(thrown(() => read("a.csv", `${CHASE}${"\n".repeat(300_000)}DEBIT,01/03/2025,X,-1.00,T,,\n`))).toMatchObject({
      code: "FILE_TOO_LARGE",
    });
  });
});
