/** OFX as banks write it, and as nobody should. */
import { expect, test } from "vitest";
import { read, thrown } from "./shipped.ts";

const wrap = (inner: string, head = "OFXHEADER:100\nCHARSET:1252\n\n") =>
  `${head}<OFX><STMTRS><CURDEF>USD<BANKACCTFROM><ACCTID>1</BANKACCTFROM>${inner}</STMTRS></OFX>`;
const trn = (fields: string) => `<STMTTRN><DTPOSTED>20250103<TRNAMT>-1.00<FITID>T-100001${fields}</STMTTRN>`;
const rows = (text: string | Uint8Array) => read("a.ofx", text)[0]?.rows ?? [];

test.each([
  ["20250103", "2025-01-03"],
  ["20250103120000", "2025-01-03"],
  ["20250103235959.999[-5:EST]", "2025-01-03"],
  ["20250103000000[+5.30:IST]", "2025-01-03"],
  ["20250103 [0:GMT]", "2025-01-03"],
])("the day of %s is the one the bank wrote", (text, day) => {
  expect(rows(wrap(trn("").replace("20250103", text)))[0]?.date).toBe(day);
});

test.each(["", "20250230", "2025-01-03", "20250103[x", "00000000"])("the day %s is refused", (text) => {
  expect(read("a.ofx", wrap(trn("").replace("20250103", text)))).toMatchObject([
    { rows: [], refused: [{ line: 4, code: "STATEMENT_ROW" }] },
  ]);
});

test("decimal commas are read, thousands separators are refused", () => {
  expect(rows(wrap(trn("").replace("-1.00", "-12,34")))[0]?.amount).toBe("-12.34");
  expect(read("a.ofx", wrap(trn("").replace("-1.00", "-1,234")))[0]?.refused.length).toBe(1);
  expect(read("a.ofx", wrap(trn("").replace("-1.00", "-1,234.50")))[0]?.refused.length).toBe(1);
});

test("the currency of a row is that of its amount, not what it was converted from", () => {
  expect(rows(wrap(trn("<CURRENCY><CURRATE>1.1<CURSYM>EUR</CURRENCY>")))[0]?.currency).toBe("EUR");
  expect(rows(wrap(trn("<ORIGCURRENCY><CURRATE>1.1<CURSYM>EUR</ORIGCURRENCY>")))[0]?.currency).toBe("USD");
});

test("a card's statement is of the institution that sends it", () => {
  const card = `<FI><ORG>B1<FID>10898</FI><CCSTMTRS><CCACCTFROM><ACCTID>XX12</CCACCTFROM>${trn("")}</CCSTMTRS></OFX>`;
  expect(read("a.ofx", `OFXHEADER:100\n\n<OFX>${card}`)[0]).toMatchObject({ account: "XX12", bank: "10898", card: true });
});

test("name and memo make one text without repetition; the payee is the counterparty", () => {
  expect(rows(wrap(trn("<NAME>ACME<MEMO>ACME LTD LONDON")))[0]?.description).toBe("ACME LTD LONDON");
  expect(rows(wrap(trn("<NAME>ACME<MEMO>ref 7")))[0]?.description).toBe("ACME ref 7");
  expect(rows(wrap(trn("<PAYEE><NAME>ACME<CITY>X</PAYEE><BANKACCTTO><ACCTID>999</BANKACCTTO>")))[0]).toMatchObject({
    description: "ACME",
    counterparty: "ACME",
  });
});

test("bare ampersands, bare angle brackets and entities are text", () => {
  expect(rows(wrap(trn("<NAME>A & B < C &#233; &#x1F600; &bogus; &#xD800;")))[0]?.description).toBe("A & B < C é 😀 &bogus; &#xD800;");
});

test("declared windows-1252 is read, and UTF-8 under that declaration too", () => {
  expect(rows(Buffer.from(wrap(trn("<NAME>Caf\xe9")), "latin1"))[0]?.description).toBe("Café");
  expect(rows(Buffer.from(wrap(trn("<NAME>Café"))))[0]?.description).toBe("Café");
  expect(
    thrown(() => read("a.ofx", Buffer.from(wrap(trn("<NAME>Caf\xe9"), '<?xml version="1.0" encoding="utf-8"?>\n'), "latin1"))),
  ).toMatchObject({ code: "STATEMENT_ENCODING", at: { line: 2 } });
});

test("a pending list is omitted", () => {
  expect(rows(wrap(`${trn("<NAME>A")}<BANKTRANLISTP><STMTTRNP><TRNAMT>-9.00<NAME>B</STMTTRNP></BANKTRANLISTP>`)).length).toBe(1);
});

