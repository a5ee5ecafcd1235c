/** The arithmetic that distinguishes a real number from one that only looks like it. Every function takes text as found. */

const digitsOf = (text: string): string => text.replace(/\D/g, "");

/** ISO/IEC 7812-1, Annex B. */
function luhn(text: string): boolean {
  const digits = digitsOf(text);
  let sum = 0;
  for (let i = digits.length - 1, twice = false; i >= 0; i--, twice = !twice) {
    const digit = digits.charCodeAt(i) - 48;
    sum += twice ? (digit > 4 ? digit * 2 - 9 : digit * 2) : digit;
  }
  return digits !== "" && sum % 10 === 0;
}

/** Issuer ranges with their lengths: Visa, Mastercard, American Express, Discover, JCB, Diners Club, UnionPay. */
const ISSUERS =
  /^(?:4\d{12}(?:\d{3}(?:\d{3})?)?|(?:5[1-5]|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d*|3[47]\d{13}|(?:6011|64[4-9]\d|65\d\d)\d{12,15}|35(?:2[89]|[3-8]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}|62\d{14,17})$/;

export function isCard(text: string): boolean {
  const digits = digitsOf(text);
  const mastercard = /^[25]/.test(digits);
  return ISSUERS.test(digits) && (!mastercard || digits.length === 16) && luhn(digits);
}

/** Social Security Administration: area not 000, 666 or 9xx, group not 00, serial not 0000. */
export const isSsn = (text: string): boolean => /^(?!000|666|9)\d{3}(?!00)\d{2}(?!0000)\d{4}$/.test(digitsOf(text));

/** IRS: 9xx, fourth and fifth digit 50-65, 70-88, 90-92, 94-99. */
export const isItin = (text: string): boolean => /^9\d\d(?:5\d|6[0-5]|7\d|8[0-8]|9[0-24-9])\d{4}$/.test(digitsOf(text));

/** ABA routing number: a Federal Reserve prefix, and 3-7-1 weights. */
export function isRouting(text: string): boolean {
  if (!/^(?:0\d|1[0-2]|2[1-9]|3[0-2]|6[1-9]|7[0-2]|80)\d{7}$/.test(text) || text === "000000000") return false;
  return [...text].reduce((sum, digit, i) => sum + Number(digit) * ([3, 7, 1][i % 3] ?? 0), 0) % 10 === 0;
}

/** US National Provider Identifier: Luhn over the number with the prefix 80840 (45 CFR 162.406). */
export const isNpi = (text: string): boolean => /^[12]\d{9}$/.test(text) && luhn(`80840${text}`);

/** SWIFT IBAN registry: country and length. */
const IBAN_LENGTHS = new Map(
  (
    "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BR29BY28CH21CR22CY28CZ24DE22DK18DO28EE20EG29ES24FI18FO18FR27GB22GE22GI23GL18GR27GT28HR21HU28" +
    "IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MR27MT31MU30NL18NO15PK24PL28PS29PT25QA29RO24RS22SA24" +
    "SC31SE24SI19SK24SM27ST25SV28TL23TN24TR26UA29VA22VG24XK20"
  )
    .match(/[A-Z]{2}\d\d/g)
    ?.map((one) => [one.slice(0, 2), Number(one.slice(2))] as const),
);

/** Number of characters at the start of `text` that form an IBAN (ISO 13616, mod 97), else 0; more letters and digits may follow it. */
export function ibanLength(text: string): number {
  const wanted = IBAN_LENGTHS.get(text.slice(0, 2)) ?? 0;
  const values: number[] = [];
  let at = 0;
  for (; at < text.length && values.length < wanted; at++) {
    const code = text.charCodeAt(at);
    if (code >= 48 && code <= 57) values.push(code - 48);
    else if (code >= 65 && code <= 90) values.push(code - 55);
  }
  if (wanted === 0 || values.length < wanted) return 0;
  let rest = 0;
  // In the sum the first four characters come last.
  for (let i = 4; i < wanted + 4; i++) {
    const value = values[i % wanted] ?? 0;
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1 ? at : 0;
}
