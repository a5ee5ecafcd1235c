/**
 * The database of the demo business: opened, created with its first rows when it is new, read and changed row by row.
 * Amounts are decimal text with two places; arithmetic on them is in cents, never in floating point.
 */
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { columnsOf, firstRows, TABLES } from "./tables.ts";

export type Value = string | number | boolean | null;
export type Row = Record<string, Value>;
export type Json = Value | Json[] | { [key: string]: Json };
export type Params = Record<string, Json>;

/** An answer a caller can do something about; its text is all they see. */
export class Refused extends Error {}

/** @throws Error when the file cannot be opened or is no database. */
export function openBusiness(file: string): DatabaseSync {
  const db = new DatabaseSync(file);
  // A killed process loses nothing without syncing, only a power failure does.
  db.exec("pragma busy_timeout = 10000; pragma synchronous = off");
  // Two servers may start on the same new file: one of them seeds it.
  inTransaction(db, () => {
    if (db.prepare("select 1 from sqlite_schema where name = 'change_log'").get() === undefined) seed(db);
  });
  return db;
}

function seed(db: DatabaseSync): void {
  for (const table of Object.keys(TABLES)) {
    const columns = columnsOf(table);
    const typed = columns.map(({ name, type }) => `${name} ${type === "text" ? "text" : "integer"}`);
    db.exec(`create table ${table} (${typed.join(", ")})`);
    const insert = db.prepare(`insert into ${table} values (${columns.map(() => "?").join(", ")})`);
    for (const row of firstRows(table)) insert.run(...row);
  }
  db.exec("create table change_log (seq integer primary key, tool text, params text, idempotency_key text)");
  db.exec("create table answered (idempotency_key text primary key, tool text, params text, answer text)");
}

/** All or nothing; nobody else writes meanwhile. */
export function inTransaction<T>(db: DatabaseSync, act: () => T): T {
  db.exec("begin immediate");
  try {
    const result = act();
    db.exec("commit");
    return result;
  } catch (error) {
    db.exec("rollback");
    throw error;
  }
}

/** Rows in the order they came, or the newest first; every condition is equality. */
export function rowsOf(db: DatabaseSync, table: string, where: Row = {}, newestFirst = false): Row[] {
  const names = Object.keys(where);
  const condition = names.length === 0 ? "" : ` where ${names.map((name) => `${name} = ?`).join(" and ")}`;
  const found = db
    .prepare(`select * from ${table}${condition} order by rowid ${newestFirst ? "desc" : "asc"}`)
    .all(...Object.values(where).map(toCell));
  return found.map((row) => fromCells(table, row as Row));
}

export function rowOf(db: DatabaseSync, table: string, where: Row): Row | null {
  return rowsOf(db, table, where, true)[0] ?? null;
}

/** @throws Refused when there is no such row. */
export function rowThere(db: DatabaseSync, table: string, where: Row): Row {
  const row = rowOf(db, table, where);
  if (row === null) throw new Refused(`${TABLES[table]?.about ?? table} ${Object.values(where).join(" ")} not found`);
  return row;
}

export function addRow(db: DatabaseSync, table: string, values: Row): void {
  const cells = columnsOf(table).map(({ name }) => toCell(values[name] ?? null));
  db.prepare(`insert into ${table} values (${cells.map(() => "?").join(", ")})`).run(...cells);
}

export function changeRows(db: DatabaseSync, table: string, where: Row, values: Row): void {
  const [set, condition] = [values, where].map((row) => Object.keys(row).map((name) => `${name} = ?`));
  if (set === undefined || condition === undefined || set.length === 0) return;
  const cells = [...Object.values(values), ...Object.values(where)].map(toCell);
  db.prepare(`update ${table} set ${set.join(", ")} where ${condition.join(" and ")}`).run(...cells);
}

/** The next number of a table that numbers its rows: "PAY-1002"; the count only grows. */
export function nextId(db: DatabaseSync, table: string, prefix: string): string {
  const [first] = columnsOf(table);
  const taken = rowsOf(db, table).map((row) => Number(/(\d+)$/.exec(String(row[first?.name ?? ""]))?.[1] ?? 0));
  return `${prefix}-${Math.max(1000, ...taken) + 1}`;
}

/** The day this business lives in: a demo that ages would not be the same twice. */
export function businessDate(db: DatabaseSync): string {
  return String(rowThere(db, "company", { company_id: "CLEARED" })["business_date"]);
}

/** @throws Refused when the text is no amount with at most two places. */
export function toCents(amount: Json | undefined): bigint {
  const match = /^(-?)(\d{1,15})(?:\.(\d{1,2}))?$/.exec(String(amount));
  if (match === null) throw new Refused(`${JSON.stringify(amount)} is no amount: write it as text with at most two places, "1200.00"`);
  const cents = BigInt(`${match[2]}${(match[3] ?? "").padEnd(2, "0")}`);
  return match[1] === "-" ? -cents : cents;
}

export function fromCents(cents: bigint): string {
  const digits = String(cents < 0n ? -cents : cents).padStart(3, "0");
  return `${cents < 0n ? "-" : ""}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

export const plus = (a: Json | undefined, b: Json | undefined): string => fromCents(toCents(a) + toCents(b));
export const minus = (a: Json | undefined, b: Json | undefined): string => fromCents(toCents(a) - toCents(b));
export const total = (amounts: (Json | undefined)[]): string => fromCents(amounts.reduce<bigint>((sum, each) => sum + toCents(each), 0n));

const toCell = (value: Value): SQLInputValue => (typeof value === "boolean" ? Number(value) : value);

function fromCells(table: string, row: Row): Row {
  return Object.fromEntries(
    columnsOf(table).map(({ name, type }) => {
      const cell = row[name] ?? null;
      return [name, type === "bool" && cell !== null ? cell === 1 : cell];
    }),
  );
}
