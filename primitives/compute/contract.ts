/** Contracts: escalation, termination fees, changed orders. No fee exceeds its base; a net change lists all items in one order. */
import { z } from "zod";
import { money, nonNegativeMoney, text } from "../_shapes.ts";
import { amount, amounts, defineCompute, pctText, placesOf, refuse, settled } from "./declare.ts";
import { exact, HUNDRED, ONE, percentOf, power, round, sum, times } from "../../runtime/kernel/exact.ts";
import { count, exactOut, fields, figure, inCurrency, list, moneyOut, percentTo100 } from "./shapes.ts";

export const compute_contract_escalation = defineCompute({
  name: "compute_contract_escalation",
  summary: "Yearly amounts of a contract whose price rises by a fixed percentage; the first year is the base.",
  params: z.object({
    base_amount: nonNegativeMoney.describe("amount of the first year"),
    annual_escalation_rate: figure({ from: "-99", to: "1000" }).describe("rise a year in percent; below zero is a fall"),
    years: count(1, 100).describe("years of the contract"),
    ...inCurrency,
  }),
  returns: z.object({
    result: moneyOut.describe("amount of the last year"),
    yearly_amounts: z.array(moneyOut),
    total_over_term: moneyOut,
    cumulative_increase_pct: exactOut.describe("percent over the base"),
  }),
  example: `compute_contract_escalation({ base_amount: "100000.00", annual_escalation_rate: 3, years: 5 })`,
  run(p) {
    const factor = ONE + percentOf(ONE, exact(p.annual_escalation_rate));
    // Year k: base (1 + r)^(k-1), rounded from the exact value, so that cents do not compound.
    const years = Array.from({ length: p.years }, (_, k) => round(times(exact(p.base_amount), power(factor, k)), placesOf(p)));
    return {
      ...amounts(p, { result: years.at(-1) ?? 0n, total_over_term: sum(years) }),
      yearly_amounts: years.map((one) => amount(one, p)),
      cumulative_increase_pct: pctText(times(power(factor, p.years - 1) - ONE, HUNDRED)),
    };
  },
});

export const compute_contract_termination_fee = defineCompute({
  name: "compute_contract_termination_fee",
  summary: "Fee for ending a contract early; months of notice are served, not charged.",
  params: z.object({
    monthly_value: nonNegativeMoney.describe("price a month"),
    remaining_months: count(0, 1200).describe("months left when notice is given"),
    termination_fee_pct: percentTo100.describe("fee in percent of the months charged"),
    notice_period_months: count(0, 1200).default(0).describe("months of notice"),
    ...inCurrency,
  }),
  returns: z.object({
    result: moneyOut.describe("the fee"),
    ...fields(moneyOut, "termination_fee", "remaining_contract_value"),
    fee_pct: exactOut,
    effective_months_charged: z.number(),
  }),
  example: `compute_contract_termination_fee({ monthly_value: "1234.50", remaining_months: 7, termination_fee_pct: 50, notice_period_months: 1 })`,
  run(p) {
    const months = Math.max(0, p.remaining_months - p.notice_period_months);
    const fee = percentOf(exact(p.monthly_value) * BigInt(months), exact(p.termination_fee_pct));
    const remaining = exact(p.monthly_value) * BigInt(p.remaining_months);
    return {
      ...amounts(p, { result: fee, termination_fee: fee, remaining_contract_value: remaining }),
      fee_pct: pctText(exact(p.termination_fee_pct)),
      effective_months_charged: months,
    };
  },
});

export const compute_early_termination_fee = defineCompute({
  name: "compute_early_termination_fee",
  summary: "Refund of a remaining value after an early termination fee in percent of it.",
  params: z.object({
    remaining_value: nonNegativeMoney.describe("value of the unused part"),
    fee_pct: percentTo100.describe("fee in percent: 10 is 10 %"),
    ...inCurrency,
  }),
  returns: moneyOut,
  example: `compute_early_termination_fee({ remaining_value: "9554.14", fee_pct: 15 })`,
  run: (p) => amount(settled(p.remaining_value, p) - round(percentOf(exact(p.remaining_value), exact(p.fee_pct)), placesOf(p)), p),
});

const item = z.object({
  id: text.describe("identifies the item in both lists"),
  price: money.describe("price of one"),
  quantity: figure({ from: "0" }).default(1).describe("how many"),
});

export const compute_net_price_delta = defineCompute({
  name: "compute_net_price_delta",
  summary: "Net change of an order after changed, added and cancelled items; below zero is a refund.",
  params: z.object({
    original_items: list(item, 0).describe("the order as it was"),
    modified_items: list(item, 0).default([]).describe("changed or added items, with their new price and quantity"),
    cancelled_ids: list(text, 0).default([]).describe("items that are cancelled"),
    ...inCurrency,
  }),
  returns: z.object({
    net_delta: moneyOut.describe("below zero: a refund"),
    direction: z.enum(["refund", "charge", "no_change"]),
    breakdown: z
      .array(
        z.object({
          id: z.string(),
          action: z.enum(["cancelled", "modified", "added", "unchanged"]),
          ...fields(moneyOut, "original", "new", "delta"),
        }),
      )
      .describe("sorted by id"),
    unknown_ids: z.array(z.string()).describe("cancelled, but in neither list"),
  }),
  example: `compute_net_price_delta({ original_items: [{ id: "A", price: "10.00" }, { id: "B", price: "20.00" }], cancelled_ids: ["B"] })`,
  run(p) {
    const places = placesOf(p);
    const original = totals("original_items", p.original_items, places);
    const modified = totals("modified_items", p.modified_items, places);
    const cancelled = new Set(p.cancelled_ids);
    // By code unit, independent of the locale: a replay must list them in the same order.
    const ids = [...new Set([...original.keys(), ...modified.keys()])].sort();
    const rows = ids.map((id) => {
      const [was, now] = [original.get(id), modified.get(id) ?? original.get(id)];
      // A row with unchanged price and quantity changes nothing; another split of the same total does.
      const same = was?.price === now?.price && was?.quantity === now?.quantity;
      const action = cancelled.has(id) ? "cancelled" : was === undefined ? "added" : same ? "unchanged" : "modified";
      return { id, action, before: was?.total ?? 0n, after: cancelled.has(id) ? 0n : (now?.total ?? 0n) } as const;
    });
    const net = sum(rows.map((one) => one.after - one.before));
    return {
      net_delta: amount(net, p),
      direction: net < 0n ? "refund" : net > 0n ? "charge" : "no_change",
      breakdown: rows.map(({ id, action, before, after }) => ({
        id,
        action,
        ...amounts(p, { original: before, new: after, delta: after - before }),
      })),
      unknown_ids: [...cancelled].filter((id) => !original.has(id) && !modified.has(id)),
    };
  },
});

/** Each item with its amount. Two rows with one id would hide one of them. */
function totals(list: string, items: readonly z.output<typeof item>[], places: number) {
  const byId = new Map<string, { price: bigint; quantity: bigint; total: bigint }>();
  for (const { id, ...given } of items) {
    if (byId.has(id)) refuse("duplicate_id", `${list}: "${id}" is listed twice; add up its quantities.`);
    const [price, quantity] = [exact(given.price), exact(given.quantity)];
    byId.set(id, { price, quantity, total: round(times(price, quantity), places) });
  }
  return byId;
}
