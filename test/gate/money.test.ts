/** What a yes, a no and a verdict leave open: money that would go out twice, after a no, to another amount or currency than was judged. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Host } from "../../runtime/app/host.ts";
import { replayRun } from "../../runtime/engine/replay.ts";
import { editCalls } from "../../runtime/rules/edits.ts";
import type { Json, RunRecord } from "../../runtime/kernel/ports.ts";
import { closeAll, decide, host, openCard, removeAll, run } from "../engine/harness.ts";
import { header, type Shop, shop, STATES } from "./shop.ts";
import { type Judged, row, UNREAD } from "./unread.ts";

const USES = "fsm, mcp, policy, approval, journal, notify, bank";
const begin = (facts = "{ fine: true }", policy = "open", more = ""): string => `${header(USES, `${STATES}${more}`)}fsm_enter("ASSESS");
const found = mcp_call({ tool: "shop/get_invoice", params: { invoice_id: "I-1" } });
fsm_enter("COMPUTE");
fsm_enter("POLICY_CHECK");
const verdict = policy_evaluate({ policy: "${policy}", facts: ${facts} });
`;
const pay = (params: string, tool = "pay_blind"): string => `{ tool: "shop/${tool}", params: ${params} }`;
const asks = (calls: string, more = ""): string => `fsm_enter("APPROVAL_GATE");
approval_wait({ title: "Pay?", calls: [${calls}]${more} });
fsm_enter("MUTATE");
`;
const A = pay('{ invoice_id: "A" }');
const B = pay('{ invoice_id: "B" }');
const NO = pay('{ invoice_id: "NO" }', "pay_invoice");
const BOOK = `journal_add_double({ date: "2026-11-06", description: "Book", debit_account: 5030, credit_account: 1010, amount: found.amount, key: "k" });\n`;

const KWD = '{ amount: found.amount, currency: "KWD" }';
const ENTRY = "{ lines: [{ account: 5030, debit: found.amount }, { account: 1010, credit: found.amount }] }";
const AGED = "{ amount: found.amount, age_days: found.days }";
const PAYEES = '{ payments: ["V-1", "V-2"].map((to) => ({ to, amount: found.amount })) }';

/** One call straight after its verdict, with what the record says. */
const JUDGED: Judged[] = [
  ["the amount that was judged", "{ amount: found.amount }", "{ amount: found.amount }", false],
  ["a limit, which is a fact of another kind", "{ amount: found.amount, limit: found.limit }", "{ amount: found.limit }", true],
  ["the limit itself, where that is set", "{ amount: found.amount, limit: found.limit }", "{ credit_limit: found.limit }", false],
  ["a number of days", "{ amount: found.amount, age_days: found.days }", "{ amount: found.days }", true],
  ["a fact the policy does not declare", "{ amount: found.amount, other_amount: found.limit }", "{ amount: found.limit }", true],
  ["many of what was judged once", "{ amount: found.amount }", "{ unit_price: found.amount, quantity: 1000 }", true],
  ["one of it", "{ amount: found.amount }", "{ unit_price: found.amount, quantity: 1 }", false],
  ["a currency that was not judged", "{ amount: found.amount }", KWD, true],
  ["a currency deep inside", "{ amount: found.amount }", '{ lines: [{ amount: found.amount, currency_code: "KWD" }] }', true],
  ["a currency in the amount", "{ amount: found.amount }", '{ amount: "KWD " + found.amount }', true],
  ["a currency that the policy's limits are not in", KWD, KWD, true],
  ["the currency of the workspace", "{ amount: found.amount }", '{ amount: found.amount, currency: "USD" }', false],
  ["a day under a name of money", "{ amount: found.amount }", '{ amount: found.amount, payment: "2026-11-06" }', false],
  ["another currency by its value alone", "{ amount: found.amount }", '{ amount: found.amount, unit: "kwd" }', true],
  ["what is no currency of a state", "{ amount: found.amount }", '{ amount: found.amount, unit: "BTC" }', true],
  ["thousands of a currency", "{ amount: found.amount }", '{ amount: found.amount, denomination: "thousand USD" }', true],
  ["a coin by its symbol", "{ amount: found.amount }", '{ amount: found.amount, symbol: "ETH" }', true],
  ["pieces", "{ amount: found.amount }", '{ amount: found.amount, unit: "each" }', true],
  ["many months of it", "{ amount: found.amount }", "{ amount: found.amount, months: 12 }", true],
  ["several payees of what was judged once", "{ amount: found.amount }", PAYEES, true],
  ["several payees, after several facts about one", "{ amount: found.amount, fee: found.amount }", PAYEES, true],
  ["several payees whose sum was judged", "{ amount: found.twice }", PAYEES, false],
  ["several payees of one amount", "{ amount: found.amount }", '{ amount: found.amount, to: ["A", "B"] }', true],
  ["two amounts for one that was judged", "{ amount: found.amount }", "{ fee: found.amount, amount: found.amount }", true],
  ["two amounts that were judged", "{ amount: found.amount, fee: found.amount }", "{ fee: found.amount, amount: found.amount }", false],
  ["amounts that come to what was judged", "{ amount: found.amount }", '{ amount: found.twice, fee: "-" + found.amount }', true],
  ["both sides of an entry", "{ amount: found.amount }", ENTRY, false],
  ["the other direction", "{ amount: found.amount }", '{ amount: "-" + found.amount }', true],
  ["a credit note that was judged", '{ amount: "-" + found.amount }', '{ amount: "-" + found.amount, paid: "" }', false],
  ...["discount: null, items: []", 'currency: "usd"', 'vendor: "V-100", period: "2026-11"', 'invoice_id: "2024-449"'].map((one) =>
    row(`amount: found.amount, ${one}`, false),
  ),
  ["what was judged, by its name", AGED, AGED, false],
  ...UNREAD.map((one) => row(one.trim(), true)),
];

