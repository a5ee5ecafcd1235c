/**
 * What the receipts of a tree say about rows of the books: which days a statement listed, which entries its rows became or were already,
 * and what has become of them. The books are compared with it, so that a row that is gone is neither forgotten nor booked again by itself.
 */
import { Kept } from "../../kernel/kept.ts";
import { ClearedError } from "../../kernel/errors.ts";
import type { Finding, Tree } from "../../kernel/ports.ts";
import { RECEIPTS } from "../layout.ts";
import { loadMonth, monthOfId } from "./months.ts";
import type { Overlay } from "../overlay.ts";
import { type KeptReceipt, receiptFromYaml } from "../statements/receipt.ts";
import { treeOver } from "../git/tree.ts";

type Span = Record<"account" | "from" | "to", string>;

/** What is known of a receipt without reading it again. */
interface Summary {
  spans: Span[];
  /** Its statement does not tie, or waits for a person. */
  isUnsettled: boolean;
}

// A receipt never changes under its blob's id. Ten years of a busy business are some ten thousand.
const summaries = new Kept<string, Summary>(50_000);
// Parsed ones cost a millisecond for each 50 rows, and every import reads those of the days before and those that do not tie, several times.
// In memory one takes some six times its text: fifteen statements of 10,000 rows, thousands of a day.
const receipts = new Kept<string, KeptReceipt>(150_000, ({ rows }) => 50 + rows);

/**
 * Receipts of statements that list days of the account between the two, and those of the account that do not tie or wait. One that a
 * person has made unreadable stops no import: `cleared verify` names it.
 */
export async function receiptsAbout(tree: Tree, { account, from, to }: Span): Promise<KeptReceipt[]> {
  const found: KeptReceipt[] = [];
  for (const { path, blob } of await tree.list(RECEIPTS)) {
    if (!path.endsWith(".yaml")) continue;
    const { spans, isUnsettled } = await summaries.load(blob, () => summaryOf(tree, path, blob));
    const own = spans.filter((one) => one.account === account);
    if (!own.some((one) => one.from <= to && one.to >= from) && !(isUnsettled && own.length > 0)) continue;
    const receipt = await load(tree, path, blob, []);
    if (receipt !== null) found.push(receipt);
  }
  return found;
}

/** HEAD with the receipts that this run has written. */
export async function receiptTree(overlay: Overlay): Promise<Tree> {
  const own = [...overlay.files].filter(([path]) => path.startsWith(RECEIPTS)).map(([path, { text }]) => [path, text] as const);
  return treeOver(await overlay.head(), new Map(own));
}

/** Every receipt of the tree; what cannot be read is added to the findings. */
export async function allReceipts(tree: Tree, findings: Finding[] = []): Promise<KeptReceipt[]> {
  const files = (await tree.list(RECEIPTS)).filter(({ path }) => path.endsWith(".yaml"));
  const read = await Promise.all(files.map(({ path, blob }) => load(tree, path, blob, findings)));
  return read.filter((receipt) => receipt !== null);
}

async function load(tree: Tree, path: string, blob: string, findings: Finding[]): Promise<KeptReceipt | null> {
  const hit = receipts.get(blob);
  if (hit !== undefined) return hit;
  const text = (await tree.read(path)) ?? "";
  try {
    return receipts.of(blob, () => receiptFromYaml(text, path));
  } catch (error) {
    if (!(error instanceof ClearedError) || error.code !== "FILE_INVALID") throw error;
    findings.push({ code: error.code, at: error.at ?? { file: path }, message: error.message });
    return null;
  }
}

// As receipt.ts writes it. Reading YAML takes a hundred times as long, and a process that imports looks at every receipt once.
const SPAN = /^ {4}- account: (?:"([^"\\\n]*)"|([^"'\n]*))\n {6}currency: .*\n {6}from: (\S+)\n {6}to: (\S+)$/gm;

async function summaryOf(tree: Tree, path: string, blob: string): Promise<Summary> {
  const text = (await tree.read(path)) ?? "";
  const spans = [...text.matchAll(SPAN)].map(([, quoted, plain = "", from = "", to = ""]) => ({ account: quoted ?? plain, from, to }));
  const isAsWritten = spans.length === (text.match(/^ {4}- account: /gm) ?? []).length && /^gap: (?:null|".*")$/m.test(text);
  if (!isAsWritten) return summaryByHand(await load(tree, path, blob, []));
  return { spans, isUnsettled: !/^asked: \[\]\nremoved: \[\]$/m.test(text) || !/^gap: null$/m.test(text) };
}

/** Of a receipt that a person has edited. */
function summaryByHand(receipt: KeptReceipt | null): Summary {
  if (receipt === null) return { spans: [], isUnsettled: false };
  const { record, gap, asked, removed } = receipt;
  const spans = record.stated.map(({ account, from, to }) => ({ account, from: from ?? "null", to: to ?? "null" }));
  return { spans, isUnsettled: gap !== null || asked.length + removed.length > 0 };
}

/** Ids of entries that the receipt says are in the books. */
export function claimedBy({ record }: KeptReceipt): string[] {
  return [...new Set([...Object.keys(record.booked), ...record.known, ...Object.values(record.same)])];
}

/** Ids of the entries that rows of the statement are, or may be while somebody is asked. */
export const listedBy = (receipt: KeptReceipt): Set<string> => new Set([...claimedBy(receipt), ...receipt.asked.map(({ entry }) => entry)]);

/** Ids that receipts claim and the books do not have, by receipt, without those a person wants to stay away. */
export async function goneFrom(
  found: readonly KeptReceipt[],
  existing: (ids: readonly string[]) => Promise<ReadonlySet<string>>,
): Promise<{ receipt: KeptReceipt; ids: string[] }[]> {
  const leftOut = new Set(found.flatMap(({ record }) => record.left_out));
  const gone: { receipt: KeptReceipt; ids: string[] }[] = [];
  for (const receipt of found) {
    const claimed = claimedBy(receipt).filter((id) => !leftOut.has(id));
    const there = await existing(claimed);
    const ids = claimed.filter((id) => !there.has(id)).sort();
    if (ids.length > 0) gone.push({ receipt, ids });
  }
  return gone;
}

/** Those of the ids that a tree has, or may have: in a month with an entry that cannot be read nothing is said to be gone. */
export async function existingIn(tree: Tree, ids: readonly string[]): Promise<Set<string>> {
  const found = new Set<string>();
  for (const [file, group] of Map.groupBy(ids, monthOfId)) {
    const month = await loadMonth(tree, file);
    for (const id of group) if (month !== null && (month.unread !== null || month.byId.has(id))) found.add(id);
  }
  return found;
}
