/** Value added tax, withholding at one rate, and taxes by bands. Net and tax add up to gross exactly, because one of them is the remainder. */
import { z } from "zod";
import { money, nonNegativeMoney, shown } from "../_shapes.ts";
import { currencyPlaces } from "../../runtime/kernel/money.ts";
import { amount, amounts, defineCompute, pctText, placesOf, refuse, settled } from "./declare.ts";
import { exact, fixed, HUNDRED, least, most, percentOf, plain, round, share, sum } from "../../runtime/kernel/exact.ts";
import { count, exactOut, fields, inCurrency, moneyOut, percentTo100 } from "./shapes.ts";
import { TAX_TABLES, type TaxTable } from "./tax-tables.ts";

export const compute_tax_vat = defineCompute({
  name: "compute_tax_vat",
  summary: "Value added tax added to a net amount, extracted from a gross one, or owed and reclaimed under reverse charge.",
  params: z.object({
    amount: money.describe("net for add and reverse, gross for extract; below zero for a credit note"),
    vat_rate: percentTo100.describe("rate in percent"),
    mode: z.enum(["add", "extract", "reverse"]).describe("reverse: the buyer owes the tax and reclaims it"),
    ...inCurrency,
  }),
  returns: z.object({
    result: moneyOut.describe("the tax"),
    ...fields(moneyOut, "net_amount", "vat_amount"),
    gross_amount: moneyOut.describe("amount paid to the seller"),
    vat_rate_pct: exactOut,
    mode: z.enum(["add", "extract", "reverse"]),
    output_vat: moneyOut.optional().describe("reverse only: owed by the buyer"),
    input_vat: moneyOut.optional().describe("reverse only: reclaimed by the buyer"),
    payable: moneyOut.optional().describe("reverse only"),
  }),
  example: `compute_tax_vat({ amount: "107.49", vat_rate: "7.5", mode: "extract" })`,
  run(p) {
    const [given, rate, booked] = [exact(p.amount), exact(p.vat_rate), settled(p.amount, p)];
    const vat = round(p.mode === "extract" ? share(given, rate, HUNDRED + rate) : percentOf(given, rate), placesOf(p));
    const text = amount(vat, p);
    return {
      result: text,
      net_amount: amount(p.mode === "extract" ? booked - vat : booked, p),
      vat_amount: text,
      gross_amount: amount(p.mode === "add" ? booked + vat : booked, p),
      vat_rate_pct: pctText(rate),
      mode: p.mode,
      ...(p.mode === "reverse" ? { output_vat: text, input_vat: text, payable: amount(0n, p) } : {}),
    };
  },
});

export const compute_tax_withholding = defineCompute({
  name: "compute_tax_withholding",
  summary: "Withholding tax at one rate, or the gross amount that leaves a given net. For pay taxed by bands use compute_tax_bands.",
  params: z.object({
    amount: money.describe("gross for withhold, net for gross_up; below zero takes a payment back"),
    withholding_rate: percentTo100.describe("rate in percent; below 100 for gross_up"),
    mode: z.enum(["withhold", "gross_up"]).default("withhold"),
    ...inCurrency,
  }),
  returns: z.object({
    result: moneyOut.describe("the tax"),
    ...fields(moneyOut, "gross_amount", "net_amount", "tax_withheld"),
    effective_rate_pct: exactOut,
  }),
  example: `compute_tax_withholding({ amount: "1234.56", withholding_rate: 15, mode: "withhold" })`,
  run(p) {
    const [given, rate] = [exact(p.amount), exact(p.withholding_rate)];
    if (p.mode === "gross_up" && rate >= HUNDRED)
      refuse("rate_out_of_range", `withholding_rate: at ${p.withholding_rate} % no gross amount leaves anything; it must be below 100.`);
    // gross = net / (1 - rate)
    const booked = settled(p.amount, p);
    const gross = p.mode === "gross_up" ? round(share(given, HUNDRED, HUNDRED - rate), placesOf(p)) : booked;
    const tax = p.mode === "gross_up" ? gross - booked : round(percentOf(given, rate), placesOf(p));
    return {
      ...amounts(p, { result: tax, gross_amount: gross, net_amount: gross - tax, tax_withheld: tax }),
      effective_rate_pct: gross === 0n ? pctText(rate) : pctText(share(tax, HUNDRED, gross)),
    };
  },
});

const bandOut = z.object({ from: moneyOut, to: moneyOut.nullable(), rate_pct: exactOut, taxed: moneyOut, tax: moneyOut });