/** What does not add up in itself is neither asked nor sent; one leg alone is no balance. */
const SUMS: [why: string, params: string, sent: boolean][] = [
  [
    "an entry whose legs differ",
    "{ lines: [{ debit: found.limit, credit: found.none }, { debit: found.none, credit: found.amount }] }",
    false,
  ],
  [
    "an entry that is balanced",
    "{ lines: [{ debit: found.limit, credit: found.none }, { debit: found.none, credit: found.limit }] }",
    true,
  ],
  ["one leg of an entry", "{ debit: found.limit, credit: found.none }", true],
  ["parts of another total", "{ amount: found.limit, parts: [{ amount: found.amount }, { amount: found.amount }] }", false],
  ["a net that is not what is left", "{ gross: found.limit, tax: found.amount, net: found.limit }", false],
];

const FILES: Record<string, string> = {
  ...Object.fromEntries(
    SUMS.flatMap(([, params], i) => [
      [
        `agents/sums_${i}.ts`,
        `${begin("{ amount: found.amount, limit: found.limit }", "limits")}fsm_enter("MUTATE");\nmcp_call(${pay(params)});\n1;`,
      ],
      [`agents/asks_sums_${i}.ts`, `${begin()}${asks(pay(params))}mcp_call(${pay(params)});\n1;`],
    ]),
  ),
  "agents/built_text.ts": `${begin()}${asks(pay('{ note: "for " + found.nobody }'))}1;`,
  "agents/built_title.ts": `${begin()}${asks(A).replace("Pay?", "Pay null?")}1;`,
  "agents/copied_title.ts": `${begin()}${asks(A).replace('"Pay?"', '"Pay for " + found.remark + "?"')}1;`,
  "agents/copied_text.ts": `${begin()}${asks(pay("{ note: found.remark }"))}1;`,
  "agents/shows.ts": `${begin()}${asks(A, ", details: { debit: found.limit, credit: found.amount }")}mcp_call(${A});\n1;`,
  "policies/limits.yaml": `process: limits
source: test
facts: {amount: money, fee: money, limit: money, age_days: decimal, currency: text}
rules:
  - {id: BIG, when: "amount > 100.00", action: require_approval, description: a test}
`,
  "agents/wires.ts": `${begin("{ amount: found.amount }", "limits")}fsm_enter("MUTATE");
for (const to of ["V-1", "V-2"]) bank_wire({ to, amount: found.amount });
1;`,
  "agents/named.ts": `${begin()}fsm_enter("MUTATE");
mcp_call({ tool: "shop/pay_blind", params: { invoice_id: "A", meta: { by: "@approver" } } });
({ went: "on" });`,
  "agents/named_asked.ts": `${begin('{ amount: "500.00" }', "limits").replace('"500.00"', "found.limit")}fsm_enter("APPROVAL_GATE");
const asked = approval_wait({ title: "Pay?", calls: [${pay('{ invoice_id: "A", meta: { by: "@approver", why: ["@reason"] }, text: "by @approver" }')}] });
fsm_enter("MUTATE");
for (const call of asked.calls) mcp_call(call);
1;`,
  "agents/about_it.ts": `${begin()}${asks(pay('{ invoice_id: "I-1", memo: "first" }')).replace("approval_wait", "const asked = approval_wait")}mcp_call(asked.calls[0]);\n1;`,
  "agents/insists.ts": `${begin()}${asks(A, `, otherwise: [${NO}]`)}mcp_call(${NO});
mcp_call({ tool: "shop/get_invoice", params: { invoice_id: "I-1" } });
mcp_call(${A});
({ went: "on" });`,
  "agents/earlier.ts": `${begin()}${asks(A)}${asks(B, ", otherwise: []")}mcp_call(${A});
({ went: "on" });`,
  "agents/books_after.ts": `${begin()}${asks(A, ", otherwise: []")}${BOOK}
({ went: "on" });`,
  "agents/otherwise.ts": `${begin()}${asks(A, `, otherwise: [${B}]`)}mcp_call(${B});
({ decision: "rejected" });`,
  ...Object.fromEntries(
    JUDGED.map(([, facts, params], i) => [
      `agents/judged_${i}.ts`,
      `${begin(facts, "limits")}fsm_enter("MUTATE");\nmcp_call({ tool: "shop/pay_blind", params: ${params} });\n1;`,
    ]),
  ),
};

