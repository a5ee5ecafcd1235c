/** Value and return of cash flows. Values are exact; rates found by a search (irr, newton_raphson) are doubles, returned as numbers. */
import { z } from "zod";
import { money, nonNegativeMoney } from "../_shapes.ts";
import { amount, amounts, defineCompute, finite, pctText, placesOf, refuse, settled } from "./declare.ts";
import { exact, HUNDRED, ONE, over, percentOf, power, round, share, times, whole } from "../../runtime/kernel/exact.ts";
import { presentValue, rates, slope } from "./roots.ts";
import { count, exactOut, figure, inCurrency, list, moneyOut, percent, percentTo100, real } from "./shapes.ts";

const cashFlows = list(money, 1, 1200).describe("one amount a period; the first is now, payments are below zero");

export const compute_finance_npv = defineCompute({
  name: "compute_finance_npv",
  summary: "Net present value of cash flows; the first is not discounted.",
  params: z.object({
    cash_flows: cashFlows,
    discount_rate: figure({ from: "-99.9999", to: "1000" }).describe("rate a period in percent"),
    ...inCurrency,
  }),
  returns: z.object({ result: moneyOut }),
  example: `compute_finance_npv({ cash_flows: ["-1000.00", "500.00", "500.00", "500.00"], discount_rate: 10 })`,
  run(p) {
    const growth = ONE + percentOf(ONE, exact(p.discount_rate));
    // sum of cf_t / (1+r)^t by Horner, t from 0. No separate investment: the first flow is one (spec/worker.md 10.3).
    return amounts(p, { result: p.cash_flows.reduceRight((value, flow) => over(value, growth) + exact(flow), 0n) });
  },
});

function rootsOf(flows: readonly number[]): number[] {
  const found = rates(flows);
  const none = "No rate gives these cash flows a present value of zero: they never change sign, or their value stays on one side of zero.";
  return found.length === 0 ? refuse("no_sign_change", none, "COMPUTE_NO_ROOT") : found;
}

/** Thirteen digits; the bisection error around a zero rate becomes zero. */
const inPercent = (rate: number): number => (Math.abs(rate) < 1e-13 ? 0 : Number((rate * 100).toPrecision(13)));

export const compute_finance_irr = defineCompute({
  name: "compute_finance_irr",
  summary: "Internal rate of return in percent a period; refused when there is none or more than one.",
  params: z.object({ cash_flows: list(money, 2, 1200).describe("one amount a period; payments are below zero") }),
  returns: z.object({ result: z.number().describe("percent a period") }),
  alsoRefuses: ["COMPUTE_NO_ROOT", "COMPUTE_MANY_ROOTS"],
  example: `compute_finance_irr({ cash_flows: ["-1000.00", "500.00", "500.00", "500.00"] })`,
  run(p) {
    const found = rootsOf(p.cash_flows.map(Number)).map(inPercent);
    const [first = 0] = found;
    if (found.length > 1) {
      const shown = found.map((one) => `${Number(one.toFixed(4))} %`).join(", ");
      refuse("multiple_roots", `There are ${found.length} internal rates of return: ${shown}.`, "COMPUTE_MANY_ROOTS", { roots: found });
    }
    return { result: first };
  },
});

export const compute_finance_newton_raphson = defineCompute({
  name: "compute_finance_newton_raphson",
  summary: "Rate at which cash flows have a given present value, by Newton's method from a guess, by bisection where it fails.",
  params: z.object({
    cash_flows: list(money, 2, 1200).describe("one amount a period; payments are below zero"),
    target_npv: money.default("0").describe("present value to reach"),
    guess: real(-99, 1000).default(10).describe("percent to start from; the nearest root is returned"),
    max_iter: count(1, 1000).default(100).describe("steps of Newton's method at most"),
    tol: real(1e-12, 1).default(1e-9).describe("largest last step, in parts of one"),
    ...inCurrency,
  }),
  returns: z.object({
    result: z.number().describe("percent a period"),
    iterations: z.number().describe("steps of Newton's method"),
    converged: z.boolean().describe("false: Newton's method failed and bisection found the rate"),
    npv_at_result: moneyOut.describe("present value at the rate, less the target"),
    all_roots: z.array(z.number()).describe("every rate that fits, percent, ascending"),
  }),
  alsoRefuses: ["COMPUTE_NO_ROOT"],
  example: `compute_finance_newton_raphson({ cash_flows: ["-1000.00", "1100.00"], guess: 5 })`,
  run(p) {
    const flows = p.cash_flows.map(Number);
    flows[0] = (flows[0] ?? 0) - Number(p.target_npv);
    const found = rootsOf(flows);
    const [guess, tol] = [Number(p.guess) / 100, Number(p.tol)];
    const steps = newton(flows, guess, p.max_iter, tol);
    const near = (to: number): number => found.reduce((best, one) => (Math.abs(one - to) < Math.abs(best - to) ? one : best));
    // Newton may end at a false rate (an overflow, a turning point): only a bracketed root is returned.
    const root = near(steps.rate ?? guess);
    const converged = steps.rate !== null && Math.abs(root - steps.rate) <= Math.max(1e-7, 10 * tol) * (1 + Math.abs(root));
    const residual = finite(presentValue(flows, root));
    return {
      result: inPercent(converged ? root : near(guess)),
      iterations: steps.iterations,
      converged,
      npv_at_result: amount(exact(residual), p),
      all_roots: found.map(inPercent),
    };
  },
});

