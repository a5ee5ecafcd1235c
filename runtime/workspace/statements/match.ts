/**
 * Which dialect reads a CSV file: by the header line, else by the number of cells and their content. The most specific one wins; a tie, or
 * no match, is an error that says what was found and what to do. For a file without a header line, also guesses what its columns mean. A
 * guess is never used automatically: a person sees it as the dialect file it would become. Where two readings are possible (03/04: March or
 * April?) there is no guess.
 */
import type { ClearedError } from "../../kernel/errors.ts";
import { type AmountForm, amountReader, collapse, datePattern, excerpt, PLAIN_AMOUNT, readDay } from "./cells.ts";
import { type Dialect, hasHeader } from "./dialect.ts";
import { type CsvRecord, readRecords, unreadable } from "./records.ts";
import { writeYaml } from "../../scripts/yaml-text.ts";

// Records at the top that are examined; the preambles of banks are shorter.
const HEAD = 20;

/** A header cell in the form for comparison: lower case, no repeated blanks, no byte order mark. */
export const headerName = (cell: string): string => collapse(cell.replace(/^\ufeff/, "")).toLowerCase();

/** Index of the header record among the first ones, or -1. Without a preamble it must be the first. */
export function headerIndex(records: CsvRecord[], dialect: Dialect): number {
  const wanted = requiredNames(dialect).map(headerName);
  const reach = dialect.preamble === undefined ? 1 : HEAD;
  return records.slice(0, reach).findIndex((record) => {
    const present = new Set(record.cells.map(headerName));
    return wanted.every((name) => present.has(name));
  });
}

/** Header names without which the dialect cannot read a file. */
export function requiredNames(dialect: Dialect): string[] {
  const { date, description, amount, out, in: into } = dialect.columns;
  const read = [date, description, amount, out, into, dialect.direction?.column]
    .flat()
    .filter((name): name is string => typeof name === "string");
  return [...new Set([...(dialect.match.header ?? []), ...read])];
}

/**
 * The dialect that reads the file that begins with `top`; 64 KiB contain more records than are examined.
 * @throws STATEMENT_DIALECT naming the first line found, the nearest dialect and what to do
 */
export function matchDialect(file: string, top: string, dialects: Dialect[]): Dialect {
  const heads = new Map<string, CsvRecord[]>();
  for (const { delimiter } of dialects) if (!heads.has(delimiter)) heads.set(delimiter, readRecords(top, delimiter, HEAD)?.records ?? []);
  const scored = dialects
    .map((dialect) => ({ dialect, score: score(heads.get(dialect.delimiter) ?? [], dialect) }))
    .filter((one) => one.score > 0);
  const best = Math.max(...scored.map((one) => one.score));
  const winners = scored.filter((one) => one.score === best).map((one) => one.dialect);
  const [winner, second] = winners;
  if (winner === undefined) throw unknownDialect(file, top, dialects, heads);
  if (second !== undefined) {
    const message = `The dialects ${winners.map((one) => one.name).join(" and ")} all fit. Name the right one in config.yaml: statements: [{match: {file: "${excerpt(file)}"}, account: ..., dialect: ${second.name}}].`;
    throw unreadable("STATEMENT_DIALECT", message, 1);
  }
  return winner;
}

/** Matching header names weigh 1,000 each, so that a header beats any content; 0 is no match. */
function score(records: CsvRecord[], dialect: Dialect): number {
  if (hasHeader(dialect))
    return dialect.match.header !== undefined && headerIndex(records, dialect) >= 0 ? 1000 * requiredNames(dialect).length : 0;
  const cells = Object.entries(dialect.match.cells ?? {});
  if (cells.length === 0 || records.length === 0) return 0;
  const allowed = cellCounts(dialect);
  const amount = amountReader(dialect.amount);
  const date = datePattern(dialect.date);
  const fits = records.filter(
    (record) =>
      (allowed === null || allowed.includes(record.cells.length)) &&
      cells.every(([index, kind]) => {
        const cell = (record.cells[Number(index) - 1] ?? "").trim();
        if (kind === "date") return date?.test(cell) === true;
        // With two columns (out, in) one of the amounts is empty.
        if (kind === "amount") return cell === "" || "amount" in amount(cell, dialect.currency ?? "BHD");
        if (kind === "digits") return /^\d+$/.test(cell);
        return kind.includes(cell);
      }),
  );
  // A bad row must not prevent a match, so half of the rows are enough.
  return fits.length * 2 >= records.length ? 10 * cells.length + (allowed === null ? 0 : 1) : 0;
}

