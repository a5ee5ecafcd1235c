/** What is ambiguous or broken is refused with its line and what to do; the rows around it come through. */
import { expect, test } from "vitest";
import { CHASE, mappingOf, read, readOne, sample, thrown } from "./shipped.ts";

const generic = (...rows: string[]) => readOne(`Date,Description,Amount\n2025-01-01,GOOD,-1.00\n${rows.join("\n")}\n`);
const mapped = (mapping: object, csv: string) => readOne(csv, { mapping: mappingOf(mapping) });

test("each bad row is refused at its line and the good ones stay", () => {
  const [statement] = read("bad.csv", sample("own_refused_rows.csv"));
  expect(statement?.rows.map((row) => row.line)).toEqual([2, 10]);
  expect(statement?.refused).toEqual(
    [
      [3, '"02/30/2025" is not a calendar day from 1970 to 2069.'],
      [4, '"$120" carries a currency sign, which this dialect does not allow. Set amount.sign in the dialect or mapping if it is right.'],
      [5, "The date is empty."],
      [6, "The row has 4 cells instead of 7: a column is missing."],
      [7, '"-1.005" has more decimals than USD, which has 2.'],
      [8, '"1e3" is not an amount with decimal mark "." and no thousands mark.'],
      [9, "A quotation mark is opened and not closed, or is inside a quoted cell."],
    ].map(([line, message]) => ({ line, code: "STATEMENT_ROW", message })),
  );
});

test.each([
  ["2025-01-32", "-1.00"],
  ["2025-02-29", "-1.00"],
  ["2025-13-01", "-1.00"],
  ["0000-01-01", "-1.00"],
  ["01/02/2025", "-1.00"],
  ["2025-1-2", "-1.00"],
  ["2025-01-02T10:00", "-1.00"],
  ["2025-01-02", ""],
  ["2025-01-02", "1,50"],
  ["2025-01-02", '"1,500.00"'],
  ["2025-01-02", "0x10"],
  ["2025-01-02", "Infinity"],
  ["2025-01-02", "1.500"],
  ["2025-01-02", "--1.00"],
  ["2025-01-02", "(1.00)"],
  ["2025-01-02", "1.00-"],
  ["2025-01-02", "€1.00"],
  ["2025-01-02", "5."],
  ["2025-01-02", "0.00"],
  ["2025-01-02", "١.٠٠"],
  ["2025-01-02", "1".repeat(31)],
])("the generic dialect refuses the day %s with the amount %s", (date, amount) => {
  const statement = generic(`${date},BAD,${amount}`);
  expect(statement.rows.length).toBe(1);
  expect(statement.refused).toMatchObject([{ line: 3, code: "STATEMENT_ROW" }]);
});

test.each([
  ["-4", "-4.00"],
  ["+4.5", "4.50"],
  [".50", "0.50"],
  ["-.50", "-0.50"],
  ["007.00", "7.00"],
  ["123456789012345678901234567890.12", "123456789012345678901234567890.12"],
])("the amount %s is exactly %s", (text, amount) => {
  expect(generic(`2025-01-02,X,${text}`).rows[1]?.amount).toBe(amount);
});

test("decimal places are those of the row's currency", () => {
  const statement = readOne(
    "Date,Description,Amount,Currency\n2025-01-01,A,100,JPY\n2025-01-01,B,1.5,JPY\n2025-01-01,C,1.5,KWD\n2025-01-01,D,1.5,usd\n",
  );
  expect(statement.rows.map((row) => row.amount)).toEqual(["100", "1.500"]);
  expect(statement.refused.map((row) => row.line)).toEqual([3, 5]);
});

test("a file in which every day has another form blames the dialect, not the rows", () => {
  const error = thrown(() => readOne("Date,Description,Amount\n01/02/2025,A,1.00\n01/03/2025,B,1.00\n13/03/2025,C,1.00\n"));
  expect(error).toMatchObject({ code: "STATEMENT_DIALECT", at: { file: "a.csv", line: 2 } });
  expect(error.message).toContain("expects days as YYYY-MM-DD");
});

