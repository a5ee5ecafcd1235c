/**
 * From a statement's bytes to its rows: detects the format, finds the dialect, reads. Called by the run's view and by
 * `cleared import --dry-run`. Throws only ClearedError, whatever the bytes.
 */
import { ClearedError, didYouMean } from "../../kernel/errors.ts";
import { readCsv } from "./csv.ts";
import { type Dialect, hasHeader } from "./dialect.ts";
import { assertText, decode, peek, PEEKED, unreadable } from "./records.ts";
import { guessDialect, matchDialect } from "./match.ts";
import { isOfx, readOfx } from "./ofx.ts";
import { SIZE_LIMIT, ownName } from "./import-files.ts";
import type { Statement } from "./proof.ts";

export interface ParseOptions {
  dialects: Dialect[];
  /** Name of the dialect to use, from config.yaml; without it the file decides. */
  dialect?: string | undefined;
  /** `mapping:` of config.yaml: the keys of a dialect file, for this statement only. */
  mapping?: Omit<Dialect, "name"> | undefined;
  /** Currency of the books, for statements that name none. */
  defaultCurrency: string;
}

// A receipt lists each refused row; with more of them the whole export is wrong.
const MOST_REFUSED = 20_000;

/**
 * The statements in a file, one per bank account, at least one.
 * @throws STATEMENT_DIALECT (data.dialect: the text of a dialect file, where one can be guessed), STATEMENT_ENCODING, STATEMENT_INVALID,
 * FILE_TOO_LARGE
 */
export function parseStatement(name: string, bytes: Uint8Array, options: ParseOptions): Statement[] {
  try {
    const found = readStatement(ownName(name), bytes, options);
    const refused = found.flatMap((one) => one.refused);
    if (refused.length <= MOST_REFUSED) return found;
    const why = `${refused.length.toLocaleString("en-US")} rows cannot be read, the first at line ${refused[0]?.line}: ${refused[0]?.message}`;
    throw unreadable("STATEMENT_INVALID", `${why} Export it again, or correct its dialect.`);
  } catch (error) {
    if (error instanceof ClearedError) {
      if (error.at?.file === "") error.at.file = name;
      throw error;
    }
    // A bug in a reader affects only the one file, which is named.
    const why = `The reader of statements failed at this file: ${error instanceof Error ? error.message : String(error)}.`;
    throw new ClearedError("STATEMENT_INVALID", `${why} Export it in another form.`, { at: { file: name }, cause: error });
  }
}

function readStatement(name: string, bytes: Uint8Array, options: ParseOptions): Statement[] {
  if (bytes.length > SIZE_LIMIT) throw unreadable("FILE_TOO_LARGE", "The statement is larger than 64 MiB. Export it in shorter ranges.");
  const top = peek(bytes);
  if (top.trim() === "") throw unreadable("STATEMENT_INVALID", "The file is empty. Download it again.");
  if (isOfx(top)) return readOfx(bytes, options.defaultCurrency);
  const foreign = foreignFormat(name, top);
  if (foreign !== null) throw unreadable("STATEMENT_DIALECT", `${foreign} Export the statement as CSV, OFX or QFX.`, 1);
  if (options.dialect === undefined && options.mapping === undefined) assertText(top);
  const read = (dialect: Dialect) => readCsv(decode(bytes, dialect.encoding), dialect, options.defaultCurrency);
  try {
    return read(chooseDialect(name, top, options));
  } catch (error) {
    if (options.mapping !== undefined || !lacksHeader(error)) throw error;
    return read(withoutHeader(name, top, bytes.length <= PEEKED, options.dialects, error));
  }
}

function chooseDialect(name: string, top: string, { dialects, dialect, mapping }: ParseOptions): Dialect {
  if (mapping !== undefined) return { name: dialect ?? "generic", ...mapping };
  // The dialect defines the encoding, so it is found in leniently decoded text; the strict decoding comes after.
  if (dialect === undefined) return matchDialect(name, top, dialects);
  const named = dialects.find((one) => one.name === dialect);
  if (named !== undefined) return named;
  const names = dialects.map((one) => one.name);
  const near = didYouMean(dialect, names);
  throw unreadable("STATEMENT_DIALECT", `There is no dialect "${dialect}" in importers/.${near} Known: ${names.join(", ") || "none"}.`);
}

function lacksHeader(error: unknown): error is ClearedError {
  return error instanceof ClearedError && (error.data as { header?: string } | undefined)?.header !== undefined;
}

/** The dialect that reads the rows of a file without a header. @throws STATEMENT_DIALECT with a guess, or `error` if there is none */
function withoutHeader(name: string, top: string, isWhole: boolean, dialects: Dialect[], error: ClearedError): Dialect {
  const guess = guessDialect(name, top, isWhole);
  if (guess === null) throw error;
  const headless = dialects.filter((one) => !hasHeader(one));
  try {
    return matchDialect(name, top, headless);
  } catch (none) {
    if (!lacksHeader(none)) throw none;
  }
  const message = `The file has no header line, and no dialect reads it. It looks like this: ${guess.words}. Approve the card to have such files read so (it adds a dialect to importers/), or write the dialect yourself.`;
  throw unreadable("STATEMENT_DIALECT", message, 1, { dialect: guess.dialect });
}

/** A sentence that names the format of a file that is neither CSV nor OFX, or null. */
function foreignFormat(name: string, top: string): string | null {
  if (top.startsWith("PK\u0003\u0004") || top.startsWith("\u00d0\u00cf\u0011\u00e0"))
    return "This is a spreadsheet or an archive, not text.";
  if (top.startsWith("%PDF-")) return "This is a PDF.";
  if (/^\s*!(?:Account|Type|Option)/i.test(top)) return "This is QIF, which is not read.";
  if (/^\s*(?:<\?xml|<Document)/.test(top))
    return top.includes("camt.05") ? "This is CAMT, which is not read." : "This is XML, but not OFX.";
  if (/^\s*(?:\{1:|:20:|:940:)/m.test(top.slice(0, 2048)) && top.includes(":61:")) return "This is MT940, which is not read.";
  if (/\.(?:ofx|qfx)$/i.test(name)) return "The file is named as OFX but does not contain any.";
  return null;
}
