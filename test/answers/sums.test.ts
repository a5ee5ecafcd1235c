/** What an answer says of sums comes out, to the last digit; after a no it tells what was known before. */
import { describe, expect, it } from "vitest";
import { brokenSums, missingFields } from "../../runtime/rules/answers/required.ts";
import type { Json } from "../../runtime/kernel/ports.ts";

describe("sums of an answer", () => {
  const slip = { name: "Ann", gross: "100.00", deductions: "20.00", net: "80.00" };

  it.each([
    ["gross, deductions and net", { gross: "100.00", net: "80.00", deductions: "20.01" }, "net + deductions = gross (100.01 is not 100)"],
    ["tax", { pays: { gross: "120.00", net: "100.00", tax: "19.99" } }, "net + tax = gross"],
    ["a bill", { billing: { cost: "75.90", fee: "674.55", credit: "1149.23", net: "-398.77" } }, "cost + fee - credit = net"],
    ["a trial balance", { debit: "10.00", credit: "10.01" }, "debit = credit"],
    [
      "an entry",
      {
        lines: [
          { debit: "5.00", credit: "0.00" },
          { debit: "0.00", credit: "4.99" },
        ],
      },
      "lines: debit = credit (5 is not 4.99)",
    ],
    ["slips", { gross: "200.01", slips: [slip, slip] }, "sum of slips gross = gross"],
    ["a slip", { slips: [{ ...slip, net: "80.01" }] }, "net + deductions = gross"],
    [
      "an allocation",
      { amount: "100.00", parts: [{ amount: "33.33" }, { amount: "33.33" }, { amount: "33.33" }] },
      "sum of parts amount = amount",
    ],
  ] as [string, Json, string][])("%s that does not add up is told with both sides", (_, answer, why) => {
    expect(brokenSums(answer)).toEqual([expect.stringContaining(why)]);
  });

  it("correct sums, with any zeros and signs, and fields that claim no sum are accepted", () => {
    const right = [
      { gross: "200.00", net: "160", deductions: "40.0", slips: [slip, slip] },
      { billing: { cost: "75.90", fee: "674.55", credit: "1149.23", net: "-398.78" }, gross: "1.00", net: "2.00" },
      { cost: "1.00", fee: "0.00", credit: "-2.00", net: "3.00" },
      { amount: "5.00", earlier: [{ amount: "7.00" }], slips: [] },
      [{ debit: "1.00", credit: "2.00" }],
      null,
      "12.00",
    ] as Json[];
    for (const answer of right) expect(brokenSums(answer)).toEqual([]);
  });

  it("after a rejection, only what was known before it is required", () => {
    expect(missingFields("procurement", { note: { type: "string" } }, {}, true).map((one) => one.split(" ")[0])).toEqual([
      "vendor",
      "amount",
    ]);
    expect(missingFields("customer_onboarding", {}, {}, true)).toEqual([]);
  });
});
