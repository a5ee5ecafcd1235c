/**
 * Receipts as text: import/receipts/<hash>.yaml. Equal receipts are equal bytes, so that a repeated step changes nothing in git.
 * Read back strictly: a person may have edited one.
 */
import { basename } from "node:path";
import { z } from "zod";
import type { AskedRow, Receipt, Refused, Tree } from "../../kernel/ports.ts";
import { checkYaml, readYaml, writeYaml } from "../../scripts/yaml-text.ts";
import { entryId, isEntryId } from "../books/entry-id.ts";
import { AGENTS, CONFIG, IMPORTERS, JOURNAL, SCRIPTS, TRUST, receiptFile } from "../layout.ts";
import { factsOfKey } from "./identity.ts";

/** The `line` of a card for all refused rows of its statement. */
export const ALL_ROWS = -1;

/** Of a card with this `line`: whether it is about a refusal. A question about an account has a card of its own, and no other answers it. */
export const isOfCard =
  (line: number | undefined) =>
  ({ account, ...one }: Refused): boolean =>
    account === undefined && (line === ALL_ROWS || one.line === line);

/** Codes of files that cannot be read at all: one refused line on the receipt, with a card. The other files of the run are imported. */
export const UNREADABLE: ReadonlySet<string> = new Set([
  "STATEMENT_DIALECT",
  "STATEMENT_ENCODING",
  "STATEMENT_INVALID",
  "FILE_TOO_LARGE",
  "CONFIG_INVALID",
]);

/** Files and folders whose change may reverse a refusal, so that the statement is tried again; none for a row that will never read differently. */
export function dependsOn({ line, code }: Refused): string[] {
  const settings = [CONFIG, IMPORTERS];
  if (code === "STATEMENT_ACCOUNT" || code === "JOURNAL_CLOSED" || UNREADABLE.has(code)) return settings;
  // Line 0: the run over the file failed, or its rows contradict the books.
  if (line !== 0) return code === "STATEMENT_ROW" ? settings : [];
  return [...settings, AGENTS, SCRIPTS, TRUST, ...(code.startsWith("JOURNAL_") ? [JOURNAL] : [])];
}

export interface KeptReceipt extends Receipt {
  record: z.output<ReturnType<typeof recordSchema>>;
}

/** The stated balances of one account in a statement. */
export type Stated = KeptReceipt["record"]["stated"][number];

const count = () => z.int().min(0);
const amount = () => z.string().regex(/^-?\d{1,30}(\.\d{1,18})?$/, "write a decimal text in quotation marks");
const id = () => z.string().refine(isEntryId, "write the id of an entry");
const day = () => z.string().regex(/^\d{4}-\d{2}-\d{2}$/, "write a day as YYYY-MM-DD");

const days = () => z.record(z.string().regex(/^\d{6}$/), z.string());

/** A question as a receipt stores it. */
type QuestionText = Pick<AskedRow, "question" | "why"> & { rows: string };

function rowsIn(text: Record<string, string>, { issues }: z.core.ParsePayload): [id: string, value: string][] {
  const rows = Object.entries(text).flatMap(([date, own]) =>
    own.split(" ").map((row): [string, string] => {
      const [letters = "", value = ""] = row.split("=");
      return [`${date}-${letters}`, value];
    }),
  );
  if (!rows.every(([one]) => isEntryId(one)))
    issues.push({ code: "custom", input: text, message: "write ids of entries, the letters behind the day" });
  return rows;
}

function byDay(rows: readonly (readonly [id: string, value?: string])[]): Record<string, string> {
  const sorted = [...new Map(rows.map(([one, value]) => [one, value]))].sort(([a], [b]) => (a < b ? -1 : 1));
  const words = ([one, value]: (typeof sorted)[number]): string => `${one.slice(7)}${value === undefined ? "" : `=${value}`}`;
  return Object.fromEntries([...Map.groupBy(sorted, ([one]) => one.slice(0, 6))].map(([date, own]) => [date, own.map(words).join(" ")]));
}

// Rows are stored by day, each as the ten letters of its id: `"261102": 9sd0ee4k2m=-4.50 8h3k...`.
const ids = () =>
  z.codec(days(), z.array(z.string()), {
    decode: (text, context) => rowsIn(text, context).map(([one]) => one),
    encode: (all) => byDay(all.map((one) => [one])),
  });
const values = () =>
  z.codec(days(), z.record(z.string(), z.string()), {
    decode: (text, context) => Object.fromEntries(rowsIn(text, context)),
    encode: (all) => byDay(Object.entries(all)),
  });