export function cellCounts(dialect: Dialect): number[] | null {
  return dialect.match.columns === undefined ? null : [dialect.match.columns].flat();
}

function unknownDialect(file: string, top: string, dialects: Dialect[], heads: Map<string, CsvRecord[]>): ClearedError {
  const line = top.split(/\r?\n|\r/).find((text) => text.trim() !== "") ?? "";
  const near = dialects
    .filter(hasHeader)
    .map((dialect) => {
      const present = new Set((heads.get(dialect.delimiter) ?? []).flatMap((record) => record.cells.map(headerName)));
      const names = requiredNames(dialect);
      const missing = names.filter((name) => !present.has(headerName(name)));
      return { dialect, missing, share: (names.length - missing.length) / names.length };
    })
    .filter((one) => one.share > 0)
    .sort((a, b) => b.share - a.share)[0];
  const nearest =
    near === undefined
      ? ""
      : ` The nearest is ${near.dialect.name}, which also needs ${near.missing.map((name) => `"${name}"`).join(", ") || "the header on the first line"}.`;
  const message = `No dialect reads this file. Its first line is: ${excerpt(line)}.${nearest} Add a dialect in importers/, or describe the columns in config.yaml: statements: [{match: {file: "${excerpt(file)}"}, account: ..., dialect: generic, mapping: {columns: {...}, date: ..., delimiter: ..., amount: {decimal: ...}}}].`;
  return unreadable("STATEMENT_DIALECT", message, 1, { header: excerpt(line), nearest: near?.dialect.name ?? null });
}

type Guess = ReturnType<typeof toGuess>;

const DELIMITERS = [",", ";", "\t", "|"];
const DAYS = [
  "YYYY-MM-DD",
  "YYYY/MM/DD",
  "YYYYMMDD",
  "DD.MM.YYYY",
  "D.M.YY",
  "MM/DD/YYYY",
  "DD/MM/YYYY",
  "MM-DD-YYYY",
  "DD-MM-YYYY",
  "D MMM YYYY",
  "DD-MMM-YYYY",
];
const AMOUNTS: AmountForm[] = [
  PLAIN_AMOUNT,
  { ...PLAIN_AMOUNT, thousands: "," },
  { ...PLAIN_AMOUNT, decimal: "," },
  { ...PLAIN_AMOUNT, decimal: ",", thousands: "." },
];
// Rows that are examined: enough to include days after the twelfth and amounts over a thousand.
const ROWS = 200;

interface Columns extends Partial<Record<"amount" | "balance" | "out" | "in", number>> {
  date: number;
  description: number[];
}

/** `top`: the beginning of the file, whose last line may be cut off; `name`: of the file. Null when the columns are ambiguous. */
export function guessDialect(name: string, top: string, isWhole: boolean): Guess | null {
  for (const delimiter of DELIMITERS) {
    const found = readRecords(top, delimiter, ROWS)?.records ?? [];
    const records = isWhole || found.length === ROWS ? found : found.slice(0, -1);
    const guess = records.length === 0 ? null : guessIn(name, records, delimiter);
    if (guess !== null) return guess;
  }
  return null;
}

function guessIn(name: string, records: readonly CsvRecord[], delimiter: string): Guess | null {
  const width = records[0]?.cells.length ?? 0;
  if (width < 3 || records.some(({ cells, broken }) => broken !== undefined || cells.length !== width)) return null;
  const columns = Array.from({ length: width }, (_, i) => records.map(({ cells }) => (cells[i] ?? "").trim()));
  const days = columns.map((cells) => DAYS.filter((form) => areDays(cells, form)));
  const date = days.findIndex((forms) => forms.length > 0);
  const form = days[date]?.[0];
  // If no day is after the twelfth, day and month cannot be told apart.
  if (form === undefined || (days[date]?.length ?? 0) > 1) return null;
  const isDay = (i: number) => (days[i]?.length ?? 0) > 0;
  const sumsIn = (one: AmountForm) => columns.flatMap((cells, i) => (!isDay(i) && areAmounts(cells, one) ? [i] : []));
  // The form that reads the most columns; of equal ones the plainest.
  const [best] = AMOUNTS.map((one) => ({ one, sums: sumsIn(one) })).toSorted((a, b) => b.sums.length - a.sums.length);
  const money = best === undefined ? null : moneyIn(best.sums, columns, best.one);
  const isText = (cells: readonly string[], i: number) =>
    !isDay(i) && !best?.sums.includes(i) && cells.some((cell) => /\p{L}{2}/u.test(cell));
  const texts = columns.flatMap((cells, i) => (isText(cells, i) ? [i] : []));
  if (best === undefined || money === null || texts.length === 0) return null;
  return toGuess(name, records, { delimiter, form, amount: best.one, columns: { date, description: texts, ...money } });
}

