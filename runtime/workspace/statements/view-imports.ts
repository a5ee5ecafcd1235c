/**
 * Statements as one run sees them (interface Imports of ports.ts): rows that are not in the books yet, and the receipt, which accounts
 * for every row of the file. The result of a parse is stored with its step, because the file itself may be gone when the run resumes.
 */
import { ClearedError } from "../../kernel/errors.ts";
import type { Imports, Json, Refused, Row, Tree } from "../../kernel/ports.ts";
import { earlierOf } from "./tidy.ts";
import { type ImportFile, PORTION, ownName } from "./import-files.ts";
import type { ImportFolder } from "./import-folder.ts";
import { CONFIG, IMPORTERS } from "../layout.ts";
import { noStatements } from "../books/main-journal.ts";
import { loadChart } from "../books/months.ts";
import type { Overlay } from "../overlay.ts";
import { type PairRow, sortRows } from "./known-rows.ts";
import { fromMeta, type Parsed, type ParsedRow, statedOf, toMeta, toParsedRow } from "./parsed-statement.ts";
import { matchAccount, settingsFor } from "./origin.ts";
import { lineOf, reviewOf, unknownAccounts } from "./questions.ts";
import { type KeptReceipt, dependsOn, receiptAt, UNREADABLE } from "./receipt.ts";
import { excerpt } from "./cells.ts";
import type { Dialect } from "./dialect.ts";
import { factsOfKey, type KeyedRow, toKeyedRows } from "./identity.ts";
import type { Statement } from "./proof.ts";
import type { BookedRow } from "../books/view-books.ts";
import { isAgain, type ReceiptContext, receiptHashes, writeReceipt } from "./view-receipt.ts";

export interface ImportsContext extends ReceiptContext {
  folder: ImportFolder;
  /** The tree of the run's pin, from which dialects are read. */
  base: Tree;
  /** The statements the run was started for; without them those in import/ when it scans. */
  files?: readonly ImportFile[] | undefined;
  /** Fewer rows than usual, because the script exceeded a limit with more. */
  rows?: number | undefined;
}

export interface ImportsView extends Imports {
  rowsOf(reference: string): readonly BookedRow[];
  /** Restores a recorded parse; `rows` is its result. */
  restore(name: string, hash: string, meta: Json, rows: Row[]): void;
}

/** The statements of a file, or why all of it is refused. */
interface Opened {
  hash: string;
  found: Statement[];
  refused: Refused[];
  guess: string | null;
  earlier: { hash: string; statements: Statement[] } | null;
  /** Rows by account, computed when first needed. */
  keyed: Map<string, KeyedRow[]>;
}

// The statement that runs are reading in parts: reading all of it again for each part would take as long as booking it.
let unfinished: { key: string; dialects: Dialect[]; opened: Opened } | null = null;

