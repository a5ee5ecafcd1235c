/** A receipt's text is stable, carries any untrusted text unharmed and is read back strictly. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { entryId } from "../../runtime/workspace/books/entry-id.ts";
import { type KeptReceipt, receiptFromYaml, receiptToYaml } from "../../runtime/workspace/statements/receipt.ts";

const receipt: KeptReceipt = {
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
  asked: [
    {
      question: "0123456789ab",
      why: "day",
      entry: "250103-1123456789",
      id: entryId("2025-01-03", "1010:20250103:-4.00:USD:id.X9:0"),
      key: "1010:20250103:-4.00:USD:id.X9:0",
      date: "2025-01-03",
      amount: "-4.00",
      currency: "USD",
      description: "COFFEE",
      reference: "X9",
    },
  ],
  removed: ["250103-3123456789"],
  record: {
    stated: [
      {
        account: "1010",
        currency: "USD",
        from: "2025-01-03",
        to: "2025-01-04",
        first: "2025-01-03",
        morning: ["-4.00"],
        opening: "100.00",
        closing: { date: "2025-01-04", amount: "96.00" },
      },
    ],
    booked: { "250103-4123456789": "-4.00", "250103-5123456789": "1.00", "250104-4123456789": "2.00" },
    known: [],
    same: { "250103-6123456789": "250103-7123456789" },
    left_out: [],
  },
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
asked:
  - question: 0123456789ab
    why: day
    rows: |
      1010:20250103:-4.00:USD:id.X9:0\t250103-1123456789\tX9\tCOFFEE
removed:
  - 250103-3123456789
opening: "100.00"
closing: null
gap: "-0.10"
record:
  stated:
    - account: "1010"
      currency: USD
      from: 2025-01-03
      to: 2025-01-04
      first: 2025-01-03
      morning:
        - "-4.00"
      opening: "100.00"
      closing:
        date: 2025-01-04
        amount: "96.00"
  booked:
    "250103": 4123456789=-4.00 5123456789=1.00
    "250104": 4123456789=2.00
  known: {}
  same:
    "250103": 6123456789=250103-7123456789
  left_out: {}
`);
  const { file, ...rest } = receipt;
  expect(receiptToYaml({ ...rest, file })).toBe(receiptToYaml(receipt));
});

test("any text in a receipt is preserved", () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 1, unit: "binary" }),
      fc.array(fc.string({ unit: "binary" }), { maxLength: 3 }),
      fc.boolean(),
      (text, list, same) => {
        const made: KeptReceipt = {
          ...receipt,
          file: text.replaceAll("/", "_").replace(/^\.{1,2}$/, "dots"),
          refused: list.map((message, line) => ({ line, code: "X", message })),
          unbooked: same ? [text, text] : list,
          asked: receipt.asked.map((row) => ({ ...row, description: text.replace(/\s+/g, " "), reference: text.replace(/\s+/g, " ") })),
        };
        expect(receiptFromYaml(receiptToYaml(made))).toEqual(made);
      },
    ),
    { numRuns: 200 },
  );
});

test("a receipt of an older version, which kept of an account that was left out only how it is recognized, is read", () => {
  const text = receiptToYaml(receipt).replace("  left_out: {}\n", '  left_out: {}\n  left_accounts:\n    - bank_account: "9100"\n');
  expect(receiptFromYaml(text, "a.yaml").record.left_accounts).toEqual([{ match: { bank_account: "9100" }, card: false, rows: [] }]);
});

test("an edited, invalid receipt is reported with its error", () => {
  for (const text of [
    "",
    "x: 1",
    receiptToYaml(receipt).replace("rows: 3", "rows: -3"),
    receiptToYaml(receipt).replace("rows: 3", "extra: 3"),
    ...["../../elsewhere.csv", "/etc/x.csv", "..", "."].map((file) => receiptToYaml(receipt).replace("chase.csv", file)),
    "a: &a 1\nb: *a",
    "a: [",
  ]) {
    expect(() => receiptFromYaml(text, "import/receipts/x.yaml")).toThrow(expect.objectContaining({ code: "FILE_INVALID" }));
  }
});

test("50,000 references are written and read quickly", () => {
  const large = { ...receipt, unbooked: Array.from({ length: 50_000 }, (_, i) => `250103-${i}`) };
  const start = performance.now();
  expect(receiptFromYaml(receiptToYaml(large))).toEqual(large);
  console.log(`receipt with 50,000 open rows: ${Math.round(performance.now() - start)} ms`);
  expect(performance.now() - start).toBeLessThan(30_000);
});
