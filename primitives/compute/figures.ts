/**
 * Amounts, percentages and lengths of time as people write them in a text. A figure with two possible readings keeps both; one
 * that cannot be read keeps none. Each number is read once, with a few characters around it, so the work is linear in the text.
 */
import { currencyPlaces } from "../../runtime/kernel/money.ts";
import { exact, plain, sum, times, whole } from "../../runtime/kernel/exact.ts";

export interface Figure {
  kind: "amount" | "percent" | "minutes" | "days" | "months";
  /** Decimal texts, one for each way to read it. */
  readings: string[];
  /** Currency code of an amount; a bare sign means the best-known currency that has it. */
  currency: string | null;
  /** Offsets in the text, end exclusive. */
  from: number;
  to: number;
}

/** "a 1 b 2" as {a: "1", b: "2"}. */
const pairs = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(/(\S+) (\S+)/g)].map(([, key = "", value = ""]) => [key, value]));
const SIGNS = pairs("€ EUR £ GBP ¥ JPY ₹ INR $ USD US$ USD C$ CAD A$ AUD NZ$ NZD");
const CODES = new Set(
  "USD EUR GBP CHF JPY CAD AUD NZD SEK NOK DKK ISK PLN CZK HUF RON BGN TRY INR CNY KRW SGD HKD TWD THB MYR IDR PHP VND BRL MXN ARS CLP COP ZAR NGN KES EGP MAD ILS AED SAR QAR KWD BHD OMR JOD TND".split(
    " ",
  ),
);
const NAMES = pairs("dollar USD euro EUR pound GBP franc CHF yen JPY");
const MAGNITUDE = pairs("k 1000 thousand 1000 m 1000000 mn 1000000 million 1000000 bn 1000000000 b 1000000000 billion 1000000000");
const MINUTES: Record<string, bigint> = { m: 1n, h: 60n };

