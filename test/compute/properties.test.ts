/** What holds for any amounts: parts add up, nothing is lost to rounding, and no parameters make a primitive crash or hang. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { exact, fixed, ONE, plain, powerOf, sum, times } from "../../runtime/kernel/exact.ts";
import { computePrimitives } from "../../primitives/compute/index.ts";
import { TAX_TABLES } from "../../primitives/compute/tax-tables.ts";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import type { Json } from "../../runtime/kernel/ports.ts";
import { call, compute } from "./vectors.ts";

const RUNS = { numRuns: 60 };
const cents = (most: number) => fc.integer({ min: 0, max: most }).map((n) => (n / 100).toFixed(2));
const principal = cents(50_000_000);
const rate = fc.integer({ min: 0, max: 4000 }).map((n) => (n / 100).toFixed(2));
const total = (values: readonly string[]): string => fixed(sum(values.map(exact)), 2);
type Rows = Record<string, string>[];

it("a loan's principal parts add up to the loan, its interest is never negative, and it ends at zero", async () => {
  await fc.assert(
    fc.asyncProperty(principal, rate, fc.integer({ min: 1, max: 60 }), async (lent, annual_rate_pct, months) => {
      const rows = (await compute("compute_amortize_loan", { principal: lent, annual_rate_pct, months })) as Rows;
      expect(total(rows.map((row) => row["principal"] ?? ""))).toBe(lent);
      expect(rows.at(-1)?.["balance"]).toBe("0.00");
      for (const row of rows) expect(exact(row["interest"] ?? "-1") >= 0n && exact(row["balance"] ?? "-1") >= 0n).toBe(true);
    }),
    RUNS,
  );
});

it("the periods of a total add up to it, and differ from the mean by less than a cent", async () => {
  await fc.assert(
    fc.asyncProperty(principal, fc.integer({ min: 1, max: 30 }), async (whole, n) => {
      const parts = await Promise.all(
        Array.from({ length: n }, (_, k) => compute("compute_prorated_for_period", { total: whole, period_num: k + 1, total_periods: n })),
      );
      expect(total(parts as string[])).toBe(whole);
      for (const part of parts as string[]) expect(Math.abs(Number(part) - Number(whole) / n)).toBeLessThan(0.010001);
      const schedule = (await compute("compute_depreciation_schedule", { cost: whole, salvage: "0", useful_life_months: n })) as Rows;
      expect(total(schedule.map((row) => row["depreciation"] ?? ""))).toBe(whole);
      expect(schedule.at(-1)?.["book_value"]).toBe("0.00");
    }),
    RUNS,
  );
});

it("every depreciation method ends at the salvage value", async () => {
  await fc.assert(
    fc.asyncProperty(
      principal,
      principal,
      fc.integer({ min: 1, max: 40 }),
      fc.constantFrom("sl", "ddb", "soyd"),
      async (a, b, useful_life, method) => {
        const [salvage_value, cost] = exact(a) < exact(b) ? [a, b] : [b, a];
        const found = (await compute("compute_finance_depreciation", { cost, salvage_value, useful_life, method })) as {
          schedule: string[];
          ending_book_value: string;
        };
        expect(found.ending_book_value).toBe(salvage_value);
        for (const part of found.schedule) expect(part).not.toMatch(/^-/);
      },
    ),
    RUNS,
  );
});

it("pay is the sum of its components, and no rule pays less than straight time", async () => {
  const hour = fc.integer({ min: 0, max: 96 }).map((quarter) => String(quarter / 4));
  await fc.assert(
    fc.asyncProperty(
      fc.array(hour, { minLength: 7, maxLength: 7 }),
      cents(20_000),
      cents(100_000),
      fc.constantFrom("flsa", "california"),
      async (daily_hours, hourly_rate, nondiscretionary_pay, rule) => {
        const pay = (await compute("compute_hr_overtime", { rule, daily_hours, hourly_rate, nondiscretionary_pay })) as Record<
          string,
          string
        >;
        const part = (key: string): string => pay[key] ?? "";
        expect(total(["regular_pay", "overtime_pay", "double_time_pay", "nondiscretionary_pay"].map(part))).toBe(part("result"));
        expect(sum(["regular_hours", "overtime_hours", "double_time_hours"].map((key) => exact(part(key))))).toBe(
          sum(daily_hours.map(exact)),
        );
        const straight = times(sum(daily_hours.map(exact)), exact(hourly_rate)) + exact(nondiscretionary_pay);
        expect(exact(part("result")) + exact("0.02") >= straight).toBe(true);
      },
    ),
    RUNS,
  );
});

it("net and tax add up to gross, and removing the tax that was added gives the net amount again", async () => {
  await fc.assert(
    fc.asyncProperty(principal, fc.integer({ min: 0, max: 2700 }), async (net, hundredths) => {
      const vat_rate = (hundredths / 100).toFixed(2);
      const added = (await compute("compute_tax_vat", { amount: net, vat_rate, mode: "add" })) as Record<string, string>;
      expect(total([added["net_amount"] ?? "", added["vat_amount"] ?? ""])).toBe(added["gross_amount"]);
      const back = (await compute("compute_tax_vat", { amount: added["gross_amount"] ?? "", vat_rate, mode: "extract" })) as Record<
        string,
        string
      >;
      expect(Math.abs(Number(back["net_amount"]) - Number(net))).toBeLessThan(0.011);
      const up = (await compute("compute_tax_withholding", { amount: net, withholding_rate: vat_rate, mode: "gross_up" })) as Record<
        string,
        string
      >;
      expect(total([up["net_amount"] ?? "", up["tax_withheld"] ?? ""])).toBe(up["gross_amount"]);
    }),
    RUNS,
  );
});

describe("tax bands", () => {
  it("rise without gaps, each table naming its source and validity", () => {
    for (const table of TAX_TABLES) {
      expect(table.source.length).toBeGreaterThan(10);
      expect(table.valid_from < table.valid_to && table.valid_from.startsWith(String(table.year))).toBe(true);
      for (const [i, band] of table.bands.entries()) {
        expect(band.from).toBe(table.bands[i - 1]?.to ?? "0");
        if (band.to === null) expect(i).toBe(table.bands.length - 1);
        else expect(exact(band.to) > exact(band.from)).toBe(true);
      }
      expect(table.bands.at(-1)?.to).toBeNull();
    }
    expect(new Set(TAX_TABLES.map((one) => `${one.country} ${one.scheme} ${one.year}`)).size).toBe(TAX_TABLES.length);
  });

  it("tax higher income more, and never by more than the increase", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...TAX_TABLES),
        cents(30_000_000),
        cents(5_000_000),
        async ({ country, year, scheme }, income, more) => {
          const tax = async (of: string) =>
            exact(((await compute("compute_tax_bands", { country, year, scheme, income: of })) as { result: string }).result);
          const rise = (await tax(total([income, more]))) - (await tax(income));
          expect(rise >= 0n && rise <= exact(more) + exact("0.02")).toBe(true);
        },
      ),
      RUNS,
    );
  });
});

it("stock sold and stock left add up to what was bought", async () => {
  const lots = fc.array(fc.record({ units: fc.integer({ min: 1, max: 500 }), unit_cost: cents(10_000) }), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(
      lots,
      fc.integer({ min: 0, max: 100 }),
      fc.constantFrom("fifo", "lifo", "weighted_avg"),
      async (purchases, part, method) => {
        const units_sold = Math.floor((purchases.reduce((all, lot) => all + lot.units, 0) * part) / 100);
        const found = (await compute("compute_sc_inventory_value", { purchases, units_sold, method })) as Record<string, string>;
        const bought = sum(purchases.map((lot) => exact(lot.unit_cost) * BigInt(lot.units)));
        expect(exact(found["cogs"] ?? "") + exact(found["ending_inventory_value"] ?? "")).toBe(bought);
      },
    ),
    RUNS,
  );
});

it("parts add up to the amount in its currency, even if it had fractions of a cent or was negative", async () => {
  const fine = fc.integer({ min: 0, max: 99_999_999 }).map((n) => (n / 10_000).toFixed(4));
  const settled = (text: string): string => fixed(exact(text), 2);
  await fc.assert(
    fc.asyncProperty(fine, fine, fc.integer({ min: 0, max: 100 }), fc.integer({ min: 1, max: 6 }), async (a, b, pct, n) => {
      const of = async (name: string, params: object) => (await compute(`compute_${name}`, params as Json)) as Record<string, string>;
      const sums = async (whole: string, name: string, params: object, ...parts: string[]) => {
        const found = await of(name, params);
        expect(total(parts.map((part) => found[part] ?? "")), `${name} ${JSON.stringify(params)}`).toBe(settled(whole));
      };
      await sums(`-${a}`, "percent_of", { amount: `-${a}`, pct }, "result", "rest");
      await sums(a, "recognize_revenue", { contract_value: a, contract_months: 6, periods_elapsed: n }, "recognized_total", "deferred");
      const vat = { amount: `-${a}`, vat_rate: pct };
      for (const mode of ["extract", "reverse"]) {
        const parts = mode === "extract" ? ["net_amount", "vat_amount"] : ["net_amount"];
        await sums(`-${a}`, "tax_vat", { ...vat, mode }, ...parts);
      }
      await sums(a, "tax_withholding", { amount: a, withholding_rate: pct, mode: "withhold" }, "net_amount", "tax_withheld");
      const tax = await of("tax_depreciation_tax", { asset_cost: a, years: 6, method: "macrs_5yr_half_year" });
      expect(total(tax["schedule"] as unknown as string[])).toBe(settled(a));
      const invoices = [a, b, `-${a}`, b].map((amount, i) => ({ amount, days_outstanding: 40 * i - 20 }));
      const aging = (await of("dt_aging", { invoices })) as unknown as { result: string; buckets: Record<string, { amount: string }> };
      expect(total(Object.values(aging.buckets).map((one) => one.amount))).toBe(aging.result);
      const stock = await of("sc_inventory_value", { purchases: [{ units: n, unit_cost: a }], units_sold: n - 1, method: "weighted_avg" });
      expect(total([stock["cogs"] ?? "", stock["ending_inventory_value"] ?? ""])).toBe(fixed(exact(a) * BigInt(n), 2));
      const grown = await of("finance_compound_interest", { principal: a, annual_rate: pct, years: n });
      expect(total([settled(a), grown["interest"] ?? ""])).toBe(grown["result"]);
      const cost_of = await of("hr_benefits_cost", { base_salary: a, health_insurance_monthly: b, retirement_match_pct: pct });
      expect(total(["salary", "benefits_annual", "retirement_contribution"].map((key) => cost_of[key] ?? ""))).toBe(cost_of["result"]);
    }),
    RUNS,
  );
});

it("cash flows are worth zero at their internal rate of return, however unusual it is", async () => {
  // A rate has 13 digits: with more zeros it would be so close to -100 % that these are not enough for the check below.
  const flow = fc.tuple(fc.integer({ min: 1, max: 999 }), fc.integer({ min: 0, max: 7 })).map(([n, zeros]) => n * 10 ** zeros);
  await fc.assert(
    fc.asyncProperty(flow, fc.array(flow, { minLength: 1, maxLength: 8 }), async (paid, received) => {
      const cash_flows = [`-${paid}`, ...received.map(String)];
      const { result } = (await compute("compute_finance_irr", { cash_flows })) as { result: number };
      const growth = 1 + result / 100;
      // Against the largest term: near -100 % the later ones are huge and cancel.
      const terms = [-paid, ...received].map((one, t) => one / growth ** t);
      expect(Math.abs(terms.reduce((all, one) => all + one, 0))).toBeLessThan(1e-3 * Math.max(...terms.map(Math.abs)));
    }),
    RUNS,
  );
});

it("exact decimals: text is preserved, sums are exact, and a fractional power is the inverse of its root", () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 0, max: 999_999 }), (whole, fraction) => {
      const text = `${whole}.${String(fraction).padStart(6, "0")}`;
      expect(exact(plain(exact(text), 6))).toBe(exact(text));
      expect(exact(text) - exact(text)).toBe(0n);
    }),
  );
  expect(plain(exact("0.1") + exact("0.2"))).toBe("0.3");
  expect(["0.005", "-0.005", "0.004999", "-0.001", "1e-7", "2.5e2"].map((one) => fixed(exact(one), 2))).toEqual([
    "0.01",
    "-0.01",
    "0.00",
    "0.00",
    "0.00",
    "250.00",
  ]);
  const root = powerOf(2n * ONE, ONE / 2n);
  expect(plain(times(root, root), 50)).toBe("2");
  expect(plain(root, 40)).toBe("1.4142135623730950488016887242096980785697");
});

const HOSTILE: Json[] = [
  0,
  1,
  -1,
  2.5,
  "0",
  "-0.01",
  "0.000000000000000001",
  "9".repeat(30),
  1e15,
  100,
  1200,
  "99.9999",
  0.1 + 0.2,
  null,
  "",
  [],
  {},
  true,
];

describe("any one parameter replaced by a hostile value", () => {
  it.each(computePrimitives.map((one) => [one.name, one] as const))("%s answers or refuses, in time", async (_, primitive) => {
    let params: Json = null;
    new Function(primitive.name, `return ${primitive.example}`)((given: Json) => (params = given));
    const given = params as unknown as Record<string, Json>;
    for (const key of Object.keys(primitive.params.shape)) {
      for (const value of HOSTILE) {
        for (const one of [value, Array.isArray(given[key]) ? given[key].map(() => value) : value]) {
          const started = performance.now();
          try {
            await call(primitive, { ...given, [key]: one });
          } catch (error) {
            expect(error, `${key}: ${JSON.stringify(one)}`).toBeInstanceOf(ClearedError);
            expect((error as ClearedError).code, `${key}: ${JSON.stringify(one)} ${(error as ClearedError).message}`).not.toBe("INTERNAL");
          }
          expect(performance.now() - started, `${key}: ${JSON.stringify(one)}`).toBeLessThan(10_000);
        }
      }
    }
  });
});