const matchSchema = () => z.partialRecord(z.enum(["bank_account", "bank", "file", "content", "dialect", "currency"]), z.string());

const accountSchema = () => z.strictObject({ match: matchSchema(), card: z.boolean(), rows: z.array(z.string()) });

/** Data of a statement, beyond its visible receipt, with which the books are compared later. */
const recordSchema = () =>
  z.strictObject({
    // Stated balances, by account number and currency.
    stated: z.array(
      z.strictObject({
        account: z.string(),
        currency: z.string(),
        // First and last day covered, null when there are no rows.
        from: day().nullable(),
        to: day().nullable(),
        // Day of the oldest row that is not in the closed period, or null when there is none; amounts of its rows, in the bank's order.
        first: day().nullable(),
        morning: z.array(amount()),
        opening: amount().nullable(),
        closing: z.strictObject({ date: day(), amount: amount() }).nullable(),
      }),
    ),
    // Entries that its rows became: id -> amount of the row, by which a deleted row is recognized in another format.
    booked: values(),
    // Ids of the entries that its rows already were.
    known: ids(),
    // Rows that a person confirmed to be an existing entry: id of the row -> id of the entry.
    same: values(),
    // Ids of entries that were deleted by hand, and that a person decided to leave out.
    left_out: ids(),
    // Accounts of its statements that a person said are none of the books, as they were asked about; older receipts have the match alone.
    left_accounts: z.array(accountSchema().or(matchSchema().transform((match) => ({ match, card: false, rows: [] })))).optional(),
  });

export const NOTHING_RECORDED: KeptReceipt["record"] = { stated: [], booked: {}, known: [], same: {}, left_out: [] };

// Made at first use, because most processes read no receipt.
let made: ReturnType<typeof receiptSchema> | null = null;
const schemaOf = () => (made ??= receiptSchema());

const receiptSchema = () =>
  z.strictObject({
    // Files are moved to this name: with folders in it, out of the workspace.
    file: z.string().refine((name) => name !== "." && name !== ".." && name !== "" && basename(name) === name, "write a file name"),
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
        account: accountSchema().optional(),
      }),
    ),
    unbooked: z.array(z.string()),
    // One line per row, with tabs: an export of 20,000 rows in another format is one question.
    asked: z
      .codec(
        z.array(z.strictObject({ question: z.string().min(1), why: z.enum(["day", "near", "twin"]), rows: z.string() })),
        z.array(z.custom<AskedRow>()),
        {
          decode: (questions, context) => questions.flatMap((one) => rowsOfQuestion(one, context)),
          encode: byQuestion,
        },
      )
      .default([]),
    removed: z.array(id()).default([]),
    later: z.int().min(1).optional(),
    earlier: z.string().optional(),
    opening: amount().nullable(),
    closing: amount().nullable(),
    gap: amount().nullable(),
    record: recordSchema().default(NOTHING_RECORDED),
  });

function rowsOfQuestion({ question, why, rows }: QuestionText, { issues }: z.core.ParsePayload): AskedRow[] {
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
      const message = `write key, entry, reference and description with tabs between, not "${line.slice(0, 60)}"`;
      issues.push({ code: "custom", input: line, message });
      return [];
    });
}

function byQuestion(all: readonly AskedRow[]): QuestionText[] {
  const plain = (text: string): string => text.replace(/\s+/g, " ");
  const lineOf = ({ key, entry, reference, description }: AskedRow) => `${[key, entry, plain(reference), plain(description)].join("\t")}\n`;
  return [...Map.groupBy(all, ({ question }) => question)].map(([question, rows]) => ({
    question,
    why: rows[0]?.why ?? "day",
    rows: rows.map(lineOf).join(""),
  }));
}

/** Canonical YAML: keys in the order of the schema, one line per value. */
export function receiptToYaml(receipt: KeptReceipt): string {
  const { record } = receipt;
  // The order of the first day's rows counts only until the balances are stated.
  const stated = isOpenReceipt(receipt) ? record.stated : record.stated.map((one) => ({ ...one, morning: [] }));
  return writeYaml(z.encode(schemaOf(), { ...receipt, record: { ...record, stated } }, { jitless: true }));
}

/** True while a row of the statement waits for a person or a run: the file stays in import/, and its balance is not stated. */
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
  // Enough for 200,000 refused rows of a statement with 12 signs of YAML each, and those in their messages.
  const source = { file, code: "FILE_INVALID" as const, maxLength: 32 * 1024 * 1024, maxSigns: 4_000_000, written: true as const };
  return checkYaml(readYaml(text, source), schemaOf(), source) as KeptReceipt;
}