/** Groups of digits; a plain space joins only groups of three. */
const NUMBER = /\d+(?:[.,'\u2019\u00a0\u202f]\d+| \d{3}(?!\d))*/g;
const SIGN_BEFORE = /(US\$|NZ\$|[CA]\$|[$€£¥₹])\s?$/;
const CODE_BEFORE = /(?:^|[^A-Za-z])([A-Z]{3})\s?$/;
const CURRENCY_AFTER = /^\s?(?:(€|£|¥|₹)|([A-Z]{3})(?![A-Za-z])|(dollar|euro|pound|franc|yen)s?\b)/;
const MAGNITUDE_AFTER = /^(?:([kKmM]|mn|bn|B)(?![A-Za-z])|\s(thousand|million|billion)\b)/;
const UNIT_AFTER = /^[\s-]?(min(?:ute)?s?|h(?:(?:ou)?rs?)?|days?|months?)(?![A-Za-z])/i;
/** "7 of 30 days": the unit of the part is after the whole. */
const UNIT_OF_WHOLE = /^\s(?:out )?of (?:the |a |an |its |all )?\d{1,5}[\s-](days?|months?)(?![A-Za-z])/i;
const RANGE_AFTER = /^\s?(?:[-\u2013\u2014]|to\s)\s?[$€£¥₹]?\d/;
const RANGE_BEFORE = /\d\s?(?:[-\u2013\u2014]|to)\s?$/;
/** Characters read on each side of a number. */
const AROUND = 24;

/** The decimal sign of a text, if one of its numbers reveals it. */
type Style = "." | "," | null;

function styleOf(numbers: readonly string[]): Style {
  const point = numbers.some((one) => /^\d{1,3}(?:,\d{3})+\.\d+$|^\d{1,3}(?:,\d{3}){2,}$|^\d+\.\d\d$/.test(one));
  const comma = numbers.some((one) => /^\d{1,3}(?:\.\d{3})+,\d+$|^\d{1,3}(?:\.\d{3}){2,}$|^\d+,\d\d$/.test(one));
  return point === comma ? null : point ? "." : ",";
}

/** Ways to read the digits of an amount. places: decimals of its currency. */
function readingsOf(digits: string, style: Style, places: number, magnitude: boolean): string[] {
  if (/^\d+$/.test(digits)) return [digits];
  const bare = digits.replace(/['\u2019\u00a0\u202f ]/g, "");
  if (bare !== digits) {
    // "1 234" may also be two numbers; decimals, or another kind of space, make it one.
    if (!/^\d{1,3}(?:['\u2019\u00a0\u202f ]\d{3})+(?:[.,]\d{1,2})?$/.test(digits) || /^[\d ]+$/.test(digits)) return [];
    return [bare.replace(",", ".")];
  }
  if (/^\d{1,3}(?:,\d{3})+\.\d+$|^\d{1,3}(?:,\d{3}){2,}$/.test(digits)) return [digits.replaceAll(",", "")];
  if (/^\d{1,3}(?:\.\d{3})+,\d+$|^\d{1,3}(?:\.\d{3}){2,}$/.test(digits)) return [digits.replaceAll(".", "").replace(",", ".")];
  const [, head = "", mark = "", tail = ""] = /^(\d+)([.,])(\d+)$/.exec(digits) ?? [];
  if (mark === "") return [];
  const [decimal, grouped] = [`${head}.${tail}`, head + tail];
  if (tail.length !== 3 || head.length > 3 || head === "0" || magnitude) return [decimal];
  if (style !== null && style !== mark) return [grouped];
  if (style === mark && places === 3) return [decimal];
  // "1,200" is a thousand in a currency with two decimals; "1.200", or "1,200" beside "12,50", may be either.
  return style === null && mark === "," && places < 3 ? [grouped] : [grouped, decimal];
}

/** All figures of a text, in its order. */
export function figuresIn(text: string): Figure[] {
  const numbers = [...text.matchAll(NUMBER)];
  const around = numbers.map((match) => ({
    digits: match[0],
    at: match.index,
    before: text.slice(Math.max(0, match.index - AROUND), match.index),
    after: text.slice(match.index + match[0].length, match.index + match[0].length + AROUND),
  }));
  const style = styleOf(around.filter((one) => currencyOf(one) !== null).map((one) => one.digits));
  const figures = around.flatMap((one) => figureOf(one, style) ?? []);
  return figures.flatMap((one, i) => joined(text, one, figures[i - 1], figures[i + 1]));
}

type Around = { at: number } & Record<"digits" | "before" | "after", string>;
type Marked = { code: string; magnitude: string | null } & Record<"from" | "to", number>;

function currencyOf({ digits, at, before, after }: Around): Marked | null {
  const size = MAGNITUDE_AFTER.exec(after);
  const right = CURRENCY_AFTER.exec(after.slice(size?.[0].length ?? 0));
  const sign = SIGN_BEFORE.exec(before);
  const code = CODE_BEFORE.exec(before);
  const codes = [right?.[2], code?.[1]].find((one) => one !== undefined && CODES.has(one));
  const named = codes ?? NAMES[right?.[3] ?? ""] ?? SIGNS[sign?.[1] ?? right?.[1] ?? ""];
  if (named === undefined) return null;
  const left = sign?.[0].length ?? (code !== null && CODES.has(code[1] ?? "") ? code[0].replace(/^[^A-Z]/, "").length : 0);
  const kept = right !== null && (right[2] === undefined || CODES.has(right[2])) ? right[0].length : 0;
  const to = at + digits.length + (size?.[0].length ?? 0) + kept;
  return { code: named, from: at - left, to, magnitude: size === null ? null : (size[1] ?? size[2] ?? "").toLowerCase() };
}

function figureOf(around: Around, style: Style): Figure | null {
  const { digits, at, before, after } = around;
  const end = at + digits.length;
  const simple = /^\d{1,15}(?:[.,]\d{1,15})?$/.test(digits) ? [digits.replace(",", ".")] : [];
  const percent = /^\s?(?:%|percent\b|per cent\b)/i.exec(after);
  const range = RANGE_AFTER.test(after) || RANGE_BEFORE.test(before.replace(SIGN_BEFORE, ""));
  if (percent !== null) return { kind: "percent", readings: range ? [] : simple, currency: null, from: at, to: end + percent[0].length };
  const marked = currencyOf(around);
  if (marked !== null) {
    const readings = range || digits.length > 40 ? [] : readingsOf(digits, style, currencyPlaces(marked.code), marked.magnitude !== null);
    const minus = /(?:^|[\s(])[-\u2212]$/.test(before.slice(0, before.length - (at - marked.from))) ? "-" : "";
    const scaled = readings.map(
      (one) => minus + (marked.magnitude === null ? one : plain(times(exact(one), exact(MAGNITUDE[marked.magnitude] ?? "1")), 18)),
    );
    return { kind: "amount", readings: scaled, currency: marked.code, from: marked.from, to: marked.to };
  }
  const unit = UNIT_AFTER.exec(after) ?? UNIT_OF_WHOLE.exec(after);
  // "INV-10 days" and "24/7 hours" are not lengths of time; "$300/30 days" contains one.
  if (unit === null || /[A-Za-z\d/-]$/.test(before.replace(/[$€£¥₹]\s?[\d.,]+\/$/, ""))) return null;
  const word = (unit[1] ?? "").toLowerCase();
  const kind = word.startsWith("d") ? "days" : word.startsWith("mo") ? "months" : "minutes";
  const readings =
    kind === "minutes" ? simple.map((one) => plain(times(exact(one), whole(Number(MINUTES[word[0] ?? ""] ?? 1n))), 18)) : simple;
  const to = end + (unit[0].trimStart().startsWith("o") ? 0 : unit[0].length);
  return { kind, readings: range ? [] : readings, currency: null, from: at, to };
}

/** "2 hours and 30 minutes" is one length of time. */
function joined(text: string, one: Figure, last: Figure | undefined, next: Figure | undefined): Figure[] {
  const goesOn = (a: Figure | undefined, b: Figure | undefined): boolean =>
    a?.kind === "minutes" &&
    b?.kind === "minutes" &&
    /h(?:(?:ou)?rs?)?$/i.test(text.slice(a.from, a.to)) &&
    /m(?:in(?:ute)?s?)?$/i.test(text.slice(b.from, b.to)) &&
    b.from - a.to < 8 &&
    /^,?\s*(?:and\s)?\s*$/.test(text.slice(a.to, b.from));
  if (goesOn(last, one)) return [];
  if (next === undefined || !goesOn(one, next)) return [one];
  const [a, b] = [one.readings[0], next.readings[0]];
  return [{ ...one, to: next.to, readings: a === undefined || b === undefined ? [] : [plain(sum([exact(a), exact(b)]), 18)] }];
}
