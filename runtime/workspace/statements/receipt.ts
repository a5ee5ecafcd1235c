/**
 * Receipts as text: import/receipts/<hash>.yaml. Equal receipts are equal bytes, so that a repeated step changes nothing in git.
 * Read back strictly: a person may have edited one.
 */
import { z } from "zod";
import type { AskedRow, Receipt, Refused, Tree } from "../../kernel/ports.ts";
import { checkYaml, readYaml, writeYaml } from "../../scripts/yaml-text.ts";
import { entryId, isEntryId } from "../books/entry-id.ts";
import { AGENTS, CONFIG, IMPORTERS, JOURNAL, SCRIPTS, TRUST, receiptFile } from "../layout.ts";
import { factsOfKey } from "./identity.ts";
import type { Stated } from "../books/bank-balances.ts";

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

/** What is kept of a statement beyond what its receipt tells, so that the books can be compared with it later. Ids are sorted. */
export interface StatementRecord {
  /** What it says, by account and currency. */
  stated: Stated[];
  /** Entries that its rows became, with the amount of the row: id -> amount. What was deleted is recognised by it in another format. */
  booked: Record<string, string>;
  /** Ids of the entries that its rows were already. */
  known: string[];
  /** Rows that a person said are an entry under another name: id of the row -> id of the entry. */
  same: Record<string, string>;
  /** Ids of entries that were deleted by hand, and that a person wants to stay away. */
  left_out: string[];
}

export interface KeptReceipt extends Receipt {
  record: StatementRecord;
}

export const NOTHING_RECORDED: StatementRecord = { stated: [], booked: {}, known: [], same: {}, left_out: [] };

const count = () => z.int().min(0);
const amount = () => z.string().regex(/^-?\d{1,30}(\.\d{1,18})?$/, "write a decimal text in quotation marks");
const id = () => z.string().refine(isEntryId, "write the id of an entry");
const day = () => z.string().regex(/^\d{4}-\d{2}-\d{2}$/, "write a day as YYYY-MM-DD");

/** What is kept of rows by day, of each the ten letters of its id: `"261102": 9sd0ee4k2m=-4.50 8h3k...`. */
const rowsByDay = () =>
  z
    .record(z.string().regex(/^\d{6}$/), z.string())
    .transform((days) =>
      Object.entries(days).flatMap(([date, rows]) =>
        rows.split(" ").map((row): [string, string] => {
          const [letters = "", value = ""] = row.split("=");
          return [`${date}-${letters}`, value];
        }),
      ),
    )
    .refine((rows) => rows.every(([one]) => isEntryId(one)), "write ids of entries, the letters behind the day");

const ids = () => rowsByDay().transform((rows) => rows.map(([one]) => one));

function byDay(rows: readonly (readonly [id: string, value?: string])[]): Record<string, string> {
  const sorted = [...new Map(rows.map(([one, value]) => [one, value]))].sort(([a], [b]) => (a < b ? -1 : 1));
  const days = Map.groupBy(sorted, ([one]) => one.slice(0, 6));
  const words = ([one, value]: (typeof sorted)[number]): string => `${one.slice(7)}${value === undefined ? "" : `=${value}`}`;
  return Object.fromEntries([...days].map(([date, own]) => [date, own.map(words).join(" ")]));
}

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
    refused: z.array(
      z.strictObject({
        line: z.int().min(0),
        code: z.string(),
        message: z.string(),
        account: z
          .strictObject({
            match: z.strictObject({ bank_account: z.string(), dialect: z.string(), file: z.string() }).partial(),
            card: z.boolean(),
            rows: z.array(z.string()),
          })
          .optional(),
      }),
    ),
    unbooked: z.array(z.string()),
    asked: z
      .array(z.strictObject({ question: z.string().min(1), why: z.enum(["day", "near", "twin"]), rows: z.string() }))
      .transform((questions, context) => questions.flatMap((question) => rowsOfQuestion(question, context)))
      .default([]),
    removed: z.array(id()).default([]),
    later: z.int().min(1).optional(),
    earlier: z.string().optional(),
    opening: amount().nullable(),
    closing: amount().nullable(),
    gap: amount().nullable(),
    record: z
      .strictObject({
        stated: z.array(
          z.strictObject({
            account: z.string(),
            currency: z.string(),
            from: day().nullable(),
            to: day().nullable(),
            first: day().nullable(),
            morning: z.array(amount()),
            opening: amount().nullable(),
            closing: z.strictObject({ date: day(), amount: amount() }).nullable(),
          }),
        ),
        booked: rowsByDay().transform((rows) => Object.fromEntries(rows)),
        known: ids(),
        same: rowsByDay().transform((rows) => Object.fromEntries(rows)),
        left_out: ids(),
      })
      .default(NOTHING_RECORDED),
  });