function newton(flows: readonly number[], guess: number, limit: number, tol: number): { rate: number | null; iterations: number } {
  let rate = guess;
  for (let i = 1; i <= limit; i++) {
    const step = presentValue(flows, rate) / slope(flows, rate);
    rate -= step;
    if (!Number.isFinite(rate) || rate <= -1) return { rate: null, iterations: i };
    if (Math.abs(step) <= tol) return { rate, iterations: i };
  }
  return { rate: null, iterations: limit };
}

export const compute_finance_bond_price = defineCompute({
  name: "compute_finance_bond_price",
  summary: "Price of a bond on a coupon date.",
  params: z.object({
    face_value: nonNegativeMoney.describe("amount repaid at the end"),
    coupon_rate: percent.describe("coupon a year in percent of the face value"),
    ytm: figure({ from: "-99.9999", to: "1000" }).describe("yield to maturity a year in percent"),
    periods: count(1, 1200).describe("number of coupons left"),
    periods_per_year: count(1, 12).default(2).describe("coupons a year"),
    ...inCurrency,
  }),
  returns: z.object({
    result: moneyOut.describe("price"),
    coupon: moneyOut.describe("each coupon"),
    premium: moneyOut.describe("price above face value"),
  }),
  example: `compute_finance_bond_price({ face_value: "1000.00", coupon_rate: 5, ytm: 6, periods: 10 })`,
  run(p) {
    const [face, perYear] = [exact(p.face_value), whole(p.periods_per_year)];
    const coupon = share(percentOf(face, exact(p.coupon_rate)), ONE, perYear);
    const rate = share(percentOf(ONE, exact(p.ytm)), ONE, perYear);
    const discount = over(ONE, power(ONE + rate, p.periods));
    // C (1 - v^n) / y + F v^n (Fabozzi, Bond Markets, ch. 2); without a yield the plain sum.
    const coupons = rate === 0n ? coupon * BigInt(p.periods) : share(coupon, ONE - discount, rate);
    const price = round(coupons + times(face, discount), placesOf(p));
    return amounts(p, { result: price, coupon, premium: price - settled(p.face_value, p) });
  },
});

export const compute_finance_wacc = defineCompute({
  name: "compute_finance_wacc",
  summary: "Weighted average cost of capital in percent, debt after tax.",
  params: z.object({
    equity_value: nonNegativeMoney.describe("market value of equity"),
    debt_value: nonNegativeMoney.describe("market value of debt"),
    cost_of_equity: percent.describe("percent"),
    cost_of_debt: percent.describe("percent, before tax"),
    tax_rate: percentTo100.describe("percent"),
  }),
  returns: z.object({ result: exactOut.describe("percent"), equity_weight_pct: exactOut, debt_weight_pct: exactOut }),
  example: `compute_finance_wacc({ equity_value: "600000.00", debt_value: "400000.00", cost_of_equity: 12, cost_of_debt: 8, tax_rate: 25 })`,
  run(p) {
    const [equity, debt] = [exact(p.equity_value), exact(p.debt_value)];
    const capital = equity + debt;
    if (capital === 0n) refuse("zero_capital", "equity_value and debt_value are both zero; there is nothing to weigh.");
    // E/V Re + D/V Rd (1 - t): Brealey, Myers & Allen, ch. 19.
    const afterTax = percentOf(exact(p.cost_of_debt), HUNDRED - exact(p.tax_rate));
    const result = share(equity, exact(p.cost_of_equity), capital) + share(debt, afterTax, capital);
    return {
      result: pctText(result),
      equity_weight_pct: pctText(share(equity, HUNDRED, capital)),
      debt_weight_pct: pctText(share(debt, HUNDRED, capital)),
    };
  },
});
