/**
 * Keeps cards of entries in line with the books at HEAD: an entry that is pending again (plain git reverted its approval) is asked about
 * again; the card of one that no longer waits (confirmed, corrected or removed with plain git) is closed. Likewise the questions about rows
 * and files that were refused.
 */
import { FOLLOWED, NOTHING_ASKED } from "../engine/store/cards.ts";
import { setFact } from "../engine/store/facts.ts";
import { Kept } from "../kernel/kept.ts";
import { canonicalJson } from "../kernel/canonical.ts";
import type { Entry, Tree } from "../kernel/ports.ts";
import { loadReceipt } from "../workspace/books/claims.ts";
import { addDialect } from "../workspace/books/decisions.ts";
import { legsOf } from "../workspace/books/invariants.ts";
import { RECEIPTS } from "../workspace/layout.ts";
import { loadChart, loadMonth, monthFiles, monthOfId } from "../workspace/books/months.ts";
import { refusedQuestions } from "../workspace/statements/questions.ts";
import type { KeptReceipt } from "../workspace/statements/receipt.ts";
import { likelyAccount } from "../workspace/statements/origin.ts";
import type { Host } from "./host.ts";
import { type Question, followRows, openQuestion, questionKey } from "./rows.ts";
import { isAnswered } from "./statement-accounts.ts";

/** False while a run is executing: it may have committed entries whose cards it is about to open itself. */
export async function reconcileCards(host: Host): Promise<boolean> {
  if ((await host.engine.list({ status: ["running"], limit: 1 })).length > 0) return false;
  const head = await host.git.head();
  const tree = host.git.tree(head);
  const pending = new Map<string, Entry>();
  const unread = new Set<string>();
  for (const file of await monthFiles(tree)) {
    const month = await loadMonth(tree, file);
    if (month === null || month.unread !== null) unread.add(file);
    for (const entry of month?.entries ?? []) if (entry.status === "pending-review") pending.set(entry.id, entry);
  }
  const refused = await unansweredRows(host, tree);
  // One transaction: a fresh clone may have thousands of entries to ask about.
  host.database.write(() => {
    follow(host, pending, unread);
    for (const question of refused) openQuestion(host, question);
  });
  await followRows(host);
  setFact(host.database, FOLLOWED, head);
  return true;
}

// Blobs of receipts with nothing refused, so that they are read once.
const settled = new Kept<string, true>(50_000);

/** Refused rows, files and accounts of HEAD that nobody was asked about, or whose answer plain git took back. */
async function unansweredRows(host: Host, tree: Tree): Promise<Question[]> {
  const found: Question[] = [];
  const waiting: KeptReceipt[] = [];
  for (const { path, blob } of await tree.list(RECEIPTS)) {
    if (settled.has(blob) || !path.endsWith(".yaml")) continue;
    if ((await tree.read(path))?.includes("refused: []") !== false) {
      settled.set(blob, true);
      continue;
    }
    const receipt = await loadReceipt(tree, path, blob, []);
    if (receipt === null) continue;
    const [config, { accounts }] = [await host.config(tree), await loadChart(tree)];
    found.push(...refusedQuestions(receipt, (unknown) => likelyAccount(config, accounts, unknown)));
    waiting.push(receipt);
  }
  // Their files are to be imported: plain git took back an answer that had moved one, or what moves it back was killed.
  await (await import("../change/proposals/undo.ts")).bringBack(host, waiting);
  if (found.length === 0) return [];
  const asked = new Map((["row", "account"] as const).flatMap((kind) => host.cards.list({ kind })).map((card) => [card.key, card]));
  const open = found.map(async (one): Promise<Question[]> => {
    if (one.rows?.kind === "account" && (await isAnswered(host, tree, one.rows))) return [];
    const card = asked.get(questionKey(one));
    if (card === undefined) return [one];
    const { about } = card.body as { about?: { dialect?: string } | null };
    const { decision } = card;
    const dialect = about?.dialect;
    if (decision === null) return [];
    // Any other answer has left the receipt, so it was taken back if the row is there.
    if (decision.decision === "approved" && dialect !== undefined && (await addDialect(tree, dialect)).size === 0) return [];
    // With the dialect that was guessed when its file was read.
    return [dialect === undefined ? one : { ...one, body: { ...(one.body as object), dialect } }];
  });
  return (await Promise.all(open)).flat();
}

/** `unread`: months with an unreadable entry, which may be the one a card is about. */
function follow(host: Host, pending: ReadonlyMap<string, Entry>, unread: ReadonlySet<string>): void {
  const at = host.clock.now();
  const asked = new Set<string>();
  for (const card of host.cards.list({ open: true, kind: "entry" })) {
    const { entry } = card.body as { entry: string };
    asked.add(entry);
    const now = pending.get(entry);
    const body = now && { ...(card.body as object), booked: legsOf(now) };
    if (body !== undefined && canonicalJson(body) !== canonicalJson(card.body)) host.cards.restate(card.id, { title: card.title, body });
    if (!pending.has(entry) && !unread.has(monthOfId(entry)))
      host.cards.decide(card.id, { card: card.id, decision: "expired", by: "runtime", at, reason: "the books at HEAD no longer ask" });
  }
  for (const entry of pending.values()) {
    const { id, description: title, tags } = entry;
    if (asked.has(id)) continue;
    const about = { confidence: tags["conf"] ?? null };
    const body = { entry: id, about, booked: legsOf(entry) };
    host.cards.open(`entry:${id}`, { kind: "entry", title, body, run: null, ...NOTHING_ASKED }, at);
  }
}
