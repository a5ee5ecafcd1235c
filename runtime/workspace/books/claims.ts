/**
 * What the receipts of a tree say about rows of the books: which days a statement listed, and which entries its rows became or matched.
 * The books are compared with these claims, so that a deleted row is neither forgotten nor booked again without a person's decision.
 */
import { Kept } from "../../kernel/kept.ts";
import { ClearedError } from "../../kernel/errors.ts";
import type { Finding, Tree } from "../../kernel/ports.ts";
import { RECEIPTS } from "../layout.ts";
import type { Chart } from "./main-journal.ts";
import { loadChart, loadMonth, monthOfId } from "./months.ts";
import type { Overlay } from "../overlay.ts";
import { type KeptReceipt, receiptFromYaml } from "../statements/receipt.ts";
import { treeOver } from "../git/tree.ts";

type Span = Record<"account" | "from" | "to", string>;

/** What is cached of a receipt, so that it need not be read again. */
interface Summary {
  spans: Span[];
  /** True when its statement does not tie, or waits for a person. */
  isUnsettled: boolean;
}

// By blob id, so an entry never goes stale. Ten years of a busy business have about ten thousand receipts.
const summaries = new Kept<string, Summary>(50_000);
// Parsing takes a millisecond per 50 rows, and every import reads the receipts of the days before and those that do not tie several times.
// In memory a receipt takes about six times its text. This holds fifteen statements of 10,000 rows, or thousands of single days.
const receipts = new Kept<string, KeptReceipt>(150_000, ({ rows }) => 50 + rows);

/**
 * Receipts of statements that list days of the account in the span, and those of the account that do not tie or wait. A receipt that a
 * person made unreadable does not stop an import: `cleared verify` reports it.
 */
export async function receiptsAbout(tree: Tree, { account, from, to }: Span): Promise<KeptReceipt[]> {
  const found: KeptReceipt[] = [];
  const chart = await loadChart(tree);
  for (const { path, blob } of await tree.list(RECEIPTS)) {
    if (!path.endsWith(".yaml")) continue;
    const { spans, isUnsettled } = await summaries.load(blob, () => summaryOf(tree, path, blob));
    const own = spans.filter((one) => numberOf(chart, one.account) === numberOf(chart, account));
    if (!own.some((one) => one.from <= to && one.to >= from) && !(isUnsettled && own.length > 0)) continue;
    const receipt = await loadReceipt(tree, path, blob, []);
    if (receipt !== null) found.push(numbered(receipt, chart));
  }
  return found;
}

const numberOf = ({ byWord }: Chart, word: string): string => byWord.get(word)?.id ?? word;

/** The receipt with its accounts by number: those of older ones are as their rules wrote them. */
function numbered(receipt: KeptReceipt, chart: Chart): KeptReceipt {
  const { record } = receipt;
  if (record.stated.every(({ account }) => numberOf(chart, account) === account)) return receipt;
  return { ...receipt, record: { ...record, stated: record.stated.map((one) => ({ ...one, account: numberOf(chart, one.account) })) } };
}

/** HEAD with the receipts that this run has written. */
export async function receiptTree(overlay: Overlay): Promise<Tree> {
  const own = [...overlay.files].filter(([path]) => path.startsWith(RECEIPTS)).map(([path, { text }]) => [path, text] as const);
  return treeOver(await overlay.head(), new Map(own));
}

/** Every receipt of the tree; unreadable ones are added to the findings. */
export async function allReceipts(tree: Tree, findings: Finding[] = []): Promise<KeptReceipt[]> {
  const files = (await tree.list(RECEIPTS)).filter(({ path }) => path.endsWith(".yaml"));
  const read = await Promise.all(files.map(({ path, blob }) => loadReceipt(tree, path, blob, findings)));
  return read.filter((receipt) => receipt !== null);
}

/** Null for an unreadable one, which is added to the findings. */
export async function loadReceipt(tree: Tree, path: string, blob: string, findings: Finding[]): Promise<KeptReceipt | null> {
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

// The form that receipt.ts writes. Parsing YAML takes a hundred times as long, and a process that imports reads every receipt once.
const SPAN = /^ {4}- account: (?:"([^"\\\n]*)"|([^"'\n]*))\n {6}currency: .*\n {6}from: (\S+)\n {6}to: (\S+)$/gm;

async function summaryOf(tree: Tree, path: string, blob: string): Promise<Summary> {
  const text = (await tree.read(path)) ?? "";
  const spans = [...text.matchAll(SPAN)].map(([, quoted, plain = "", from = "", to = ""]) => ({ account: quoted ?? plain, from, to }));
  const isAsWritten = spans.length === (text.match(/^ {4}- account: /gm) ?? []).length && /^gap: (?:null|".*")$/m.test(text);
  if (!isAsWritten) return summaryOfParsed(await loadReceipt(tree, path, blob, []));
  return { spans, isUnsettled: !/^asked: \[\]\nremoved: \[\]$/m.test(text) || !/^gap: null$/m.test(text) };
}

/** The summary of a receipt that a person has edited. */
function summaryOfParsed(receipt: KeptReceipt | null): Summary {
  if (receipt === null) return { spans: [], isUnsettled: false };
  const { record, gap, asked, removed } = receipt;
  const spans = record.stated.map(({ account, from, to }) => ({ account, from: from ?? "null", to: to ?? "null" }));
  return { spans, isUnsettled: gap !== null || asked.length + removed.length > 0 };
}

/** Ids of the entries that are in the books according to the receipt. */
export function claimedBy({ record }: KeptReceipt): string[] {
  return [...new Set([...Object.keys(record.booked), ...record.known, ...Object.values(record.same)])];
}

/** Ids of the entries that rows of the statement are, or may be while a person is asked. */
export const listedBy = (receipt: KeptReceipt): Set<string> => new Set([...claimedBy(receipt), ...receipt.asked.map(({ entry }) => entry)]);

/** Ids that receipts claim and the books lack, by receipt, without those that a person decided to leave out. */
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

/** Those of the ids that a tree has, or may have: in a month with an unreadable entry every id counts as existing. */
export async function existingIn(tree: Tree, ids: readonly string[]): Promise<Set<string>> {
  const found = new Set<string>();
  for (const [file, group] of Map.groupBy(ids, monthOfId)) {
    const month = await loadMonth(tree, file);
    for (const id of group) if (month !== null && (month.unread !== null || month.byId.has(id))) found.add(id);
  }
  return found;
}
