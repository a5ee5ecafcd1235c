/** The receipt of an import: what became of every row of the file, what the statement proved, and a card for each refused row. */
import type { Receipt, Refused, Tree } from "../ports.ts";
import type { Config } from "./config.ts";
import { IMPORT, RECEIPTS, receiptFile } from "./layout.ts";
import type { Overlay } from "./overlay.ts";
import type { Parsed } from "./parsed-statement.ts";
import { ALL_ROWS, receiptToYaml } from "./receipt.ts";
import { stateBalances } from "./view-balances.ts";

interface Context {
  config: Config;
  overlay: Overlay;
  run: string;
  closed(): Promise<string | undefined>;
}

/** Hashes of all statements that have a receipt. */
export async function receiptHashes(tree: Tree): Promise<Set<string>> {
  return new Set((await tree.list(RECEIPTS)).map(({ path }) => path.slice(RECEIPTS.length).replace(/\.yaml$/, "")));
}

/** Writes the receipt with the balances the statement proves, and a card for each refused row. */
export async function writeReceipt(name: string, parsed: Parsed, context: Context): Promise<Receipt> {
  const { overlay, config, run } = context;
  const counts = { new: 0, known: 0, twin: 0 };
  const unbooked: string[] = [];
  for (const part of parsed.parts) {
    counts.known += part.known;
    const booked = await overlay.existing(part.rows.map((row) => row.id));
    for (const row of part.rows) {
      if (overlay.mine.has(row.id)) counts[row.twin ? "twin" : "new"]++;
      else if (booked.has(row.id)) counts.known++;
      else unbooked.push(row.reference);
    }
  }
  const isOpen = parsed.refused.length + unbooked.length > 0;
  const gaps: (string | null)[] = [];
  const stated = parsed.parts.flatMap((part) => part.stated);
  const closed = await context.closed();
  for (const one of stated) gaps.push(await stateBalances(one, { overlay, config, closed, run, hash: parsed.hash, isOpen }));
  const [only, second] = stated;
  const receipt: Receipt = {
    file: name,
    hash: parsed.hash,
    dialect: parsed.dialect,
    account: parsed.parts.map((part) => part.account).join(", "),
    currency: [...new Set(stated.map((one) => one.currency))].join(", "),
    rows: counts.new + counts.known + counts.twin + unbooked.length + parsed.refused.length,
    ...counts,
    refused: parsed.refused,
    unbooked,
    opening: second === undefined ? (only?.opening ?? null) : null,
    closing: second === undefined ? (only?.closing?.amount ?? null) : null,
    gap: gaps.find((gap) => gap !== null) ?? null,
  };
  const path = receiptFile(parsed.hash);
  overlay.record({ op: "file", path, text: receiptToYaml(receipt), base: await (await overlay.head()).blob(path) });
  overlay.record({ op: "processed", name, hash: parsed.hash });
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
  for (const one of cardsOf(name, parsed.refused)) {
    const { title, line, ...body } = one;
    overlay.record({
      op: "review",
      title: title.slice(0, 200),
      body: { file: `${IMPORT}${name}`, line, ...body },
      entry: null,
      row: { hash: parsed.hash, line },
    });
  }
  return receipt;
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
  return refused.map(({ line, code, message }) => ({ title: `${name}${line === 0 ? "" : `:${line}`} ${code}`, line, code, message }));
}
