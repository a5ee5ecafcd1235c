/**
 * The tools that look: `get_` and `list_` made from the tables, and the few that compute. A row that is not there is
 * `{found: false}`; a list is paged in the style of its table, 10 rows unless told and 25 at most.
 */
import { businessDate, type Json, type Params, plus, Refused, type Row, rowOf, rowsOf, rowThere, total, type Value } from "./business.ts";
import { columnsOf, keyOf, type PageStyle, type Table, TABLES, tableNamed } from "./tables.ts";
import { count, day, type Field, flag, items, optional, text, type Tool, type World } from "./tool.ts";

const PAGE = 10;
const PAGE_MAX = 25;

export const READERS: Tool[] = [
  ...Object.keys(TABLES).flatMap((name) => [...getter(name), ...lister(name)]),
  reader(
    "get_ap_balance",
    "What we owe a vendor: the sum of its ledger lines.",
    { vendor_id: text("vendor") },
    ({ db }, { vendor_id }) => ({
      vendor_id: String(vendor_id),
      balance: total(rowsOf(db, "ap_ledger", { vendor_id: String(vendor_id) }).map((line) => line["amount"])),
    }),
  ),
  reader("get_trial_balance", "Debits and credits per account of a period's posted entries.", { period: text("YYYY-MM") }, trialBalance),
  reader("get_approval_chain", "Who approves for a department, lowest first.", { department_id: text("department") }, ({ db }, p) =>
    rowsOf(db, "approvers", { department_id: String(p["department_id"]) }),
  ),
  reader(
    "get_year_to_date_expenses",
    "Approved expenses of an employee by category.",
    { employee_id: text("employee") },
    expensesByCategory,
  ),
  reader(
    "get_order_items",
    "How many of these articles an order has, in the order asked for.",
    { order_id: text("order"), items: items("articles") },
    ({ db }, { order_id, items: asked }) => ({
      order_id: String(order_id),
      items: (asked as { sku: string }[]).map(({ sku }) => ({
        sku,
        quantity: rowOf(db, "order_lines", { order_id: String(order_id), sku })?.["quantity"] ?? 0,
      })),
    }),
  ),
  reader("get_business_date", "The day this business lives in, as a bare text.", {}, ({ db }) => businessDate(db)),
  reader("list_changes", "Every write the system carried out, oldest first.", { tool: optional(text("only this tool")) }, ({ db }, p) =>
    db
      .prepare("select seq, tool, params, idempotency_key from change_log where ?1 is null or tool = ?1 order by seq")
      .all(p["tool"] === undefined ? null : String(p["tool"]))
      .map((row) => ({ ...(row as Row), params: JSON.parse(String(row["params"])) as Json })),
  ),
  reader("describe_table", "Columns of a table.", { table: text("table") }, (world, { table }) => ({
    table: String(table),
    columns: [...visibleColumns(world, String(table)).keys()],
  })),
  reader(
    "query_records",
    "Columns of a table's rows where columns equal values.",
    {
      table: text("table"),
      columns: optional({ type: "array", items: { type: "string" }, description: "all unless told" }),
      where: optional({ type: "object", additionalProperties: { type: ["string", "number", "boolean"] }, description: "column: value" }),
    },
    queryRecords,
  ),
];

function reader(name: string, description: string, fields: Record<string, Field>, run: Tool["run"]): Tool {
  return { name, description, effect: "read", fields, run };
}

/** Parameters that name one row of a table. */
export function keyFields(table: string): Record<string, Field> {
  return Object.fromEntries(keyOf(table).map((column) => [column, text(words(column))]));
}

function words(column: string): string {
  return column.replace(/_id$/, "").replaceAll("_", " ");
}

function getter(name: string): Tool[] {
  const table = tableNamed(name);
  if (table.get === undefined) return [];
  if (name === "company") return [reader(table.get, `Our ${table.about.slice(4)}.`, {}, ({ db }) => rowThere(db, name, {}))];
  const key = keyOf(name);
  const others = table.also ?? [];
  const named = [key.map(words).join(" and "), ...others.map(words)].join(" or ");
  const fields = { ...keyFields(name), ...Object.fromEntries(others.map((column) => [column, text(words(column))])) };
  const asked =
    others.length === 0 ? fields : Object.fromEntries(Object.entries(fields).map(([column, field]) => [column, optional(field)]));
  return [
    reader(table.get, `One ${table.about}, by ${named}.`, asked, ({ db }, params) => {
      if (Object.keys(params).length === 0) throw new Refused(`${table.get} takes ${named}`);
      const row = rowOf(db, name, params as Row);
      return row === null ? { found: false, ...params } : withParts(db, table, row);
    }),
  ];
}

function withParts(db: World["db"], table: Table, row: Row): Json {
  const parts = Object.entries(table.with ?? {}).map(([field, [other, column]]) => [
    field,
    rowsOf(db, other, { [column]: row[column] ?? null }),
  ]);
  return { ...row, ...Object.fromEntries(parts) };
}

function lister(name: string): Tool[] {
  const table = tableNamed(name);
  if (table.list === undefined) return [];
  const types = new Map(columnsOf(name).map((column) => [column.name, column.type]));
  const filters = table.filters ?? [];
  const fields: Record<string, Field> = Object.fromEntries(
    filters.map((column) => [column, optional(types.get(column) === "bool" ? flag(words(column)) : text(words(column)))]),
  );
  if (table.day !== undefined) {
    fields["from"] = optional(day(`first ${words(table.day)}`));
    fields["to"] = optional(day(`last ${words(table.day)}`));
  }
  Object.assign(fields, pageFields(table.page));
  const about = `Rows: ${table.about}.`;
  return [
    reader(table.list, about, fields, ({ db, modes }, params) => {
      const where = Object.fromEntries(filters.flatMap((column) => (column in params ? [[column, params[column] as Value]] : [])));
      const { from, to } = params;
      const on = (row: Row): string => String(row[table.day ?? ""]);
      const rows = rowsOf(db, name, where).filter(
        (row) => (from === undefined || on(row) >= String(from)) && (to === undefined || on(row) <= String(to)),
      );
      return table.page === undefined ? rows : pageOf(rows, table.page, params, modes.duplicating);
    }),
  ];
}