export function createImports(context: ImportsContext): ImportsView {
  const { overlay, folder } = context;
  const files = new Map<string, Parsed>();
  const taken = new Map((context.files ?? []).map((file) => [file.name, file]));
  // Ids of the rows the script has received, and their size in characters: a second parse returns the same rows again.
  const given = new Set<string>();
  let bytes = 0;
  const byReference = new Map<string, ParsedRow[]>();
  let dialects: Promise<Dialect[]> | undefined;

  const isInPortion = (row: Row): boolean => {
    if (given.has(row.id)) return true;
    if (given.size >= (context.rows ?? PORTION.rows) || bytes >= PORTION.bytes) return false;
    given.add(row.id);
    bytes += JSON.stringify(row).length;
    return true;
  };

  const keep = (name: string, parsed: Parsed): void => {
    const before = files.get(name);
    const same = before?.hash === parsed.hash ? before : undefined;
    const known = new Set(same?.parts.flatMap((part) => part.rows.map((row) => row.key)));
    for (const row of parsed.parts.flatMap((part) => part.rows)) {
      if (known.has(row.key)) continue;
      const rows = byReference.getOrInsertComputed(row.reference, () => []);
      if (!rows.some((other) => other.key === row.key)) rows.push(row);
    }
    // A second parse in one run omits rows that the run has booked since; the first one has all rows.
    if (same === undefined || parsed.parts.flatMap((part) => part.rows).length > known.size) files.set(name, parsed);
  };

  /** The receipt at HEAD; null when it does not exist or cannot be read. */
  const receiptOf = async (hash: string): Promise<KeptReceipt | null> =>
    receiptAt(await overlay.head(), hash).catch((error: unknown) => {
      if (error instanceof ClearedError) return null;
      throw error;
    });
  /** Rows of the account that this run has parsed and not booked yet. */
  const aheadOf = (account: string): PairRow[] =>
    [...files.values()]
      .flatMap(({ parts }) => parts)
      .flatMap((part) => (part.account === account ? part.rows : []))
      .flatMap(({ id, key, text, held }) => {
        const facts = factsOfKey(key);
        return facts === null || held !== undefined || overlay.mine.has(id) ? [] : [{ id, ...facts, text }];
      });

  /** The statements of a file, or why all of it is refused. */
  const open = async (name: string): Promise<Opened> => {
    dialects ??= readDialects(context.base);
    const known = await dialects;
    // Imported with the first statement, because most runs read none.
    const { parseStatement } = await import("./parse.ts");
    const file = taken.get(name) ?? context.files?.find((one) => one.name === name) ?? (await folder.find(name));
    taken.set(name, file);
    const options = { dialects: known, ...settingsFor(context.config.statements, ownName(name)), defaultCurrency: context.config.currency };
    const parse = (content: Uint8Array): Statement[] => parseStatement(name, content, options);
    const key = `${file.hash} ${JSON.stringify({ ...options, dialects: null, name })}`;
    if (unfinished?.key === key && unfinished.dialects === known) return unfinished.opened;
    try {
      const content = await folder.read(file);
      const found = parse(content);
      const earlier = await earlierOf(folder, file, content, parse);
      const opened: Opened = {
        hash: file.hash,
        found,
        refused: found.flatMap((one) => one.refused),
        guess: null,
        earlier,
        keyed: new Map(),
      };
      unfinished = { key, dialects: known, opened };
      return opened;
    } catch (error) {
      if (!(error instanceof ClearedError) || !UNREADABLE.has(error.code)) throw error;
      const refused: Refused = { line: error.at?.line ?? 0, code: error.code, message: error.message };
      const { dialect: guess = null } = (error.data ?? {}) as { dialect?: string };
      return { hash: file.hash, found: [], refused: [refused], guess, earlier: null, keyed: new Map() };
    }
  };

  const read = async (name: string, all: boolean): Promise<{ parsed: Parsed; rows: Row[] }> => {
    const opened = await open(name);
    const { hash, found, refused, guess, earlier } = opened;
    const { accounts, byWord } = await loadChart(await overlay.head());
    const closed = (await context.closed()) ?? "";
    const dialect = [...new Set(found.map((one) => one.dialect))].join(", ");
    const parsed: Parsed = {
      hash,
      dialect,
      parts: [],
      refused: [...refused],
      later: 0,
      earlier: earlier?.hash ?? null,
      guess,
    };
    const ids = new Set<string>();
    const rows: Row[] = [];
    const byAccount = (statements: readonly Statement[], content: string) =>
      Map.groupBy(statements, (one) => matchAccount(context.config, accounts, { name: ownName(name), hash: content }, one));
    const groups = byAccount(found, hash);
    const before = await receiptOf(hash);
    const isPart = before?.later !== undefined;
    const left = (before?.record.left_accounts ?? []).map(({ match }) => match);
    // Statements of accounts that config.yaml does not name are not booked; the others of the file are.
    parsed.refused.unshift(...unknownAccounts({ name: ownName(name), hash }, groups.get(null) ?? [], context.config, accounts, left));
    for (const [account, statements] of groups) {
      if (account === null) continue;
      const named = byWord.get(account);
      const unfit = named === undefined ? null : noStatements(named);
      if (unfit !== null) {
        const message = `By its rule under statements: in ${CONFIG} it is of account ${account}: ${unfit} Correct the rule, and commit that.`;
        parsed.refused.push({ line: 0, code: "CONFIG_INVALID", message });
        continue;
      }
      for (const warning of isPart ? [] : statements.flatMap((one) => one.warnings))
        note(overlay, hash, `${name}: ${warning.message}`, { file: name, ...warning });
      const keyed = opened.keyed.getOrInsertComputed(account, () => toKeyedRows(statements, account));
      const stated = statedOf(account, statements, closed);
      const sorted = await sortRows({ hash, keyed, stated, overlay, ahead: aheadOf(account) });
      const held = new Map([...sorted.same, ...sorted.removed, ...sorted.asked.map(({ id, entry }) => [id, entry] as const)]);
      const isThere = ({ row }: KeyedRow): boolean => sorted.known.has(row.id) || held.has(row.id);
      const isLate = (one: KeyedRow): boolean => one.row.date <= closed && !isThere(one);
      const given = keyed.filter((one) => (all || !isThere(one)) && !isLate(one));
      // Booking a row of the closed period would fail the whole run, so a person decides about it, and the other rows go ahead.
      const late = keyed.filter(isLate);
      for (const { row, line } of late) {
        const message = `${row.date} is in the period closed through ${closed}: ${excerpt(row.description)}, ${row.amount} ${row.currency}.`;
        parsed.refused.push({ line, code: "JOURNAL_CLOSED", message });
      }
      const portion = all ? given : given.filter(({ row }) => isInPortion(row));
      parsed.later += given.length - portion.length;
      for (const { row } of portion) rows.push(row);
      // An entry that a row may be does not count as missing from the statement.
      for (const id of [...keyed.map(({ row }) => row.id), ...held.values()]) ids.add(id);
      parsed.parts.push({
        account,
        stated,
        rows: portion.map(({ row, key, twin }) => toParsedRow(row, key, twin, held.get(row.id))),
        known: [...sorted.known.values()],
        same: Object.fromEntries(sorted.same),
        asked: sorted.asked,
        removed: keyed.flatMap(({ row }) => {
          const entry = sorted.removed.get(row.id);
          return entry === undefined ? [] : [{ row: row.id, entry, words: lineOf(row) }];
        }),
      });
    }
    if (parsed.later === 0 && unfinished?.opened === opened) unfinished = null;
    for (const [account, statements] of earlier === null ? [] : byAccount(earlier.statements, earlier.hash)) {
      if (account === null) continue;
      const gone = toKeyedRows(statements, account).filter(({ row }) => !ids.has(row.id));
      const booked = await overlay.existing(gone.map(({ row }) => row.id));
      for (const { row } of gone.filter((one) => booked.has(one.row.id))) {
        const words = `${row.date} "${excerpt(row.description)}" ${row.amount} ${row.currency}`;
        note(overlay, hash, `${name}: ${words} was booked from an unfinished state of the file, and the finished file does not have it`, {
          entry: row.id,
          hint: "It was probably cut off in the middle. Void it if the statement has the row in another form.",
        });
      }
    }
    return { parsed, rows };
  };

  return {
    rowsOf: (reference) => byReference.get(reference) ?? [],
    restore: (name, hash, meta, rows) => {
      for (const row of rows) isInPortion(row);
      keep(name, fromMeta(hash, meta, rows));
    },
    scan: async () => {
      const known = await receiptHashes(await overlay.head());
      const isNew = async ({ hash, name }: ImportFile): Promise<boolean> => {
        if (!known.has(hash) || isAgain(hash, name, context)) return true;
        const receipt = await receiptOf(hash);
        // Whoever starts a run for named files has checked that their refusal may change; a run for the whole folder just tries.
        const mayBeRead = context.files === undefined && receipt?.refused.some((one) => dependsOn(one).length > 0) === true;
        return mayBeRead || receipt?.later !== undefined;
      };
      const found = context.files ?? (await folder.settled()).whole;
      const listed = new Map<string, ImportFile>();
      for (const file of found) {
        // Files with the same content are one statement: the copies are moved away with it.
        if (listed.has(file.hash) || !(await isNew(file)) || !(await folder.take(file))) continue;
        taken.set(file.name, file);
        listed.set(file.hash, file);
      }
      return [...listed.values()].map(({ name, size, modified }) => ({ name, size, modified }));
    },
    parse: async (name, { all }) => {
      const { parsed, rows } = await read(name, all);
      keep(name, parsed);
      overlay.record({ op: "rows", name, hash: parsed.hash, meta: toMeta(parsed) });
      return rows;
    },
    deduplicate: async (rows) => {
      const parts = [...files.values()].flatMap((parsed) => parsed.parts);
      const held = parts.flatMap((part) => part.rows.flatMap(({ id, held }) => (held === undefined ? [] : [id])));
      const there = new Set([...(await overlay.existing(rows.map((row) => row.id))), ...held]);
      return rows.filter((row) => !there.has(row.id));
    },
    markProcessed: async (name) => {
      const parsed = files.get(name) ?? (await read(name, false)).parsed;
      return writeReceipt(name, parsed, context);
    },
  };
}

function note(overlay: Overlay, statement: string, title: string, body: { [key: string]: Json }): void {
  overlay.record(reviewOf(title, body, { statement }));
}

// The dialects read last: a dozen files take 20 ms, and every run that imports reads the same ones.
let lastDialects: { key: string; dialects: Dialect[] } | null = null;

async function readDialects(tree: Tree): Promise<Dialect[]> {
  const files = (await tree.list(IMPORTERS)).filter(({ path }) => path.endsWith(".yaml"));
  const key = files.map(({ path, blob }) => `${path} ${blob}`).join("\n");
  if (lastDialects?.key === key) return lastDialects.dialects;
  const { parseDialects } = await import("./dialect.ts");
  const dialects = parseDialects(await Promise.all(files.map(async ({ path }) => ({ path, text: (await tree.read(path)) ?? "" }))));
  lastDialects = { key, dialects };
  return dialects;
}
