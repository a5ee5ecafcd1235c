/** Each statement finds its account of the books, by the rules of config.yaml. */
import { describe, expect, test } from "vitest";
import { likelyAccount, matchAccount, recognised, settingsFor } from "../../runtime/workspace/statements/origin.ts";
import { withAnswer } from "../../runtime/workspace/statements/answered-rule.ts";
import { type StatementRule, parseConfig } from "../../runtime/workspace/settings/config.ts";

const NO_RULES = { statements: [], currency: "USD" };
const HASH = "1b2c3d4e5f60".padEnd(64, "0");
const named = (name: string) => ({ name, hash: HASH });

describe("account", () => {
  const rules = [
    { match: { bank_account: "NL28INGB1200324416" }, account: "1020" },
    { match: { file: "chase*.csv" }, account: "1010", dialect: "chase-checking" },
    { match: { file: "card-????.csv", bank_account: "77" }, account: "2010" },
    { match: { dialect: "nz-card" }, account: "2020" },
  ] as StatementRule[];
  const bank = (id: string) => ({ id, name: `Assets:Bank:${id}`, type: "asset" as const });
  const origin = {
    account: null,
    bank: null,
    currency: "USD",
    card: false,
    dialect: "generic",
    from: "2026-10-01",
    to: "2026-10-31",
    rows: [],
  };
  const account = (file: string, said: Partial<typeof origin> | { account: string } = {}, banks = ["1010", "1020"]) =>
    matchAccount({ statements: rules, currency: "USD" }, banks.map(bank), named(file), { ...origin, ...said });

  test("the first rule whose conditions all hold names it", () => {
    expect(account("x.csv", { account: "NL28 INGB 1200 3244 16" })).toBe("1020");
    expect(account("chase-2025.csv")).toBe("1010");
    expect(account("card-1234.csv", { account: "77" })).toBe("2010");
    expect(account("any.csv", { card: true, dialect: "nz-card" })).toBe("2020");
    expect(settingsFor(rules, "chase-2025.csv").dialect).toBe("chase-checking");
    expect(settingsFor(rules, "other.csv").dialect).toBeUndefined();
  });

  // A date that is not of the statement stays, and so does every number.
  const asks = [
    "savings_02.csv",
    "giro_4711_2.csv",
    "bank-N26.csv",
    "maya.csv",
    "giro-2026.csv",
    "march-checking.csv",
    "MySavingsHistory.csv",
  ];
  asks.push("April Giro.csv", "giro 10 2026.csv", "giro-2011-10.csv");
  const BOOKS = ["Giro", "Savings", "Maya", "Checking", "N26", "Chase 1234", "PayPal"].map((name) => ({
    ...bank("1"),
    name: `Assets:Bank:${name}`,
  }));
  BOOKS.push({ ...bank("2"), name: "Assets:Equipment" }, { ...bank("3"), name: "Liabilities:Sales Tax", type: "liability" as never });
  // Such names may be those of any account's downloads: no word or number of one account that has statements, or those of two.
  const nobodys = [
    "transactions.csv",
    "AccountHistory.csv",
    "stmt.csv",
    "Umsatzübersicht.csv",
    "sales.csv",
    "equipment.csv",
    "Checking and Savings.csv",
    "Chase2010.csv",
    "31122026.csv",
    "export (1).csv",
    "Umsätze 2.csv",
    "konto-1.csv",
    "account 123.csv",
    "october.csv",
    "May.csv",
    "2026-10.csv",
  ];
  nobodys.push(
    "Umsaetze-2026-10.csv",
    "transactions_2025.csv",
    "Export_311026.csv",
    "export-20261031143059.csv",
    "x1.csv",
    "konto-4711081.csv",
    "12345 export.csv",
    "export (12345).csv",
    "page-12345678.csv",
    "Card_Activity.CSV",
  );

  test("a rule for a statement without a number holds for its dialect and the name of its file without dates", () => {
    const like = (file: string, known: StatementRule[] = []) =>
      recognised(named(file), origin, { statements: known, currency: "USD" }, BOOKS);
    const generic = (file: string) => ({ file, dialect: "generic" });
    const alone = (file: string) => ({ ...generic(file), content: HASH.slice(0, 12) });
    for (const [file, pattern] of [
      ["giro-2026-10.csv", "giro-{date}.csv"],
      ["31.10.2026 giro 2.csv", "{date} giro 2.csv"],
      ["Chase1234_Activity_20261031.csv", "Chase1234_Activity_{date}.csv"],
      ["chase 4711.csv", "chase 4711.csv"],
      ["Chase2010_Giro_20261031.csv", "Chase2010_Giro_{date}.csv"],
      ["giro-20-19-10_2026-10_11.csv", "giro-20-19-10_{date}_11.csv"],
      ["Savings Oct 2026 (2).csv", "Savings {date} (2).csv"],
      ["paypal-2026-10.csv", "paypal-{date}.csv"],
      ["10-31-2026_April_giro_2026-10-01.csv", "{date}_April_giro_{date}.csv"],
      ["giro*.csv", "giro?.csv"],
      ...asks.map((file) => [file, file] as const),
    ] as const)
      expect(like(file), file).toEqual(generic(pattern));
    for (const file of nobodys) expect(like(file), file).toEqual(alone(file));
    // The only card of the books can be no other.
    const card = { id: "2010", name: "Liabilities:Credit Card", type: "liability" as const };
    const ofCard = (cards: string[]) =>
      recognised(
        named("activity.csv"),
        { ...origin, card: true },
        NO_RULES,
        cards.map((id) => ({ ...card, id })),
      );
    expect([["2010"], ["2010", "2020"], []].map(ofCard)).toEqual([generic("activity.csv"), alone("activity.csv"), alone("activity.csv")]);
    const answered = { statements: [{ match: alone("export.csv"), account: "1010" }], currency: "USD" };
    const found = [HASH, "2".repeat(64)].map((hash) =>
      matchAccount(answered, ["1010", "1020"].map(bank), { name: "export.csv", hash }, origin),
    );
    expect(found).toEqual(["1010", null]);
    // An account that a rule names has statements, wherever it is in the books.
    const desk = (statements: StatementRule[]) =>
      recognised(named("equipment-2026-10.csv"), origin, { statements, currency: "USD" }, BOOKS);
    const first = alone("equipment-2026-10.csv");
    expect([desk([]), desk([{ match: first, account: "2" }])]).toEqual([first, generic("equipment-{date}.csv")]);
    // Where the pattern would not tell two accounts apart, each file is asked about.
    const rule = (file: string, account: string) => ({ match: generic(file), account });
    expect(like("march.csv", [rule("savings-{date}.csv", "1020")])).toEqual(alone("march.csv"));
    expect(like("konto3.csv", [rule("konto1.csv", "1010"), rule("konto2.csv", "1020")])).toEqual(alone("konto3.csv"));
    const giros = [rule("giro-{date}.csv", "1010"), rule("giro-2026-09.csv", "1020")];
    expect(like("giro-2026-10.csv", giros)).toEqual(alone("giro-2026-10.csv"));
    expect(recognised(named("x1.ofx"), { ...origin, dialect: "ofx" }, NO_RULES, [])).toEqual({ ...alone("x1.ofx"), dialect: "ofx" });
  });

  test("a date in a rule is a date of the statement, in any form", () => {
    const dated = [{ match: { file: "giro-{date}.csv" }, account: "1010" }];
    const found = (file: string) => matchAccount({ statements: dated, currency: "USD" }, ["1010", "1020"].map(bank), named(file), origin);
    for (const file of ["giro-2026-09.csv", "giro-20261031.csv", "giro-Oct 2026.csv"]) expect(found(file), file).toBe("1010");
    for (const file of ["giro-2026-12.csv", "giro-4711-22.csv", "giro-12345678.csv", "giro-joint 2026.csv", "joint giro-2026-10.csv"])
      expect(found(file), file).toBeNull();
  });

  test("an answer holds for its number within its bank, kind, format and currency alone; a rule by hand for what it names", () => {
    const numbered = { ...origin, account: "00 12", dialect: "ofx" };
    const others = [
      ...[{ bank: "111 CHECKING" }, { bank: "222 CHECKING" }, { bank: "1 11 CHECKING" }, { bank: "111" }, { bank: "111", card: true }, {}],
      ...[{ card: true }, { dialect: "ing" }, { dialect: "ing", card: true }, { currency: "EUR" }, { account: "0013" }],
    ].map((said) => ({ ...numbered, ...said }));
    const matches = others.map((one) => recognised(named("x"), one, NO_RULES, []));
    expect(matches.slice(4, 7)).toEqual([
      { bank_account: "0012", bank: "111 CARD", dialect: "ofx", currency: "USD" },
      { bank_account: "0012", bank: "none", dialect: "ofx", currency: "USD" },
      { bank_account: "0012", bank: "CARD", dialect: "ofx", currency: "USD" },
    ]);
    const at = (match: StatementRule["match"], said: typeof origin | { account: string }) =>
      matchAccount({ statements: [{ match, account: "1010" }], currency: "USD" }, ["1010"].map(bank), named("x"), { ...origin, ...said });
    for (const [n, match] of matches.entries())
      expect(
        others.map((one) => at(match, one)),
        JSON.stringify(match),
      ).toEqual(others.map((_, m) => (m === n ? "1010" : null)));
    expect(at({ bank_account: "0012", bank: "111 CHECKING" }, { ...numbered, bank: "111 checking" } as never)).toBe("1010");
    expect(others.map((one) => at({ bank_account: "0012" }, one))).toEqual([...others.slice(1).map(() => "1010"), null]);
  });

  test("without a rule it is the only bank account, unless the statement says that it is another one", () => {
    expect(account("other.csv", {}, ["1010"])).toBe("1010");
    expect(account("other.csv", { account: "78" }, ["1010"])).toBeNull();
    expect(account("other.csv", { card: true }, ["1010"])).toBeNull();
    expect(account("other.csv", { currency: "EUR" }, ["1010"])).toBeNull();
    expect([account("other.csv"), account("other.csv", {}, [])]).toEqual([null, null]);
  });

  test("a rule holds for the currency that it names, one for a number, a content or a mapping for theirs, any other for that of the books", () => {
    const at = (file: string, rows: string[], statements: StatementRule[] = rules, bankAccount: string | null = null) => {
      const statement = {
        ...origin,
        account: bankAccount,
        currency: rows[0] ?? "USD",
        rows: rows.map((currency) => ({ currency })) as never,
      };
      return [
        matchAccount({ statements, currency: "USD" }, ["1010"].map(bank), named(file), statement),
        recognised(named(file), statement, NO_RULES, [{ ...bank("1030"), name: "Assets:Bank:Wise" }]),
      ];
    };
    const like = (currency?: string) => ({ file: "wise.csv", dialect: "generic", ...(currency === undefined ? {} : { currency }) });
    expect(at("chase.csv", ["EUR"])[0]).toBeNull();
    expect(at("chase.csv", ["EUR", "USD"])[0]).toBeNull();
    expect(at("x.csv", ["EUR"], rules, "NL28 INGB 1200 3244 16")).toEqual([
      "1020",
      { bank_account: "NL28INGB1200324416", bank: "none", dialect: "generic", currency: "EUR" },
    ]);
    const eur = [{ match: { bank_account: "NL28INGB1200324416", currency: "EUR" }, account: "1030" }];
    const of = (rows: string[]) => at("x.csv", rows, eur, "NL28 INGB 1200 3244 16")[0];
    expect([of(["EUR"]), of(["EUR", "USD"]), of(["GBP"])]).toEqual(["1030", null, null]);
    // A payment abroad is one of the account that the statement names.
    expect(at("x.csv", ["USD", "EUR"], rules, "NL28 INGB 1200 3244 16")[0]).toBe("1020");
    const answered = [...rules, { match: like("EUR"), account: "1030" }];
    expect(at("wise.csv", ["EUR", "EUR"], answered)).toEqual(["1030", like("EUR")]);
    expect(at("wise.csv", ["USD"], answered)).toEqual(["1010", like()]);
    expect(at("wise.csv", ["USD", "EUR"], answered)).toEqual([null, like("any")]);
    expect(at("wise.csv", ["USD", "EUR"], [...rules, { match: like("any"), account: "1030" }])[0]).toBe("1030");
    const mapped = [{ match: { file: "wise.csv" }, account: "1030", mapping: { currency: "EUR" } }] as StatementRule[];
    expect(at("wise.csv", ["EUR"], mapped)[0]).toBe("1030");
  });

  test("the likely one is the only one of its kind that no rule names", () => {
    const card = { id: "2010", name: "Liabilities:Credit Card", type: "liability" as const };
    const likely = (banks: string[], isCard: boolean, match = {}) =>
      likelyAccount({ statements: rules.slice(0, 2), currency: "USD" }, [...banks.map(bank), card], { card: isCard, match })?.id;
    expect([likely(["1030"], false), likely(["1030"], true)]).toEqual(["1030", "2010"]);
    expect([likely(["1010"], false), likely(["1030", "1040"], false), likely([], false)]).toEqual([undefined, undefined, undefined]);
    expect(likely(["1030"], false, { currency: "EUR" })).toBeUndefined();
    expect(likely(["1030"], false, { currency: "USD" })).toBe("1030");
  });

  test("bank accounts are assets below Assets:Bank", () => {
    const accounts = [
      { id: "1010", name: "Assets:Bank:Checking", type: "asset" as const },
      { id: "1200", name: "Assets:Receivable", type: "asset" as const },
      { id: "5010", name: "Expenses:Bank:Fees", type: "expense" as const },
    ];
    expect(matchAccount({ statements: [], currency: "USD" }, accounts, named("other.csv"), origin)).toBe("1010");
    expect(likelyAccount(NO_RULES, accounts, { card: false, match: {} })?.id).toBe("1010");
  });

  test("no file pattern takes noticeable time", () => {
    const start = performance.now();
    settingsFor([{ match: { file: "*a".repeat(500) }, account: "1", dialect: "x" }], "a".repeat(5000));
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});

const RULE = '{match: {file: "giro.csv"}, account: 1010}';
const LISTS = ["[]", "[\n]", "[ # none\n ]", `[${RULE}]`, `[${RULE},]`, `[ ${RULE} , # one\n  ]`, `[\n  ${RULE},\n]`];
LISTS.push(`\n  [${RULE}]`, `\n- ${RULE}`, `\n  - ${RULE} # one`, "\n  - match: {file: giro.csv}\n    account: 1010\n    # one");
test.each(LISTS)("an answer becomes the last rule of the list %j", (list) => {
  for (const end of ["", "\n", "\nweb: {port: 1}\n"]) {
    const text = `business: {name: Acme}\nstatements: ${list}${end}`;
    const answer = { match: { file: 'a"b.csv', dialect: "generic" }, account: "1020" };
    const [was, now] = [text, withAnswer(text, answer)].map((one) => parseConfig(one).statements);
    expect(now).toEqual([...(was ?? []), answer]);
  }
});
