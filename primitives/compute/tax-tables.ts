/**
 * Tax bands by country, scheme and year: reviewed data, each row with the official source of its figures. Bands apply to the taxable
 * pay (after the allowance) of a whole year. Only years with published figures are included; there is no "latest".
 */

export interface TaxTable {
  country: string;
  scheme: string;
  payer: "employee" | "employer";
  /** The calendar year in which the tax year begins. */
  year: number;
  valid_from: string;
  valid_to: string;
  currency: string;
  /** Tax-free pay. */
  allowance: string;
  /** The allowance falls by pct percent of the pay above `above`. */
  taper: { above: string; pct: string } | null;
  /** Ascending and without gaps; `to` is null in the last one. A cap is a last band of 0 %. */
  bands: readonly { from: string; to: string | null; rate_pct: string }[];
  source: string;
}

/** Edges and rates to bands: [[6.2, 176100], [0, null]] is 6.2 % up to 176,100 and nothing above. */
function bands(...steps: readonly (readonly [rate: string, to: string | null])[]): TaxTable["bands"] {
  return steps.map(([rate_pct, to], i) => ({ from: steps[i - 1]?.[1] ?? "0", to, rate_pct }));
}

const calendarYear = (year: number) => ({ year, valid_from: `${year}-01-01`, valid_to: `${year}-12-31` });
const ukYear = (year: number) => ({ year, valid_from: `${year}-04-06`, valid_to: `${year + 1}-04-05` });

/** Social Security and Medicare, FICA. wageBase: the contribution and benefit base of the year. */
function usFica(year: number, wageBase: string): TaxTable[] {
  const of = { country: "US", ...calendarYear(year), currency: "USD", allowance: "0", taper: null };
  const base = `SSA, Contribution and Benefit Base (${year}: ${wageBase} USD); rates: 26 USC 3101(a), 3111(a)`;
  const medicare = "26 USC 3101(b)(1), 3111(b); IRS Topic 751";
  return [
    { ...of, scheme: "social_security", payer: "employee", bands: bands(["6.2", wageBase], ["0", null]), source: base },
    { ...of, scheme: "medicare", payer: "employee", bands: bands(["1.45", null]), source: medicare },
    {
      // Withheld above 200,000 regardless of the filing status; the tax return settles the rest.
      ...{ ...of, scheme: "additional_medicare", payer: "employee", bands: bands(["0", "200000"], ["0.9", null]) },
      source: "26 USC 3101(b)(2), 3102(f)(1); IRS Topic 560",
    },
    { ...of, scheme: "social_security_employer", payer: "employer", bands: bands(["6.2", wageBase], ["0", null]), source: base },
    { ...of, scheme: "medicare_employer", payer: "employer", bands: bands(["1.45", null]), source: medicare },
  ];
}

/** PAYE outside Scotland with the standard personal allowance, and class 1 National Insurance, category A, for a whole year. */
function uk(year: number, employer: { threshold: string; rate_pct: string }): TaxTable[] {
  const of = { country: "GB", ...ukYear(year), currency: "GBP" };
  const published = `HMRC, Rates and thresholds for employers ${year} to ${year + 1}`;
  return [
    {
      ...{ ...of, scheme: "income_tax", payer: "employee", allowance: "12570" },
      // Income Tax Act 2007 s. 35(2): one pound of allowance for each two above 100,000.
      taper: { above: "100000", pct: "50" },
      // Taxable pay: the higher rate begins at 37,700 and the additional rate at 125,140, where the allowance is gone.
      bands: bands(["20", "37700"], ["40", "125140"], ["45", null]),
      source: `${published} (England, Wales and Northern Ireland); Income Tax Act 2007 ss. 10, 35`,
    },
    {
      ...{ ...of, scheme: "national_insurance", payer: "employee", allowance: "12570", taper: null },
      // Upper earnings limit 50,270 less the primary threshold 12,570.
      bands: bands(["8", "37700"], ["2", null]),
      source: `${published}, class 1 National Insurance, category A`,
    },
    {
      ...{ ...of, scheme: "national_insurance_employer", payer: "employer", allowance: employer.threshold, taper: null },
      bands: bands([employer.rate_pct, null]),
      source: `${published}, class 1 National Insurance, category A, secondary`,
    },
  ];
}

/** Flat: 10 % of annual taxable income, no allowance. */
function bulgaria(year: number): TaxTable {
  return {
    ...{ country: "BG", scheme: "income_tax", payer: "employee", ...calendarYear(year), currency: "BGN" },
    ...{ allowance: "0", taper: null, bands: bands(["10", null]) },
    source: "Income Taxes on Natural Persons Act (ZDDFL), art. 48(1)",
  };
}

export const TAX_TABLES: readonly TaxTable[] = [
  ...usFica(2024, "168600"),
  ...usFica(2025, "176100"),
  ...usFica(2026, "184500"),
  ...uk(2024, { threshold: "9100", rate_pct: "13.8" }),
  ...uk(2025, { threshold: "5000", rate_pct: "15" }),
  ...uk(2026, { threshold: "5000", rate_pct: "15" }),
  bulgaria(2024),
  bulgaria(2025),
];
