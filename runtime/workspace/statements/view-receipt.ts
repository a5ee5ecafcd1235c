/**
 * The receipt of an import: the result for every row of the file, what the statement proved, and cards for refused rows, for rows that may
 * be in the books under another id, and for rows that are no longer in the books. There is one receipt per content, which adds up what all
 * runs over it have booked; a run that books nothing new leaves an existing receipt unchanged.
 */
import { canonicalJson } from "../../kernel/canonical.ts";
import type { ClearedError } from "../../kernel/errors.ts";
import type { AskedRow, Entry, Tree, UnknownAccount } from "../../kernel/ports.ts";
import { negated } from "../books/amounts.ts";
import { goneFrom, receiptsAbout, receiptTree } from "../books/claims.ts";
import type { Config } from "../settings/config.ts";
import { contradictionOf } from "./contradiction.ts";
import { entryId } from "../books/entry-id.ts";
import { IMPORT, RECEIPTS, receiptFile } from "../layout.ts";
import { ifWhole, loadChart } from "../books/months.ts";
import type { Overlay } from "../overlay.ts";
import type { Parsed } from "./parsed-statement.ts";
import { goneQuestion, inQuestions, refusedQuestions, sameQuestions } from "./questions.ts";
import { likelyAccount } from "./origin.ts";
import { isOpenReceipt, type KeptReceipt, NOTHING_RECORDED, receiptAt, receiptToYaml } from "./receipt.ts";
import { contextOf, heal, type StatedContext, stateClosing, stateOpening } from "../books/view-balances.ts";
import { factsOfKey, nextTwin } from "./identity.ts";

export interface ReceiptContext {
  config: Config;
  overlay: Overlay;
  run: string;
  /** The last day of the closed period at HEAD, or undefined. */
  closed(): Promise<string | undefined>;
  /** Names or hashes of files that are imported although they have a receipt. */
  again?: readonly string[];
}

/** Hashes of all statements that have a receipt. */
export async function receiptHashes(tree: Tree): Promise<Set<string>> {
  return new Set((await tree.list(RECEIPTS)).map(({ path }) => path.slice(RECEIPTS.length).replace(/\.yaml$/, "")));
}

/** Writes the receipt with the balances the statement proves, and the cards. Returns the receipt of this run alone. */
export async function writeReceipt(name: string, found: Parsed, context: ReceiptContext): Promise<KeptReceipt> {
  const { overlay } = context;
  const path = receiptFile(found.hash);
  const before = await receiptAt(await overlay.head(), found.hash);
  let receipt = await receiptOf(name, found, before, overlay);
  const contradiction = await contradictionOf(found, await aboutBalances(receipt, context));
  if (contradiction === null) receipt.gap = await stateAll(receipt, await aboutBalances(receipt, context));
  else {
    // Removed again before anything is committed; the receipt says why.
    for (const id of contradiction.entries) overlay.record({ op: "remove", id });
    const parts = found.parts.map((part) => ({ ...part, rows: [] }));
    const parsed = {
      ...found,
      parts,
      refused: [contradiction.refused, ...found.refused.filter(({ account }) => account !== undefined)],
      later: 0,
    };
    receipt = { ...(await receiptOf(name, parsed, before, overlay)), opening: null, closing: null };
  }
  if (receipt.later !== undefined) receipt.gap = null;
  const twin = receipt.gap === null || isOpenReceipt(receipt) ? null : await secondOf(receipt, receipt.gap, overlay);
  if (twin !== null) {
    receipt.asked = inQuestions([twin]);
    receipt.known--;
    receipt.record.known = receipt.record.known.filter((id) => id !== twin.entry);
  }
  overlay.record({ op: "processed", name, hash: found.hash });
  // Nothing was booked: all rows are left to the next run, or a failed run was resumed after another run had imported the file.
  const isToBeWritten = before === null ? receipt.later === undefined : before.later !== undefined || isAgain(found.hash, name, context);
  if (!isToBeWritten && receipt.new + receipt.twin === 0) return receipt;
  const whole = addedTo(before, receipt);
  overlay.record({ op: "file", path, text: receiptToYaml(whole), base: await (await overlay.head()).blob(path) });
  if (receipt.gap !== null && !isOpenReceipt(receipt)) noteGap(receipt, overlay);
  for (const card of await sameQuestions(receipt, (id) => overlay.get(id))) overlay.record(card);
  await askAboutGone(found, overlay);
  const old = new Set(before?.later === undefined ? [] : before.refused.map(canonicalJson));
  const refused = whole.refused.filter((one) => !old.has(canonicalJson(one)));
  const { accounts } = await loadChart(await overlay.head());
  const likely = (unknown: UnknownAccount) => likelyAccount(context.config, accounts, unknown);
  for (const card of refusedQuestions({ file: name, hash: found.hash, refused }, likely, found.guess)) overlay.record(card);
  return receipt;
}

