/**
 * Which dialect reads a CSV file: by the header line, else by the number of cells and what stands in them. The most specific one
 * wins; a tie, or none, is an error that says what was found and what to do.
 */
import { ClearedError } from "../../kernel/errors.ts";
import { amountReader, collapse, datePattern, excerpt } from "./cells.ts";
import { type Dialect, hasHeader } from "./dialect.ts";
import { type CsvRecord, readRecords } from "./records.ts";

// How many records at the top are looked at: preambles of banks are shorter.
const HEAD = 20;

/** A header cell as it is compared: no case, no doubled blanks, no byte order mark. */
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
 * The dialect that reads the file whose beginning `top` is; 64 KiB hold more records than are looked at.
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
    throw new ClearedError(
      "STATEMENT_DIALECT",
      `The dialects ${winners.map((one) => one.name).join(" and ")} all fit. Name the right one in config.yaml: statements: [{match: {file: "${excerpt(file)}"}, account: ..., dialect: ${second.name}}].`,
      { at: { file, line: 1 } },
    );
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
        // An empty amount is right for one of two columns (out, in).
        if (kind === "amount") return cell === "" || "amount" in amount(cell, dialect.currency ?? "BHD");
        if (kind === "digits") return /^\d+$/.test(cell);
        return kind.includes(cell);
      }),
  );
  // A bad row must not hide the dialect, so half of the rows decide.
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
  const message = `No dialect reads this file. Its first line is: ${excerpt(line)}.${nearest} Add a dialect in importers/, or describe the columns in config.yaml: statements: [{match: {file: "${excerpt(file)}"}, account: ..., dialect: generic, mapping: {columns: {...}, date: ...}}].`;
  return new ClearedError("STATEMENT_DIALECT", message, {
    at: { file, line: 1 },
    data: { header: excerpt(line), nearest: near?.dialect.name ?? null },
  });
}
