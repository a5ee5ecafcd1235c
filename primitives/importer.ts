/** Statements in import/: list, read, receipt. A row's `reference` ties an entry to it. Refused rows become review items; the others go on. */
import { z } from "zod";
import { definePrimitive } from "../runtime/kernel/primitive.ts";
import { OF_TREE, fileName, money } from "./_shapes.ts";

const row = z
  .object({
    id: z.string().describe("row id: the id of the row's entry"),
    date: z.string().describe("YYYY-MM-DD"),
    description: z.string().describe("normalised"),
    raw_description: z.string().describe("as in the file"),
    amount: money.describe("negative = out"),
    currency: z.string(),
    reference: z.string().describe("pass it on to journal_add*; never empty"),
    type: z.string(),
    account: z.string().describe("account number of the statement"),
    counterparty: z.string().optional(),
    balance: money.optional().describe("of the account after this row"),
  })
  .meta({ name: "Row" });

const receipt = z
  .object({
    file: z.string(),
    hash: z.string(),
    dialect: z.string(),
    account: z.string(),
    currency: z.string(),
    rows: z.number(),
    new: z.number(),
    known: z.number(),
    twin: z.number(),
    refused: z.array(z.object({ line: z.number(), code: z.string(), message: z.string() })),
    unbooked: z.array(z.string()).describe("references of rows that were parsed and not booked"),
    asked: z
      .array(
        z.object({ entry: z.string().describe("id of the entry it may be"), date: z.string(), amount: money, description: z.string() }),
      )
      .describe("rows that may be in the books under another name; a person is asked, nothing is booked until then"),
    removed: z.array(z.string()).describe("booked rows that were later deleted by hand; not booked again"),
    later: z.number().optional().describe("rows left for the next run, which starts automatically"),
    earlier: z.string().optional().describe("hash of the shorter statement that this one continues"),
    opening: money.nullable(),
    closing: money.nullable(),
    gap: money.nullable().describe("the bank's closing balance minus that of the books; null when equal or unknown"),
  })
  .meta({ name: "Receipt" });

const STATEMENT_ERRORS = [
  ...["FILE_MISSING", "FILE_INVALID", "FILE_UNFINISHED", "FILE_TOO_LARGE", "STATEMENT_DIALECT", "STATEMENT_ENCODING"],
  ...["STATEMENT_INVALID", "STATEMENT_ACCOUNT", "JOURNAL_FORM"],
];

export const importer_scan = definePrimitive({
  name: "importer_scan",
  effect: "read",
  summary: "Complete files in import/ without a receipt.",
  params: z.object({}),
  returns: z.array(z.object({ name: z.string(), size: z.number().describe("bytes"), modified: z.string() })),
  example: "importer_scan()",
  run: (_, ctx) => ctx.ports.imports.scan(),
});

export const importer_parse = definePrimitive({
  name: "importer_parse",
  effect: "read",
  from: "statement",
  summary:
    "The rows of a statement that are not in the books yet, in the order of the file; of a large statement the first 10,000; the next run gets more.",
  params: z.object({
    name: fileName.describe("as importer_scan returns it"),
    all: z.boolean().default(false).describe("true: also rows that are in the books"),
  }),
  returns: z.array(row),
  errors: STATEMENT_ERRORS,
  example: `importer_parse("statement.csv")`,
  run: (p, ctx) => ctx.ports.imports.parse(p.name, { all: p.all }),
});

export const importer_mark_processed = definePrimitive({
  name: "importer_mark_processed",
  effect: "write",
  summary: "Write the statement's receipt; the file moves to import/processed/ after the commit, once no row is open.",
  params: z.object({ name: fileName.describe("as importer_scan returns it") }),
  returns: receipt,
  errors: ["FILE_MISSING", "FILE_INVALID", "FILE_UNFINISHED"],
  example: `importer_mark_processed("statement.csv")`,
  run: (p, ctx) => ctx.ports.imports.markProcessed(p.name),
});

export const importer_deduplicate = definePrimitive({
  name: "importer_deduplicate",
  ...OF_TREE,
  summary: "The rows that are not in the books.",
  params: z.object({ transactions: z.array(row).describe("rows from importer_parse") }),
  returns: z.array(row),
  errors: ["JOURNAL_FORM"],
  example: `importer_deduplicate(importer_parse({ name: "statement.csv", all: true }))`,
  run: (p, ctx) => ctx.ports.imports.deduplicate(p.transactions as Parameters<typeof ctx.ports.imports.deduplicate>[0]),
});