let one: Shop;
let opened: Host;
beforeAll(async () => {
  one = await shop(FILES);
  opened = await host(one);
  const figures = { amount: "50.00", limit: "9000.00", twice: "100.00", none: "0.00" };
  one.mood({
    says: {
      ...figures,
      ...{ invoice_id: "I-1", remark: "a null pointer here" },
      ...{ nobody: null, days: 90, status: "open" },
    },
  });
});
afterAll(async () => {
  await closeAll();
  await removeAll();
});

async function during(use: () => Promise<RunRecord>): Promise<{ end: RunRecord; wrote: Json[] }> {
  const before = one.wrote().length;
  const end = await use();
  const wrote = one.wrote().slice(before);
  return { end, wrote: wrote.map((call) => call.params) };
}

describe("what was judged is what is done", () => {
  test.each(JUDGED.map(([why, , , asked], i): [string, number, boolean] => [why, i, asked]))("%s", async (_, i, asked) => {
    const { end, wrote } = await during(() => run(opened, `judged_${i}`));
    if (["AMOUNT_UNTRACED", "FSM_GATE"].includes(end.error?.code ?? "")) expect(asked).toBe(true);
    else if (asked) expect(end, String(end.error?.message)).toMatchObject({ status: "waiting", reason: "approval" });
    else expect(end, String(end.error?.message)).not.toMatchObject({ reason: "approval" });
    expect(wrote).toHaveLength(asked ? 0 : 1);
    if (end.status === "waiting") await opened.engine.cancel(end.id, "test");
  });
});

test("a figure judged once covers one call, even of a plugin that nothing verifies", async () => {
  const end = await run(opened, "wires");
  expect(end).toMatchObject({ status: "waiting", reason: "approval" });
  expect(openCard(opened, end.id)).toMatchObject({ calls: [{ tool: "bank_wire", params: { to: "V-2", amount: "50.00" } }] });
  expect(one.bank()).toEqual(["wire"]);
  await opened.engine.cancel(end.id, "test");
});

describe("amounts that belong together must add up before an approval and before sending", () => {
  test.each(SUMS.map(([why, , sent], i): [string, number, boolean] => [why, i, sent]))("%s", async (_, i, sent) => {
    for (const agent of [`sums_${i}`, `asks_sums_${i}`]) {
      const { end, wrote } = await during(() => run(opened, agent));
      if (sent) expect(end.error).toBeNull();
      else expect(end.error).toMatchObject({ code: "AMOUNT_SUM", message: expect.stringMatching(/\(\d+ is not \d+\)/) });
      if (!sent) expect(wrote).toEqual([]);
      if (end.status === "waiting") await opened.engine.cancel(end.id, "test");
    }
  });

  test("no card is shown with inconsistent figures, and no edit accepted that breaks a sum", async () => {
    expect((await run(opened, "shows")).error).toMatchObject({
      code: "AMOUNT_SUM",
      message: expect.stringContaining("The card: debit = credit"),
    });
    const { id } = await run(opened, "asks_sums_1");
    const calls = editCalls(openCard(opened, id).calls, {
      "calls.0.params.lines.1.credit": "50.00",
      "calls.0.params.lines.0.debit": "9000.00",
    });
    await expect(decide(opened, id, "edited", { calls })).rejects.toMatchObject({
      code: "USAGE",
      message: expect.stringMatching(/9000 is not 50/),
    });
    await opened.engine.cancel(id, "test");
  });
});