test("day first or month first comes from the mapping, never from the row", () => {
  const csv = "When,What,Much\n03/04/2025,A,1.00\n";
  const columns = { date: "When", description: "What", amount: "Much" };
  expect(mapped({ columns, date: "DD/MM/YYYY" }, csv).rows[0]?.date).toBe("2025-04-03");
  expect(mapped({ columns, date: "MM/DD/YYYY" }, csv).rows[0]?.date).toBe("2025-03-04");
  expect(mapped({ columns, date: "DD/MM/YYYY" }, "When,What,Much\n01/13/2025,A,1.00\n").refused[0]?.message).toContain(
    "not a calendar day",
  );
});

test("a mapping reads columns by number, grouped amounts, signs and parentheses", () => {
  const mapping = {
    delimiter: ";",
    columns: { date: 1, description: [2, 3], out: 4, in: 5 },
    date: "D MMM YY",
    amount: { decimal: ",", thousands: ".", sign: "€", parentheses: true },
  };
  const statement = mapped(
    mapping,
    "5 Nov 25;A;B;1.234,50 €;\n6 Nov 25;C;C;;€ 0,99\n7 Nov 25;D;;0,00;7,00\n8 Nov 25;E;;1,00;1,00\n9 Nov 25;F;;12.34,00;\n10 Nov 25;G;;;\n11 Nov 25;H;;(1,00);\n",
  );
  expect(statement.rows.map((row) => [row.date, row.amount, row.description])).toEqual([
    ["2025-11-05", "-1234.50", "A B"],
    ["2025-11-06", "0.99", "C"],
    ["2025-11-07", "7.00", "D"],
  ]);
  expect(statement.refused.map((row) => row.line)).toEqual([4, 5, 6, 7]);
});

test("an unknown header names what was found, the nearest dialect and the remedy", () => {
  const error = thrown(() => read("march.csv", "Details,Posting Date,Description,Sum,Type,Balance\nx,y,z,1,2,3\n"));
  expect(error).toMatchObject({ code: "STATEMENT_DIALECT", at: { file: "march.csv", line: 1 } });
  expect(error.message).toBe(
    'No dialect reads this file. Its first line is: Details,Posting Date,Description,Sum,Type,Balance. The nearest is chase-checking, which also needs "Amount". ' +
      'Add a dialect in importers/, or describe the columns in config.yaml: statements: [{match: {file: "march.csv"}, account: ..., dialect: generic, mapping: {columns: {...}, date: ..., delimiter: ..., amount: {decimal: ...}}}].',
  );
});

test("a named dialect that does not exist is reported with the nearest one", () => {
  expect(thrown(() => readOne(CHASE, { dialect: "chase-cheking" })).message).toContain('Did you mean "chase-checking"?');
});

test("a named dialect with missing columns says which", () => {
  expect(thrown(() => readOne("Foo,Bar\n1,2\n", { dialect: "chase-card" }))).toMatchObject({
    code: "STATEMENT_DIALECT",
    at: { file: "a.csv", line: 1 },
  });
});

test.each([
  ["a spreadsheet", "a.xlsx", Buffer.from("PK\u0003\u0004\u0014\0\0"), "STATEMENT_DIALECT"],
  ["a PDF", "a.pdf", Buffer.from("%PDF-1.7\n%x"), "STATEMENT_DIALECT"],
  ["QIF", "a.qif", Buffer.from("!Type:Bank\nD1/1/25\nT1\n^\n"), "STATEMENT_DIALECT"],
  [
    "CAMT",
    "a.xml",
    Buffer.from('<?xml version="1.0"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.04"/>'),
    "STATEMENT_DIALECT",
  ],
  ["nothing", "a.csv", Buffer.from("\n \n"), "STATEMENT_INVALID"],
  ["a name without content", "a.ofx", Buffer.from("hello"), "STATEMENT_DIALECT"],
  ["windows-1252 bytes", "a.csv", Buffer.from("Date,Description,Amount\n2025-01-01,Caf\xe9,1.00\n", "latin1"), "STATEMENT_ENCODING"],
  ["mostly NUL characters", "a.csv", Buffer.from(`Date,Description,Amount\n2025-01-01,A,1.00\n${"\0".repeat(50)}`), "STATEMENT_ENCODING"],
  [
    "a statement whose every row is bad",
    "a.csv",
    Buffer.from(`Date,Description,Amount\n${"2025-01-01,A,$1\n".repeat(20_001)}`),
    "STATEMENT_INVALID",
  ],
  ["UTF-16 without a mark", "a.csv", Buffer.from("Date,Description,Amount\n2025-01-01,A,1.00\n", "utf16le"), "STATEMENT_ENCODING"],
])("%s is refused whole", (_, name, bytes, code) => {
  expect(thrown(() => read(name, bytes))).toMatchObject({ code });
});