export const compute_tax_bands = defineCompute({
  name: "compute_tax_bands",
  summary: "Tax or contributions on a year's pay by the bands, allowances and caps of a country and year; returns the source of the table.",
  params: z.object({
    country: z.string().max(20).describe("US, GB or BG"),
    year: count(1900, 2200).describe("tax year by the calendar year it begins in: 2025 is 2025/26 in GB"),
    income: nonNegativeMoney.describe("gross pay of the year, in the table's currency"),
    scheme: z.string().max(40).optional().describe(`one of the country's schemes; default: all that the employee pays. ${schemesText()}`),
  }),
  returns: z.object({
    result: moneyOut.describe("total tax"),
    currency: z.string(),
    schemes: z.array(
      z.object({
        scheme: z.string(),
        ...fields(moneyOut, "tax", "taxable"),
        allowance: moneyOut.describe("pay that is free in this scheme"),
        bands: z.array(bandOut).describe("of the taxable pay"),
        source: z.string().describe("where the figures are published"),
        ...fields(z.string(), "valid_from", "valid_to"),
      }),
    ),
    net: moneyOut.nullable().describe("pay less the employee's taxes; null for an employer's scheme"),
    effective_rate_pct: exactOut,
  }),
  alsoRefuses: ["COMPUTE_TAX_TABLE"],
  example: `compute_tax_bands({ country: "GB", year: 2025, income: "60000.00" })`,
  run(p) {
    const tables = tablesFor(p.country, p.year, p.scheme);
    const currency = tables[0]?.currency ?? "USD";
    const places = currencyPlaces(currency);
    const income = exact(p.income);
    const schemes = tables.map((table) => taxed(table, income, places));
    const total = sum(schemes.map((one) => one.total));
    return {
      result: fixed(total, places),
      currency,
      schemes: schemes.map((one) => one.answer),
      net: tables.some((table) => table.payer === "employer") ? null : fixed(round(income, places) - total, places),
      effective_rate_pct: income === 0n ? "0" : plain(share(total, HUNDRED, income)),
    };
  },
});

function schemesText(): string {
  const byCountry = Map.groupBy(TAX_TABLES, (table) => table.country);
  return [...byCountry]
    .map(([country, tables]) => `${country}: ${[...new Set(tables.map((table) => table.scheme))].join(", ")}`)
    .join("; ");
}

/** A year without a table is refused: last year's figures would be wrong unnoticed. */
function tablesFor(country: string, year: number, scheme: string | undefined): TaxTable[] {
  const there = TAX_TABLES.filter((table) => table.country === country);
  const years = [...new Set(there.map((table) => table.year))].sort();
  if (there.length === 0) {
    const known = [...new Set(TAX_TABLES.map((table) => table.country))].join(", ");
    refuse("country_unknown", `country: there are no bands for ${shown(country)}; there are for ${known}.`, "COMPUTE_TAX_TABLE");
  }
  const now = there.filter((table) => table.year === year);
  const noYear = `year: the bands of ${country} for ${year} are not in the table; there are ${years.join(", ")}.`;
  if (now.length === 0) refuse("year_unknown", noYear, "COMPUTE_TAX_TABLE");
  const chosen = now.filter((table) => (scheme === undefined ? table.payer === "employee" : table.scheme === scheme));
  if (chosen.length === 0)
    refuse("scheme_unknown", `scheme: ${shown(scheme)} is not one of ${now.map((table) => table.scheme).join(", ")}.`, "COMPUTE_TAX_TABLE");
  return chosen;
}

function taxed(table: TaxTable, income: bigint, places: number) {
  const free = least(income, allowanceOf(table, income));
  const taxable = income - free;
  const bands = table.bands.map(({ from, to, rate_pct }) => {
    const inBand = most(0n, least(taxable, to === null ? taxable : exact(to)) - exact(from));
    const edges = { from: fixed(exact(from), places), to: to === null ? null : fixed(exact(to), places) };
    return { ...edges, rate_pct, taxed: fixed(inBand, places), tax: fixed(percentOf(inBand, exact(rate_pct)), places) };
  });
  const total = sum(bands.map((band) => exact(band.tax)));
  const { scheme, source, valid_from, valid_to } = table;
  const [tax, allowance, pay] = [fixed(total, places), fixed(free, places), fixed(taxable, places)];
  return { total, answer: { scheme, tax, allowance, taxable: pay, bands, ...{ source, valid_from, valid_to } } };
}

/** The allowance falls by `pct` percent of the income above `above`, down to zero. */
function allowanceOf({ allowance, taper }: TaxTable, income: bigint): bigint {
  const full = exact(allowance);
  if (taper === null) return full;
  const above = most(0n, income - exact(taper.above));
  return most(0n, full - percentOf(above, exact(taper.pct)));
}
