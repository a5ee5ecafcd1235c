/**
 * Statements through one run's eyes (interface Imports of ports.ts): rows that are not in the books yet, and the receipt, which accounts
 * for every row of the file. What a parse found is kept with its step, because the file itself may be gone when the run resumes.
 */
import { ClearedError } from "../errors.ts";
import type { Imports, Json, Refused, Row, Tree } from "../ports.ts";
import type { Config } from "./config.ts";
import { bankAccounts, matchAccount, readImport, scanImports, settingsFor } from "./imports.ts";
import { IMPORTERS } from "./layout.ts";
import { loadChart } from "./months.ts";
import type { Overlay } from "./overlay.ts";
import { fromMeta, type Parsed, type ParsedRow, partOf, toMeta } from "./parsed-statement.ts";
import { excerpt } from "./statements/cells.ts";
import type { Dialect } from "./statements/dialect.ts";
import { type KeyedRow, toKeyedRows } from "./statements/identity.ts";
import type { Statement } from "./statements/types.ts";
import type { BookedRow } from "./view-books.ts";
import { receiptHashes, writeReceipt } from "./view-receipt.ts";

// A file that cannot be read as a whole is one refused line on its receipt: a card, and the other files of the run are imported.
const UNREADABLE: ReadonlySet<string> = new Set([
  "STATEMENT_DIALECT",
  "STATEMENT_ENCODING",
  "STATEMENT_INVALID",
  "FILE_TOO_LARGE",
  "CONFIG_INVALID",
]);

/** True for a refusal that other settings (a dialect, a mapping, an account, the closed period) may undo. */
export function isSettingsRefusal({ code }: Refused): boolean {
  return code === "STATEMENT_ACCOUNT" || code === "JOURNAL_CLOSED" || UNREADABLE.has(code);
}

export interface ImportsContext {
  dir: string;
  /** The tree of the run's pin: dialects and config are read as they were. */
  base: Tree;
  config: Config;
  overlay: Overlay;
  run: string;
  /** The last day of the closed period as HEAD says, or undefined. */
  closed(): Promise<string | undefined>;
  /** Names or hashes of files that count as new although they have a receipt. */
  again: readonly string[];
}

export interface ImportsView extends Imports {
  rowsOf(reference: string): readonly BookedRow[];
  /** What a recorded parse found; `rows` is its result. */
  restore(name: string, hash: string, meta: Json, rows: Row[]): void;
}

