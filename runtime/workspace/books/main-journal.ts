/**
 * main.journal: commodities, tags, the chart of accounts and one include per month. People edit it, so it is read strictly and
 * changed by adding single lines. Both tools accept only the two-line form of a commodity in strict mode.
 */
import { didYouMean } from "../../kernel/errors.ts";
import { CURRENCY_PATTERN, currencyPlaces } from "../../kernel/money.ts";
import type { Account, Finding } from "../../kernel/ports.ts";
import { MAIN_JOURNAL } from "../layout.ts";

export interface Chart {
  accounts: Account[];
  /** By number and by name; both give the same account. */
  byWord: Map<string, Account>;
  /** Digits after the point by currency. */
  places: Map<string, number>;
  tags: Set<string>;
  /** Included files, in the order of the text. */
  includes: string[];
  findings: Finding[];
  /** The first line that may be or include entries and is not read, or null. */
  unread: Finding | null;
}

const TYPES: Record<string, Account["type"]> = { A: "asset", L: "liability", E: "equity", R: "income", X: "expense" };
// An entry, an automated or periodic one, or an included file.
const BOOKS = /^(?:[0-9=~]|include )/;
const MONTH = /^journal\/\d{4}\/(?:0[1-9]|1[0-2])\.journal$/;

export const isMonthFile = (path: string): boolean => MONTH.test(path);

/** Reads main.journal; every line it does not understand is a finding. */
export function parseMain(text: string): Chart {
  const chart: Chart = { accounts: [], byWord: new Map(), places: new Map(), tags: new Set(), includes: [], findings: [], unread: null };
  const lines = text.split("\n");
  const wrong = (index: number, message: string): void => {
    chart.findings.push({ code: "JOURNAL_FORM", at: { file: MAIN_JOURNAL, line: index + 1 }, message });
  };
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? "";
    if (line === "" || line.startsWith(";") || line.startsWith("#")) continue;
    const space = line.indexOf(" ");
    const [word, rest] = space < 0 ? [line, ""] : [line.slice(0, space), line.slice(space + 1)];
    if (word === "commodity" && CURRENCY_PATTERN.test(rest)) {
      const format = /^ {4}format 1,000\.(0{1,18}) ([A-Z]+)$/.exec(lines[i + 1] ?? "");
      if (format === null || format[2] !== rest) wrong(i, `The commodity needs a second line "    format 1,000.00 ${rest}".`);
      else {
        chart.places.set(rest, (format[1] ?? "").length);
        i++;
      }
    } else if (word === "tag" && /^[a-z][a-z0-9_-]*$/.test(rest)) {
      chart.tags.add(rest);
    } else if (word === "include") {
      if (!isMonthFile(rest)) wrong(i, `"${rest}" is not a month's file journal/YYYY/MM.journal.`);
      else if (chart.includes.includes(rest)) wrong(i, `${rest} is included twice.`);
      else chart.includes.push(rest);
    } else if (word === "account") {
      i += readAccount(chart, rest, lines, i, wrong);
    } else {
      wrong(i, `"${line.slice(0, 60)}" is not understood here. main.journal holds commodity, tag, account and include lines.`);
    }
  }
  chart.unread = chart.findings.find(({ at }) => isUnread(lines[(at.line ?? 0) - 1] ?? "")) ?? null;
  return chart;
}

/** An include of a month's file is read, even if it is listed twice. */
const isUnread = (line: string): boolean => BOOKS.test(line) && !isMonthFile(line.slice("include ".length));

/** Adds the account at line i; returns how many more lines belong to it. */
function readAccount(chart: Chart, name: string, lines: string[], i: number, wrong: (index: number, message: string) => void): number {
  const facts = /^ {4}; type: ([A-Z]), id: (\S+)$/.exec(lines[i + 1] ?? "");
  // Characters that either tool would read as a comment, a virtual posting or the end of the name.
  if (!/^[^\s;()[\]*!"|-][^;\t]*$/.test(name) || / {2}| $/.test(name)) {
    wrong(i, `"${name}" is not an account name that both tools read.`);
    return facts === null ? 0 : 1;
  }
  const type = TYPES[facts?.[1] ?? ""];
  const id = facts?.[2];
  if (type === undefined || id === undefined) {
    wrong(i, `The account needs a second line "    ; type: A, id: 1010" with a type among A, L, E, R, X.`);
    return facts === null ? 0 : 1;
  }
  if (chart.byWord.has(id) || chart.byWord.has(name)) {
    wrong(i, `The account ${chart.byWord.has(id) ? id : name} is declared twice.`);
    return 1;
  }
  const account: Account = { id, name, type };
  chart.accounts.push(account);
  chart.byWord.set(id, account).set(name, account);
  return 1;
}

/** ` Did you mean "5020"?`, or the accounts of the nearest numbers, for an account that does not exist. */
export function accountHint(chart: Chart, word: string): string {
  const near = didYouMean(word, chart.byWord.keys());
  const number = Number(word);
  if (near !== "" || !/^\d{1,9}$/.test(word)) return near;
  const off = ({ id }: Account) => Math.abs(Number(id) - number);
  const nearest = [...chart.accounts].sort((a, b) => off(a) - off(b)).slice(0, 3);
  return nearest.length === 0 ? "" : ` The nearest are ${nearest.map(({ id, name }) => `${id} ${name}`).join(", ")}.`;
}

/** Why a rule or an answer cannot say that statements are of this account; null if it can. */
export const noStatements = ({ name, type }: Account): string | null =>
  type === "asset" || type === "liability" ? null : `${name} is neither an asset nor a liability, so no bank has statements of it.`;

/** Digits after the point in the books: as declared, else the usual number for the currency, at least 2: 100 yen are written 100.00. */
export const placesOf = (chart: Chart, currency: string): number => chart.places.get(currency) ?? usualPlaces(currency);

const usualPlaces = (currency: string): number => Math.max(2, currencyPlaces(currency));

/** The text with an include for a month's file, in the order of dates; unchanged if it has one. */
export function addInclude(text: string, path: string): string {
  const line = `include ${path}`;
  const lines = text.split("\n");
  if (lines.includes(line)) return text;
  const isInclude = (other: string): boolean => other.startsWith("include ");
  const before = lines.findIndex((other) => isInclude(other) && other > line);
  if (before >= 0) return lines.toSpliced(before, 0, line).join("\n");
  const last = lines.findLastIndex(isInclude);
  if (last >= 0) return lines.toSpliced(last + 1, 0, line).join("\n");
  return `${text.trimEnd()}\n\n${line}\n`.trimStart();
}

/** The text without the include of a month's file. */
export const dropInclude = (text: string, path: string): string => text.replace(`include ${path}\n`, "");

/** The text with the declaration of a commodity with its usual digits. */
export const addCommodity = (text: string, currency: string): string =>
  declare(text, [`commodity ${currency}`, `    format 1,000.${"0".repeat(usualPlaces(currency))} ${currency}`]);

/** The text with a tag's declaration. */
export const addTag = (text: string, name: string): string => declare(text, [`tag ${name}`]);

/** Inserts the lines after the last declaration of the same kind, else before the accounts. */
function declare(text: string, block: readonly [string, ...string[]]): string {
  const lines = text.split("\n");
  if (lines.includes(block[0])) return text;
  const kind = block[0].slice(0, block[0].indexOf(" ") + 1);
  const last = lines.findLastIndex((line) => line.startsWith(kind));
  const first = lines.findIndex((line) => /^(?:account|include) /.test(line));
  return lines.toSpliced(last < 0 ? Math.max(first, 0) : last + block.length, 0, ...block).join("\n");
}
