/** What is answered is the exact value, rounded half-up once: every formula against fractions of whole numbers, which lose nothing. */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Json } from "../../runtime/kernel/ports.ts";
import { compute } from "./vectors.ts";

/** n / d, d above zero. */
type Fraction = readonly [n: bigint, d: bigint];
const of = (text: string | number): Fraction => {
  const [whole = "", decimals = ""] = String(text).split(".");
  return [BigInt(whole + decimals), 10n ** BigInt(decimals.length)];
};
const mul = (a: Fraction, b: Fraction): Fraction => [a[0] * b[0], a[1] * b[1]];
const div = (a: Fraction, b: Fraction): Fraction => (b[0] < 0n ? [-a[0] * b[1], a[1] * -b[0]] : [a[0] * b[1], a[1] * b[0]]);
const add = (a: Fraction, b: Fraction): Fraction => [a[0] * b[1] + b[0] * a[1], a[1] * b[1]];
const less = (a: Fraction, b: Fraction): Fraction => add(a, [-b[0], b[1]]);
const to = (a: Fraction, n: number): Fraction => [a[0] ** BigInt(n), a[1] ** BigInt(n)];
const ONE: Fraction = [1n, 1n];

/** Half-up, away from zero, to so many decimals. */
function rounded([n, d]: Fraction, places = 2): string {
  const [size, unit] = [n < 0n ? -n : n, 10n ** BigInt(places)];
  const units = (2n * size * unit + d) / (2n * d);
  const digits = units.toString().padStart(places + 1, "0");
  return `${n < 0n && units > 0n ? "-" : ""}${digits.slice(0, -places)}.${digits.slice(-places)}`;
}
const six = (a: Fraction): string => rounded(a, 6).replace(/\.?0+$/, "");

const decimal = (most: number, places: number) =>
  fc.integer({ min: 0, max: most * 10 ** places }).map((n) => (n / 10 ** places).toFixed(places));
const cents = decimal(100_000, 2);
const pct = fc.oneof(
  fc.integer({ min: 1, max: 60 }).map((n) => String(n / 4)),
  decimal(40, 2),
  decimal(40, 7),
);
const RUNS = { numRuns: 80 };

it("interest ending in half a cent is rounded up, whatever fraction a twelfth of the rate is", async () => {
  const first = async (principal: string, annual_rate_pct: number) =>
    ((await compute("compute_amortize_loan", { principal, annual_rate_pct, months: 12 })) as Record<string, string>[])[0]?.["interest"];
  expect(await first("1501.50", 4)).toBe("5.01");
  expect(await first("100000000000001.50", 4)).toBe("333333333333.34");
  expect(await first("3000000000000000001.50", 4)).toBe("10000000000000000.01");
});

it("each payment and interest of a loan is exact, rounded once", async () => {
  await fc.assert(
    fc.asyncProperty(cents, pct, fc.integer({ min: 1, max: 48 }), async (principal, annual_rate_pct, months) => {
      const rows = (await compute("compute_amortize_loan", { principal, annual_rate_pct, months })) as Record<string, string>[];
      const rate = div(of(annual_rate_pct), [1200n, 1n]);
      const growth = to(add(ONE, rate), months);
      const payment =
        rate[0] === 0n ? div(of(principal), [BigInt(months), 1n]) : div(mul(mul(of(principal), rate), growth), less(growth, ONE));
      if (months > 1 && rows[0]?.["balance"] !== "0.00") expect(rows[0]?.["payment"]).toBe(rounded(payment));
      let owed = principal;
      for (const { interest = "", balance = "" } of rows) {
        expect(interest).toBe(rounded(mul(of(owed), rate)));
        owed = balance;
      }
    }),
    RUNS,
  );
});

const RATED: [string, (amount: string, rate: string, n: number) => { params: object; expected: object }][] = [
  [
    "compute_finance_npv",
    (amount, rate, n) => {
      const cash_flows = [`-${amount}`, ...Array.from({ length: n }, (_, t) => (t % 3 === 0 ? amount : "12.34"))];
      const growth = add(ONE, div(of(rate), [100n, 1n]));
      const value = cash_flows.map((flow, t) => div(of(flow), to(growth, t))).reduce(add);
      return { params: { cash_flows, discount_rate: rate }, expected: { result: rounded(value) } };
    },
  ],
  [
    "compute_finance_compound_interest",
    (amount, rate, n) => {
      const step = add(ONE, div(of(rate), [1200n, 1n]));
      const final = rounded(mul(of(amount), to(step, n * 12)));
      const effective = mul(less(to(step, 12), ONE), [100n, 1n]);
      return {
        params: { principal: amount, annual_rate: rate, years: n, compounds_per_year: 12 },
        expected: { result: final, interest: rounded(less(of(final), of(amount))), effective_annual_rate_pct: six(effective) },
      };
    },
  ],
  [
    "compute_finance_bond_price",
    (amount, rate, n) => {
      const [coupon, step] = [div(mul(of(amount), [7n, 1n]), [200n, 1n]), add(ONE, div(of(rate), [200n, 1n]))];
      const flows = Array.from({ length: n }, (_, t) => div(coupon, to(step, t + 1)));
      const price = [...flows, div(of(amount), to(step, n))].reduce(add);
      return { params: { face_value: amount, coupon_rate: 7, ytm: rate, periods: n }, expected: { result: rounded(price) } };
    },
  ],
  [
    "compute_contract_escalation",
    (amount, rate, n) => {
      const last = mul(of(amount), to(add(ONE, div(of(rate), [100n, 1n])), n - 1));
      return { params: { base_amount: amount, annual_escalation_rate: rate, years: n }, expected: { result: rounded(last) } };
    },
  ],
  [
    "compute_tax_vat",
    (amount, rate) => {
      const vat = rounded(div(mul(of(amount), of(rate)), add([100n, 1n], of(rate))));
      return { params: { amount, vat_rate: rate, mode: "extract" }, expected: { result: vat, gross_amount: amount } };
    },
  ],
  [
    "compute_dt_prorata",
    (amount, _, n) => ({
      params: { full_period_amount: amount, days_in_period: n, total_days_in_period: n + 7 },
      expected: { result: rounded(div(mul(of(amount), [BigInt(n), 1n]), [BigInt(n + 7), 1n])) },
    }),
  ],
  [
    "compute_hr_headcount",
    (_, __, n) => ({
      params: { full_time_count: 1, separations_in_period: n, avg_headcount_in_period: 7, period_months: 11 },
      expected: { annualized_attrition_rate_pct: six([BigInt(n) * 1200n, 77n]) },
    }),
  ],
];

it.each(RATED)("%s returns the exact value, rounded once", async (name, make) => {
  await fc.assert(
    fc.asyncProperty(cents, pct, fc.integer({ min: 1, max: 20 }), async (amount, rate, n) => {
      const { params, expected } = make(amount, rate, n);
      expect(await compute(name, params as Json)).toMatchObject(expected);
    }),
    RUNS,
  );
});

it("a fractional power is exact if its value is: half a year at 21 % is 10 %", async () => {
  const half = (principal: string) =>
    compute("compute_finance_compound_interest", { principal, annual_rate: 21, years: "0.5", compounds_per_year: 1 });
  // 1.1 times 0.05, 4.15 and 1000000000000.05 end in half a cent.
  expect(await half("0.05")).toMatchObject({ result: "0.06", interest: "0.01" });
  expect(await half("4.15")).toMatchObject({ result: "4.57" });
  expect(await half("1000000000000.05")).toMatchObject({ result: "1100000000000.06" });
});
