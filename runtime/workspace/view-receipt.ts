/**
 * The receipt of an import: what became of every row of the file, what the statement proved, and a card for each refused row. The file of
 * a content's receipt adds up what all runs over it have booked; a run that books nothing new leaves another's receipt as it is.
 */
import type { ClearedError } from "../errors.ts";
import type { Change, Entry, Receipt, Refused, Tree } from "../ports.ts";
import type { Config } from "./config.ts";
import { contradictionOf } from "./contradiction.ts";
import { entryId } from "./entry-id.ts";
import { IMPORT, RECEIPTS, receiptFile } from "./layout.ts";
import { ifWhole } from "./months.ts";
import type { Overlay } from "./overlay.ts";
import type { Parsed } from "./parsed-statement.ts";
import { ALL_ROWS, receiptFromYaml, receiptToYaml } from "./receipt.ts";
import { type StatedContext, stateBalances } from "./view-balances.ts";

interface Context {
  config: Config;
  overlay: Overlay;
  run: string;
  closed(): Promise<string | undefined>;
  /** Names or hashes of files that are imported although they have a receipt. */
  again: readonly string[];
}

/** Hashes of all statements that have a receipt. */
export async function receiptHashes(tree: Tree): Promise<Set<string>> {
  return new Set((await tree.list(RECEIPTS)).map(({ path }) => path.slice(RECEIPTS.length).replace(/\.yaml$/, "")));
}

/** Writes the receipt with the balances the statement proves, and a card for each refused row. Answers what this run has done. */
export async function writeReceipt(name: string, found: Parsed, context: Context): Promise<Receipt> {
  const { overlay } = context;
  const path = receiptFile(found.hash);
  const text = await (await overlay.head()).read(path);
  const before = text === null ? null : receiptFromYaml(text, path);
  const parsed = await withoutContradiction(found, context);
  const counts = { new: 0, known: 0, twin: 0 };
  const unbooked: string[] = [];
  for (const part of parsed.parts) {
    counts.known += part.known.length;
    const booked = await overlay.existing(part.rows.map((row) => row.id));
    for (const row of part.rows) {
      if (overlay.mine.has(row.id)) counts[row.twin ? "twin" : "new"]++;
      else if (booked.has(row.id)) counts.known++;
      else unbooked.push(row.reference);
    }
  }
  const isOpen = parsed.refused.length + unbooked.length + parsed.later > 0;
  const gaps: (string | null)[] = [];
  const stated = parsed.parts.flatMap((part) => part.stated);
  const about = await aboutBalances(parsed, context);
  for (const one of stated) {
    const state = () => stateBalances(one, { ...about, isOpen });
    // Its rows are of months that can be read: they are booked, and only what would need all the others is left.
    const leave = (error: ClearedError): null => {
      const hint = "Then `cleared import --again` with this file compares them.";
      const body = { file: `${IMPORT}${name}`, account: one.account, why: error.message, hint };
      overlay.record({ op: "review", title: `${name}: its balances are not compared with the books`, body, entry: null });
      return null;
    };
    gaps.push(await ifWhole(state, leave));
  }
  const [only, second] = stated;
  const receipt: Receipt = {
    file: name,
    hash: parsed.hash,
    dialect: parsed.dialect,
    account: parsed.parts.map((part) => part.account).join(", "),
    currency: [...new Set(stated.map((one) => one.currency))].join(", "),
    rows: counts.new + counts.known + counts.twin + unbooked.length + parsed.refused.length + parsed.later,
    ...counts,
    refused: parsed.refused,
    unbooked,
    ...(parsed.later === 0 ? {} : { later: parsed.later }),
    ...(parsed.earlier === null ? {} : { earlier: parsed.earlier }),
    opening: second === undefined ? (only?.opening ?? null) : null,
    closing: second === undefined ? (only?.closing?.amount ?? null) : null,
    gap: parsed.later > 0 ? null : (gaps.find((gap) => gap !== null) ?? null),
  };
  overlay.record({ op: "processed", name, hash: parsed.hash });
  // Nothing booked: all of it is left to the next run, or a failed run was resumed after another one had imported the file.
  const isAsked = before === null ? parsed.later === 0 : isRepeated(name, before, context);
  if (!isAsked && counts.new + counts.twin === 0) return receipt;
  const whole = addedTo(before, receipt);
  overlay.record({ op: "file", path, text: receiptToYaml(whole), base: await (await overlay.head()).blob(path) });
  if (receipt.gap !== null && !isOpen) {
    const by = receipt.gap.startsWith("-") ? `${receipt.gap.slice(1)} less` : `${receipt.gap} more`;
    const said = receipt.closing === null ? "the bank's balance is" : `the bank says ${receipt.closing}, which is`;
    const hint = "A statement in between may be missing, or a row stands in the books twice.";
    overlay.record({
      op: "review",
      title: `${name}: ${said} ${by} than the books`,
      body: { file: `${IMPORT}${name}`, account: receipt.account, hint },
      entry: null,
    });
  }
  const isOld = ({ line }: Refused): boolean => before?.later !== undefined && before.refused.some((row) => row.line === line);
  const refused = whole.refused.filter((row) => !isOld(row));
  for (const question of questionsOf({ file: name, hash: parsed.hash, refused }, parsed.guess)) overlay.record(question);
  return receipt;
}

