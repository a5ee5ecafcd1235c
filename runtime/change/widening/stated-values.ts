/** The values of a program under the keys they are used for: a name that only one version has is replaced by where its value is used. */
import { headOf, LITERAL, NAME } from "../../scripts/form-marks.ts";
import { type Canonical, lastOf } from "./code-names.ts";
import type { Program } from "./program.ts";

/** line 0: it no longer exists. */
export interface Place {
  file: string;
  line: number;
}

/** Texts that nothing acts on. */
export const SILENT = /^(?:ctx_log|git_commit)\b/;
/** Most keys under which a named value is reported. */
const USES = 8;
export type Literal = Program["literals"][number]["value"];

/** A value of a key, before or now: a literal, or its source text if it is computed. */
export type Given = { literal: Literal } | { shown: string; fixed: boolean };

/** A value at its path, in the notation common to both versions. */
export interface Stated extends Place {
  path: string;
  head: string | null;
  near: string | null;
  /** The place of its row; "" outside of tables. */
  table: string;
  given: Given;
  means: string;
  compared: boolean;
  tool: string | null;
  /** For a literal without a key, the name that it is assigned to. */
  of: string;
}

/** Every literal and computed value of a program, under the keys it is given to. `write`: the notation common to both versions. */
export function statedIn({ literals, fields }: Program, write: Canonical): Stated[] {
  const firsts = new Map<string, string>();
  const tables = new Map<string, string>();
  const rowOf = ({ file, row }: Program["literals"][number]) => `${file} ${row}`;
  for (const one of literals) {
    if (typeof one.value === "string" && !firsts.has(rowOf(one))) firsts.set(rowOf(one), one.value);
    const folder = one.path.slice(0, one.path.lastIndexOf("."));
    // Deeper tables inside a row belong to the row.
    if (one.path !== "" && folder.length < (tables.get(rowOf(one)) ?? one.path).length) tables.set(rowOf(one), folder);
  }
  const all = Map.groupBy(fields, ({ form }) => form);
  // A name that is also logged is reported where it matters.
  const uses = new Map(
    [...all].map(([form, some]) => {
      const acting = some.filter(({ path }) => !SILENT.test(path));
      return [form, (acting.length > 0 ? acting : some.slice(0, 1)).slice(0, USES)];
    }),
  );
  const isLiteral = (form: string) => new RegExp(`^${LITERAL}[^${LITERAL}]*${LITERAL}$`).test(form);
  /** A name that only one version has stands for the keys it is given to; without any it is left out of the path. */
  const placesOf = (path: string, tool: string | null, above: readonly string[] = []): { path: string; tool: string | null }[] => {
    const head = headOf(path);
    if (head === null || above.includes(head)) return [{ path, tool }];
    const [name, known] = [`${NAME}${head}${NAME}`, write(`${NAME}${head}${NAME}`)];
    const isKnown = headOf(known)?.length === known.length - 2;
    const used = isKnown ? [{ path: known, tool }] : (uses.get(name) ?? [{ path: "", tool }]);
    const places = used.flatMap((one) => (isKnown ? [one] : placesOf(one.path, tool ?? one.tool, [...above, head])));
    return places.slice(0, USES).map((one) => ({ ...one, path: one.path.replace(/\.$/, "") + path.slice(head.length + 2) }));
  };
  const placeOf = (path: string): string => placesOf(path, null)[0]?.path ?? "";
  return [
    // A named object is reported by its contents, like one without a name.
    ...fields.flatMap(({ path, form, fixed, shown, tool, file, line }) => {
      if (headOf(form) !== null && write(form).startsWith("{")) return [];
      // The same holds for a named literal.
      if (headOf(form)?.length === form.length - 2 && isLiteral(write(form)) && (all.get(form)?.length ?? 0) <= USES) return [];
      const given = { given: { shown, fixed }, means: write(form), compared: false, of: "" };
      return { ...given, path: placeOf(path), head: headOf(path), near: null, table: "", tool, file, line };
    }),
    ...literals.flatMap((one) => {
      const { value, compared, file, line } = one;
      const near = one.row === null ? null : (firsts.get(rowOf(one)) ?? "");
      const given = { given: { literal: value }, means: JSON.stringify(value), compared, of: one.path === "" ? write(one.of ?? "") : "" };
      const table = placeOf(tables.get(rowOf(one)) ?? "");
      return placesOf(one.path, one.tool).map((place) => ({
        ...given,
        ...place,
        head: headOf(one.path) ?? headOf(one.of ?? ""),
        near,
        table,
        file,
        line,
      }));
    }),
  ];
}

/** A row of a table that was added or removed, as its cells by key; or that moved forward, in a table where the first match wins. */
export interface RowChange extends Place {
  near: string;
  change: "new" | "gone" | "order";
  cells: Record<string, Literal>;
}

/** Rows of tables that were added, removed, or moved before others. */
export function rowsOf(was: readonly Stated[], now: readonly Stated[]): RowChange[] {
  const rowOf = ({ table, near }: Stated) => `${table}\n${near}`;
  const rowsIn = (all: readonly Stated[]) => Map.groupBy(all.filter(({ near }) => near !== null).values(), rowOf);
  const [old, fresh] = [rowsIn(was), rowsIn(now)];
  const told = (cells: readonly Stated[], change: RowChange["change"]): RowChange => {
    const [first] = cells as [Stated, ...Stated[]];
    const values = cells.flatMap(({ path, given }) => ("literal" in given ? [[lastOf(path), given.literal]] : []));
    const at = { file: first.file, line: change === "gone" ? 0 : first.line };
    return { near: first.near ?? "", change, cells: Object.fromEntries(values), ...at };
  };
  const order = new Map([...old.keys()].map((key, i) => [key, i]));
  const common = [...fresh.keys()].filter((key) => order.has(key));
  const table = (key: string) => key.slice(0, key.indexOf("\n"));
  const isEarlier = (key: string, i: number) =>
    common.slice(i + 1).some((later) => table(later) === table(key) && (order.get(later) ?? 0) < (order.get(key) ?? 0));
  // A row of a table that only one version has, which is the same in another table, was only given a name.
  const tables = [old, fresh].map((all) => new Set([...all.keys()].map(table)));
  const contents = (cells: readonly Stated[]) => cells.map(({ near, path, means }) => `${near} ${lastOf(path)} ${means}`).join();
  const isKept = (key: string) => tables.every((all) => all.has(table(key)));
  const isMoved = (key: string, cells: readonly Stated[], others: typeof old) =>
    [...others].some(([other, some]) => !(isKept(key) && isKept(other)) && contents(some) === contents(cells));
  const only = (all: typeof old, others: typeof old, change: RowChange["change"]) =>
    [...all].flatMap(([key, cells]) => (others.has(key) || isMoved(key, cells, others) ? [] : [told(cells, change)]));
  return [
    ...only(old, fresh, "gone"),
    ...only(fresh, old, "new"),
    ...common.filter(isEarlier).map((key) => told(fresh.get(key) ?? [], "order")),
  ];
}
