/** The shipped dialects and short ways to read a text with them, for the tests of this folder. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseConfig } from "../../../runtime/workspace/settings/config.ts";
import { parseDialects } from "../../../runtime/workspace/statements/dialect.ts";
import { parseStatement, type ParseOptions } from "../../../runtime/workspace/statements/parse.ts";
import type { Statement } from "../../../runtime/workspace/statements/proof.ts";

const IMPORTERS = join(import.meta.dirname, "../../../importers");
export const SAMPLES = join(import.meta.dirname, "../../statements");

export const shipped = parseDialects(
  readdirSync(IMPORTERS).map((name) => ({ path: `importers/${name}`, text: readFileSync(join(IMPORTERS, name), "utf8") })),
);

export function read(name: string, content: string | Uint8Array, options: Partial<ParseOptions> = {}): Statement[] {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  return parseStatement(name, bytes, { dialects: shipped, defaultCurrency: "USD", ...options });
}

/** As a rule of config.yaml has it. */
export function mappingOf(mapping: unknown): ParseOptions["mapping"] {
  const rule = { match: { file: "*" }, account: 1010, mapping };
  return parseConfig(JSON.stringify({ business: { name: "A" }, statements: [rule] })).statements[0]?.mapping;
}

/** The only statement of a text. */
export function readOne(content: string, options: Partial<ParseOptions> = {}): Statement {
  const [statement, second] = read("a.csv", content, options);
  if (statement === undefined || second !== undefined) throw new Error("expected one statement");
  return statement;
}

export const sample = (name: string) => readFileSync(join(SAMPLES, name));

/** Code and message of what a function throws. */
export function thrown(act: () => unknown): { code: string; message: string; at?: unknown } {
  try {
    act();
  } catch (error) {
    const { code, message, at } = error as { code: string; message: string; at?: unknown };
    return { code, message, at };
  }
  throw new Error("nothing was thrown");
}

export const CHASE = "Details,Posting Date,Description,Amount,Type,Balance,Check or Slip #\n";