/** What a person is asked about the rows that were refused: a question for each, or one for all of them. `guess`: the dialect it may be. */
export function questionsOf(
  { file, hash, refused }: Pick<Receipt, "file" | "hash" | "refused">,
  guess: Parsed["guess"] = null,
): Extract<Change, { op: "review" }>[] {
  return cardsOf(file, refused).map(({ title, line, ...body }) => ({
    op: "review",
    title: title.slice(0, 200),
    body: { file: `${IMPORT}${file}`, line, ...body, ...(guess === null ? {} : { dialect: guess }) },
    entry: null,
    row: { hash, line },
  }));
}

function isRepeated(name: string, before: Receipt, { again }: Context): boolean {
  return before.later !== undefined || again.includes(name) || again.includes(before.hash);
}

/** What the balances of a statement are compared with once the run has booked its rows. */
async function aboutBalances(
  { hash, parts }: Parsed,
  { overlay, config, run, closed }: Context,
): Promise<Omit<StatedContext, "held" | "isOpen">> {
  const rows = new Set(parts.flatMap((part) => part.rows.map((row) => row.id)));
  const isFresh = ({ id, date, tags }: Entry): boolean =>
    overlay.mine.has(id) && rows.has(entryId(date, (tags["key"] ?? "").replace(/#\d+$/, "")));
  const listed = new Set([...rows, ...parts.flatMap((part) => part.known)]);
  return { overlay, config, closed: await closed(), by: { run }, hash, listed, isFresh };
}

/** The entries of a statement that contradicts a stated balance are taken back before anything is committed; its receipt says why. */
async function withoutContradiction(parsed: Parsed, context: Context): Promise<Parsed> {
  const isOpen = parsed.refused.length + parsed.later > 0;
  const found = await contradictionOf(parsed, { ...(await aboutBalances(parsed, context)), isOpen });
  if (found === null) return parsed;
  for (const id of found.entries) context.overlay.record({ op: "remove", id });
  return { ...parsed, parts: parsed.parts.map((part) => ({ ...part, rows: [], stated: [] })), refused: [found.refused], later: 0 };
}

/** The receipt of a content with what earlier runs over it have booked, which this run knew. */
function addedTo(before: Receipt | null, receipt: Receipt): Receipt {
  if (before === null) return receipt;
  const carried = Math.min(before.new + before.twin, receipt.known);
  const twin = Math.min(before.twin, carried);
  // A row that a person has dealt with between two parts of a statement is not asked about again.
  const refused = receipt.refused.filter(
    ({ line }) => before.later === undefined || line === 0 || before.refused.some((row) => row.line === line),
  );
  return {
    ...receipt,
    rows: receipt.rows - receipt.refused.length + refused.length,
    new: receipt.new + carried - twin,
    known: receipt.known - carried,
    twin: receipt.twin + twin,
    refused,
  };
}

// A file read by the wrong dialect may refuse each of its rows: nobody decides thousands of cards, and one says it as well.
const MOST_CARDS = 25;

/** A card for each refused row, or one for all of them. */
function cardsOf(name: string, refused: readonly Refused[]): { title: string; line: number; code: string; message: string }[] {
  const [first] = refused;
  if (first !== undefined && refused.length > MOST_CARDS) {
    const lines = `${refused.length} rows, the first at line ${first.line}: ${first.message}`;
    return [{ title: `${name} ${refused.length} rows cannot be read`, line: ALL_ROWS, code: first.code, message: lines }];
  }
  return refused.map((row) => ({ title: titleOf(name, row), ...row }));
}

/** What the card of a refused row or file is called. */
export function titleOf(name: string, { line, code }: Refused): string {
  if (line === 0 && code === "JOURNAL_ASSERTION") return `${name} contradicts a balance of the bank and is not booked`;
  return `${name}${line === 0 ? "" : `:${line}`} ${code}`;
}
