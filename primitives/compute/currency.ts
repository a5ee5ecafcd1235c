/** An amount in another currency, at a rate with its currency pair and day: rates are neither stored nor guessed here. */
import { z } from "zod";
import { currency, day, money } from "../_shapes.ts";
import { amount, defineCompute, refuse } from "./declare.ts";
import { exact, over, plain, times } from "../../runtime/kernel/exact.ts";
import { count, exactOut, figure, moneyOut } from "./shapes.ts";

const DAY_MS = 86_400_000;

export const compute_fx_convert = defineCompute({
  name: "compute_fx_convert",
  summary: "An amount converted to another currency at a dated exchange rate, rounded once; a rate of the opposite direction divides.",
  params: z.object({
    amount: money.describe("amount to convert"),
    from: currency.describe("its currency"),
    to: currency.describe("currency of the answer"),
    rate: z
      .object({
        base: currency.describe("EUR in EUR/USD 1.0842"),
        quote: currency.describe("USD in EUR/USD 1.0842"),
        value: figure({ above: "0", to: "1000000000000" }).describe("units of quote for one of base"),
        date: day.describe("day of the rate"),
        source: z.string().min(1).max(200).describe("who published it, or the record it was read from"),
      })
      .strict()
      .describe("the exchange rate, a fact with its date"),
    on: day.describe("day of the transaction; a rate of a later day is refused"),
    max_age_days: count(0, 3660).default(7).describe("maximum age of the rate, in days before `on`"),
  }),
  returns: z.object({
    result: moneyOut,
    currency: z.string(),
    rate_used: exactOut.describe("units of `to` for one of `from`, up to 18 decimals; the result is not computed from this text"),
    rate_date: z.string(),
    source: z.string(),
  }),
  alsoRefuses: ["JOURNAL_DATE"],
  example: `compute_fx_convert({ amount: "1250.00", from: "USD", to: "EUR", rate: { base: "EUR", quote: "USD", value: "1.0842", date: "2026-03-02", source: "ECB" }, on: "2026-03-03" })`,
  run({ amount: given, from, to, rate, on, max_age_days }) {
    const { base, quote, date, source } = rate;
    const value = exact(rate.value);
    if (base === quote || ![`${base} ${quote}`, `${quote} ${base}`].includes(`${from} ${to}`))
      refuse("rate_of_other_pair", `rate: is ${base}/${quote}; converting ${from} to ${to} needs ${from}/${to} or ${to}/${from}.`);
    const age = (Date.parse(on) - Date.parse(date)) / DAY_MS;
    if (age < 0) refuse("rate_of_later_day", `rate.date: ${date} is after ${on}; pass a rate known on that day.`);
    if (age > max_age_days) refuse("rate_too_old", `rate.date: ${date} is ${age} days before ${on}; at most ${max_age_days} are allowed.`);
    const direct = base === from;
    return {
      result: amount(direct ? times(exact(given), value) : over(exact(given), value), { currency: to }),
      currency: to,
      rate_used: plain(direct ? value : over(exact(1), value), 18),
      rate_date: date,
      source,
    };
  },
});
