/** Service levels: uptime, credits, penalties. A credit goes by breach units or by a table of tiers, as the contract says. */
import { z } from "zod";
import { nonNegativeMoney } from "../_shapes.ts";
import { amount, amounts, defineCompute, pctText, refuse } from "./declare.ts";
import { ceilRatio, exact, HUNDRED, least, most, over, percentOf, plain, share, times } from "../../runtime/kernel/exact.ts";
import { count, exactOut, fields, figure, inCurrency, list, moneyOut, percentTo100 } from "./shapes.ts";

/** A hundred years in minutes. */
const minutes = figure({ from: "0", to: "52596000" });

export const compute_sla_credit = defineCompute({
  name: "compute_sla_credit",
  summary: "Service credit by breach units: each started multiple of the allowed downtime beyond it counts one, up to a cap.",
  params: z.object({
    downtime_mins: minutes.describe("minutes of downtime"),
    sla_max_mins: minutes.describe("minutes the contract allows; 0: any downtime is one unit"),
    invoice_amount: nonNegativeMoney.describe("invoice of the period"),
    credit_pct_per_breach: percentTo100.describe("credit in percent of the invoice for each unit"),
    cap_pct: percentTo100.describe("maximum credit, in percent of the invoice"),
    ...inCurrency,
  }),
  returns: moneyOut,
  example: `compute_sla_credit({ downtime_mins: "388.8", sla_max_mins: "43.2", invoice_amount: "10000.00", credit_pct_per_breach: 5, cap_pct: 100 })`,
  run(p) {
    const [down, allowed] = [exact(p.downtime_mins), exact(p.sla_max_mins)];
    const units = down <= allowed ? 0n : allowed === 0n ? 1n : ceilRatio(down - allowed, allowed);
    return amount(percentOf(exact(p.invoice_amount), least(units * exact(p.credit_pct_per_breach), exact(p.cap_pct))), p);
  },
});

export const compute_ops_sla_credit = defineCompute({
  name: "compute_ops_sla_credit",
  summary: "Service credit by the contract's table of uptime tiers.",
  params: z.object({
    monthly_fee: nonNegativeMoney.describe("fee of the period"),
    actual_uptime_pct: percentTo100.describe("measured uptime in percent"),
    sla_tiers: list(
      z.object({
        min_uptime: percentTo100.describe("the tier applies from this uptime in percent"),
        credit_pct: percentTo100.describe("credit in percent of the fee"),
      }),
      1,
      100,
    ).describe("the contract's tiers, in any order; below all of them the largest credit is owed"),
    ...inCurrency,
  }),
  returns: z.object({
    result: moneyOut.describe("the credit"),
    credit_amount: moneyOut,
    ...fields(exactOut, "credit_pct", "uptime_pct"),
    tier_min_uptime: exactOut.describe("the tier that applied, or the one with the largest credit"),
    sla_tier_matched: z.boolean().describe("false: the uptime lies below every tier"),
  }),
  example: `compute_ops_sla_credit({ monthly_fee: "10000.00", actual_uptime_pct: "99.1", sla_tiers: [{ min_uptime: "99.9", credit_pct: 0 }, { min_uptime: 99, credit_pct: 10 }, { min_uptime: 0, credit_pct: 25 }] })`,
  run(p) {
    const actual = exact(p.actual_uptime_pct);
    const tiers = p.sla_tiers.map((tier) => ({ from: exact(tier.min_uptime), credit: exact(tier.credit_pct) }));
    if (new Set(tiers.map((tier) => tier.from)).size < tiers.length)
      refuse("duplicate_tier", "sla_tiers: two tiers begin at the same uptime.");
    const reached = tiers
      .filter((tier) => tier.from <= actual)
      .reduce<(typeof tiers)[number] | null>((best, one) => (best === null || one.from > best.from ? one : best), null);
    const tier = reached ?? tiers.reduce((best, one) => (one.credit > best.credit ? one : best));
    const credit = percentOf(exact(p.monthly_fee), tier.credit);
    return {
      ...amounts(p, { result: credit, credit_amount: credit }),
      credit_pct: pctText(tier.credit),
      uptime_pct: pctText(actual),
      tier_min_uptime: pctText(tier.from),
      sla_tier_matched: reached !== null,
    };
  },
});

