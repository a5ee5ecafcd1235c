/** Finding a computation by what people say: the vectors, the defects of worker.md 10.4, and descriptions in other words. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compute_find, indexed, rank } from "../../primitives/compute/find.ts";
import { computePrimitives } from "../../primitives/compute/index.ts";
import { TRIGGERS } from "../../primitives/compute/triggers.ts";
import type { Json } from "../../runtime/kernel/ports.ts";
import { vectors, wrongRows } from "../vectors/load.ts";
import { call } from "./vectors.ts";

const FILE = "gap_detection.json";
const find = async (params: Json) => (await call(compute_find, params)) as { name: string; why: string; score: number }[];
/** The computations of worker.md 10.3 that a text says a phrase of and that are not at hand: a loan's amortization always is. */
async function gaps(text: string, existing: string[] = []): Promise<string[]> {
  const said = (await find({ description: text, limit: 50 })).filter((one) => one.why.startsWith("says "));
  const keys = said.map(({ name }) => name.slice("compute_".length));
  const known = new Set([...existing, "finance_loan_amortization"]);
  // One of the two that share out a part of a period, by what is shared out.
  if (keys.includes("hr_proration")) known.add("dt_prorata");
  return ORDER.filter((key) => keys.includes(key) && !known.has(key));
}
/** Those of 10.3 stand first. */
const ORDER = Object.keys(TRIGGERS).slice(0, 36);

describe(FILE, () => {
  it.each(vectors(FILE).map((one) => [String(one.args["text"]), one] as const))("%s", async (text, { args, expected }) => {
    expect(await gaps(text, args["existing"] as string[])).toEqual(expected);
  });

  it.each(wrongRows(FILE).map((one) => [String(one.args["text"]), one] as const))("%s, where the original was wrong", async (text, row) => {
    expect(await gaps(text, row.args["existing"] as string[])).toEqual(row.recommended);
  });
});

it("the table has the 36 functions of the vectors, and every key is a function", () => {
  expect(ORDER.every((key) => /^(?:finance|hr|ops|sc|dt|stats|tax|risk|ar|contract)_/.test(key))).toBe(true);
  expect(Object.keys(TRIGGERS).sort()).toEqual(computePrimitives.map(({ name }) => name.slice("compute_".length)).sort());
});

it.each([
  ["the vendor is under a service level agreement", ["ops_sla_credit"]],
  ["reach a service level of 95 %", ["sc_stockout_risk"]],
  ["what is our weighted average cost of capital?", ["finance_wacc"]],
  ["inventory at weighted average cost", ["sc_inventory_value", "stats_weighted_avg"]],
  ["pro rata share of her salary", ["hr_proration"]],
  ["prorate the invoice", ["dt_prorata"]],
  ["Days Sales Outstanding of Q3", ["ar_collection_rate"]],
  ["everything in the 90+ days column", ["dt_aging"]],
  ["we hire 90+ people", []],
  ["they are managing packaging and ageing machines", []],
  ["250 runs of payroll", []],
  ["simulate 250 runs", ["finance_monte_carlo"]],
  ["10,000 paths", ["finance_monte_carlo"]],
  ["Bonus depreciation and Section 179", ["tax_depreciation_tax"]],
  ["tax depreciation schedule", ["tax_depreciation_tax"]],
  ["a private matter of 3 earnings calls and a variable", []],
  ["", []],
])("%s needs %j", async (text, expected) => {
  expect(await gaps(text)).toEqual(expected);
});

it.each([
  ["salary for someone who started mid-month", "compute_hr_proration"],
  ["interest on savings compounded monthly", "compute_finance_compound_interest"],
  ["refund for unused days of a subscription", "compute_prorated_amount"],
  ["does this invoice match the purchase order", "compute_variance_check"],
  ["compare options pairwise and check consistency", "compute_risk_ahp"],
  ["depreciate a laptop over five years", "compute_finance_depreciation"],
  ["score for supplier risk", "compute_risk_weighted_score"],
  ["when to reorder stock", "compute_sc_eoq"],
  ["weekdays between two dates", "compute_dt_business_days"],
  ["penalty because the supplier delivered late", "compute_ops_penalty"],
  ["what gross pays 1000 net after withholding", "compute_tax_withholding"],
  ["worst loss of the portfolio at 95 percent", "compute_finance_var"],
  ["insurance pays how much of the claim", "compute_sub_limit"],
  ["load money on a gift card", "compute_gift_card_capacity"],
  ["recognise revenue of a yearly contract", "compute_recognize_revenue"],
  ["difference after items were cancelled from an order", "compute_net_price_delta"],
  ["provision for unpaid receivables", "compute_ar_bad_debt"],
  ["probability we run out of stock", "compute_sc_stockout_risk"],
  ["staff turnover per year", "compute_hr_headcount"],
  ["National Insurance and income tax on a salary", "compute_tax_bands"],
  ["convert 500 dollars to EUR at yesterday's exchange rate", "compute_fx_convert"],
])("%s is found as %s", async (description, name) => {
  expect((await find({ description }))[0]?.name).toBe(name);
});

it("each function is found by its own summary, with reasons, best first, up to a limit", async () => {
  for (const { name, summary } of computePrimitives) {
    const found = await find({ description: summary, limit: 3 });
    expect(
      found.map((one) => one.name),
      summary,
    ).toContain(name);
    expect(found.length).toBeLessThanOrEqual(3);
    expect(found.map((one) => one.score)).toEqual(found.map((one) => one.score).sort((a, b) => b - a));
    for (const one of found) expect(one.why).toMatch(/^(says|shares) "/);
  }
  expect(await find({ description: "write a poem about spring" })).toEqual([]);
  await expect(find({ description: "x".repeat(65_537) })).rejects.toMatchObject({ code: "PARAMS_INVALID" });
});

it("functions other than primitives are ranked in the same way", () => {
  const more = indexed([
    { name: "freight_surcharge", summary: "Surcharge on freight by weight and zone.", key: null, about: "weight zone" },
  ]);
  expect(rank("freight by zone", more, 3)).toMatchObject([{ name: "freight_surcharge", why: 'shares "zone", "freight"' }]);
});

it("any text gives known functions, best first, and the same ones every time", async () => {
  const names = computePrimitives.map((one) => one.name);
  const said = fc.constantFrom(...Object.values(TRIGGERS).flatMap((list) => list.split(", ")), "the", "90+", "..", "*", "#", "é");
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.string(),
        fc.array(said, { maxLength: 30 }).map((all) => all.join(" ")),
      ),
      async (description) => {
        const found = await find({ description, limit: 50 });
        expect(names).toEqual(expect.arrayContaining(found.map((one) => one.name)));
        expect(found.map((one) => one.score)).toEqual(found.map((one) => one.score).sort((a, b) => b - a));
        expect(await find({ description, limit: 50 })).toEqual(found);
      },
    ),
    { numRuns: 500 },
  );
});
