/**
 * What an amount and a currency look like as text, everywhere: in calls, statements, headers and the journal. A JS number never holds
 * an amount; the host adds whole numbers in BigInt (workspace/books/amounts.ts), scripts compute with Decimal in their realm.
 */

// At most 30 digits before and 18 after the point: no currency has larger amounts, and the limit keeps sums exact at precision 60.
export const AMOUNT_PATTERN = /^-?\d{1,30}(?:\.\d{1,18})?$/;

/** A currency or another commodity, in the form that both external checkers read without quotation marks. */
export const CURRENCY_PATTERN = /^[A-Z]{2,12}$/;

/** Digits after the point of an ISO 4217 currency; those not listed have two. */
const PLACES: Record<string, number> = {
  ...Object.fromEntries("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF".split(" ").map((code) => [code, 0])),
  ...Object.fromEntries("BHD IQD JOD KWD LYD OMR TND".split(" ").map((code) => [code, 3])),
};

export const currencyPlaces = (currency: string): number => PLACES[currency] ?? 2;

/**
 * One spelling for each decimal, for comparison: a number or decimal text without exponent, plus sign, needless zeros and "-0"
 * (`1200`, "1200.00", 1.2e3 -> "1200"). Null for anything else, for text with leading zeros ("007" is an id), and above 60 digits.
 */
export function plainDecimal(value: unknown): string | null {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string" || text.length > 64) return null;
  const parts = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:e([+-]?\d{1,2}))?$/.exec(text);
  if (parts === null || (parts[4] !== undefined && typeof value !== "number")) return null;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = parts;
  const point = whole.length + Number(exponent);
  const digits = whole + fraction;
  if (point > 60 || point < -60) return null;
  const padded = point <= 0 ? "0".repeat(1 - point) + digits : digits.padEnd(point, "0");
  const at = Math.max(point, 1);
  const left = padded.slice(0, at).replace(/^0+(?=\d)/, "");
  const right = padded.slice(at).replace(/0+$/, "");
  const plain = right === "" ? left : `${left}.${right}`;
  return plain === "0" ? "0" : sign + plain;
}
