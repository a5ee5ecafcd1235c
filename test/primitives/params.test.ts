/** What a script is told about wrong parameters, and how parameters reach the ports. */
import { expect, it } from "vitest";
import { primitives } from "../../primitives/index.ts";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import type { Json } from "../../runtime/kernel/ports.ts";
import { callPrimitive, parseParams } from "../../runtime/kernel/primitive.ts";
import { ID, memory } from "./memory-ports.ts";

const get = (name: string) => {
  const found = primitives.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no ${name}`);
  return found;
};

function refusal(name: string, params: Json): string {
  try {
    parseParams(get(name), params);
  } catch (error) {
    return error instanceof ClearedError ? `${error.code} ${error.message}` : String(error);
  }
  return "accepted";
}

const double = { date: "2026-11-06", description: "x", debit_account: 5020, credit_account: "1010", amount: "4.00" };

it.each<[string, string, Json, RegExp]>([
  [
    "a number as an amount",
    "journal_add_double",
    { ...double, amount: 4 },
    /^JOURNAL_AMOUNT .*amount: 4 is a number; pass amounts as text/,
  ],
  ["a currency sign", "journal_add_double", { ...double, amount: "$120" }, /^JOURNAL_AMOUNT .*"\$120" is not an amount/],
  ["a negative amount", "journal_add_double", { ...double, amount: "-4.00" }, /^JOURNAL_AMOUNT .*"-4.00" is not positive/],
  ["zero", "journal_add_double", { ...double, amount: "0.00" }, /^JOURNAL_AMOUNT .*not positive/],
  ["an exponent", "journal_add_double", { ...double, amount: "1e3" }, /^JOURNAL_AMOUNT/],
  ["hexadecimal", "journal_add_double", { ...double, amount: "0x10" }, /^JOURNAL_AMOUNT/],
  ["30 February", "journal_add_double", { ...double, date: "2026-02-30" }, /^JOURNAL_DATE .*date: "2026-02-30" is not a calendar day/],
  ["29 February of a common century", "journal_add_double", { ...double, date: "2100-02-29" }, /^JOURNAL_DATE/],
  ["29 February of a leap year", "journal_add_double", { ...double, date: "2028-02-29" }, /^accepted$/],
  ["an empty date", "journal_add_double", { ...double, date: "" }, /^JOURNAL_DATE/],
  [
    "a missing amount",
    "journal_add_double",
    { date: "2026-11-06", description: "x", debit_account: 1, credit_account: 2 },
    /^PARAMS_INVALID .*amount: is missing/,
  ],
  [
    "a misspelt key",
    "journal_add_double",
    { ...double, counterpart: "x" },
    /^PARAMS_INVALID .*unknown key "counterpart". Did you mean "counterparty"\?/,
  ],
  ["a made-up status", "journal_add_double", { ...double, status: "confirmed" }, /^PARAMS_INVALID .*status: /],
  ["voiding by status", "journal_update_status", { entry_id: ID, status: "voided" }, /^PARAMS_INVALID/],
  ["a confidence above one", "journal_add_double", { ...double, confidence: 1.5 }, /confidence: 1.5 is not between 0 and 1/],
  ["a confidence as Decimal text", "journal_add_double", { ...double, confidence: "0.98" }, /^accepted$/],
  [
    "a leg with both sides",
    "journal_add",
    {
      date: "2026-11-06",
      description: "",
      legs: [
        { account: 1, debit: "1", credit: "1" },
        { account: 2, credit: "1" },
      ],
    },
    /^JOURNAL_LEG .*legs\[0\]: needs exactly one/,
  ],
  ["one leg", "journal_add", { date: "2026-11-06", description: "", legs: [{ account: 1, debit: "1" }] }, /legs: /],
  ["a folder as a statement", "importer_parse", { name: "../config.yaml" }, /^FILE_INVALID/],
  ["an event with spaces", "ctx_emit", { event: "Import Done" }, /event: is a name in lower case/],
  ["an empty commit message", "git_commit", { message: " " }, /message: needs a subject/],
  ["a card for what is no entry", "queue_add_review", { entry_id: "12", description: "x" }, /entry_id: is neither/],
])("%s", (_, name, params, says) => {
  expect(refusal(name, params)).toMatch(says);
});

it("a list of entries names the invalid entry and key, and may mix both shapes", () => {
  const legs = {
    date: "2026-11-06",
    description: "x",
    legs: [
      { account: 1, debit: "1" },
      { account: 2, credit: "1" },
    ],
  };
  expect(refusal("journal_add_many", { entries: [double, legs] })).toBe("accepted");
  expect(refusal("journal_add_many", { entries: [double, { ...double, amount: "1,000.00" }] })).toMatch(
    /^JOURNAL_AMOUNT journal_add_many: entries\[1\]\.amount: "1,000.00"/,
  );
  expect(refusal("journal_add_many", { entries: [{ ...legs, evidnce: "x" }] })).toMatch(
    /entries\[0\]: unknown key "evidnce". Did you mean "evidence"\?/,
  );
  expect(refusal("journal_add_many", { entries: ["x"] })).toMatch(/entries\[0\]: "x" is not an object/);
  const many = Array.from({ length: 9 }, () => ({ ...double, amount: "x" }));
  expect(refusal("journal_add_many", { entries: many })).toMatch(/; and 4 more$/);
});

it("2,000 entries are validated in one pass", () => {
  const entries = Array.from({ length: 2000 }, (_, i) => ({ ...double, reference: `r${i}`, confidence: 0.9, evidence: "rule" }));
  parseParams(get("journal_add_many"), { entries });
  const from = performance.now();
  parseParams(get("journal_add_many"), { entries });
  expect(performance.now() - from).toBeLessThan(3000);
});

it("the seed's call becomes a draft with its tags, and empty text counts as not given", async () => {
  const { ctx, drafts } = memory();
  await callPrimitive(
    get("journal_add_double"),
    { ...double, counterparty: "", reference: "r1", confidence: 0.98, status: "auto-confirmed", evidence: "rule: inline match" },
    ctx,
  );
  expect(drafts).toEqual([
    {
      date: "2026-11-06",
      description: "x",
      counterparty: undefined,
      reference: "r1",
      key: undefined,
      status: "auto-confirmed",
      tags: { conf: "0.98", ev: "rule: inline match" },
      legs: [
        { account: "5020", debit: "4.00", currency: undefined },
        { account: "1010", credit: "4.00", currency: undefined },
      ],
    },
  ]);
});

it("a tiny confidence is written without an exponent", async () => {
  const { ctx, drafts } = memory();
  await callPrimitive(get("journal_add_double"), { ...double, confidence: 1e-7 }, ctx);
  expect(drafts[0]?.tags).toEqual({ conf: "0" });
});

it("an entry of two legs is shown with account numbers, one of three with its legs only", async () => {
  const { ctx, entries } = memory();
  const posting = (account: string, amount: string) => ({ account, amount, currency: "USD" });
  const base = { date: "2026-11-06", status: "auto-confirmed" as const, counterparty: "GitHub", description: "GITHUB" };
  entries.push(
    {
      ...base,
      id: ID,
      tags: { conf: "0.98", ev: "rule", ref: "r1" },
      postings: [posting("Assets:Bank:Checking", "-4.00"), posting("Expenses:Software", "4.00")],
    },
    {
      ...base,
      id: ID,
      tags: {},
      postings: [posting("Equity:Other", "-4.00"), posting("Expenses:Software", "3.00"), posting("Expenses:Office Supplies", "1.00")],
    },
  );
  const found = (await callPrimitive(get("journal_query"), {}, ctx)) as Record<string, Json>[];
  expect(found[0]).toMatchObject({
    entry_id: ID,
    amount: "4.00",
    currency: "USD",
    debit_account: 5020,
    credit_account: 1010,
    confidence: 0.98,
    evidence: "rule",
    reference: "r1",
  });
  expect(found[1]).not.toHaveProperty("amount");
  expect(found[1]?.["legs"]).toMatchObject([
    { account: "Equity:Other", credit: "4.00" },
    { account: 5020, debit: "3.00" },
    { account: 5030, debit: "1.00" },
  ]);
});

it('"pending" is the entry added last, and nothing before the first one', async () => {
  const { ctx, reviews } = memory();
  await expect(callPrimitive(get("queue_add_review"), { entry_id: "pending", description: "x" }, ctx)).rejects.toMatchObject({
    code: "JOURNAL_ENTRY_MISSING",
  });
  const added = (await callPrimitive(get("journal_add_double"), double, ctx)) as { entry_id: string };
  await callPrimitive(
    get("queue_add_many"),
    { items: [{ entry_id: "pending", description: "x", confidence: 0.0 }, { description: "note" }] },
    ctx,
  );
  expect(reviews).toEqual([
    { title: "x", body: { confidence: "0" }, entry: added.entry_id },
    { title: "note", body: {}, entry: null },
  ]);
});

it("a missing account gives found: false with the nearest one, and a missing config key an error with it", async () => {
  const { ctx } = memory();
  expect(await callPrimitive(get("accounts_get"), { account_id: "Expenses:Softwar" }, ctx)).toEqual({
    found: false,
    message: 'There is no account Expenses:Softwar. Did you mean "Expenses:Software"?',
  });
  expect(await callPrimitive(get("accounts_get"), { account_id: 5020 }, ctx)).toEqual({
    found: true,
    id: 5020,
    name: "Expenses:Software",
    type: "expense",
  });
  await expect(callPrimitive(get("config_get"), { key: "thresholds.auto" }, ctx)).rejects.toThrow(
    'config.yaml has no key "thresholds.auto". Did you mean "thresholds.auto_confirm"?',
  );
});

it("data/ in front of a path names the same file", async () => {
  const { ctx, files } = memory();
  await callPrimitive(get("data_write"), { path: "data/a.json", text: "{}" }, ctx);
  expect([...files]).toEqual([["data/a.json", "{}"]]);
  expect(await callPrimitive(get("data_read"), { path: "a.json" }, ctx)).toEqual({ found: true, text: "{}" });
  expect(await callPrimitive(get("data_read"), { path: "b.json" }, ctx)).toEqual({ found: false });
});

const wait = { title: "Pay?", calls: [{ tool: "bank_pay", params: { amount: "1.00" } }] };

it("approval_wait opens a gate with its calls and expiry and returns the decision", async () => {
  const { ctx, gates } = memory();
  expect(await callPrimitive(get("approval_wait"), { ...wait, expires: "3d" }, ctx)).toEqual({
    decision: "approved",
    by: "ann",
    calls: wait.calls,
  });
  expect(gates[0]).toMatchObject({
    reason: "approval",
    card: { kind: "approval", title: "Pay?", calls: wait.calls, level: null, expires: ctx.now + 3 * 86_400_000 },
  });
});

it("approval_wait returns no calls when rejected and the edited calls when edited", async () => {
  const rejected = memory({ decision: { decision: "rejected", reason: "no" } });
  expect(await callPrimitive(get("approval_wait"), wait, rejected.ctx)).toEqual({
    decision: "rejected",
    by: "ann",
    reason: "no",
    calls: [],
  });
  const calls = [{ tool: "bank_pay", params: { amount: "0.50" } }];
  const edited = memory({ decision: { decision: "edited", calls } });
  expect(await callPrimitive(get("approval_wait"), wait, edited.ctx)).toEqual({ decision: "edited", by: "ann", calls });
});

it.each(["tomorrow", "0d", "3 days", "2026-11-30", "2026-11-30T10:00", "2020-01-01T00:00:00Z", "2030-02-30T10:00:00Z", "9999999d"])(
  "approval_wait refuses the expiry %s",
  async (expires) => {
    await expect(callPrimitive(get("approval_wait"), { ...wait, expires }, memory().ctx)).rejects.toMatchObject({ code: "PARAMS_INVALID" });
  },
);
