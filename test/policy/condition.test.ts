/** What the parser refuses, with its exact words, and what conditions mean on facts that are awkward. */
import { expect, it } from "vitest";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import { parseCondition, print } from "../../runtime/rules/policy/condition.ts";
import { type Kind, evaluate, unknownFields } from "../../runtime/rules/policy/evaluate.ts";
import type { Json } from "../../runtime/kernel/ports.ts";

it.each([
  ["amount > 5,000", "character 10: thousands separators are not supported; write 5000, and a blank after each comma of a list."],
  ["amount in [1,000, 2]", "character 12: thousands separators are not supported; write 5000, and a blank after each comma of a list."],
  ["rate > 5 %", "character 8: percent signs are not supported; write the number alone, such as `variance_pct > 5`."],
  ["rate > 5%", "character 8: percent signs are not supported; write the number alone, such as `variance_pct > 5`."],
  ["amount > 1e3", "character 10: this is not a plain decimal; write digits with at most one point, and dates as YYYY-MM-DD."],
  ["amount > .5", "character 10: this is not a plain decimal; write digits with at most one point, and dates as YYYY-MM-DD."],
  ["amount > 1.2.3", "character 10: this is not a plain decimal; write digits with at most one point, and dates as YYYY-MM-DD."],
  ["amount > 5_0", "character 10: this is not a plain decimal; write digits with at most one point, and dates as YYYY-MM-DD."],
  ["amount > $5", 'character 10: "$" is not understood.'],
  ["amount = 5", "character 8: write == to compare."],
  ["amount => 5", "character 8: write >= for at least."],
  ["amount >> 5", "character 8: this is not a comparison; write ==, !=, >, >=, < or <=."],
  ["a & b", "character 3: write && or ||."],
  ["status == 'open", "character 11: the quotation mark is not closed."],
  ["status == past due", 'character 16: && or || belongs here, but "due" is here.'],
  ["a ||", "character 5: a condition begins with the name of a field (write `amount > 5`, not `5 < amount`), but the condition ends here."],
  ["5 < amount", 'character 1: a condition begins with the name of a field (write `amount > 5`, not `5 < amount`), but "5" is here.'],
  ["(a || b", 'character 8: a ")" belongs here, but the condition ends here.'],
  ["kind not [a]", 'character 10: "in" belongs after "not", but "[" is here.'],
  ["kind in []", 'character 10: a value belongs here, but "]" is here.'],
  ["due > 2026-02-30", "character 7: 2026-02-30 is neither a day nor a date-time with its zone."],
  ["at > 2026-02-03T10:00", "character 6: 2026-02-03T10:00 is neither a day nor a date-time with its zone."],
  [`s == "\\d"`, "character 6: this text has a wrong escape."],
])("refuses `%s`", (text, says) => {
  expect(() => parseCondition(text)).toThrow(expect.objectContaining({ code: "POLICY_INVALID", message: `\`${text}\`, ${says}` }));
});

it("refuses conditions that are too long or nested too deeply, without a crash", () => {
  for (const text of ["a".repeat(2001), "(".repeat(1000), `${"!".repeat(1000)}a`, `${"(".repeat(50)}a${")".repeat(50)}`])
    expect(() => parseCondition(text)).toThrow(ClearedError);
});

const truth = (text: string, facts: Record<string, Json>, kinds: Record<string, Kind> | null = null, missingIsFalse = false) =>
  evaluate(
    parseCondition(text),
    { facts, kinds: new Map(Object.entries(kinds ?? {})), thresholds: { big: 5000, names: ["US", "GB"] }, loose: kinds === null },
    missingIsFalse,
  );

