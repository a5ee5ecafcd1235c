/**
 * Reading one cell: amounts, days, text. Nothing is guessed: each reader gets the form from the dialect and returns
 * a fault or a reason for anything else. Called once per cell of files with 200,000 rows, so the patterns are built once.
 */
import { z } from "zod";
import { isBookDay } from "../../kernel/day.ts";
import { currencyPlaces } from "../../kernel/money.ts";

export const isCurrency = (text: string): boolean => /^[A-Z]{3}$/.test(text);

export const amountForm = z.strictObject({
  decimal: z.enum([".", ","]).default(".").describe("the decimal mark"),
  thousands: z.enum(["", ".", ",", "'", " "]).default("").describe("the mark between thousands"),
  sign: z.string().max(4).default("").describe("currency sign that may be next to the amount"),
  parentheses: z.boolean().default(false).describe("(12.00) means -12.00"),
});
export type AmountForm = z.output<typeof amountForm>;

export const PLAIN_AMOUNT: AmountForm = { decimal: ".", thousands: "", sign: "", parentheses: false };

export type AmountReader = (text: string, currency: string) => { amount: string } | { reason: string };

/** A reader for one form. It returns plain decimal text with exactly the currency's places ("-4.00"), or the reason it is refused. */
export function amountReader(form: AmountForm): AmountReader {
  const mark = form.decimal === "." ? "\\." : ",";
  // A blank between groups is often a no-break space.
  const between = form.thousands === " " ? "[ \\u00a0\\u202f]" : RegExp.escape(form.thousands);
  const group = between === "" ? "" : `|\\d{1,3}(?:${between}\\d{3}){1,9}`;
  const pattern = new RegExp(`^([+-]?)(\\d{1,30}${group})?(?:${mark}(\\d{1,18}))?$`);
  return (raw, currency) => {
    let text = raw.trim();
    let negative = false;
    if (form.parentheses && text.startsWith("(") && text.endsWith(")")) {
      negative = true;
      text = text.slice(1, -1).trim();
    }
    if (form.sign !== "" && text.includes(form.sign)) text = withoutSign(text, form.sign);
    const match = pattern.exec(text);
    if (match === null || (match[2] === undefined && match[3] === undefined)) return { reason: amountReason(raw, form) };
    if (negative && match[1] !== "") return { reason: `"${excerpt(raw)}" is negative twice.` };
    const whole = (match[2] ?? "0").replace(/\D/g, "").replace(/^0+(?=\d)/, "");
    const places = currencyPlaces(currency);
    const fraction = match[3] ?? "";
    if (fraction.length > places) return { reason: `"${excerpt(raw)}" has more decimals than ${currency}, which has ${places}.` };
    const digits = places === 0 ? whole : `${whole}.${fraction.padEnd(places, "0")}`;
    const zero = /^[0.]+$/.test(digits);
    return { amount: (negative || match[1] === "-") && !zero ? `-${digits}` : digits };
  };
}

function withoutSign(text: string, sign: string): string {
  const minus = text.startsWith("-") || text.startsWith("+") ? text.charAt(0) : "";
  const rest = minus === "" ? text : text.slice(1).trimStart();
  if (rest.startsWith(sign)) return minus + rest.slice(sign.length).trimStart();
  if (rest.endsWith(sign)) return minus + rest.slice(0, -sign.length).trimEnd();
  return text;
}

