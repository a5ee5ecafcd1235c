/** A receipt's text is stable, carries any untrusted text unharmed and is read back strictly. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Receipt } from "../../runtime/ports.ts";
import { receiptFromYaml, receiptToYaml } from "../../runtime/workspace/receipt.ts";

const receipt: Receipt = {
  file: "chase.csv",
  hash: "ab".repeat(32),
  dialect: "chase-checking",
  account: "1010",
  currency: "USD",
  rows: 3,
  new: 1,
  known: 0,
  twin: 1,
  refused: [{ line: 4, code: "STATEMENT_ROW", message: '"$120" carries a sign: yes, # no' }],
  unbooked: ["250103-0123456789"],
  opening: "100.00",
  closing: null,
  gap: "-0.10",
};

test("the text is canonical", () => {
  expect(receiptToYaml(receipt)).toBe(`file: chase.csv
hash: ${"ab".repeat(32)}
dialect: chase-checking
account: "1010"
currency: USD
rows: 3
new: 1
known: 0
twin: 1
refused:
  - line: 4
    code: STATEMENT_ROW
    message: '"$120" carries a sign: yes, # no'
unbooked:
  - 250103-0123456789
opening: "100.00"
closing: null
gap: "-0.10"
`);
  const { file, ...rest } = receipt;
  expect(receiptToYaml({ ...rest, file })).toBe(receiptToYaml(receipt));
});

test("whatever text a receipt carries comes back", () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 1, unit: "binary" }),
      fc.array(fc.string({ unit: "binary" }), { maxLength: 3 }),
      fc.boolean(),
      (text, list, same) => {
        const made: Receipt = {
          ...receipt,
          file: text,
          refused: list.map((message, line) => ({ line, code: "X", message })),
          unbooked: same ? [text, text] : list,
        };
        expect(receiptFromYaml(receiptToYaml(made))).toEqual(made);
      },
    ),
    { numRuns: 200 },
  );
});

test("an edited receipt that is not one says what is wrong", () => {
  for (const text of [
    "",
    "x: 1",
    receiptToYaml(receipt).replace("rows: 3", "rows: -3"),
    receiptToYaml(receipt).replace("rows: 3", "extra: 3"),
    "a: &a 1\nb: *a",
    "a: [",
  ]) {
    expect(() => receiptFromYaml(text, "import/receipts/x.yaml")).toThrow(expect.objectContaining({ code: "FILE_INVALID" }));
  }
});

test("50,000 references are written and read in a moment", () => {
  const large = { ...receipt, unbooked: Array.from({ length: 50_000 }, (_, i) => `250103-${i}`) };
  const start = performance.now();
  expect(receiptFromYaml(receiptToYaml(large))).toEqual(large);
  console.log(`receipt with 50,000 open rows: ${Math.round(performance.now() - start)} ms`);
  expect(performance.now() - start).toBeLessThan(30_000);
});
