/** Every sample statement comes out exactly. STATEMENTS_DIR names another folder of the same form (files and manifest.json). */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { read, SAMPLES, sample } from "./shipped.ts";

const dir = process.env["STATEMENTS_DIR"] ?? SAMPLES;
const manifest = JSON.parse(readFileSync(join(dir, "manifest.json"), "utf8")) as Record<
  string,
  { new: number; refused: number; dialect?: string }
>;

describe(`the statements in ${dir}`, () => {
  const covered = Object.keys(manifest).filter((name) => /\.(csv|ofx|qfx)$/i.test(name));
  test("there are some", () => expect(covered.length).toBeGreaterThan(0));

  test.each(covered)("%s has the rows in its manifest", (name) => {
    expect(existsSync(join(dir, name))).toBe(true);
    const statements = read(name, readFileSync(join(dir, name)));
    const expected = manifest[name];
    expect({
      new: statements.reduce((sum, one) => sum + one.rows.length, 0),
      refused: statements.reduce((sum, one) => sum + one.refused.length, 0),
    }).toEqual({ new: expected?.new, refused: expected?.refused });
    if (expected?.dialect !== undefined) expect(statements[0]?.dialect).toBe(expected.dialect);
  });
});

describe("a row has all its fields", () => {
  const first = (name: string, index = 0) => read(name, sample(name))[0]?.rows[index];

  test("Chase checking", () => {
    expect(first("chase_checking_header.csv", 3)).toEqual({
      line: 5,
      date: "2025-01-15",
      amount: "3500.00",
      currency: "USD",
      description: "ACME CONSULTING INVOICE 1042",
      raw_description: "ACME CONSULTING INVOICE 1042",
      type: "ACH_CREDIT",
      bank_id: null,
      balance: "8785.60",
    });
  });

  test("Chase without a header", () => {
    expect(first("chase_no_header_ofxdate.csv", 2)).toMatchObject({
      line: 3,
      date: "2009-12-24",
      amount: "-7.00",
      type: "DEBIT",
      description: "GITHUB 041287430274 CA 12/22GITHUB 04",
      raw_description: "GITHUB 041287430274 CA           12/22GITHUB 04",
    });
  });

  test("Austria: decimal comma and plus sign", () => {
    const [statement] = read("austria.csv", sample("austria_semicolon_decimalcomma_plus_sign.csv"));
    expect(statement).toMatchObject({ dialect: "austria-semicolon", account: "00075757575", currency: "EUR", newest_first: true });
    expect(statement?.rows[2]).toMatchObject({ line: 3, date: "2014-01-15", amount: "120.00", currency: "EUR" });
    expect(statement?.rows[4]).toMatchObject({ amount: "-37.60", date: "2014-01-07" });
    expect(statement?.rows[4]?.raw_description).toContain("FSA\\\\Ort\\10 10");
  });

  test("ING: a word gives the direction", () => {
    const rows = read("ing.csv", sample("ing_nl_af_bij.csv"))[0]?.rows ?? [];
    expect(rows.map((row) => [row.date, row.amount, row.counterparty])).toEqual([
      ["2012-11-15", "-136.13", "From1"],
      ["2012-11-12", "375.00", "Names"],
      ["2009-11-17", "-257.50", "Names"],
    ]);
  });

  test("Nationwide: pound signs, two columns, proven although not ordered by day", () => {
    const [statement] = read("nw.csv", sample("nationwide_uk_pound_two_columns.csv"));
    expect(statement?.rows.map((row) => [row.date, row.amount, row.balance])).toEqual([
      ["2013-11-07", "500.00", "500.00"],
      ["2013-10-09", "-20.00", "480.00"],
      ["2013-12-09", "-19.77", "460.23"],
      ["2013-12-10", "-100.00", "360.23"],
    ]);
    expect(statement).toMatchObject({ currency: "GBP", opening: "0.00", closing: { date: "2013-12-10", amount: "360.23" }, warnings: [] });
  });

  test("France: account, range and closing balance are before the header", () => {
    expect(read("fr.csv", sample("fr_preamble_semicolon.csv"))[0]).toMatchObject({
      account: "0234500012345678",
      opening: "1192.47",
      closing: { date: "2016-02-19", amount: "1234.37" },
      from: "2015-11-21",
      to: "2016-02-19",
      rows: [
        { line: 5, date: "2016-02-19", amount: "50.00", currency: "EUR" },
        { line: 6, date: "2016-02-18", amount: "-8.10", description: "COTISATION JAZZ" },
      ],
    });
  });

  test("New Zealand card: spending is negative, a payment positive", () => {
    const rows = read("nz.csv", sample("nz_creditcard_inverted_sign.csv"))[0]?.rows ?? [];
    expect([rows[0]?.amount, rows[3]?.amount, rows[0]?.bank_id]).toEqual(["-30.00", "500.00", "2013011702"]);
  });

  test("PayPal: a header alone is an empty statement", () => {
    expect(read("pp.csv", sample("paypal_bom_utf8.csv"))).toMatchObject([
      { dialect: "paypal", rows: [], refused: [], opening: null, closing: null },
    ]);
  });

  test("OFX 1: unclosed tags", () => {
    expect(read("c.ofx", sample("checking_sgml_102.ofx"))).toMatchObject([
      {
        dialect: "ofx",
        account: "1452687~7",
        bank: "5472369148 CHECKING",
        currency: "USD",
        opening: "160.49",
        closing: { date: "2013-05-25", amount: "100.99" },
        rows: [
          { date: "2011-03-31", amount: "0.01", bank_id: "0000486", type: "CREDIT" },
          { date: "2011-04-05", amount: "-34.51", bank_id: "0000487", description: "AUTOMATIC WITHDRAWAL, ELECTRIC BILL WEB(S )" },
          {
            date: "2011-04-07",
            amount: "-25.00",
            bank_id: "0000488",
            description: "RETURNED CHECK FEE, CHECK # 319 FOR $45.33 ON 04/07/11",
          },
        ],
      },
    ]);
  });

  test("OFX 2: CDATA, CRLF, another currency", () => {
    expect(read("s.ofx", sample("suncorp_xml_200_cdata.ofx"))).toMatchObject([
      {
        account: "123456789",
        currency: "AUD",
        rows: [
          {
            line: 35,
            date: "2013-12-15",
            amount: "-16.85",
            currency: "AUD",
            description: "EFTPOS WDL HANDYWAY ALDI STORE GEELONG WEST VICAU",
          },
        ],
      },
    ]);
  });

  test("OFX with several accounts gives several statements", () => {
    expect(
      read("m.ofx", sample("multiple_accounts.ofx")).map((one) => [one.account, one.bank, one.rows.length, one.closing?.amount]),
    ).toEqual([
      ["9100", "123 00 CHECKING", 0, "111.00"],
      ["9200", "123 00 SAVINGS", 0, "222.00"],
    ]);
  });

  test("QFX: doubly escaped entities, and a balance of a later day gives no opening", () => {
    const [statement] = read("q.qfx", sample("qfx_html_entities_cad.qfx"));
    expect(statement?.rows[1]).toMatchObject({ date: "2023-03-01", amount: "-1.00", currency: "CAD" });
    expect(statement?.rows[1]?.description).toContain("TPAY <DEFTPYMT> ");
    expect(statement?.rows[0]?.description).toContain("B.C. HYDRO & POWER AUTHORITY");
    expect(statement).toMatchObject({
      opening: null,
      closing: { date: "2023-11-06", amount: "1111.11" },
      warnings: [{ code: "STATEMENT_BALANCE" }],
    });
  });

  test("Bank of America: the summary before the header agrees with the running balance", () => {
    expect(read("b.csv", sample("own_bank_of_america.csv"))).toMatchObject([
      { opening: "1000.00", closing: { date: "2025-11-07", amount: "1480.00" }, skipped: 1, warnings: [] },
    ]);
  });
});
