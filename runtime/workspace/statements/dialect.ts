/**
 * CSV dialects as data: the schema of importers/*.yaml and of `mapping:` in config.yaml. A dialect is untrusted text
 * (a proposal may add one), so it cannot contain a regular expression: a hostile one would hang the host.
 */
import { z } from "zod";
import { ClearedError } from "../../kernel/errors.ts";
import { checkYaml, readYaml } from "../../scripts/yaml-text.ts";
import { amountForm, datePattern, isCurrency, PLAIN_AMOUNT } from "./cells.ts";
import { ENCODINGS } from "./records.ts";

/**
 * Line templates for the preamble of a CSV: `Ending balance as of {closing_date},,"{closing}"`. Matched by searching for the
 * fixed parts one after another, which is linear: unlike a regular expression, no template can hang the host.
 */
const PLACEHOLDERS = ["account", "opening", "closing", "closing_date", "from", "to"] as const;
type Placeholder = (typeof PLACEHOLDERS)[number];

const column = z.union([z.string().min(1), z.int().min(1).max(500)], { error: "write a column's header, or its number from 1" });

// Made at first use: config.yaml is read in every process, and few processes read a dialect.
let made: ReturnType<typeof schemas> | null = null;
export const dialectSchemas = () => (made ??= schemas());

/** For docs/DIALECTS.md and the checks of files; `mapping`: the keys of a dialect without its name. */
const schemas = () => {
  const words = z.array(z.string().min(1), { error: "write a list of words" }).min(1);

  const match = z.strictObject({
    header: words.optional().describe("column names that must all be in the header line"),
    columns: z
      .union([z.int().min(1).max(500), z.array(z.int().min(1).max(500)).min(1)], { error: "write a number of cells, or a list of numbers" })
      .optional()
      .describe("allowed numbers of cells in a row; without `header` the file has no header line"),
    cells: z
      .record(
        z.string().regex(/^\d{1,3}$/, "write the number of a column"),
        z.union([z.enum(["date", "amount", "digits"]), words], { error: "write date, amount, digits or a list of words" }),
      )
      .optional()
      .describe("what each column (by number) holds in a file without a header"),
  });

  const columns = z.strictObject({
    date: column.describe("the day of the row"),
    description: z
      .union([column, z.array(column).min(1)], { error: "write a column, or a list of columns" })
      .describe("the bank's text; several columns are joined"),
    amount: column.optional().describe("signed, unless `sign` or `direction` says otherwise"),
    out: column.optional().describe("money out, positive; goes with `in`"),
    in: column.optional().describe("money in, positive"),
    balance: column.optional().describe("running balance after the row"),
    type: column.optional().describe("the bank's word for the kind of row"),
    id: column.optional().describe("the bank's own id of the row"),
    currency: column.optional().describe("of the row"),
    counterparty: column.optional().describe("who was paid, or who paid"),
    account: column.optional().describe("bank account of the row; a file with several becomes several statements"),
  });

  const skip = z.strictObject({
    column: column.describe("where to look"),
    is: words.optional().describe("leave the row out when the cell is one of these"),
    starts: z.string().min(1).optional().describe("leave the row out when the cell begins with this"),
    empty: z.literal(true).optional().describe("leave the row out when the cell is empty"),
  });

  const keys = z.strictObject({
    name: z
      .string()
      .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, "write small letters, digits and dashes")
      .describe("of the dialect, unique"),
    description: z.string().optional().describe("a line for people"),
    delimiter: z.enum([",", ";", "\t", "|"]).default(",").describe("between cells"),
    encoding: z.enum(ENCODINGS).default("utf-8").describe("as the bank writes the file"),
    match: match.default({}).describe("which files it reads"),
    card: z.boolean().default(false).describe("its statements are of a credit card"),
    preamble: z
      .array(
        z
          .string()
          .min(1)
          .max(500)
          .refine(isTemplate, `the places are {${PLACEHOLDERS.join("}, {")}} and {}`),
      )
      .optional()
      .describe(
        "lines before the header, with {account} {opening} {closing} {closing_date} {from} {to} where these appear and {} for anything else",
      ),
    columns: columns.describe("which column holds what"),
    date: z
      .string()
      .refine((form) => datePattern(form) !== null, "write a form such as MM/DD/YYYY, DD.MM.YYYY, D MMM YYYY, YYYYMMDD or ofx")
      .describe("how days are written: MM/DD/YYYY, DD.MM.YYYY, D MMM YYYY, YYYYMMDD or ofx"),
    amount: amountForm.default(PLAIN_AMOUNT).describe("how amounts are written"),
    sign: z.enum(["signed", "inverted"]).default("signed").describe("inverted: spending is positive, as on some credit cards"),
    direction: z
      .strictObject({ column: column.describe("the column with the word"), out: words, in: words })
      .optional()
      .describe("a column whose word says the direction of an unsigned amount"),
    currency: z
      .string()
      .refine(isCurrency, "write three capitals such as USD")
      .optional()
      .describe("of the statement; without it that of the workspace"),
    skip: z.array(skip).default([]).describe("rows that are not transactions; each names one of `is`, `starts` or `empty`"),
  });

  const consistent = (context: z.core.ParsePayload<Omit<z.output<typeof keys>, "name">>): void => {
    const value = context.value;
    const problem = (path: (string | number)[], message: string) => context.issues.push({ code: "custom", input: value, path, message });
    const { amount: one, out, in: into } = value.columns;
    if ((out === undefined) !== (into === undefined)) problem(["columns"], "`out` and `in` go together");
    if ((one === undefined) === (out === undefined)) problem(["columns"], "name either `amount`, or both `out` and `in`");
    if (value.direction !== undefined && one === undefined) problem(["direction"], "`direction` goes with columns.amount");
    if (value.direction !== undefined && value.sign === "inverted") problem(["sign"], "`direction` already says the sign");
    if (value.amount.thousands === value.amount.decimal) problem(["amount"], "the decimal and the thousands mark are the same");
    if (value.match.header === undefined && value.match.columns !== undefined && namesOf(value).length > 0)
      problem(["columns"], `without match.header columns are given by number, not "${namesOf(value)[0]}"`);
    for (const [index, rule] of value.skip.entries()) {
      if ([rule.is, rule.starts, rule.empty].filter((part) => part !== undefined).length !== 1)
        problem(["skip", index], "name one of `is`, `starts` or `empty`");
    }
  };

  return { Keys: keys.check(consistent), mapping: keys.omit({ name: true }).check(consistent), match, columns, amount: amountForm, skip };
};

