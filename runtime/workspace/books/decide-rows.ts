/**
 * How a person's answer about rows of statements changes the books, as new file content on the tree at HEAD: rows that are the same as
 * entries, rows that are separate payments, deleted rows that come back, and deleted rows that are left out.
 */
import { ClearedError } from "../../kernel/errors.ts";
import type { AskedRow, Entry, Files, Posting, Tree } from "../../kernel/ports.ts";
import { negated, toExact, withPlaces } from "./amounts.ts";
import { allReceipts, claimedBy, existingIn, receiptsAbout, receiptTree } from "./claims.ts";
import type { Config } from "../settings/config.ts";
import type { EntryDecision } from "./decisions.ts";
import { accountOf, bare } from "./invariants.ts";
import { cleanEntry } from "./journal-text.ts";
import { receiptFile } from "../layout.ts";
import { applyEdits, plain } from "./ledger.ts";
import { type Chart, placesOf } from "./main-journal.ts";
import { findEntry, loadChart } from "./months.ts";
import { type Overlay, overlayOn } from "../overlay.ts";
import { type KeptReceipt, receiptAt, receiptToYaml } from "../statements/receipt.ts";
import { heal, placeBalances, settle } from "./view-balances.ts";
import { factsOfKey } from "../statements/identity.ts";

/**
 * Rows of a question. Approved: they are the entries they were compared with, which take the bank's references. Rejected: they are separate
 * payments, booked to the accounts of those entries. Once no row of a statement is open, its balance is stated.
 * A row that is the same as a deleted entry is left out with it. @throws FILE_MISSING, JOURNAL_*
 */
export async function decideSame(
  head: Tree,
  { hash, question }: { hash: string; question: string },
  { approve, by }: Pick<EntryDecision, "approve" | "by">,
  config: Config,
): Promise<Files> {
  const asking = await receiptAt(head, hash);
  if (asking === null)
    throw new ClearedError("FILE_MISSING", `There is no receipt ${receiptFile(hash).slice(0, 120)}: the import was undone.`);
  const asked = asking.asked.filter((row) => row.question === question);
  const [first] = asked;
  if (first === undefined) return new Map();
  const chart = await loadChart(head);
  const overlay = overlayOn(head);
  const fresh = new Set<string>();
  const references = new Map<string, Entry>();
  const decided = new Set(asked.map(({ id }) => id));
  const deleted = new Set<string>();
  for (const row of asked) {
    const entry = await findEntry(head, row.entry);
    if (entry === null) deleted.add(row.entry);
    if (!approve) {
      overlay.add([entryOf(row, entry, by, chart, config)]);
      fresh.add(row.id);
    } else if (entry !== null && isReference(row) && !isClosed(entry.date, config))
      references.set(entry.id, { ...plain(entry), tags: { ...entry.tags, ref: row.reference } });
  }
  const days = asked.map(({ date }) => date).sort();
  const span = { account: factsOfKey(first.key)?.account ?? "", from: days[0] ?? "", to: days.at(-1) ?? "" };
  const context = { overlay, config, closed: config.closed_through, by: { by } };
  const receipts = await receiptsAbout(head, span);
  for (const receipt of receipts) {
    const own = receipt.asked.filter(({ id }) => decided.has(id));
    if (own.length === 0) continue;
    const as = approve ? "same" : receipt.hash === hash ? "booked" : "known";
    keep(await settle(answered(receipt, own, as, deleted), context, ({ id }) => fresh.has(id)), overlay);
  }
  const others = receipts.filter((receipt) => !overlay.files.has(receiptFile(receipt.hash)));
  await heal(others, context);
  return filesOf(head, overlay, config, references);
}

/** The receipt with these rows answered: they are existing entries, or became entries through this receipt or another one. */
function answered(
  receipt: KeptReceipt,
  own: readonly AskedRow[],
  as: "same" | "booked" | "known",
  deleted: ReadonlySet<string>,
): KeptReceipt {
  const ids = new Set(own.map(({ id }) => id));
  const { record } = receipt;
  const rest = { ...receipt, asked: receipt.asked.filter(({ id }) => !ids.has(id)) };
  const amounts = Object.fromEntries(own.map(({ id, amount }) => [id, amount]));
  if (as === "booked") return { ...rest, new: receipt.new + own.length, record: { ...record, booked: { ...record.booked, ...amounts } } };
  if (as === "known") return { ...rest, known: receipt.known + own.length, record: { ...record, known: [...record.known, ...ids] } };
  // A twin that was no second payment is not a row of the statement.
  const same = own.filter(({ why }) => why !== "twin").map(({ id, entry }) => [id, entry]);
  const known = own.map(({ entry }) => entry).filter((entry) => !deleted.has(entry));
  return {
    ...rest,
    known: receipt.known + known.length,
    removed: [...receipt.removed, ...own.map(({ entry }) => entry).filter((entry) => deleted.has(entry))],
    record: { ...record, known: [...record.known, ...known], same: { ...record.same, ...Object.fromEntries(same) } },
  };
}

