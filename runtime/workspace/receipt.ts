/**
 * Receipts as text: import/receipts/<hash>.yaml. Equal receipts are equal bytes, so that a repeated step changes nothing in git.
 * Read back strictly: a person may have edited one.
 */
import { z } from "zod";
import type { Receipt } from "../ports.ts";
import { checkYaml, readYaml, writeYaml } from "../sandbox/yaml-text.ts";

/** The line of a card that stands for every refused row of its statement. */
export const ALL_ROWS = -1;

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
    opening: amount().nullable(),
    closing: amount().nullable(),
    gap: amount().nullable(),
  });

/** Canonical YAML: a fixed order of keys, one line a value. */
export function receiptToYaml(receipt: Receipt): string {
  const ordered = Object.fromEntries(Object.keys(schemaOf().shape).map((key) => [key, receipt[key as keyof Receipt]]));
  ordered["refused"] = receipt.refused.map(({ line, code, message }) => ({ line, code, message }));
  return writeYaml(ordered);
}

/** @throws FILE_INVALID naming the line and the key */
export function receiptFromYaml(text: string, file = "receipt"): Receipt {
  // 200,000 open rows of a statement, a line each.
  const source = { file, code: "FILE_INVALID" as const, maxLength: 32 * 1024 * 1024 };
  return checkYaml(readYaml(text, source), schemaOf(), source);
}