export const compute_ops_uptime = defineCompute({
  name: "compute_ops_uptime",
  summary: "Uptime in percent, mean time to repair and between failures, and the number of nines.",
  params: z.object({
    total_minutes_in_period: figure({ above: "0", to: "52596000" }).describe("minutes of the period"),
    downtime_minutes: minutes.describe("minutes of downtime"),
    incident_count: count(0, 1_000_000).describe("number of outages"),
  }),
  returns: z.object({
    result: exactOut.describe("uptime in percent"),
    ...fields(exactOut, "uptime_pct", "downtime_pct", "downtime_minutes"),
    mttr_minutes: exactOut.nullable().describe("null without incidents"),
    mtbf_minutes: exactOut.nullable().describe("null without incidents"),
    nines: z.number().nullable().describe("99.95 % has 3; null without downtime"),
    availability_nines: z.string().describe("the same in words"),
  }),
  example: `compute_ops_uptime({ total_minutes_in_period: 43200, downtime_minutes: "388.8", incident_count: 3 })`,
  run(p) {
    const [all, down] = [exact(p.total_minutes_in_period), exact(p.downtime_minutes)];
    const tooMuch = `downtime_minutes: ${p.downtime_minutes} is more than the ${p.total_minutes_in_period} minutes of the period.`;
    if (down > all) refuse("downtime_exceeds_period", tooMuch);
    const each = (value: bigint): string | null => (p.incident_count === 0 ? null : plain(value / BigInt(p.incident_count)));
    const uptime = pctText(share(all - down, HUNDRED, all));
    const nines = down === 0n ? null : ninesOf(down, all);
    return {
      result: uptime,
      uptime_pct: uptime,
      downtime_pct: pctText(share(down, HUNDRED, all)),
      downtime_minutes: plain(down),
      mttr_minutes: each(down),
      mtbf_minutes: each(all - down),
      nines,
      availability_nines: nines === null ? "no downtime" : `${nines} nines`,
    };
  },
});

/** floor(-log10(down / all)) without a logarithm: how many times the downtime can be multiplied by ten. */
function ninesOf(down: bigint, all: bigint): number {
  let nines = 0;
  for (let part = down * 10n; part <= all; part *= 10n) nines++;
  return nines;
}

export const compute_ops_penalty = defineCompute({
  name: "compute_ops_penalty",
  summary: "Penalty for late delivery: a part of the contract for each day, up to a cap.",
  params: z.object({
    contract_value: nonNegativeMoney.describe("value of the contract"),
    days_late: figure({ from: "-100000", to: "100000" }).describe("days late; 0 or below: no penalty"),
    daily_penalty_rate: figure({ from: "0", to: "1" }).describe("part of the value for each day: 0.001 is 0.1 %"),
    max_penalty_pct: figure({ from: "0", to: "1" }).describe("cap as a part of the value: 0.1 is 10 %, despite its name"),
    ...inCurrency,
  }),
  returns: z.object({
    result: moneyOut.describe("the penalty"),
    ...fields(moneyOut, "uncapped_penalty", "capped_at"),
    capped: z.boolean(),
    penalty_rate_used: exactOut.describe("part of the value that is charged"),
    days_late: exactOut,
  }),
  example: `compute_ops_penalty({ contract_value: "100000.00", days_late: 15, daily_penalty_rate: "0.001", max_penalty_pct: "0.1" })`,
  run(p) {
    const value = exact(p.contract_value);
    const days = most(0n, exact(p.days_late));
    const uncapped = times(times(value, exact(p.daily_penalty_rate)), days);
    const cap = times(value, exact(p.max_penalty_pct));
    const penalty = least(uncapped, cap);
    return {
      ...amounts(p, { result: penalty, uncapped_penalty: uncapped, capped_at: cap }),
      capped: uncapped > cap,
      penalty_rate_used: plain(value === 0n ? 0n : over(penalty, value)),
      days_late: plain(exact(p.days_late)),
    };
  },
});