/** The entry of a row that is a separate payment: on the accounts of `like`, else against suspense for a person to confirm. */
function entryOf(row: AskedRow, like: Entry | null, by: string, chart: Chart, config: Config): Entry {
  const { id, date, amount, currency, description, key, reference } = row;
  const bank = accountOf(chart, factsOfKey(key)?.account ?? "").name;
  const onBank = (like?.postings ?? []).filter((one) => one.account === bank && one.currency === currency);
  const fits = onBank.length === 1 && toExact(onBank[0]?.amount ?? "0") === toExact(amount);
  const counterpart = { account: accountOf(chart, config.accounts.suspense).name, amount: negated(amount), currency };
  const postings: readonly Posting[] = like !== null && fits ? like.postings : [{ account: bank, amount, currency }, counterpart];
  const places = placesOf(chart, currency);
  return cleanEntry({
    id,
    date,
    status: like !== null && fits && like.status !== "pending-review" ? "user-confirmed" : "pending-review",
    counterparty: like?.counterparty ?? "",
    description,
    tags: { by, key, ...(reference === id ? {} : { ref: reference }), ...(fits ? { ev: `like ${like?.id ?? ""}` } : {}) },
    postings: postings.map((one) => {
      return { ...bare(one), amount: one.currency === currency ? (withPlaces(one.amount, places) ?? one.amount) : one.amount };
    }),
  });
}

/**
 * Entries that were deleted by hand come back as they were; statements that did not tie without them get their balances.
 * `past`: the entries as the branch last had them. @throws JOURNAL_ENTRY_MISSING, JOURNAL_*
 */
export async function reviveRows(
  head: Tree,
  ids: readonly string[],
  past: ReadonlyMap<string, Entry>,
  { by }: { by: string },
  config: Config,
): Promise<Files> {
  // A person's corrections of these entries come back with them.
  const corrections = [...past.values()].filter(({ tags }) => ids.includes(tags["corrects"] ?? "")).map(({ id }) => id);
  const wanted = [...new Set([...ids, ...corrections])];
  const [there, chart] = [await existingIn(head, wanted), await loadChart(head)];
  const overlay = overlayOn(head);
  for (const id of wanted.filter((one) => !there.has(one))) {
    const entry = past.get(id);
    if (entry === undefined)
      throw new ClearedError(
        "JOURNAL_ENTRY_MISSING",
        `No commit of this branch has the entry ${id.slice(0, 40)}, so it cannot come back as it was. Delete the receipt that names it and import its statement again.`,
      );
    overlay.add([plain(entry)]);
  }
  for (const receipt of await allReceipts(head)) {
    const { record } = receipt;
    const left_out = record.left_out.filter((id) => !ids.includes(id));
    if (left_out.length < record.left_out.length) keep({ ...receipt, record: { ...record, left_out } }, overlay);
  }
  const context = { overlay, config, closed: config.closed_through, by: { by } };
  const facts = [...overlay.mine.values()].flatMap(({ tags }) => factsOfKey(tags["key"] ?? "") ?? []);
  for (const [account, rows] of Map.groupBy(facts, (one) => one.account)) {
    const days = rows.map(({ date }) => date).sort();
    const span = { account, from: days[0] ?? "", to: days.at(-1) ?? "" };
    await heal(await receiptsAbout(await receiptTree(overlay), span), context);
    for (const currency of new Set(rows.map((one) => one.currency)))
      await placeBalances(overlay, accountOf(chart, account).name, currency, config.closed_through);
  }
  return filesOf(head, overlay, config, new Map());
}

/** Entries that were deleted by hand are left out for good: their receipts record it, and nobody is asked again. */
export async function leaveOut(head: Tree, ids: readonly string[]): Promise<Files> {
  const left = new Set(ids);
  const files: Files = new Map();
  for (const receipt of await allReceipts(head)) {
    const own = claimedBy(receipt).filter((id) => left.has(id));
    if (own.length === 0) continue;
    const { record } = receipt;
    const text = receiptToYaml({ ...receipt, record: { ...record, left_out: [...new Set([...record.left_out, ...own])] } });
    files.set(receiptFile(receipt.hash), text);
  }
  return files;
}

const isReference = ({ reference, id, why }: AskedRow): boolean => why !== "twin" && reference !== id;
const isClosed = (date: string, { closed_through }: Config): boolean => closed_through !== undefined && date <= closed_through;

function keep(receipt: KeptReceipt, overlay: Overlay): void {
  overlay.record({ op: "file", path: receiptFile(receipt.hash), text: receiptToYaml(receipt), base: null });
}

async function filesOf(head: Tree, overlay: Overlay, config: Config, replace: Map<string, Entry>): Promise<Files> {
  const files = await (await applyEdits(head, { ...overlay.edits(), replace }, config)).files();
  for (const [path, { text }] of overlay.files) files.set(path, text);
  return files;
}
