/** Receivables: by age, doubtful part, and speed of collection. Credits reduce the bucket they fall into. */
import { z } from "zod";
import { money, nonNegativeMoney } from "../_shapes.ts";
import { amount, amounts, defineCompute, pctText, placesOf, refuse, settled } from "./declare.ts";
import { exact, HUNDRED, ONE, plain, round, share, sum, times } from "../../runtime/kernel/exact.ts";
import { count, exactOut, figure, inCurrency, list, moneyOut } from "./shapes.ts";

/** Last day outstanding of each bucket; below 0 nothing is due yet. */
const BUCKETS = [
  ["current", -1],
  ["0_30", 30],
  ["31_60", 60],
  ["61_90", 90],
  ["91_120", 120],
  ["over_120", Number.POSITIVE_INFINITY],
] as const;
type Bucket = (typeof BUCKETS)[number][0];
const NAMES = BUCKETS.map(([name]) => name);

const bucketOf = (days: number): Bucket => BUCKETS.find(([, upTo]) => days <= upTo)?.[0] ?? "over_120";

const receivable = z.object({
  amount: money.describe("amount open; below zero is a credit"),
  days_outstanding: count(-100_000, 100_000).describe("days since it was due; below zero: not due yet"),
});

const perBucket = <T>(of: (name: Bucket) => T): Record<Bucket, T> =>
  Object.fromEntries(NAMES.map((name) => [name, of(name)])) as Record<Bucket, T>;

/** Number and sum of the receivables in each bucket, each rounded to its currency. */
function aged(rows: readonly z.output<typeof receivable>[], p: { currency?: string | undefined }) {
  const buckets = perBucket(() => ({ count: 0, open: 0n }));
  for (const row of rows) {
    const bucket = buckets[bucketOf(row.days_outstanding)];
    bucket.count++;
    bucket.open += settled(row.amount, p);
  }
  return { buckets, total: sum(NAMES.map((name) => buckets[name].open)) };
}

const bucketTotal = z.object({ count: z.number(), amount: moneyOut });
const eachBucket = <T extends z.ZodType>(shape: T) =>
  z.object({ current: shape, "0_30": shape, "31_60": shape, "61_90": shape, "91_120": shape, over_120: shape });

export const compute_dt_aging = defineCompute({
  name: "compute_dt_aging",
  summary: "Open invoices by age; invoices not yet due have their own bucket.",
  params: z.object({ invoices: list(receivable, 0, 100_000).describe("open invoices and credits"), ...inCurrency }),
  returns: z.object({ result: moneyOut.describe("all that is open"), total_outstanding: moneyOut, buckets: eachBucket(bucketTotal) }),
  example: `compute_dt_aging({ invoices: [{ amount: "500.00", days_outstanding: -5 }, { amount: "120.50", days_outstanding: 45 }] })`,
  run(p) {
    const { buckets, total } = aged(p.invoices, p);
    return {
      ...amounts(p, { result: total, total_outstanding: total }),
      buckets: perBucket((name) => ({ count: buckets[name].count, amount: amount(buckets[name].open, p) })),
    };
  },
});

const rate = figure({ from: "0", to: "1" }).optional();

export const compute_ar_bad_debt = defineCompute({
  name: "compute_ar_bad_debt",
  summary: "Provision for doubtful receivables: each bucket at its rate, rounded, then added.",
  params: z.object({
    receivables_by_bucket: list(receivable, 0, 100_000).describe("open amounts with their age"),
    provision_rates: eachBucket(rate)
      .strict()
      .describe("share expected to be lost, by bucket: 0.05 is 5 %; required for each bucket that is not empty"),
    ...inCurrency,
  }),
  returns: z.object({
    result: moneyOut.describe("the provision"),
    provision_by_bucket: z.record(z.string(), moneyOut).describe("buckets that are not empty"),
    total_receivables: moneyOut,
    provision_rate_overall_pct: exactOut.nullable().describe("null when nothing is open"),
  }),
  example: `compute_ar_bad_debt({ receivables_by_bucket: [{ amount: "333.33", days_outstanding: 31 }], provision_rates: { "31_60": "0.05" } })`,
  run(p) {
    const { buckets, total } = aged(p.receivables_by_bucket, p);
    const parts = NAMES.flatMap((name) => {
      const [{ count, open }, of] = [buckets[name], p.provision_rates[name]];
      if (count === 0) return [];
      // Amounts not yet due are doubtful only if the caller says so; every other bucket needs its rate, or the loss would be a guess.
      if (of === undefined && name !== "current")
        refuse("rate_missing", `provision_rates: has no rate for the bucket ${name}, which has ${count}.`);
      return of === undefined ? [] : [[name, round(times(open, exact(of)), placesOf(p))] as const];
    });
    const provision = sum(parts.map(([, part]) => part));
    return {
      result: amount(provision, p),
      provision_by_bucket: Object.fromEntries(parts.map(([name, part]) => [name, amount(part, p)])),
      total_receivables: amount(total, p),
      provision_rate_overall_pct: total === 0n ? null : pctText(share(provision, HUNDRED, total)),
    };
  },
});

export const compute_ar_collection_rate = defineCompute({
  name: "compute_ar_collection_rate",
  summary: "Days sales outstanding, turnover and collection of a period.",
  params: z.object({
    ending_ar: money.describe("receivables at the end"),
    revenue_in_period: nonNegativeMoney.describe("credit sales of the period"),
    period_days: figure({ above: "0", to: "3660" }).describe("days of the period"),
    cash_collected: money.nullable().default(null).describe("cash that came in; null when not known"),
    beginning_ar: money.nullable().default(null).describe("receivables at the start, for the collection effectiveness index"),
    ending_current_ar: money.nullable().default(null).describe("receivables at the end that are not due, for the same index"),
    ...inCurrency,
  }),
  returns: z.object({
    result: exactOut.describe("days sales outstanding"),
    dso_days: exactOut,
    collection_rate_pct: exactOut.nullable().describe("cash in percent of revenue"),
    receivable_turnover: exactOut.nullable().describe("times in the period, not annualised; null when nothing is open"),
    revenue_per_day: exactOut,
    cei_pct: exactOut.nullable().describe("collection effectiveness index; null without the receivables it needs"),
  }),
  example: `compute_ar_collection_rate({ ending_ar: "80000.00", revenue_in_period: "1200000.00", period_days: 365 })`,
  run(p) {
    const [open, revenue, days] = [exact(p.ending_ar), exact(p.revenue_in_period), exact(p.period_days)];
    if (revenue === 0n) refuse("zero_revenue", "revenue_in_period: is 0; there is nothing to relate the receivables to.");
    const dso = plain(share(open, days, revenue));
    return {
      result: dso,
      dso_days: dso,
      collection_rate_pct: p.cash_collected === null ? null : pctText(share(exact(p.cash_collected), HUNDRED, revenue)),
      receivable_turnover: open === 0n ? null : plain(share(revenue, ONE, open)),
      revenue_per_day: plain(share(revenue, ONE, days)),
      cei_pct: effectiveness(p, open, revenue),
    };
  },
});

/** (begin + sales - end total) / (begin + sales - end current), Credit Research Foundation. */
function effectiveness(p: { beginning_ar: string | null; ending_current_ar: string | null }, open: bigint, revenue: bigint): string | null {
  if (p.beginning_ar === null || p.ending_current_ar === null) return null;
  const could = exact(p.beginning_ar) + revenue - exact(p.ending_current_ar);
  return could === 0n ? null : pctText(share(exact(p.beginning_ar) + revenue - open, HUNDRED, could));
}
