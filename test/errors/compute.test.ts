/** Exact messages of the compute codes: code, then what a person reads. */
import { expect, it } from "vitest";
import { ClearedError } from "../../runtime/kernel/errors.ts";
import type { Json } from "../../runtime/kernel/ports.ts";
import { compute } from "../compute/vectors.ts";

it.each<[string, Json, string]>([
  [
    "compute_early_termination_fee",
    { remaining_value: "100.00", fee_pct: 120 },
    "COMPUTE_RANGE compute_early_termination_fee: fee_pct: 120 must be at least 0 and at most 100",
  ],
  [
    "compute_early_termination_fee",
    { remaining_value: 100, fee_pct: 10 },
    'JOURNAL_AMOUNT compute_early_termination_fee: remaining_value: 100 is a number; pass amounts as text such as "42.99" or as a Decimal, because a number cannot hold cents exactly',
  ],
  [
    "compute_early_termination_fee",
    { remaining_value: "-5", fee_pct: 10 },
    'JOURNAL_AMOUNT compute_early_termination_fee: remaining_value: "-5" is negative',
  ],
  [
    "compute_early_termination_fee",
    { remaining_value: "5", fee_pct: 0.1 + 0.2 },
    "COMPUTE_RANGE compute_early_termination_fee: fee_pct: 0.30000000000000004 was computed in binary and is not exact; compute it with Decimal, or pass text",
  ],
  [
    "compute_hr_overtime",
    { rule: "california", hours_worked: 52, hourly_rate: "28.00" },
    "COMPUTE_RANGE daily_hours: California's rule counts by the day; pass the hours of each day.",
  ],
  [
    "compute_finance_irr",
    { cash_flows: ["100", "50"] },
    "COMPUTE_NO_ROOT No rate gives these cash flows a present value of zero: they never change sign, or their value stays on one side of zero.",
  ],
  ["compute_finance_irr", { cash_flows: ["-100", "230", "-132"] }, "COMPUTE_MANY_ROOTS There are 2 internal rates of return: 10 %, 20 %."],
  [
    "compute_sc_inventory_value",
    { purchases: [{ units: 5, unit_cost: "1.00" }], units_sold: 6 },
    "COMPUTE_UNITS units_sold: 6 is more than the 5 units bought.",
  ],
  [
    "compute_tax_bands",
    { country: "US", year: 2019, income: "1" },
    "COMPUTE_TAX_TABLE year: the bands of US for 2019 are not in the table; there are 2024, 2025, 2026.",
  ],
  [
    "compute_tax_bands",
    { country: "FR", year: 2025, income: "1" },
    'COMPUTE_TAX_TABLE country: there are no bands for "FR"; there are for US, GB, BG.',
  ],
])("%s %j", async (name, params, expected) => {
  const said = await compute(name, params).then(
    (value) => JSON.stringify(value),
    (error: unknown) => (error instanceof ClearedError ? `${error.code} ${error.message}` : String(error)),
  );
  expect(said).toBe(expected);
});
