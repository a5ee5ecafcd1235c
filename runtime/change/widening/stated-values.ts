/** The values of a program, each under the keys it stands for: a name that only one of two versions has is no key, what is given it is. */
import { headOf, LITERAL, NAME } from "../../scripts/form-marks.ts";
import type { Canonical } from "./code-names.ts";
import type { Program } from "./program.ts";

/** line 0: it stands there no more. */
export interface Place {
  file: string;
  line: number;
}

/** Texts that nobody acts on. */
export const SILENT = /^(?:ctx_log|git_commit)\b/;
/** Keys that a value with a name is told under at most. */
const USES = 8;
export type Literal = Program["literals"][number]["value"];

/** A value of a key, before or now: a literal, or what computes it as the text has it. */
export type Given = { literal: Literal } | { shown: string; fixed: boolean };

/** A value at its path, as both versions call it. */
export interface Stated extends Place {
  path: string;
  head: string | null;
  near: string | null;
  /** Where its row stands, or "" outside of tables. */
  table: string;
  given: Given;
  means: string;
  compared: boolean;
  tool: string | null;
  /** Of a literal without a key, the name that is given it. */
  of: string;
}

/** Every literal and computed value of a program, under the keys that it is given to. `write`: forms as both versions call them. */
export function statedIn({ literals, fields }: Program, write: Canonical): Stated[] {
  const firsts = new Map<string, string>();
  const tables = new Map<string, string>();
  const rowOf = ({ file, row }: Program["literals"][number]) => `${file} ${row}`;
  for (const one of literals) {
    if (typeof one.value === "string" && !firsts.has(rowOf(one))) firsts.set(rowOf(one), one.value);
    const folder = one.path.slice(0, one.path.lastIndexOf("."));
    // What stands deeper in a row is a part of it.
    if (one.path !== "" && folder.length < (tables.get(rowOf(one)) ?? one.path).length) tables.set(rowOf(one), folder);
  }
  const all = Map.groupBy(fields, ({ form }) => form);
  // Where a name stands in what is logged as well, it is told where it matters.
  const uses = new Map(
    [...all].map(([form, some]) => {
      const acting = some.filter(({ path }) => !SILENT.test(path));
      return [form, (acting.length > 0 ? acting : some.slice(0, 1)).slice(0, USES)];
    }),
  );
  const isLiteral = (form: string) => new RegExp(`^${LITERAL}[^${LITERAL}]*${LITERAL}$`).test(form);
  /** A name that only one of the two has stands for the keys that are given it, else it is left out of a path. */
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
    // An object that has a name is told by what stands in it, as one without.
    ...fields.flatMap(({ path, form, fixed, shown, tool, file, line }) => {
      if (headOf(form) !== null && write(form).startsWith("{")) return [];
      // So is a literal that has a name.
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
