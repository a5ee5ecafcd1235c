/** Comparisons of amounts with a limit, by exact values, never rounded ones: a value exactly at the threshold does not exceed it. */
import { z } from "zod";
import { money, nonNegativeMoney } from "../_shapes.ts";
import { amount, amounts, defineCompute, pctText } from "./declare.ts";
import { abs, exact, HUNDRED, least, most, plain, share } from "../../runtime/kernel/exact.ts";
import { exactOut, inCurrency, moneyOut, percent } from "./shapes.ts";

export const compute_variance_check = defineCompute({
  name: "compute_variance_check",
  summary:
    "Whether an invoice differs from its order by more than a threshold in percent; a value exactly at the threshold does not exceed it.",
  params: z.object({
    invoiced: money.describe("amount invoiced"),
    po_amount: money.describe("amount ordered"),
    threshold_pct: percent.describe("allowed difference in percent, from the policy: 2 is 2 %"),
    ...inCurrency,
  }),
  returns: z.object({
    exceeds: z.boolean(),
    variance: moneyOut.describe("invoiced minus ordered"),
    pct: exactOut.nullable().describe("size of the variance in percent of the order, six decimals; null when nothing was ordered"),
    signed_pct: exactOut.nullable().describe("the same with its sign"),
    pct_exact: exactOut.nullable().describe("the same as pct with up to 18 decimals"),
    direction: z.enum(["over", "under", "equal"]),
  }),
  example: `compute_variance_check({ invoiced: "52340.00", po_amount: "51200.00", threshold_pct: 2 })`,
  run(p) {
    const [invoiced, ordered] = [exact(p.invoiced), exact(p.po_amount)];
    const variance = invoiced - ordered;
    const pct = ordered === 0n ? null : share(abs(variance), HUNDRED, abs(ordered));
    return {
      // |invoiced - ordered| * 100 > threshold * |ordered|: without a quotient nothing is rounded before the comparison.
      exceeds: ordered === 0n ? invoiced !== 0n : abs(variance) * HUNDRED > exact(p.threshold_pct) * abs(ordered),
      variance: amount(variance, p),
      pct: pct === null ? null : pctText(pct),
      signed_pct: pct === null ? null : pctText(variance < 0n ? -pct : pct),
      pct_exact: pct === null ? null : plain(pct, 18),
      direction: variance > 0n ? "over" : variance < 0n ? "under" : "equal",
    };
  },
});

export const compute_sub_limit = defineCompute({
  name: "compute_sub_limit",
  summary: "Amount an insurance pays for a claim under its sub-limit, or under a higher rider.",
  params: z.object({
    claimed: nonNegativeMoney.describe("amount claimed"),
    sub_limit: nonNegativeMoney.describe("limit of the policy"),
    rider_limit: nonNegativeMoney.nullable().default(null).describe("limit of a rider; counts only when higher"),
    ...inCurrency,
  }),
  returns: moneyOut,
  example: `compute_sub_limit({ claimed: "5000.00", sub_limit: "3000.00", rider_limit: "4000.00" })`,
  run: (p) => amount(least(exact(p.claimed), most(exact(p.sub_limit), exact(p.rider_limit ?? p.sub_limit))), p),
});

export const compute_gift_card_capacity = defineCompute({
  name: "compute_gift_card_capacity",
  summary: "Whether an amount fits on a gift card; exactly full fits.",
  params: z.object({
    current_balance: money.describe("balance now"),
    incoming_amount: money.describe("amount added; below zero is deducted"),
    capacity_limit: nonNegativeMoney.describe("most the card may hold"),
    ...inCurrency,
  }),
  returns: z.object({
    fits: z.boolean(),
    overflow: moneyOut.describe("amount that does not fit"),
    projected_balance: moneyOut,
    direction: z.enum(["refund", "charge"]),
  }),
  example: `compute_gift_card_capacity({ current_balance: "63.17", incoming_amount: "20.00", capacity_limit: "100.00" })`,
  run(p) {
    const incoming = exact(p.incoming_amount);
    const projected = exact(p.current_balance) + incoming;
    const overflow = most(0n, projected - exact(p.capacity_limit));
    return {
      fits: overflow === 0n,
      ...amounts(p, { overflow, projected_balance: projected }),
      direction: incoming >= 0n ? "refund" : "charge",
    };
  },
});