/** The receipt without balances: the result for each row. `before`: the content's receipt at HEAD. */
async function receiptOf(name: string, parsed: Parsed, before: KeptReceipt | null, overlay: Overlay): Promise<KeptReceipt> {
  const { booked: bookedBefore, left_out, left_accounts } = before?.record ?? NOTHING_RECORDED;
  const counts = { new: 0, twin: 0 };
  const unbooked: string[] = [];
  const booked: Record<string, string> = {};
  const known = parsed.parts.flatMap((part) => part.known);
  for (const part of parsed.parts) {
    const [there, own] = [await overlay.existing(part.rows.map((row) => row.id)), new Set(part.known)];
    for (const row of part.rows) {
      if (row.held !== undefined || own.has(row.id)) continue;
      if (overlay.mine.has(row.id)) {
        counts[row.twin ? "twin" : "new"]++;
        booked[row.id] = factsOfKey(row.key)?.amount ?? "";
      } else if (there.has(row.id)) known.push(row.id);
      else unbooked.push(row.reference);
    }
  }
  const asked = inQuestions(parsed.parts.flatMap((part) => part.asked));
  const removed = parsed.parts.flatMap((part) => part.removed.map(({ entry }) => entry));
  const stated = parsed.parts.flatMap((part) => part.stated);
  const [only, second] = stated;
  const { hash, dialect, refused, later, earlier } = parsed;
  return {
    file: name,
    hash,
    dialect,
    account: parsed.parts.map((part) => part.account).join(", "),
    currency: [...new Set(stated.map((one) => one.currency))].join(", "),
    rows: counts.new + counts.twin + known.length + refused.length + unbooked.length + asked.length + removed.length + later,
    ...counts,
    known: known.length,
    refused,
    unbooked,
    ...(later === 0 ? {} : { later }),
    ...(earlier === null ? {} : { earlier }),
    asked,
    removed,
    opening: second === undefined ? (only?.opening ?? null) : null,
    closing: second === undefined ? (only?.closing?.amount ?? null) : null,
    gap: null,
    record: {
      stated,
      booked: { ...bookedBefore, ...booked },
      known: known.filter((id) => !Object.hasOwn(bookedBefore, id)),
      same: Object.assign({}, ...parsed.parts.map((part) => part.same)),
      left_out,
      ...(left_accounts === undefined ? {} : { left_accounts }),
    },
  };
}

export const isAgain = (hash: string, name: string, { again = [] }: ReceiptContext): boolean =>
  again.includes(hash) || again.includes(name);

