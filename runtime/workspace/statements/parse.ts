/**
 * The one way from a statement's bytes to its rows: looks what the file is, finds the dialect, reads. Called by the run's view and
 * by `cleared import --dry-run`. Throws nothing but ClearedError, whatever the bytes.
 */
import { ClearedError, didYouMean } from "../../errors.ts";
import { readCsv } from "./csv.ts";
import type { Dialect } from "./dialect.ts";
import { mappingDialect } from "./dialect.ts";
import { decode, peek } from "./encoding.ts";
import { matchDialect } from "./match.ts";
import { isOfx, readOfx } from "./ofx.ts";
import { SIZE_LIMIT } from "./size.ts";
import type { Statement } from "./types.ts";

export interface ParseOptions {
  dialects: Dialect[];
  /** Name of the dialect to use, from config.yaml; without it the file decides. */
  dialect?: string | undefined;
  /** `mapping:` of config.yaml: the keys of a dialect file, for this statement only. */
  mapping?: unknown;
  /** Currency of the books: of a statement that names none. */
  defaultCurrency: string;
}

/**
 * The statements in a file, one per bank account, at least one.
 * @throws STATEMENT_DIALECT, STATEMENT_ENCODING, STATEMENT_INVALID, FILE_TOO_LARGE, CONFIG_INVALID (mapping)
 */
export function parseStatement(name: string, bytes: Uint8Array, options: ParseOptions): Statement[] {
  if (bytes.length > SIZE_LIMIT)
    throw new ClearedError("FILE_TOO_LARGE", "The statement is larger than 64 MiB. Export it in shorter ranges.", { at: { file: name } });
  const top = peek(bytes);
  if (top.trim() === "") throw new ClearedError("STATEMENT_INVALID", "The file is empty. Download it again.", { at: { file: name } });
  if (isOfx(top)) return readOfx(name, bytes, options.defaultCurrency);
  const foreign = foreignFormat(name, top);
  if (foreign !== null)
    throw new ClearedError("STATEMENT_DIALECT", `${foreign} Export the statement as CSV, OFX or QFX.`, { at: { file: name, line: 1 } });
  if (top.includes("\0") && options.dialect === undefined && options.mapping === undefined) {
    throw new ClearedError("STATEMENT_ENCODING", "The file is binary, or UTF-16 without a byte order mark. Export it as UTF-8 text.", {
      at: { file: name, line: 1 },
    });
  }
  const dialect = chooseDialect(name, bytes, options);
  return readCsv(name, decode(name, bytes, dialect.encoding), dialect, options.defaultCurrency);
}

function chooseDialect(name: string, bytes: Uint8Array, { dialects, dialect, mapping }: ParseOptions): Dialect {
  if (mapping !== undefined) return mappingDialect(mapping, dialect ?? "generic");
  // The encoding is the dialect's, so the dialect is found on a lenient reading and the strict one comes after.
  if (dialect === undefined) return matchDialect(name, peek(bytes), dialects);
  const named = dialects.find((one) => one.name === dialect);
  if (named !== undefined) return named;
  const names = dialects.map((one) => one.name);
  throw new ClearedError(
    "STATEMENT_DIALECT",
    `There is no dialect "${dialect}" in importers/.${didYouMean(dialect, names)} Known: ${names.join(", ") || "none"}.`,
    { at: { file: name } },
  );
}

/** What the file is when it is neither CSV nor OFX, in a sentence, or null. */
function foreignFormat(name: string, top: string): string | null {
  if (top.startsWith("PK\u0003\u0004") || top.startsWith("\u00d0\u00cf\u0011\u00e0"))
    return "This is a spreadsheet or an archive, not text.";
  if (top.startsWith("%PDF-")) return "This is a PDF.";
  if (/^\s*!(?:Account|Type|Option)/i.test(top)) return "This is QIF, which is not read.";
  if (/^\s*(?:<\?xml|<Document)/.test(top))
    return top.includes("camt.05") ? "This is CAMT, which is not read." : "This is XML, but not OFX.";
  if (/^\s*(?:\{1:|:20:|:940:)/m.test(top.slice(0, 2048)) && top.includes(":61:")) return "This is MT940, which is not read.";
  if (/\.(?:ofx|qfx)$/i.test(name)) return "The file is named as OFX but holds none.";
  return null;
}