/** A line a row, with tabs between: an export of 20,000 rows in another format is one question. */
function rowsOfQuestion(
  { question, why, rows }: { question: string; why: AskedRow["why"]; rows: string },
  context: z.RefinementCtx,
): AskedRow[] {
  return rows
    .split("\n")
    .slice(0, -1)
    .flatMap((line): AskedRow[] => {
      const [key = "", entry = "", reference = "", description = ""] = line.split("\t");
      const facts = factsOfKey(key);
      if (facts !== null && isEntryId(entry)) {
        const { date, amount, currency } = facts;
        return [{ question, why, entry, id: entryId(date, key), key, date, amount, currency, description, reference }];
      }
      context.addIssue({
        code: "custom",
        message: `write key, entry, reference and description with tabs between, not "${line.slice(0, 60)}"`,
      });
      return [];
    });
}

function byQuestion(asked: readonly AskedRow[]): { question: string; why: string; rows: string }[] {
  const plain = (text: string): string => text.replace(/\s+/g, " ");
  return [...Map.groupBy(asked, ({ question }) => question)].map(([question, rows]) => ({
    question,
    why: rows[0]?.why ?? "day",
    rows: rows
      .map(({ key, entry, reference, description }) => `${[key, entry, plain(reference), plain(description)].join("\t")}\n`)
      .join(""),
  }));
}

/** Canonical YAML: a fixed order of keys, one line a value. */
export function receiptToYaml(receipt: KeptReceipt): string {
  const ordered = inOrder(receipt, schemaOf());
  ordered["asked"] = byQuestion(receipt.asked);
  const { booked, known, same, left_out } = receipt.record;
  // The order of the first day's rows counts only until the balances are stated.
  const stated = receipt.record.stated.map((one) => (isOpenReceipt(receipt) ? one : { ...one, morning: [] }));
  ordered["record"] = {
    ...inOrder({ ...receipt.record, stated }, schemaOf().shape.record.unwrap()),
    booked: byDay(Object.entries(booked)),
    known: byDay(known.map((one) => [one])),
    same: byDay(Object.entries(same)),
    left_out: byDay(left_out.map((one) => [one])),
  };
  return writeYaml(ordered);
}

/** The value with its keys in the order of the schema, lists and objects in it as well; what is left out stays away. */
function inOrder(value: object, schema: z.ZodObject): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema.shape).flatMap(([key, field]) => {
      const own = (value as Record<string, unknown>)[key];
      const bare = field instanceof z.ZodDefault ? field.unwrap() : field;
      const element = bare instanceof z.ZodArray ? bare.element : undefined;
      if (own === undefined) return [];
      return [[key, Array.isArray(own) && element instanceof z.ZodObject ? own.map((one) => inOrder(one as object, element)) : own]];
    }),
  );
}

/** True while something of the statement waits for a person or a run: the file stays in import/, and its balance is not stated. */
export function isOpenReceipt({ refused, unbooked, asked, later }: Receipt): boolean {
  return refused.length + unbooked.length + asked.length + (later ?? 0) > 0;
}

/** The receipt of a statement's content hash in a tree; null when there is none. @throws FILE_INVALID */
export async function receiptAt(tree: Tree, hash: string): Promise<KeptReceipt | null> {
  const path = receiptFile(hash);
  const text = /^[0-9a-f]{64}$/.test(hash) ? await tree.read(path) : null;
  return text === null ? null : receiptFromYaml(text, path);
}

/** @throws FILE_INVALID naming the line and the key */
export function receiptFromYaml(text: string, file = "receipt"): KeptReceipt {
  // 200,000 refused rows of a statement, 12 signs of YAML each, and what their messages have.
  const source = { file, code: "FILE_INVALID" as const, maxLength: 32 * 1024 * 1024, maxSigns: 4_000_000, written: true as const };
  return checkYaml(readYaml(text, source), schemaOf(), source) as KeptReceipt;
}
