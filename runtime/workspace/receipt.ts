/**
 * Receipts as text: import/receipts/<hash>.yaml. Equal receipts are equal bytes, so that a repeated step changes nothing in git.
 * Read back strictly: a person may have edited one.
 */
import { z } from "zod";
import type { Receipt, Refused } from "../ports.ts";
import { checkYaml, readYaml, writeYaml } from "../sandbox/yaml-text.ts";
import { AGENTS, CONFIG, IMPORTERS, JOURNAL, SCRIPTS, TRUST } from "./layout.ts";

/** The line of a card that stands for every refused row of its statement. */
export const ALL_ROWS = -1;

/** A file that cannot be read as a whole is one refused line on its receipt: a card, and the other files of the run are imported. */
export const UNREADABLE: ReadonlySet<string> = new Set([
  "STATEMENT_DIALECT",
  "STATEMENT_ENCODING",
  "STATEMENT_INVALID",
  "FILE_TOO_LARGE",
  "CONFIG_INVALID",
]);

/** Files and folders whose change may undo a refusal, so that the statement is tried again; none for a row that reads the same for ever. */
export function dependsOn({ line, code }: Refused): string[] {
  const settings = [CONFIG, IMPORTERS];
  if (code === "STATEMENT_ACCOUNT" || code === "JOURNAL_CLOSED" || UNREADABLE.has(code)) return settings;
  // Line 0: the run over the file failed, or its rows contradict the books.
  if (line !== 0) return [];
  return [...settings, AGENTS, SCRIPTS, TRUST, ...(code.startsWith("JOURNAL_") ? [JOURNAL] : [])];
}

const count = () => z.int().min(0);
const amount = () => z.string().regex(/^-?\d{1,30}(\.\d{1,18})?$/, "write a decimal text in quotation marks");

// Made at its first use: most processes read no receipt.
let made: ReturnType<typeof receiptSchema> | null = null;
const schemaOf = () => (made ??= receiptSchema());

const receiptSchema = () =>
  z.strictObject({
    file: z.string().min(1),
    hash: z.string().regex(/^[0-9a-f]{64}$/, "write the sha256 of the file"),
    dialect: z.string(),
    account: z.string(),
    currency: z.string(),
    rows: count(),
    new: count(),
    known: count(),
    twin: count(),
    refused: z.array(z.strictObject({ line: z.int().min(0), code: z.string(), message: z.string() })),
    unbooked: z.array(z.string()),
    later: z.int().min(1).optional(),
    earlier: z.string().optional(),
    opening: amount().nullable(),
    closing: amount().nullable(),
    gap: amount().nullable(),
  });

/** Canonical YAML: a fixed order of keys, one line a value. */
export function receiptToYaml(receipt: Receipt): string {
  const keys = Object.keys(schemaOf().shape) as (keyof Receipt)[];
  const ordered = Object.fromEntries(keys.filter((key) => receipt[key] !== undefined).map((key) => [key, receipt[key]]));
  ordered["refused"] = receipt.refused.map(({ line, code, message }) => ({ line, code, message }));
  return writeYaml(ordered);
}

/** True while something of the statement is to be done: the file stays in import/. */
export function isOpenReceipt({ refused, unbooked, later }: Receipt): boolean {
  return refused.length + unbooked.length + (later ?? 0) > 0;
}

/** @throws FILE_INVALID naming the line and the key */
export function receiptFromYaml(text: string, file = "receipt"): Receipt {
  // 200,000 open rows of a statement, a line each.
  const source = { file, code: "FILE_INVALID" as const, maxLength: 32 * 1024 * 1024 };
  return checkYaml(readYaml(text, source), schemaOf(), source) as Receipt;
}
