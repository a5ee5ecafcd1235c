/** Dialect files are checked to the line, and the most specific dialect reads a file. */
import { expect, test } from "vitest";
import { parseDialects, matchTemplate } from "../../../runtime/workspace/statements/dialect.ts";
import { mappingOf, readOne, shipped, thrown } from "./shipped.ts";

const good = [
  "name: mine",
  "match:",
  "  header: [Day, Text, Sum]",
  "columns:",
  "  date: Day",
  "  description: Text",
  "  amount: Sum",
  "date: DD.MM.YYYY",
];
const load = (...lines: string[]) => parseDialects([{ path: "importers/mine.yaml", text: lines.join("\n") }]);
const replaced = (from: string, to: string) => () => load(...good.map((line) => (line === from ? to : line)));

test("a valid dialect is read, with defaults", () => {
  expect(load(...good)).toMatchObject([{ name: "mine", delimiter: ",", encoding: "utf-8", sign: "signed", amount: { decimal: "." } }]);
});

test.each([
  ["an unknown key", "date: DD.MM.YYYY", "date: DD.MM.YYYY\ndelimitr: ';'", 9, 'Unknown key "delimitr". Did you mean "delimiter"?'],
  ["an unknown inner key", "  amount: Sum", "  amount: Sum\n  balanc: B", 8, 'Unknown key "columns.balanc". Did you mean "balance"?'],
  ["a missing column", "  date: Day", "", 6, "columns.date: write a column's header, or its number from 1"],
  ["a date form without a year", "date: DD.MM.YYYY", "date: DD.MM", 8, "date: write a form such as"],
  ["neither amount nor out and in", "  amount: Sum", "  balance: B", 4, "name either `amount`"],
  ["out without in", "  amount: Sum", "  amount: Sum\n  out: O", 4, "`out` and `in` go together"],
  ["a number where a list belongs", "  header: [Day, Text, Sum]", "  header: 3", 3, "match.header: write a list of words"],
  ["a bad name", "name: mine", "name: My Bank", 1, "name: write small letters"],
  ["broken YAML", "name: mine", "name: [mine", 2, "Not valid YAML"],
  ["a YAML reference", "name: mine", "name: &a mine\ndescription: *a", 1, "references"],
  ["an unknown place in a preamble", "date: DD.MM.YYYY", 'date: DD.MM.YYYY\npreamble: ["x {balance}"]', 9, "the places are"],
])("%s is an error at its line", (_, from, to, line, message) => {
  const error = thrown(replaced(from, to));
  expect(error.code).toBe("CONFIG_INVALID");
  expect(error.message).toContain(message);
  expect(error.at).toMatchObject({ file: "importers/mine.yaml", line });
});

test("two dialects of one name are refused", () => {
  const file = { path: "a.yaml", text: good.join("\n") };
  expect(thrown(() => parseDialects([file, { ...file, path: "b.yaml" }])).message).toContain("defined twice: in a.yaml");
});

test("hostile YAML ends with an error", () => {
  for (const text of [
    "",
    "[",
    "- 1",
    "null",
    "a: ".repeat(20_000),
    "x".repeat(70_000),
    "? {a: 1}\n: b",
    "__proto__: {}",
    "name: !!binary x",
  ])
    expect(thrown(() => load(text)).code).toBe("CONFIG_INVALID");
});

test("a mapping is checked with config.yaml, as a dialect is with its file", () => {
  const [columns, date] = [{ date: "Day", description: "Text", amount: "Sum" }, "DD.MM.YYYY"];
  expect(mappingOf({ columns, date })).toMatchObject({ columns, delimiter: "," });
  const wrong = [null, 3, "x", [], {}, { columns: { date: 0 } }, { columns, date, name: "mine" }, { columns, date: "someday" }];
  for (const mapping of wrong)
    expect(thrown(() => mappingOf(mapping))).toMatchObject({ code: "CONFIG_INVALID", at: { file: "config.yaml" } });
  const typo = thrown(() => mappingOf({ columns: { ...columns, balanc: "Sum" }, date }));
  expect(typo.message).toContain('Unknown key "statements.0.mapping.columns.balanc". Did you mean "balance"?');
});

test("the more specific header wins, and a tie is reported", () => {
  const [mine] = load(...good);
  const [other] = load("name: other", ...good.slice(1));
  if (mine === undefined || other === undefined) throw new Error("no dialect");
  const csv = "Day,Text,Sum\n01.02.2025,A,1.00\n";
  expect(readOne(csv, { dialects: [mine, ...shipped] }).dialect).toBe("mine");
  expect(thrown(() => readOne(csv, { dialects: [mine, other] })).message).toContain("The dialects mine and other all fit.");
});

test("a bad first row does not hide a dialect without a header", () => {
  const statement = readOne(
    'DEBIT,20250230120000[0:GMT],"A",-1.00\nDEBIT,20250203120000[0:GMT],"B",$2\nDEBIT,20250204120000[0:GMT],"C",-3.00\n',
  );
  expect([statement.dialect, statement.rows.length, statement.refused.length]).toEqual(["chase-no-header", 1, 2]);
});

test("templates match by their fixed parts, quickly for any line", () => {
  expect(matchTemplate('End of {closing_date},,"{closing}"', 'End of 11/30/2025,,"1,480.00"')).toEqual({
    closing_date: "11/30/2025",
    closing: "1,480.00",
  });
  expect(matchTemplate("{account};{};{to}", "a;b;c;d")).toEqual({ account: "a", to: "c;d" });
  expect(matchTemplate("a{to}b", "a")).toBeNull();
  expect(matchTemplate(`${"{}a".repeat(100)}b`, "a".repeat(100_000))).toBeNull();
});
