/** A part of an amount, and what is left: discounts, rates, shares. The two always add up to the amount. */
import { z } from "zod";
import { money } from "../_shapes.ts";
import { amount, defineCompute, placesOf } from "./declare.ts";
import { exact, percentOf, round } from "./exact.ts";
import { inCurrency, moneyOut, percentTo100 } from "./shapes.ts";

export const compute_percent_of = defineCompute({
  name: "compute_percent_of",
  summary: "A percentage of an amount, and the rest of it.",
  params: z.object({ amount: money, pct: percentTo100.describe("2 is 2 %"), ...inCurrency }),
  returns: z.object({ result: moneyOut.describe("the part"), rest: moneyOut.describe("the amount without it") }),
  example: `compute_percent_of({ amount: "52340.00", pct: "2" })`,
  run(p) {
    const part = round(percentOf(exact(p.amount), exact(p.pct)), placesOf(p));
    return { result: amount(part, p), rest: amount(exact(p.amount) - part, p) };
  },
});