/** Adds what earlier runs over the same content have booked, which this run counts as known. */
function addedTo(before: KeptReceipt | null, receipt: KeptReceipt): KeptReceipt {
  if (before === null) return receipt;
  const carried = receipt.known - receipt.record.known.length;
  const twin = Math.min(before.twin, carried);
  // A row that a person has decided about between two parts of a statement is not asked about again.
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

/** The context in which the balances of a statement are compared, once the run has booked its rows. */
async function aboutBalances(receipt: KeptReceipt, { overlay, config, run, closed }: ReceiptContext): Promise<StatedContext> {
  const { booked } = receipt.record;
  const isFresh = ({ id, date, tags: { key = "" } }: Entry): boolean =>
    overlay.mine.has(id) && Object.hasOwn(booked, key.includes("#") ? entryId(date, key.replace(/#\d+$/, "")) : id);
  return contextOf(receipt, { overlay, config, closed: await closed(), by: { run } }, isFresh);
}

/** States openings and closings, and those of earlier statements that tie now. Returns the gap. */
async function stateAll(receipt: KeptReceipt, about: StatedContext): Promise<string | null> {
  const { overlay } = about;
  const gaps: (string | null)[] = [];
  for (const part of receipt.record.stated) {
    const state = async (): Promise<string | null> => {
      const held = await stateOpening(part, about);
      const { account, from, to } = part;
      if (from !== null && to !== null) {
        const found = await receiptsAbout(await receiptTree(overlay), { account, from, to });
        const others = found.filter(({ hash }) => hash !== receipt.hash);
        await heal(others, about);
      }
      return stateClosing(part, about, held);
    };
    // The rows are booked, because their months can be read; only the comparison, which needs all months, is left out.
    const leave = (error: ClearedError): null => {
      const hint = "Then `cleared import --again` with this file compares them.";
      const body = { file: `${IMPORT}${receipt.file}`, account: part.account, why: error.message, hint };
      const title = `${receipt.file}: its balances are not compared with the books`;
      overlay.record({ op: "review", title, body, entry: null, statement: receipt.hash });
      return null;
    };
    gaps.push(await ifWhole(state, leave));
  }
  return gaps.find((gap) => gap !== null) ?? null;
}

/** A row that was taken for an existing entry of the first or last day, although the bank's balance shows that it is a second payment. */
async function secondOf({ record }: KeptReceipt, gap: string, overlay: Overlay): Promise<AskedRow | null> {
  const days = new Set(record.stated.flatMap(({ first, closing }) => [first, closing?.date]));
  const amounts = new Set([gap, negated(gap)]);
  for (const id of record.known) {
    const entry = await overlay.get(id);
    const [key, facts] = [entry?.tags["key"] ?? "", factsOfKey(entry?.tags["key"] ?? "")];
    if (entry === null || facts === null || !days.has(facts.date) || !amounts.has(facts.amount) || key.includes(":id.")) continue;
    let next = nextTwin(key);
    while ((await overlay.existing([entryId(entry.date, next)])).size > 0) next = nextTwin(next);
    const own = { id: entryId(entry.date, next), key: next, reference: entryId(entry.date, next) };
    const { amount, currency } = facts;
    return { question: "", why: "twin", entry: id, ...own, date: entry.date, amount, currency, description: entry.description };
  }
  return null;
}

/** Asks about rows that statements of these days booked and that were deleted from the books since. */
async function askAboutGone({ parts }: Parsed, overlay: Overlay): Promise<void> {
  const words = new Map(parts.flatMap((part) => part.removed.map((one) => [one.entry, one.words])));
  for (const { account, from, to } of parts.flatMap((part) => part.stated)) {
    if (from === null || to === null) continue;
    const receipts = await receiptsAbout(await receiptTree(overlay), { account, from, to });
    for (const { receipt, ids } of await goneFrom(receipts, (all) => overlay.existing(all)))
      overlay.record(goneQuestion(receipt, ids, words));
  }
}

function noteGap({ file, hash, account, gap, closing, removed }: KeptReceipt, overlay: Overlay): void {
  const by = gap?.startsWith("-") === true ? `${gap.slice(1)} less` : `${gap} more`;
  const said = closing === null ? "the bank's balance is" : `the bank says ${closing}, which is`;
  const hint =
    removed.length > 0
      ? "Rows of these days were deleted from the books."
      : "A statement in between may be missing, or a row is in the books twice.";
  const body = { file: `${IMPORT}${file}`, account, hint };
  overlay.record({ op: "review", title: `${file}: ${said} ${by} than the books`, body, entry: null, statement: hash });
}