const areDays = (cells: readonly string[], form: string): boolean => {
  const pattern = datePattern(form);
  return pattern !== null && cells.every((cell) => "day" in readDay(cell, pattern));
};

/** True if all cells are amounts, and not all of them only digits: those may be numbers of any kind. */
const areAmounts = (cells: readonly string[], form: AmountForm): boolean => {
  const read = amountReader(form);
  return cells.some((cell) => /[.,-]/.test(cell)) && cells.every((cell) => cell === "" || "amount" in read(cell, "USD"));
};

/** The columns of money: an amount; an amount and its running balance, if that ties; or out and in, with or without a balance. */
function moneyIn(sums: readonly number[], columns: readonly string[][], form: AmountForm): Omit<Columns, "date" | "description"> | null {
  const [first, second, third] = sums;
  if (first === undefined || sums.length > 3) return null;
  const filled = (i: number): boolean => columns[i]?.every((cell) => cell !== "") === true;
  if (second === undefined) return filled(first) ? { amount: first } : null;
  const isEither = columns[first]?.every((cell, row) => (cell === "") !== (columns[second]?.[row] === "")) === true;
  // In exports with two columns, the left one is always money out.
  if (isEither && !filled(first) && !filled(second)) return { out: first, in: second, ...(third === undefined ? {} : { balance: third }) };
  if (third !== undefined || !filled(first) || !filled(second)) return null;
  return ties(columns[first] ?? [], columns[second] ?? [], form) ? { amount: first, balance: second } : null;
}

/** True when each balance is the previous one plus the amount, in one of the two orders. */
function ties(amounts: readonly string[], balances: readonly string[], form: AmountForm): boolean {
  const read = amountReader(form);
  const minor = (cell: string): bigint => {
    const value = read(cell, "USD");
    return "amount" in value ? BigInt(value.amount.replace(".", "")) : 0n;
  };
  const [a, b] = [amounts.map(minor), balances.map(minor)];
  const rows = [...b.keys()].slice(1);
  const down = rows.every((i) => (b[i - 1] ?? 0n) + (a[i] ?? 0n) === b[i]);
  const up = rows.every((i) => (b[i] ?? 0n) + (a[i - 1] ?? 0n) === b[i - 1]);
  return rows.length > 0 && (down || up);
}

/** `dialect`: text of a file for importers/; `words`: the dialect in words, with the first row as it would be read. */
function toGuess(
  name: string,
  records: readonly CsvRecord[],
  { delimiter, form, amount, columns }: { delimiter: string; form: string; amount: AmountForm; columns: Columns },
) {
  const { date, description, ...money } = columns;
  const number = (i: number): number => i + 1;
  const slug = name
    .toLowerCase()
    .replace(/\.[^.]*$/, "")
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 40);
  const places = Object.fromEntries(Object.entries(money).map(([key, i]) => [key, number(i)]));
  const dialect = writeYaml({
    name: `${slug === "" ? "statement" : slug}-no-header`,
    delimiter,
    match: {
      columns: records[0]?.cells.length ?? 0,
      cells: { [number(date)]: "date", ...Object.fromEntries(Object.values(places).map((column) => [column, "amount"])) },
    },
    columns: { date: number(date), description: description.map(number), ...places },
    date: form,
    amount: { decimal: amount.decimal, thousands: amount.thousands },
  });
  const cell = (i: number): string => excerpt(records[0]?.cells[i] ?? "");
  const says = Object.entries(money).map(([key, i]) => `column ${number(i)} ${WORDS[key]} ("${cell(i)}")`);
  const text = `column${description.length > 1 ? "s" : ""} ${description.map(number).join(" and ")}`;
  const words = `column ${number(date)} is the day as ${form} ("${cell(date)}"), ${text} the text ("${description.map(cell).join(" ")}"), ${says.join(", ")}`;
  return { dialect, words: `${words}; the decimal mark is "${amount.decimal}"` };
}

const WORDS: Record<string, string> = {
  amount: "the amount, negative for money out",
  balance: "the balance afterwards",
  out: "money out",
  in: "money in",
};