it.each<[string, Record<string, Json>, boolean | null]>([
  ["amount > 5000", { amount: "5000.00" }, false],
  ["amount >= 5000", { amount: "5000.00" }, true],
  ["amount == 5000", { amount: "5000.000" }, true],
  ["amount > 5000", { amount: `5000.${"0".repeat(40)}1` }, true],
  ["amount > 123456789012345678901234567890", { amount: "123456789012345678901234567891" }, true],
  ["amount > 0", { amount: 1e-7 }, true],
  ["amount > 1000000000000000000000", { amount: 1e21 }, false],
  ["amount >= 1000000000000000000000", { amount: 1e21 }, true],
  ["amount > threshold.big", { amount: 5001 }, true],
  ["country in threshold.names", { country: "gb" }, true],
  ["country not in threshold.names", { country: "FR" }, true],
  ["amount > 5", { amount: Number.NaN }, null],
  ["vendor.tax_id == null", { "vendor.tax_id": null }, true],
  ["vendor.tax_id == null", { vendor: { tax_id: null } }, true],
  ["vendor.tax_id == null", { "vendor.tax_id": null, vendor: { tax_id: "1" } }, null],
  ["amount > 5", { amount: "NaN" }, null],
  ["amount > 5", { amount: "6 000" }, null],
  ["amount > 5", { amount: "" }, null],
  ["amount > 5", { amount: ["6"] }, null],
  ["amount in [6000]", { amount: "6,000" }, null],
  ['amount in ["6000"]', { amount: "6000.00" }, true],
  ["amount in [5000, 6000]", { amount: "6000.00" }, true],
  ["flag", { flag: Number.NaN }, null],
  ["flag == true", { flag: "true" }, null],
  ["status != active", { status: 5 }, null],
  ["x == null", {}, null],
  ["due > 2026-01-01", { due: "2026-13-01" }, null],
  ["due > 2026-01-01", { due: "2026-01-01T10:00:00Z" }, null],
  ["at > 2026-01-01T10:00:00Z", { at: "2026-01-01T10:30:00+01:00" }, false],
  ["at == 2026-01-01T10:00:00Z", { at: "2026-01-01T11:00:00+01:00" }, true],
  ["constructor", {}, null],
  ["a.length > 0", { a: "text" }, null],
  ["__proto__.x == null", {}, null],
  ["a || b", { a: true }, true],
  ["a && b", { a: false }, false],
  ["a && b", { a: true }, null],
])("`%s` on %j is %s", (text, facts, expected) => {
  expect(truth(text, facts)).toBe(expected);
});

it("a declared fact of the wrong kind is unknown", () => {
  expect(truth("total > 5", { total: 6 }, { total: "money" })).toBe(null);
  expect(truth("total > 5", { total: "6" }, { total: "money" })).toBe(true);
  expect(truth("hold", { hold: "yes" }, { hold: "boolean" }, true)).toBe(null);
  expect(truth("code == 7", { code: 7 }, { code: "text" })).toBe(null);
  expect(truth('code == "7"', { code: "007" }, { code: "text" })).toBe(false);
  expect(truth("other", { other: true }, { total: "money" })).toBe(null);
  expect(truth("status == other", { status: "other", other: "x" }, { status: "text" })).toBe(true);
});

it("names exactly the fields that leave a condition undecided", () => {
  const fields = (text: string, facts: Record<string, Json>) =>
    unknownFields(parseCondition(text), { facts, kinds: new Map(), thresholds: {}, loose: true });
  expect(fields("a > 5 && b > 5 && c > 5", { a: 6, b: "6,000" })).toEqual(["b", "c"]);
  expect(fields("a > 5 || b > 5", { a: 1 })).toEqual(["b"]);
  expect(fields("a > limit", { a: 1 })).toEqual(["limit"]);
  expect(fields("a > 5 && b > 5", { a: 1 })).toEqual([]);
});

it.each([
  ["a&&b or not (c||d)", "(a && b) || !(c || d)"],
  ["(a && b) && c", "(a && b) && c"],
  ["kind not in refund,'store credit'", 'kind not in [refund, "store credit"]'],
  ["amount === 5_000.50", "amount == 5000.50"],
])("prints `%s` as `%s`", (text, printed) => {
  expect(print(parseCondition(text))).toBe(printed);
});