test("a truncated file is refused as a whole", () => {
  const text = wrap(trn("<NAME>A") + trn("<NAME>B"));
  for (const end of [text.length - 1, text.length - 20, text.indexOf("<NAME>B")])
    expect(thrown(() => read("a.ofx", text.slice(0, end)))).toMatchObject({ code: "STATEMENT_INVALID" });
});

test("a bank's refusal is reported in its words", () => {
  expect(
    thrown(() => read("a.ofx", "<OFX><STMTTRNRS><STATUS><CODE>2000<SEVERITY>ERROR<MESSAGE>Account closed</STATUS></STMTTRNRS></OFX>"))
      .message,
  ).toContain("The bank answered: Account closed.");
});

test.each([
  ["deep nesting", "<A>".repeat(400_000)],
  ["known sections nested", "<PAYEE>".repeat(400_000)],
  ["CDATA that never ends", "<![CDATA[".repeat(300_000)],
  ["comments that never end", "<!--".repeat(500_000)],
  ["angle brackets", "<".repeat(2_000_000)],
  ["tags that never end", "<NAME ".repeat(300_000)],
  ["ampersands", `<MEMO>${"&amp".repeat(500_000)}`],
  ["one endless value", `<MEMO>${"x".repeat(4_000_000)}`],
  ["many closings", "</STMTTRN>".repeat(200_000)],
])("%s costs no time and no stack", (_, hostile) => {
  const start = performance.now();
  expect(rows(wrap(hostile + trn("<NAME>A"))).length).toBeLessThanOrEqual(1);
  expect(performance.now() - start).toBeLessThan(15_000);
});

const STATUS = (words: string) => `<SIGNONMSGSRSV1><SONRS><STATUS>${words}</STATUS></SONRS></SIGNONMSGSRSV1>`;

test.each([
  ["a success with its message", STATUS("<CODE>0<SEVERITY>INFO<MESSAGE>SUCCESS"), "It contains no bank or card statement."],
  ["a warning", STATUS("<CODE>2000<SEVERITY>WARN<MESSAGE>Password expires soon"), "It contains no bank or card statement."],
  ["an error", STATUS("<CODE>15500<SEVERITY>ERROR<MESSAGE>Signon invalid"), "The bank answered: Signon invalid."],
  ["an error without a message", STATUS("<CODE>15500<SEVERITY>ERROR"), "The bank answered: error 15500."],
  ["an error without a severity", STATUS("<CODE>2003<MESSAGE>Account not found"), "The bank answered: Account not found."],
])("a file without a statement says why by %s", (_, status, why) => {
  expect(thrown(() => read("a.ofx", `OFXHEADER:100\n\n<OFX>${status}</OFX>`)).message).toBe(
    `No statement can be taken from this OFX file. ${why}`,
  );
});

test("an account that the bank refused neither hides nor delays the one it gave", () => {
  const refused = "<STMTTRNRS><STATUS><CODE>2003<SEVERITY>ERROR<MESSAGE>Account 2 not found</STATUS></STMTTRNRS>";
  const [statement] = read("a.ofx", wrap(trn("")).replace("<STMTRS>", `${refused}<STMTRS>`));
  expect(statement?.rows).toHaveLength(1);
  expect(statement?.warnings).toMatchObject([{ message: "The bank answered: Account 2 not found." }]);
});

test("movements of cash on an investment account are read, and the trades next to them are named", () => {
  const cash = `<INVBANKTRAN>${trn("<NAME>DEPOSIT").replace("-1.00", "500.00")}<SUBACCTFUND>CASH</INVBANKTRAN>`;
  const trade = "<BUYSTOCK><INVBUY><INVTRAN><FITID>9<DTTRADE>20250104</INVTRAN><UNITS>1<TOTAL>-100</INVBUY></BUYSTOCK>";
  const file = (inner: string) =>
    `OFXHEADER:100\n\n<OFX><INVSTMTTRNRS><INVSTMTRS><DTASOF>20250105<CURDEF>USD<INVACCTFROM><BROKERID>b.com<ACCTID>Z9</INVACCTFROM><INVTRANLIST>${inner}</INVTRANLIST></INVSTMTRS></INVSTMTTRNRS></OFX>`;
  expect(read("a.ofx", file(cash + trade))).toMatchObject([
    {
      account: "Z9",
      rows: [{ date: "2025-01-03", amount: "500.00", description: "DEPOSIT" }],
      closing: null,
      warnings: [{ message: expect.stringContaining("1 purchases, sales or payments of securities are not read") }],
    },
  ]);
  expect(read("a.ofx", file(cash))).toMatchObject([{ warnings: [] }]);
  expect(thrown(() => read("a.ofx", file(trade))).message).toContain("only purchases and sales of securities");
});