describe("a text that lacks something", () => {
  test.each([
    ["built_text", true],
    ["built_title", true],
    ["copied_text", false],
    ["copied_title", false],
  ])("%s: is neither asked nor sent; one that was read is a copy", async (agent, lacks) => {
    const { end, wrote } = await during(() => run(opened, agent));
    expect([end.error?.code, wrote.length]).toEqual([lacks ? "TEXT_INCOMPLETE" : undefined, 0]);
    if (end.status === "waiting") await opened.engine.cancel(end.id, "test");
  });
});

test("an approval applies only to the record that was judged, and only an explicit approval or rejection decides", async () => {
  const { id } = await run(opened, "about_it");
  const edited = (sets: Record<string, string>) =>
    during(() => decide(opened, id, "edited", { calls: editCalls(openCard(opened, id).calls, sets) }));
  await expect(edited({ invoice_id: "I-2" })).rejects.toMatchObject({
    code: "APPROVAL_EDIT",
    message: expect.stringContaining('invoice_id "I-1" -> "I-2" is not what "Pay?" was judged by'),
  });
  await expect(during(() => decide(opened, id, "no" as "rejected"))).rejects.toMatchObject({ code: "USAGE" });
  expect(openCard(opened, id).decision).toBeNull();
  expect((await edited({ memo: "second" })).wrote).toEqual([{ invoice_id: "I-1", memo: "second" }]);
});

describe("who decided stands in the call", () => {
  test("that was requested, however deep; text that only mentions it stays as shown", async () => {
    const waiting = await run(opened, "named_asked");
    expect(waiting, String(waiting.error?.message)).toMatchObject({ reason: "approval" });
    const { wrote } = await during(() => decide(opened, waiting.id, "approved", { reason: "fine" }));
    expect(wrote).toEqual([{ invoice_id: "A", meta: { by: "Pat", why: ["fine"] }, text: "by @approver" }]);
  });

  test("and nobody can write another name there", async () => {
    const waiting = await run(opened, "named_asked");
    const asked = openCard(opened, waiting.id).calls;
    expect(() => editCalls(asked, { "calls.0.params.meta.by": "somebody" })).toThrow(/becomes whoever approves, and cannot be set/);
    const forged = JSON.parse(JSON.stringify(asked).replace("@approver", "somebody")) as typeof asked;
    await expect(decide(opened, waiting.id, "edited", { calls: forged })).rejects.toMatchObject({ code: "USAGE" });
    const calls = editCalls(asked, { invoice_id: "A-2" });
    const { wrote } = await during(() => decide(opened, waiting.id, "edited", { calls, reason: "fine" }));
    expect(wrote).toEqual([{ invoice_id: "A-2", meta: { by: "Pat", why: ["fine"] }, text: "by @approver" }]);
  });

  test("a call with a placeholder that was not in a question is not sent", async () => {
    const { end, wrote } = await during(() => run(opened, "named"));
    expect([end.error?.code, wrote]).toEqual(["PARAMS_INVALID", []]);
  });
});

describe("after a no", () => {
  test("only calls named under otherwise are made, even after a person has accepted a mismatch", async () => {
    const waiting = await run(opened, "insists");
    const { end, wrote } = await during(async () => {
      const mismatch = await decide(opened, waiting.id, "rejected");
      expect(mismatch).toMatchObject({ status: "waiting", reason: "escalation" });
      return decide(opened, waiting.id, "approved");
    });
    expect(end.error).toMatchObject({ code: "APPROVAL_REQUIRED" });
    expect(wrote).toEqual([{ invoice_id: "NO" }]);
  });

  test("an earlier unused approval is canceled", async () => {
    const waiting = await run(opened, "earlier");
    const { end, wrote } = await during(async () => {
      await decide(opened, waiting.id, "approved");
      return decide(opened, waiting.id, "rejected");
    });
    expect([end.error?.code, wrote]).toEqual(["APPROVAL_REQUIRED", []]);
  });

  test("nothing is booked", async () => {
    const waiting = await run(opened, "books_after");
    const before = one.git("rev-parse", "HEAD");
    expect((await decide(opened, waiting.id, "rejected")).error).toMatchObject({ code: "APPROVAL_REQUIRED" });
    expect(one.git("rev-parse", "HEAD")).toBe(before);
  });

  test("a write made instead that could not be verified is reported", async () => {
    const waiting = await run(opened, "otherwise");
    const end = await decide(opened, waiting.id, "rejected");
    expect(end).toMatchObject({ outcome: "rejected", result: { not_verified: [expect.stringContaining("shop/pay_blind")] } });
    // What the runtime adds to an answer is none of the script's.
    expect((await replayRun(end, await opened.engine.steps(end.id), opened.world)).findings).toEqual([]);
  });
});
