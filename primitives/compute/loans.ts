/**
 * Loans: the schedule to the cent, its summary, and compound interest. All three primitives use one schedule, so they cannot
 * disagree; its last payment takes the rounding difference, and the balance ends at zero.
 */
import { z } from "zod";
import { nonNegativeMoney } from "../_shapes.ts";
import { amounts, defineCompute, pctText, placesOf, refuse, settled } from "./declare.ts";
import { exact, HUNDRED, ONE, over, power, powerOf, round, share, sum, times, whole } from "../../runtime/kernel/exact.ts";
import { count, exactOut, fields, figure, inCurrency, moneyOut, percent } from "./shapes.ts";

const loan = (fewest: 0 | 1) => ({
  principal: nonNegativeMoney.describe("amount lent"),
  months: count(fewest, 1200).describe("number of monthly payments"),
  ...inCurrency,
});
const annualRate = percent.describe("nominal rate a year in percent, charged by twelfths: 5 is 5 %");

type Payment = Record<"payment" | "principal" | "interest" | "balance", bigint>;

/** Annuity with equal payments; interest on the rounded balance, as a lender books it. */
function schedule(principal: string, annualRatePct: string | number, months: number, places: number): Payment[] {
  const lent = exact(principal);
  if (lent !== round(lent, places)) refuse("fraction_of_cent", `principal: "${principal}" has more decimals than its currency.`);
  if (months === 0) return [];
  const rate = over(exact(annualRatePct), whole(1200));
  const growth = power(ONE + rate, months);
  // Annuity: P r (1+r)^n / ((1+r)^n - 1), e.g. Brealey, Myers & Allen, Principles of Corporate Finance, ch. 2.
  const payment = round(rate === 0n ? lent / BigInt(months) : share(times(lent, rate), growth, growth - ONE), places);
  const rows: Payment[] = [];
  for (let [month, balance] = [1, lent]; month <= months; month++) {
    const interest = round(times(balance, rate), places);
    // A loan of a few cents is repaid before its term; the last payment clears the rounding difference.
    const paid = month === months || payment > balance + interest ? balance + interest : payment;
    balance += interest - paid;
    rows.push({ payment: paid, principal: paid - interest, interest, balance });
  }
  return rows;
}

const total = (rows: readonly Payment[], key: "payment" | "interest"): bigint => sum(rows.map((row) => row[key]));

const row = { payment: moneyOut, principal: moneyOut, interest: moneyOut, balance: moneyOut.describe("still owed after the payment") };

export const compute_amortize_loan = defineCompute({
  name: "compute_amortize_loan",
  summary: "Payments of a loan month by month; the last one clears the balance to zero.",
  params: z.object({ ...loan(0), annual_rate_pct: annualRate }),
  returns: z.array(z.object({ month: z.number(), ...row })).describe("none for 0 months"),
  example: `compute_amortize_loan({ principal: "1000.00", annual_rate_pct: 5, months: 12 })`,
  run: (p) => schedule(p.principal, p.annual_rate_pct, p.months, placesOf(p)).map((one, i) => ({ month: i + 1, ...amounts(p, one) })),
});

export const compute_payment_plan_summary = defineCompute({
  name: "compute_payment_plan_summary",
  summary: "Totals of a loan's payments.",
  params: z.object({ ...loan(1), annual_rate_pct: annualRate }),
  returns: z.object({
    monthly_payment: moneyOut.describe("each payment but the last"),
    final_payment: moneyOut,
    months: z.number(),
    ...fields(moneyOut, "total_paid", "total_interest"),
  }),
  example: `compute_payment_plan_summary({ principal: "1000.00", annual_rate_pct: 5, months: 12 })`,
  run(p) {
    const rows = schedule(p.principal, p.annual_rate_pct, p.months, placesOf(p));
    return {
      ...amounts(p, { monthly_payment: rows[0]?.payment ?? 0n, final_payment: rows.at(-1)?.payment ?? 0n }),
      months: rows.length,
      ...amounts(p, { total_paid: total(rows, "payment"), total_interest: total(rows, "interest") }),
    };
  },
});

export const compute_finance_loan_amortization = defineCompute({
  name: "compute_finance_loan_amortization",
  summary: "Loan payment, totals and the whole schedule; totals are sums of the actual payments.",
  params: z.object({ ...loan(1), annual_rate: annualRate }),
  returns: z.object({
    result: moneyOut.describe("the monthly payment"),
    ...fields(moneyOut, "monthly_payment", "total_payments", "total_interest", "final_payment", "final_balance"),
    schedule: z.array(z.object({ period: z.number(), ...row })),
  }),
  example: `compute_finance_loan_amortization({ principal: "200000.00", annual_rate: 5, months: 360 })`,
  run(p) {
    const rows = schedule(p.principal, p.annual_rate, p.months, placesOf(p));
    const monthly = rows[0]?.payment ?? 0n;
    return {
      ...amounts(p, { result: monthly, monthly_payment: monthly }),
      ...amounts(p, { total_payments: total(rows, "payment"), total_interest: total(rows, "interest") }),
      ...amounts(p, { final_payment: rows.at(-1)?.payment ?? 0n, final_balance: rows.at(-1)?.balance ?? 0n }),
      schedule: rows.map((one, i) => ({ period: i + 1, ...amounts(p, one) })),
    };
  },
});

export const compute_finance_compound_interest = defineCompute({
  name: "compute_finance_compound_interest",
  summary: "Value of an amount under compound interest, and the effective annual rate.",
  params: z.object({
    principal: nonNegativeMoney.describe("amount invested"),
    annual_rate: figure({ from: "-99", to: "1000" }).describe("nominal rate a year in percent"),
    years: figure({ from: "0", to: "200" }).describe("years, fractions allowed"),
    compounds_per_year: count(1, 365).default(12).describe("times interest is added in a year"),
    ...inCurrency,
  }),
  returns: z.object({
    result: moneyOut.describe("final amount"),
    interest: moneyOut,
    effective_annual_rate_pct: exactOut.describe("percent, six decimals at most"),
  }),
  example: `compute_finance_compound_interest({ principal: "1000.00", annual_rate: 5, years: 3 })`,
  run(p) {
    const n = p.compounds_per_year;
    const step = ONE + over(exact(p.annual_rate), 100n * whole(n));
    // P (1 + r/n)^(n t); effective rate (1 + r/n)^n - 1.
    const final = round(times(exact(p.principal), powerOf(step, exact(p.years) * BigInt(n))), placesOf(p));
    return {
      ...amounts(p, { result: final, interest: final - settled(p.principal, p) }),
      effective_annual_rate_pct: pctText(times(power(step, n) - ONE, HUNDRED)),
    };
  },
});
