/**
 * The door to hono/html (escaping by default) and small parts used by every page: times, amounts, untrusted text and data.
 */
import { html as template, raw } from "hono/html";
import type { Json } from "../kernel/ports.ts";
import { visible } from "../kernel/text.ts";
import { isObject } from "../rules/tools/shape.ts";

export const html = template;
export type Html = ReturnType<typeof template>;
export const nothing: Html = raw("");

/** Formats times in one zone. */
export interface Times {
  /** `<time>`: "14:05" today, else "6 Nov 14:05", with the year if it is not the current one. */
  at(ms: number): Html;
  /** The same without markup. */
  text(ms: number): string;
}

export function createTimes(timezone: string, now: number): Times {
  const parts = new Intl.DateTimeFormat("en-GB", {
    timeZone: timezone,
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  const read = (ms: number) => Object.fromEntries(parts.formatToParts(ms).map(({ type, value }) => [type, value]));
  const today = read(now);
  const text = (ms: number) => {
    const then = read(ms);
    const sameYear = then["year"] === today["year"];
    const sameDay = sameYear && then["month"] === today["month"] && then["day"] === today["day"];
    const day = sameDay ? "" : `${then["day"]} ${then["month"]}${sameYear ? "" : ` ${then["year"]}`} `;
    return `${day}${then["hour"]}:${then["minute"]}`;
  };
  return { text, at: (ms) => html`<time datetime="${new Date(ms).toISOString()}">${text(ms)}</time>` };
}

/** "340 ms", "2.4 s", "3 min", "5 h". */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return ms < 3_600_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`;
}

/** "-1234.5" USD as "−1,234.50", computed on the text, since a float would lose cents. */
export function amount(text: string, currency: string): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text);
  if (match === null) return plain(text);
  const [, sign, whole = "", fraction = ""] = match;
  const cents = fraction.padEnd(fractionDigits(currency), "0");
  return `${sign === "-" ? "\u2212" : ""}${whole.replace(/\B(?=(\d{3})+$)/g, ",")}${cents === "" ? "" : `.${cents}`}`;
}

/** 2 for USD, 0 for JPY; a commodity that is not a currency gets no zeros added. */
function fractionDigits(currency: string): number {
  if (!/^[A-Z]{3}$/.test(currency)) return 0;
  return new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().minimumFractionDigits ?? 0;
}

/** Untrusted text with invisible characters made visible, so that "pay 900 to Mallory" reads as it is, and clipped. The template escapes it. */
export function plain(text: string, limit = 2000): string {
  const seen = visible(text);
  return seen.length > limit ? `${seen.slice(0, limit)} …` : seen;
}

/** A label made from a key: `debit_account` -> "debit account". */
function label(key: string): string {
  return plain(key.replaceAll("_", " "), 60);
}

/** Untrusted text that must be readable in full: its beginning, and the rest one tap away. */
export function whole(text: string, limit = 2000): Html {
  const seen = visible(text);
  if (seen.length <= limit) return html`<bdi>${seen}</bdi>`;
  return html`<bdi>${seen.slice(0, limit)}</bdi>${rest(`${seen.length - limit} more characters`, html`<bdi>${seen.slice(limit)}</bdi>`)}`;
}

const rest = (words: string, body: Html): Html => html`<details class="rest"><summary>${words}</summary>${body}</details>`;

// Data nested deeper than this is not read by people.
const DEEPEST = 4;
const ROWS = 50;
// Measured: 100,000 values as rows take 1.5 s, as text 10 ms. Longer lists and larger data are shown as JSON.
const MOST_ROWS = 1000;
const MOST_CHARS = 250_000;
const COLUMNS = 8;

interface Shown {
  /** Everything is included, long parts behind a tap: for decisions. Else it is clipped, with a count. */
  all?: boolean;
  depth?: number;
  rows?: number;
}

/** Untrusted data for readers: facts as pairs, lists as lists, lists of records as a table, deeper data as JSON. */
export function facts(value: Json, { all = false, depth = 0, rows = ROWS }: Shown = {}): Html {
  const asJson = (one: Json): Html => html`<code>${whole(JSON.stringify(one))}</code>`;
  if (all && depth === 0 && rows === ROWS && typeof value === "object" && JSON.stringify(value).length > MOST_CHARS) return asJson(value);
  const text = (one: string): Html => (all ? whole(one) : html`<bdi>${plain(one)}</bdi>`);
  const inner = (one: Json): Html => facts(one, { all, depth: depth + 1 });
  const more = (count: number, others: () => Json): Html => {
    if (count <= 0) return nothing;
    if (!all) return html`<p class="faint">and ${count} more</p>`;
    return rest(`${count} more`, count > MOST_ROWS ? asJson(others()) : facts(others(), { all, depth, rows: MOST_ROWS }));
  };
  if (value === null || value === "") return html`<span class="faint">none</span>`;
  if (typeof value !== "object") return text(String(value));
  if (depth > DEEPEST) return html`<code>${text(JSON.stringify(value))}</code>`;
  if (Array.isArray(value) && value.length === 0) return html`<span class="faint">none</span>`;
  const left = (Array.isArray(value) ? value.length : Object.keys(value).length) - rows;
  if (Array.isArray(value)) {
    const shown = value.slice(0, rows);
    const table = value.length > 1 && isTable(value) ? recordTable(shown as FlatRecord[], text) : null;
    return html`${table ?? html`<ul>${shown.map((each) => html`<li>${inner(each)}</li>`)}</ul>`}${more(left, () => value.slice(rows))}`;
  }
  const pairs = Object.entries(value);
  return html`<dl class="facts">${pairs.slice(0, rows).map(([key, each]) => html`<div><dt>${all ? plain(key.replaceAll("_", " ")) : label(key)}</dt><dd>${inner(each)}</dd></div>`)}</dl>${more(left, () => Object.fromEntries(pairs.slice(rows)))}`;
}

type FlatRecord = { [key: string]: string | number | boolean | null };

const isRecord = (value: Json): value is FlatRecord =>
  isObject(value) && Object.values(value).every((each) => each === null || typeof each !== "object");

/** Records with few different fields: a table has a column for each. */
const isTable = (rows: readonly Json[]): boolean =>
  rows.every(isRecord) && new Set(rows.flatMap((row) => Object.keys(row as FlatRecord))).size <= COLUMNS;

function recordTable(rows: readonly FlatRecord[], text: (one: string) => Html): Html {
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cell = (value: FlatRecord[string] | undefined) => (value === undefined || value === null ? nothing : text(String(value)));
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Table"><table class="records"><thead><tr>${keys.map((key) => html`<th scope="col">${label(key)}</th>`)}</tr></thead><tbody>${rows.map(
    (row) => html`<tr>${keys.map((key) => html`<td>${cell(row[key])}</td>`)}</tr>`,
  )}</tbody></table></div>`;
}

/** The name of an account, which may break after each colon: "Expenses:Office Supplies" is wide on a phone. */
export function accountName(name: string): Html {
  return html`<bdi>${plain(name, 120)
    .split(":")
    .map((part, index) => (index === 0 ? html`${part}` : html`:<wbr>${part}`))}</bdi>`;
}

/** The frame of every page. */
export function layout(page: { title: string; body: Html }): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title}</title>
<link rel="stylesheet" href="/style.css">
<link rel="icon" href="/icon.svg" type="image/svg+xml">
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
${page.body}
</body>
</html>`;
}

/** A page other than the status page, in one column. `id`: tells pages without a name apart in tabs and the browser's history. */
export function frame(title: string, sub: Html, body: Html, id = ""): Html {
  return layout({
    title: `${title}${id && ` ${id}`} · Cleared`,
    body: html`<header class="top"><p class="brand"><a href="/">Cleared</a></p><h1><bdi>${title}</bdi></h1>${sub === nothing ? nothing : html`<p class="sub">${sub}</p>`}</header><main id="main" class="single">${body}</main>`,
  });
}