export type Dialect = z.output<ReturnType<typeof schemas>["Keys"]>;
export type Column = z.output<typeof column>;

/** Columns that the dialect names by header. */
function namesOf(dialect: { columns: Dialect["columns"]; direction?: { column: Column } | undefined }): string[] {
  return [...Object.values(dialect.columns).flat(), dialect.direction?.column].filter((name): name is string => typeof name === "string");
}

/** True when the file has a header line: the match says so, or a column is given by name. */
export function hasHeader(dialect: Dialect): boolean {
  return dialect.match.header !== undefined || (dialect.match.columns === undefined && namesOf(dialect).length > 0);
}

/**
 * The dialects of importers/*.yaml.
 * @throws CONFIG_INVALID at the line, with the nearest known key
 */
export function parseDialects(files: { path: string; text: string }[]): Dialect[] {
  const seen = new Map<string, string>();
  return files.map(({ path, text }) => {
    const source = { file: path, code: "CONFIG_INVALID" as const, maxLength: 65_536 };
    const dialect = checkYaml(readYaml(text, source), dialectSchemas().Keys, source);
    const other = seen.get(dialect.name);
    if (other !== undefined) {
      const message = `${path}: The dialect "${dialect.name}" is defined twice: in ${other} and here. Give one another name.`;
      throw new ClearedError("CONFIG_INVALID", message, { at: { file: path } });
    }
    seen.set(dialect.name, path);
    return dialect;
  });
}

function isTemplate(template: string): boolean {
  const names = template.split(/\{([a-z_]*)\}/).filter((_, i) => i % 2 === 1);
  return names.every((name) => name === "" || PLACEHOLDERS.some((placeholder) => placeholder === name));
}

/** The texts at the placeholders, or null when the line does not have this form. `{}` matches any text. */
export function matchTemplate(template: string, line: string): Partial<Record<Placeholder, string>> | null {
  const parts = template.split(/\{([a-z_]*)\}/);
  const found: Partial<Record<Placeholder, string>> = {};
  if (!line.startsWith(parts[0] ?? "")) return null;
  let at = (parts[0] ?? "").length;
  for (let i = 1; i < parts.length; i += 2) {
    const fixed = parts[i + 1] ?? "";
    const end =
      i + 2 >= parts.length ? (line.endsWith(fixed) ? line.length - fixed.length : -1) : fixed === "" ? at : line.indexOf(fixed, at);
    if (end < at) return null;
    const name = PLACEHOLDERS.find((placeholder) => placeholder === parts[i]);
    if (name !== undefined) found[name] = line.slice(at, end).trim();
    at = end + fixed.length;
  }
  return at === line.length ? found : null;
}
