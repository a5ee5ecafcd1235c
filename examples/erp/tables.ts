/**
 * What a table of the demo business is: its columns, its first rows and the tools that read it, in one place.
 * `seed.ts` creates the tables from this, `readers.ts` makes the tools. Amounts, rates and hours are decimal text.
 */
import { OPERATIONS } from "./data/operations.ts";
import { ORDERS } from "./data/orders.ts";
import { PEOPLE } from "./data/people.ts";
import { PURCHASING } from "./data/purchasing.ts";
import { SALES } from "./data/sales.ts";

/** How a list is paged: which parameters it takes and which fields say that there is more. */
export type PageStyle = "cursor" | "page" | "offset" | "next";

export interface Table {
  /** One row, in words: "supplier invoice". */
  about: string;
  /** Tool that answers one row. */
  get?: string;
  /** Columns that name the row `get` answers, the newest first where several rows fit; the first column unless told. */
  key?: string[];
  /** Columns that may name the row instead of its key. */
  also?: string[];
  /** Tool that answers many rows. */
  list?: string;
  /** Columns `list` filters by equality; none is required. */
  filters?: string[];
  /** Column that `list` limits with `from` and `to`, both included. */
  day?: string;
  page?: PageStyle;
  /** Rows of other tables that `get` adds: field -> [table, shared column]. */
  with?: Record<string, [table: string, column: string]>;
  /** Where new rows get their number: "PAY" makes PAY-1001. */
  id?: string;
  /** A line of `column:type` names, then one line per row, cells between bars; `-` is null. Types: text (unless told), int, bool. */
  rows: string;
}

export interface Column {
  name: string;
  type: "text" | "int" | "bool";
}

export const TABLES: Record<string, Table> = { ...PURCHASING, ...PEOPLE, ...SALES, ...ORDERS, ...OPERATIONS };

/** @throws Error when no table has this name: a mistake in the tables above. */
export function tableNamed(name: string): Table {
  const table = TABLES[name];
  if (table === undefined) throw new Error(`no table ${name}`);
  return table;
}

export function columnsOf(name: string): Column[] {
  const [header = ""] = tableNamed(name).rows.trim().split("\n");
  return cellsOf(header).map((cell) => {
    const [column = "", type = "text"] = cell.split(":");
    return { name: column, type: type as Column["type"] };
  });
}

export function keyOf(name: string): string[] {
  return (
    tableNamed(name).key ??
    columnsOf(name)
      .slice(0, 1)
      .map((column) => column.name)
  );
}

/** The first rows of a table, cells in column order. */
export function firstRows(name: string): (string | number | null)[][] {
  const columns = columnsOf(name);
  const [, ...lines] = tableNamed(name).rows.trim().split("\n");
  return lines.map((line) => {
    const cells = cellsOf(line);
    if (cells.length !== columns.length) throw new Error(`${name} has ${columns.length} columns, this row has ${cells.length}: ${line}`);
    return columns.map(({ type }, at) => {
      const cell = cells[at] ?? "-";
      if (cell === "-") return null;
      return type === "int" ? Number(cell) : type === "bool" ? Number(cell === "yes") : cell;
    });
  });
}

const cellsOf = (line: string): string[] => line.split("|").map((cell) => cell.trim());