test("a NUL character costs only its own row", () => {
  const csv = readOne("Date,Description,Amount\n2025-01-01,A\0B,1.00\n2025-01-02,GOOD,-1.00\n");
  expect([csv.rows.map((row) => row.line), csv.refused]).toEqual([
    [3],
    [{ line: 2, code: "STATEMENT_ROW", message: "The row contains a NUL character: the file is damaged here. Download it again." }],
  ]);
  const trn = (text: string) => `<STMTTRN><DTPOSTED>20250103<TRNAMT>-1.00<FITID>${text}</STMTTRN>\n`;
  const ofx = `OFXHEADER:100\n\n<OFX><STMTRS><CURDEF>USD<BANKACCTFROM><ACCTID>1</BANKACCTFROM>\n${trn("T1")}${trn("T\0")}</STMTRS></OFX>`;
  expect(read("a.ofx", ofx)).toMatchObject([{ rows: [{ line: 4 }], refused: [{ line: 5, code: "STATEMENT_ROW" }] }]);
});

test("an empty file is reported as empty", () => {
  for (const text of ["", "\n", " \r\n "]) expect(thrown(() => read("a.csv", text)).message).toBe("The file is empty. Download it again.");
});

test("the line of the first invalid byte is named", () => {
  expect(thrown(() => read("a.csv", Buffer.from("Date,Description,Amount\n2025-01-01,Caf\xe9,1.00\n", "latin1")))).toMatchObject({
    at: { file: "a.csv", line: 2 },
  });
});

test("UTF-16 with a mark, UTF-8 with a mark and declared windows-1252 are read", () => {
  const text = "Date,Description,Amount\n2025-01-01,Café,1.00\n";
  const description = (bytes: Buffer, mapping?: object) =>
    read("a.csv", bytes, mapping === undefined ? {} : { mapping: mappingOf(mapping) })[0]?.rows[0]?.description;
  expect(description(Buffer.from(`\ufeff${text}`, "utf16le"))).toBe("Café");
  expect(description(Buffer.from(`\ufeff${text}`))).toBe("Café");
  const mapping = { encoding: "windows-1252", columns: { date: "Date", description: "Description", amount: "Amount" }, date: "YYYY-MM-DD" };
  expect(description(Buffer.from(text, "latin1"), mapping)).toBe("Café");
  expect(thrown(() => description(Buffer.from(text), mapping))).toMatchObject({ code: "STATEMENT_ENCODING" });
});

test("text that would control a terminal or forge a line is plain afterwards", () => {
  const statement = readOne('Date,Description,Amount\n2025-01-01,"A\u001b[2JB\u202eC\r\nD\u0007 \u200bE",1.00\n');
  expect(statement.rows[0]).toMatchObject({ raw_description: "A[2JBC D E", description: "A[2JBC D E" });
});

test("line ends of all kinds count as lines", () => {
  for (const end of ["\n", "\r\n", "\r"]) {
    const statement = readOne(
      ["Date,Description,Amount", "", "2025-01-01,A,1.00", '2025-01-02,"two', 'lines",1.00', "2025-01-40,B,1.00", ""].join(end),
    );
    expect([statement.rows.map((row) => row.line), statement.refused.map((row) => row.line)]).toEqual([[3, 4], [6]]);
  }
});

test("a header with a duplicate mapped column is refused", () => {
  expect(thrown(() => readOne("Date,Description,Amount,Amount\n2025-01-01,A,1,2\n"))).toMatchObject({ code: "STATEMENT_DIALECT" });
});

test("rows of several bank accounts become several statements", () => {
  const statements = read(
    "a.csv",
    "Date,Description,Amount,Account\n2025-01-01,A,1.00,DE1\n2025-01-02,B,2.00,DE2\n2025-01-03,C,3.00,DE1\n2025-01-04,D,x,DE1\n",
  );
  expect(statements.map((one) => [one.account, one.rows.length, one.refused.length])).toEqual([
    ["DE1", 2, 1],
    ["DE2", 1, 0],
  ]);
});