function amountReason(raw: string, form: AmountForm): string {
  const text = raw.trim();
  if (text === "") return "The amount is empty.";
  if (form.sign === "" && /^[+-]?\s*\p{Sc}|\p{Sc}$/u.test(text))
    return `"${excerpt(raw)}" carries a currency sign, which this dialect does not allow. Set amount.sign in the dialect or mapping if it is right.`;
  const thousands = form.thousands === "" ? "no thousands mark" : `thousands mark "${form.thousands}"`;
  const other = /^[+-]?\d[\d.,' ]*$/.test(text) ? " Set amount.decimal and amount.thousands in the dialect or mapping if it is right." : "";
  return `"${excerpt(raw)}" is not an amount with decimal mark "${form.decimal}" and ${thousands}.${other}`;
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

const TOKENS: Record<string, string> = {
  YYYY: "(?<y>\\d{4})",
  YY: "(?<y>\\d{2})",
  MMM: "(?<m>[A-Za-z]{3})",
  MM: "(?<m>\\d{2})",
  M: "(?<m>\\d{1,2})",
  DD: "(?<d>\\d{2})",
  D: "(?<d>\\d{1,2})",
  HH: "\\d{2}",
  mm: "\\d{2}",
  ss: "\\d{2}",
};

// 20091224, 20091224120000.000, 20091224120000[-5:EST]: OFX 1.0.2, 3.2.8.2.
const OFX_DAY =
  /^(?<y>\d{4})(?<m>\d{2})(?<d>\d{2})(?:\d{2}(?:\d{2}(?:\d{2}(?:\.\d{1,6})?)?)?)?(?:\s?\[[+-]?\d{1,2}(?:\.\d{1,2})?(?::[A-Za-z]{1,5})?\])?$/;

/** The pattern of a date form, or null unless the form has exactly one year, month and day. */
export function datePattern(form: string): RegExp | null {
  if (form === "ofx") return OFX_DAY;
  const parts = form.match(/YYYY|YY|MMM|MM|M|DD|D|HH|mm|ss|[^A-Za-z]|[A-Za-z]/g) ?? [];
  const names = parts.filter((part) => /^[YMD]+$/.test(part)).map((part) => part.charAt(0));
  if (names.toSorted().join("") !== "DMY") return null;
  return new RegExp(`^${parts.map((part) => TOKENS[part] ?? RegExp.escape(part)).join("")}$`);
}

/**
 * The day (YYYY-MM-DD) of a text in a date form; fault `shape` when it has another form, `calendar` when no such day exists.
 * A form with a time zone gives the day as the bank wrote it, because that is the day on its statement.
 */
export function readDay(text: string, pattern: RegExp): { day: string } | { fault: "shape" | "calendar" } {
  const groups = pattern.exec(text.trim())?.groups;
  if (groups === undefined) return { fault: "shape" };
  const { y = "", m = "", d = "" } = groups;
  const year = y.length === 2 ? `${Number(y) < 70 ? "20" : "19"}${y}` : y;
  const month = m.length === 3 ? String(MONTHS.indexOf(m.toLowerCase()) + 1) : m;
  const day = `${year}-${month.padStart(2, "0")}-${d.padStart(2, "0")}`;
  return isBookDay(day) ? { day } : { fault: "calendar" };
}

/** Control and bidirectional characters removed (tabs and line ends become blanks): a bank's text must not steer a terminal or forge a line. */
export function cleanText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: removing them is the point
  const plain = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]/.test(text)
    ? text.replace(/[\t\n\r\u2028\u2029]+/g, " ").replace(/[\p{Cc}\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\p{Cs}]/gu, "")
    : text;
  return plain.length > 1000 ? plain.slice(0, 1000).replace(/[\ud800-\udbff]$/, "") : plain;
}

export const collapse = (text: string): string => text.replace(/\s+/g, " ").trim();

/** How often a sign occurs in a text; counting stops after `most` + 1. */
export function occurrences(text: string, sign: string, most = Number.POSITIVE_INFINITY): number {
  let count = 0;
  for (let at = text.indexOf(sign); at >= 0 && count <= most; at = text.indexOf(sign, at + 1)) count++;
  return count;
}

/** A short, printable piece of untrusted text for a message. */
export function excerpt(text: string): string {
  const plain = collapse(cleanText(text.slice(0, 200)));
  return plain.length > 60 ? `${plain.slice(0, 57)}...` : plain;
}
