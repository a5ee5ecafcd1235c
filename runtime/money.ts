/**
 * What an amount and a currency look like as text, everywhere: in calls, statements, headers and the journal. A JS number never holds
 * an amount; the host adds in whole numbers of the smallest unit (workspace/amounts.ts), scripts compute with Decimal in their realm.
 */

// At most 30 digits before and 18 after the point: more is no amount of any currency, and keeps sums exact at precision 60.
export const AMOUNT_PATTERN = /^-?\d{1,30}(?:\.\d{1,18})?$/;

/** A currency or another commodity, as both outside tools read it without quotation marks. */
export const CURRENCY_PATTERN = /^[A-Z]{2,12}$/;

/** Digits after the point of an ISO 4217 currency; those not listed have two. */
const PLACES: Record<string, number> = {
  ...Object.fromEntries("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF".split(" ").map((code) => [code, 0])),
  ...Object.fromEntries("BHD IQD JOD KWD LYD OMR TND".split(" ").map((code) => [code, 3])),
};

export function currencyPlaces(currency: string): number {
  return PLACES[currency] ?? 2;
}
