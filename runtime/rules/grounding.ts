/**
 * Whether a model's statements appear in the text it was given: numbers, dates, ids and names, however they are written. Pure, and linear in
 * both texts. A figure in another spelling (1,200.00 and 1200) is the same; a computed figure does not appear.
 */
import { isDay } from "../kernel/day.ts";
import { plainDecimal } from "../kernel/money.ts";

const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");

/** Lower case, one kind of blank and of dash, no invisible characters: two texts, or two ids of a person, that a reader sees as one are equal. */
export function normalText(text: string): string {
  return text
    .replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu, "")
    .normalize("NFKC")
    .replace(/[\p{Pd}\u2212]/gu, "-")
    .replace(/\s+/g, " ")
    .trim()
    .toLowerCase();
}

/** Contents of one text; built once for many lookups. */
export interface Ground {
  text: string;
  numbers: ReadonlySet<string>;
  dates: ReadonlySet<string>;
}

export function groundOf(given: string): Ground {
  const text = normalText(given);
  return { text, numbers: new Set(numbersIn(text).flatMap(readingsOf)), dates: new Set(datesIn(text).flatMap(({ days }) => days)) };
}

// Amounts and counts as written; not the digits of an id or a date.
const NUMBER = /(?<![\p{L}\p{N}_])\d(?:[\d.,' ]{0,30}\d)?(?![\p{L}\p{N}_])/gu;

function numbersIn(text: string): string[] {
  return [...text.matchAll(NUMBER)].flatMap(([found]) => (found.includes(" ") ? [found, ...found.split(" "), ...spaced(found)] : [found]));
}

const GROUPED = /^\d{1,3}(?: \d{3})+(?:[.,]\d+)?$/;

/** "3 400" may be one number or two, also in "2 3 400": answers every run of groups. */
function spaced(found: string): string[] {
  const parts = found.split(" ");
  return parts.flatMap((_, i) => parts.slice(i + 1).map((__, n) => parts.slice(i, i + n + 2).join(" "))).filter((run) => GROUPED.test(run));
}

/** Plain decimals that a written number may mean: "1.200" is 1200 or 1.2. */
function readingsOf(written: string): string[] {
  const bare = written.replace(/[' ]/g, "");
  const ways = [bare.replaceAll(",", ""), bare.replaceAll(".", "").replace(",", ".")];
  const grouped = /^\d{1,3}(?:[.,]\d{3})+$/.test(bare) ? [bare.replace(/[.,]/g, "")] : [];
  return [...ways, ...grouped].flatMap((way) => plainDecimal(way.replace(/^0+(?=\d)/, "")) ?? []);
}

function datesIn(text: string): { found: string; days: string[] }[] {
  const all: { found: string; days: string[] }[] = [];
  const put = (found: string, ...parts: [year: string, month: string, day: string][]) => {
    const days = parts
      .map(([year, month, day]) => `${year.length === 2 ? `20${year}` : year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`)
      .filter(isDay);
    if (days.length > 0) all.push({ found, days });
  };
  for (const [found, y = "", m = "", d = ""] of text.matchAll(/(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)/g)) put(found, [y, m, d]);
  // Which of the two is the month is unknown: both readings count.
  for (const [found, a = "", b = "", y = ""] of text.matchAll(/(?<!\d)(\d{1,2})[-/. ](\d{1,2})[-/. ](\d{4}|\d{2})(?!\d)/g))
    put(found, [y, b, a], [y, a, b]);
  const month = (word: string) => String(MONTHS.indexOf(word.slice(0, 3)) + 1);
  const names = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}";
  for (const [found, m = "", d = "", y = ""] of text.matchAll(new RegExp(`${names}\\.? (\\d{1,2})(?:st|nd|rd|th)?,? (\\d{4})(?!\\d)`, "g")))
    put(found, [y, month(m), d]);
  for (const [found, d = "", m = "", y = ""] of text.matchAll(
    new RegExp(`(?<!\\d)(\\d{1,2})(?:st|nd|rd|th)?\\.? ${names}\\.?,? (\\d{4})(?!\\d)`, "g"),
  ))
    put(found, [y, month(m), d]);
  return all;
}

export const hasNumber = ({ numbers }: Ground, written: string): boolean =>
  readingsOf(normalText(written).replace(/^[-+]|^\p{Sc}\s?|\s?(?:\p{Sc}|[a-z]{3})$|%$/gu, "")).some((one) => numbers.has(one));

const hasDate = ({ dates }: Ground, day: string): boolean => dates.has(day);

/** A name or an id: word for word, not inside a longer one. */
export function hasWords({ text }: Ground, words: string): boolean {
  const wanted = normalText(words);
  if (wanted === "") return false;
  const edge = /[\p{L}\p{N}]/u;
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
    const [before, after] = [text.charAt(at - 1), text.charAt(at + wanted.length)];
    if (!(edge.test(before) && edge.test(wanted.charAt(0))) && !(edge.test(after) && edge.test(wanted.at(-1) ?? ""))) return true;
  }
  return false;
}

/** The value that a model read, in its type, if the text contains it; else null. */
export function readField(
  { value, quote }: { value: string; quote: string },
  field: { type: string; enum?: readonly string[] | undefined },
  ground: Ground,
): string | number | boolean | null {
  const text = value.trim();
  // The value is chosen, not read, so the quote that supports it must be in the text.
  if (field.enum !== undefined) return field.enum.includes(text) && hasWords(ground, quote) ? text : null;
  if (field.type === "boolean") return /^(?:true|false)$/i.test(text) && hasWords(ground, quote) ? text.toLowerCase() === "true" : null;
  if (field.type === "date") return isDay(text) && hasDate(ground, text) ? text : null;
  if (field.type === "string") return hasWords(ground, text) ? text : null;
  const plain = text.replaceAll(",", "");
  if (plainDecimal(plain) === null || !hasNumber(ground, plain)) return null;
  if (field.type === "money") return plain;
  return field.type === "integer" && !Number.isSafeInteger(Number(plain)) ? null : Number(plain);
}

/** Numbers, dates and ids of a text that are missing from the ground, as written and in order. */
export function ungrounded(text: string, ground: Ground): string[] {
  const dates = datesIn(normalText(text));
  let rest = normalText(text);
  const wrong: string[] = [];
  for (const { found, days } of dates) {
    if (!days.some((one) => hasDate(ground, one))) wrong.push(found);
    rest = rest.replace(found, " ");
  }
  // Letters and digits in one word: INV-2024-447, run_01J9.
  for (const [id] of rest.matchAll(/(?<![\p{L}\p{N}])(?=[\p{L}\p{N}_/-]*\d)(?=[\p{L}\p{N}_/-]*\p{L})[\p{L}\p{N}][\p{L}\p{N}_/-]*/gu)) {
    rest = rest.replace(id, " ");
    if (/^\d+(?:st|nd|rd|th)$/.test(id) || hasWords(ground, id)) continue;
    wrong.push(id);
  }
  // Digits of other scripts are not read, so they match no figure of the ground.
  for (const [number] of rest.matchAll(/[^\P{Nd}0-9](?:[\p{Nd}.,' ]{0,30}\p{Nd})?/gu)) wrong.push(number);
  // Groups of three separated by blanks are one number: its parts alone would be other numbers.
  for (const [found] of rest.matchAll(NUMBER))
    for (const [number] of found.matchAll(/\d{1,3}(?: \d{3})+(?:[.,]\d+)?(?= |$)|[^ ]+/g))
      if (!readingsOf(number).some((one) => ground.numbers.has(one))) wrong.push(number.replace(/[.,']+$/, ""));
  return [...new Set(wrong)];
}

/** Wilson's 95 % interval for a proportion (Wilson 1927): also valid for few observations. */
export function wilson(hits: number, of: number): [low: number, high: number] {
  if (of === 0) return [0, 1];
  const [z, share] = [1.96, hits / of];
  const spread = z * Math.sqrt((share * (1 - share) + (z * z) / (4 * of)) / of);
  const [middle, whole] = [share + (z * z) / (2 * of), 1 + (z * z) / of];
  return [Math.max(0, (middle - spread) / whole), Math.min(1, (middle + spread) / whole)];
}

/** Confidence in an answer that people confirmed this often: the lower end of the interval, 0 before 20 decisions. */
export const earnedConfidence = ({ decided, confirmed }: { decided: number; confirmed: number }): number =>
  decided < 20 ? 0 : Math.floor(wilson(confirmed, decided)[0] * 10_000) / 10_000;
