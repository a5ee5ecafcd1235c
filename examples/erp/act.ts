/**
 * How tools that act are declared: most set columns of the row their table's reader answers, or add a row to it; `after` is what else
 * moves. How each is read back (mcp.yaml) follows from the same declaration, so the two cannot disagree.
 */
import {
  addRow,
  businessDate,
  changeRows,
  type Json,
  nextId,
  type Params,
  plus,
  Refused,
  type Row,
  rowOf,
  rowThere,
  type Value,
} from "./business.ts";
import { keyFields } from "./readers.ts";
import { columnsOf, keyOf, tableNamed } from "./tables.ts";
import { type Field, isMoney, text, type Tool, type VerifySpec, type World } from "./tool.ts";

/** Stands for the business date among fixed values. */
export const TODAY = "@today";

interface Act {
  /** Parameters that are stored; one without a column of its name goes to `column[name]`. */
  fields?: Record<string, Field>;
  column?: Record<string, string>;
  /** What the row says afterwards, whatever the call. */
  fixed?: Row;
  /** The row must be in one of these states, by column. */
  only?: Record<string, Value[]>;
  /** The row is added with these values where it is missing. */
  orAdd?: Row;
  after?(world: World, row: Row, params: Params): void;
}

/** Sets columns of one row. @throws Refused when the row is missing or in another state */
export function change(name: string, description: string, table: string, act: Act): Tool {
  const key = keyOf(table);
  return writer(name, description, "change", table, act, Object.fromEntries(key.map((column) => [column, column])), (world, params) => {
    const where = Object.fromEntries(key.map((column) => [column, params[column] as Value]));
    if (act.orAdd !== undefined && rowOf(world.db, table, where) === null) {
      const [first] = columnsOf(table);
      addRow(world.db, table, { ...where, ...act.orAdd, [first?.name ?? ""]: nextId(world.db, table, tableNamed(table).id ?? table) });
    }
    const row = rowThere(world.db, table, where);
    for (const [column, states] of Object.entries(act.only ?? {})) {
      const state = row[column] ?? null;
      if (!states.includes(state))
        throw new Refused(`${name}: ${Object.values(where).join(" ")} has ${column} ${state}, not ${states.join(" or ")}`);
    }
    changeRows(world.db, table, where, stored(world, table, act, params));
    const changed = rowThere(world.db, table, where);
    act.after?.(world, changed, params);
    return rowThere(world.db, table, where);
  });
}

/** Adds a row with the next number. `by` says how the reader finds it again: its parameter -> ours. */
export function add(name: string, description: string, table: string, act: Act, by?: Record<string, string>): Tool {
  const key = by ?? Object.fromEntries(keyOf(table).map((column) => [column, column]));
  return writer(name, description, "add", table, act, key, (world, params) => {
    const [first] = columnsOf(table);
    const row = { ...stored(world, table, act, params), [first?.name ?? ""]: nextId(world.db, table, tableNamed(table).id ?? table) };
    addRow(world.db, table, row);
    act.after?.(world, row, params);
    return rowThere(world.db, table, { [first?.name ?? ""]: row[first?.name ?? ""] ?? null });
  });
}

function writer(
  name: string,
  description: string,
  effect: "add" | "change",
  table: string,
  act: Act,
  key: Record<string, string>,
  run: Tool["run"],
): Tool {
  const fields = { ...(effect === "change" ? keyFields(table) : {}), ...act.fields };
  const required = Object.keys(act.fields ?? {}).filter((field) => fields[field]?.optional !== true && !Object.values(key).includes(field));
  const columns = new Set(columnsOf(table).map((column) => column.name));
  const expect = Object.fromEntries([
    ...Object.entries(act.fixed ?? {}).filter(([, value]) => value !== TODAY),
    ...required.flatMap((field) => {
      const column = act.column?.[field] ?? field;
      return columns.has(column) ? [[column, `$${field}`]] : [];
    }),
  ]);
  const read = tableNamed(table).get;
  const verify = { key, expect, before: effect === "add" ? { found: false } : stateBefore(act) };
  return { name, description, effect, fields, run, ...(read === undefined ? {} : { verify: { read, ...verify } }) };
}

/** What a row says that was not changed yet: the states that lead here, or anything else where the act only sets columns. */
function stateBefore({ only, fixed = {} }: Act): VerifySpec["before"] {
  if (only === undefined) return "different";
  const others = Object.entries(only).map(([column, states]) => [column, states.filter((state) => state !== fixed[column])] as const);
  return Object.fromEntries(others.map(([column, states]) => [column, states.length === 1 ? (states[0] ?? null) : states]));
}

/** The columns a call sets. Amounts get two places; what the table has no column for is for `after`. */
function stored({ db }: World, table: string, act: Act, params: Params): Row {
  const columns = new Set(columnsOf(table).map((column) => column.name));
  const row: Row = {};
  for (const [name, field] of Object.entries(act.fields ?? {})) {
    const column = act.column?.[name] ?? name;
    if (!(name in params) || !columns.has(column)) continue;
    row[column] = isMoney(field) ? plus(params[name], "0") : (params[name] as Value);
  }
  for (const [column, value] of Object.entries(act.fixed ?? {})) row[column] = value === TODAY ? businessDate(db) : value;
  return row;
}

/** Adds to an amount of one row. */
export function move({ db }: World, table: string, where: Row, column: string, amount: Json | undefined): void {
  changeRows(db, table, where, { [column]: plus(rowThere(db, table, where)[column], amount) });
}

export const thisYear = (world: World, department_id: Value | undefined): Row => ({
  department_id: department_id ?? null,
  period: businessDate(world.db).slice(0, 4),
});

export const reason: Field = text("why, in words");
export const person: Field = text("employee");
