/** Each statement finds its account of the books, by the rules of config.yaml. */
import { describe, expect, test } from "vitest";
import { bankAccounts, matchAccount, settingsFor } from "../../runtime/workspace/statement-account.ts";

describe("account", () => {
  const rules = [
    { match: { bank_account: "NL28INGB1200324416" }, account: "1020" },
    { match: { file: "chase*.csv" }, account: "1010", dialect: "chase-checking" },
    { match: { file: "card-????.csv", bank_account: "77" }, account: "2010" },
  ];
  const account = (file: string, bankAccount: string | null, banks = ["1010", "1020"]) => matchAccount(rules, banks, { file, bankAccount });

  test("the first rule whose conditions all hold names it", () => {
    expect(account("x.csv", "NL28 INGB 1200 3244 16")).toBe("1020");
    expect(account("chase-2025.csv", null)).toBe("1010");
    expect(account("card-1234.csv", "77")).toBe("2010");
    expect(settingsFor(rules, "chase-2025.csv").dialect).toBe("chase-checking");
    expect(settingsFor(rules, "other.csv").dialect).toBeUndefined();
  });

  test("without a rule it is the only bank account, else an error that says what to write", () => {
    expect(account("other.csv", null, ["1010"])).toBe("1010");
    expect(() => account("card-1234.csv", "78")).toThrow('match: { bank_account: "78" }');
    expect(() => account("other.csv", null)).toThrow(
      'the chart has 2 bank accounts (1010, 1020). Add to config.yaml under statements: - match: { file: "other.csv" }',
    );
    expect(() => account("other.csv", null, [])).toThrow("no account below Assets:Bank");
  });

  test("bank accounts are assets below Assets:Bank", () => {
    expect(
      bankAccounts([
        { id: "1010", name: "Assets:Bank:Checking", type: "asset" },
        { id: "1200", name: "Assets:Receivable", type: "asset" },
        { id: "5010", name: "Expenses:Bank:Fees", type: "expense" },
      ]),
    ).toEqual(["1010"]);
  });

  test("no file pattern costs time", () => {
    const start = performance.now();
    settingsFor([{ match: { file: "*a".repeat(500) }, account: "1", dialect: "x" }], "a".repeat(5000));
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});