export function createImports(context: ImportsContext): ImportsView {
  const { overlay, dir } = context;
  const files = new Map<string, Parsed>();
  const byReference = new Map<string, ParsedRow[]>();
  let dialects: Promise<Dialect[]> | undefined;

  const keep = (name: string, parsed: Parsed): void => {
    const earlier = files.get(name);
    const same = earlier?.hash === parsed.hash ? earlier : undefined;
    const known = new Set(same?.parts.flatMap((part) => part.rows.map((row) => row.key)));
    for (const row of parsed.parts.flatMap((part) => part.rows)) {
      if (known.has(row.key)) continue;
      const rows = byReference.get(row.reference);
      if (rows === undefined) byReference.set(row.reference, [row]);
      else if (!rows.some((other) => other.key === row.key)) rows.push(row);
    }
    // A second parse in one run leaves out what the run booked in between; the first one knows all rows.
    if (same === undefined || parsed.parts.flatMap((part) => part.rows).length > known.size) files.set(name, parsed);
  };

  /** The statements of a file, or why the file as a whole is refused. */
  const open = async (name: string): Promise<{ hash: string; found: Statement[]; refused: Refused | null }> => {
    dialects ??= readDialects(context.base);
    const known = await dialects;
    // Loaded with the first statement: most runs read none.
    const { parseStatement } = await import("./statements/parse.ts");
    let hash: string | undefined;
    try {
      const file = await readImport(dir, name);
      hash = file.hash;
      const options = { dialects: known, ...settingsFor(context.config.statements, name), defaultCurrency: context.config.currency };
      return { hash, found: parseStatement(name, file.bytes, options), refused: null };
    } catch (error) {
      if (!(error instanceof ClearedError) || !UNREADABLE.has(error.code)) throw error;
      hash ??= (await scanImports(dir, new Set())).find((one) => one.name === name)?.hash;
      if (hash === undefined) throw error;
      return { hash, found: [], refused: { line: error.at?.line ?? 0, code: error.code, message: error.message } };
    }
  };

  const read = async (name: string, all: boolean): Promise<{ parsed: Parsed; rows: Row[] }> => {
    const { hash, found, refused } = await open(name);
    const { statements: rules } = context.config;
    const banks = bankAccounts((await loadChart(await overlay.head())).accounts);
    const closed = (await context.closed()) ?? "";
    const dialect = [...new Set(found.map((one) => one.dialect))].join(", ");
    const parsed: Parsed = { hash, dialect, parts: [], refused: refused === null ? found.flatMap((one) => one.refused) : [refused] };
    const rows: Row[] = [];
    const groups = new Map<string, Statement[]>();
    const unknown = new Set<string>();
    for (const statement of found) {
      const account = accountFor(statement, name, rules, banks);
      for (const warning of statement.warnings) note(overlay, `${name}: ${warning.message}`, { file: name, ...warning });
      if (account instanceof ClearedError) unknown.add(account.message);
      else groups.set(account, [...(groups.get(account) ?? []), statement]);
    }
    // Nothing of an account that config.yaml does not know is booked; the others of the file are.
    if (unknown.size > 0) parsed.refused.unshift({ line: 0, code: "STATEMENT_ACCOUNT", message: [...unknown].join(" ").slice(0, 2000) });
    for (const [account, statements] of groups) {
      const keyed = toKeyedRows(statements, account);
      const booked = await overlay.existing(keyed.map(({ row }) => row.id));
      const isLate = ({ row }: KeyedRow): boolean => row.date <= closed && !booked.has(row.id);
      const fresh = keyed.filter((one) => (all || !booked.has(one.row.id)) && !isLate(one));
      // Booking one would fail the whole run: it is a person's to decide, and stops no other.
      const late = keyed.filter(isLate);
      for (const { row, line } of late) {
        const message = `${row.date} lies in the period closed through ${closed}: ${excerpt(row.description)}, ${row.amount} ${row.currency}.`;
        parsed.refused.push({ line, code: "JOURNAL_CLOSED", message });
      }
      for (const { row } of fresh) rows.push(row);
      parsed.parts.push({ account, ...partOf(account, statements, fresh, closed), known: keyed.length - fresh.length - late.length });
    }
    return { parsed, rows };
  };

  return {
    rowsOf: (reference) => byReference.get(reference) ?? [],
    restore: (name, hash, meta, rows) => keep(name, fromMeta(hash, meta, rows)),
    scan: async () => {
      const known = await receiptHashes(await overlay.head());
      const listed = new Set<string>();
      // Copies of one content are one statement: the others move away with it.
      const isNew = (hash: string, name: string): boolean =>
        !known.has(hash) || context.again.includes(hash) || context.again.includes(name);
      const found = (await scanImports(dir, new Set())).filter(
        ({ hash, name }) => isNew(hash, name) && !listed.has(hash) && listed.add(hash),
      );
      return found.map(({ name, size, modified }) => ({ name, size, modified }));
    },
    parse: async (name, { all }) => {
      const { parsed, rows } = await read(name, all);
      keep(name, parsed);
      overlay.record({ op: "rows", name, hash: parsed.hash, meta: toMeta(parsed) });
      return rows;
    },
    deduplicate: async (rows) => {
      const booked = await overlay.existing(rows.map((row) => row.id));
      return rows.filter((row) => !booked.has(row.id));
    },
    markProcessed: async (name) => {
      const parsed = files.get(name) ?? (await read(name, false)).parsed;
      return writeReceipt(name, parsed, context);
    },
  };
}

/** The account's number, or why it is not known. */
function accountFor(statement: Statement, name: string, rules: Config["statements"], banks: string[]): string | ClearedError {
  try {
    return matchAccount(rules, banks, { file: name, bankAccount: statement.account });
  } catch (error) {
    if (!(error instanceof ClearedError) || error.code !== "STATEMENT_ACCOUNT") throw error;
    return error;
  }
}

function note(overlay: Overlay, title: string, body: { [key: string]: Json }): void {
  overlay.record({ op: "review", title: title.slice(0, 200), body, entry: null });
}

// Those of the folder that was read last: a dozen of files take 20 ms, and every run that imports reads the same ones.
let lastDialects: { key: string; dialects: Dialect[] } | null = null;

async function readDialects(tree: Tree): Promise<Dialect[]> {
  const files = (await tree.list(IMPORTERS)).filter(({ path }) => path.endsWith(".yaml"));
  const key = files.map(({ path, blob }) => `${path} ${blob}`).join("\n");
  if (lastDialects?.key === key) return lastDialects.dialects;
  const { parseDialects } = await import("./statements/dialect.ts");
  const dialects = parseDialects(await Promise.all(files.map(async ({ path }) => ({ path, text: (await tree.read(path)) ?? "" }))));
  lastDialects = { key, dialects };
  return dialects;
}
