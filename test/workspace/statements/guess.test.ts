/** A CSV whose header is missing is read as a guess that a person sees; what could be read in two ways is not guessed. */
import { expect, test } from "vitest";
import { ClearedError } from "../../../runtime/kernel/errors.ts";
import { parseDialects } from "../../../runtime/workspace/statements/dialect.ts";
import { read, shipped } from "./shipped.ts";

function guessOf(text: string, options: { dialect?: string } = {}): { dialect: string | undefined; message: string } {
  try {
    read("Nov Export.csv", text, options);
  } catch (error) {
    if (!(error instanceof ClearedError)) throw error;
    return { dialect: (error.data as { dialect?: string }).dialect, message: error.message };
  }
  throw new Error("it was read");
}

/** The rows as they are read once the guess has been accepted. */
function accepted(text: string): [date: string, description: string, amount: string, balance: string | undefined][] {
  const dialects = [...shipped, ...parseDialects([{ path: "importers/x.yaml", text: guessOf(text).dialect ?? "" }])];
  return read("other.csv", text, { dialects }).flatMap(({ rows }) =>
    rows.map(
      ({ date, description, amount, balance }) => [date, description, amount, balance] as [string, string, string, string | undefined],
    ),
  );
}

test.each([
  [
    "the generic form",
    "2026-11-01,GITHUB PRO,-21.00\n2026-11-02,SHOP,-4.5\n",
    [
      ["2026-11-01", "GITHUB PRO", "-21.00", undefined],
      ["2026-11-02", "SHOP", "-4.50", undefined],
    ],
  ],
  [
    "a decimal comma, two texts and a balance",
    "13.11.2026;MIETE;Nov;-900,00;1.000,00\n14.11.2026;X Y;b;100,00;1.100,00\n",
    [
      ["2026-11-13", "MIETE Nov", "-900.00", "1000.00"],
      ["2026-11-14", "X Y b", "100.00", "1100.00"],
    ],
  ],
  [
    "money out, money in and a balance",
    "03/14/2026,ABC,,12.00,112.00\n03/15/2026,DEF,13.00,,99.00\n",
    [
      ["2026-03-14", "ABC", "12.00", "112.00"],
      ["2026-03-15", "DEF", "-13.00", "99.00"],
    ],
  ],
  [
    "a number that is no amount",
    '2026-11-01,4711,"SHOP, INC","1,234.00"\n2026-11-02,4712,SHOP,-5.00\n',
    [
      ["2026-11-01", "SHOP, INC", "1234.00", undefined],
      ["2026-11-02", "SHOP", "-5.00", undefined],
    ],
  ],
] as const)("%s is guessed, and read so once a person has agreed", (_, text, rows) => {
  expect(accepted(text)).toEqual(rows);
});

test("the guess says in words which column is what, by the first row", () => {
  expect(guessOf("2026-11-01,GITHUB PRO,-21.00\n").message).toBe(
    'The file has no header line, and no dialect reads it. It looks like this: column 1 is the day as YYYY-MM-DD ("2026-11-01"), column 2 the text ("GITHUB PRO"), ' +
      'column 3 the amount, negative for money out ("-21.00"); the decimal mark is ".". Approve the card to have such files read so (it adds a dialect to importers/), or write the dialect yourself.',
  );
});

test("a dialect named in config.yaml whose header is missing is asked about in the same way", () => {
  const text = "2026-11-01,GITHUB PRO,-21.00\n";
  const { dialect = "" } = guessOf(text, { dialect: "generic" });
  const dialects = [...shipped, ...parseDialects([{ path: "importers/x.yaml", text: dialect }])];
  expect(read("a.csv", text, { dialect: "generic", dialects })[0]?.rows).toHaveLength(1);
});

test.each([
  ["a day that may be in March or in April", "03/04/2026,ABC,-1.00\n04/05/2026,DEF,-2.00\n"],
  ["two amounts of which none is the balance of the other", "2026-11-01,A,1.00,2.00\n2026-11-02,B,1.00,9.00\n"],
  ["no text", "2026-11-01,1.00,2\n"],
  ["rows of different lengths", "2026-11-01,A,1.00\n2026-11-02,A,1.00,x\n"],
  ["a header nobody knows", "Datum;Zweck;Betrag\n05.11.2026;MIETE;-900,00\n"],
])("%s is not guessed", (_, text) => {
  expect(guessOf(text).dialect).toBeUndefined();
});