function pageFields(style: PageStyle | undefined): Record<string, Field> {
  if (style === undefined) return {};
  const limit = optional(count(`rows of a page, ${PAGE} unless told, ${PAGE_MAX} at most`));
  if (style === "page") return { page: optional(count("from 1")), limit };
  if (style === "offset") return { offset: optional(count("rows to skip", 0)), limit };
  return { cursor: optional(text("what the page before named as next")), limit };
}

function pageOf(rows: Row[], style: PageStyle, params: Params, overlap: boolean): Json {
  const limit = Math.min(Number(params["limit"] ?? PAGE), PAGE_MAX);
  const start =
    style === "page"
      ? (Number(params["page"] ?? 1) - 1) * limit
      : style === "offset"
        ? Number(params["offset"] ?? 0)
        : fromCursor(params["cursor"]);
  const shown = rows.slice(overlap ? Math.max(0, start - 1) : start, start + limit);
  const more = start + limit < rows.length;
  const next = more ? Buffer.from(`row:${start + limit}`).toString("base64url") : null;
  if (style === "page") return { items: shown, page: Number(params["page"] ?? 1), total: rows.length, has_more: more };
  if (style === "offset") return { results: shown, offset: start, total_count: rows.length };
  if (style === "cursor") return { records: shown, next_cursor: next };
  return next === null ? { data: shown } : { data: shown, nextCursor: next };
}

function fromCursor(cursor: Json | undefined): number {
  if (cursor === undefined) return 0;
  const row = /^row:(\d{1,9})$/.exec(Buffer.from(String(cursor), "base64url").toString())?.[1];
  if (row === undefined) throw new Refused(`cursor ${JSON.stringify(cursor)} is none of ours`);
  return Number(row);
}

function trialBalance({ db }: World, { period }: Params): Json {
  const accounts = new Map<string, { debit: string; credit: string }>();
  const departments = new Map<string, { department_id: Value; account: string; debit: string; credit: string }>();
  for (const entry of rowsOf(db, "gl_entries", { period: String(period), status: "posted" })) {
    for (const line of rowsOf(db, "gl_lines", { entry_id: entry["entry_id"] ?? null })) {
      const sums = accounts.get(String(line["account"])) ?? { debit: "0.00", credit: "0.00" };
      accounts.set(String(line["account"]), { debit: plus(sums.debit, line["debit"]), credit: plus(sums.credit, line["credit"]) });
      const [department_id, account] = [line["department_id"] ?? null, String(line["account"])];
      const own = departments.get(`${department_id} ${account}`) ?? { department_id, account, debit: "0.00", credit: "0.00" };
      const moved = { ...own, debit: plus(own.debit, line["debit"]), credit: plus(own.credit, line["credit"]) };
      departments.set(`${department_id} ${account}`, moved);
    }
  }
  const rows = [...accounts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([account, sums]) => ({ account, ...sums }));
  return {
    period: String(period),
    accounts: rows,
    departments: [...departments.values()],
    debit: total(rows.map((row) => row.debit)),
    credit: total(rows.map((row) => row.credit)),
  };
}

function expensesByCategory({ db }: World, { employee_id }: Params): Json {
  const claims = rowsOf(db, "expenses", { employee_id: String(employee_id), status: "approved" });
  const categories = [...new Set(claims.map((claim) => String(claim["category"])))].sort();
  const amounts = (of: Row[]): (Json | undefined)[] => of.map((claim) => claim["approved_amount"]);
  return {
    employee_id: String(employee_id),
    total: total(amounts(claims)),
    categories: categories.map((category) => ({
      category,
      total: total(amounts(claims.filter((claim) => claim["category"] === category))),
    })),
  };
}

/** What another release calls these columns. */
const DRIFTED: Record<string, string> = {
  amount: "total_amount",
  status: "state",
  name: "display_name",
  email: "email_address",
  description: "details",
};

/** Name a caller must use -> column of the table. @throws Refused */
function visibleColumns({ modes }: World, table: string): Map<string, string> {
  if (!Object.hasOwn(TABLES, table)) throw new Refused(`table ${table} not found`);
  return new Map(
    columnsOf(table).map(({ name }) => [modes.drifted && Object.hasOwn(DRIFTED, name) ? (DRIFTED[name] ?? name) : name, name]),
  );
}

function queryRecords(world: World, params: Params): Json {
  const table = String(params["table"]);
  const visible = visibleColumns(world, table);
  const columnOf = (name: string): string => {
    const column = visible.get(name);
    if (column === undefined) throw new Refused(`column ${name} not found in ${table}`);
    return column;
  };
  const shown = ((params["columns"] as string[] | undefined) ?? [...visible.keys()]).map((name) => [name, columnOf(name)] as const);
  const where = Object.fromEntries(
    Object.entries((params["where"] as Row | undefined) ?? {}).map(([name, value]) => [columnOf(name), value]),
  );
  return {
    records: rowsOf(world.db, table, where).map((row) => Object.fromEntries(shown.map(([name, column]) => [name, row[column] ?? null]))),
  };
}
