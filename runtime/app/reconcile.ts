/**
 * Keeps cards of entries in line with the books at HEAD: an entry that is pending again (plain git reverted its approval) is asked about
 * again; the card of one that no longer waits (confirmed, corrected or removed with plain git) is closed.
 */
import { NOTHING_ASKED } from "../engine/store/cards.ts";
import { getFact, setFact } from "../engine/store/facts.ts";
import { canonicalJson } from "../kernel/canonical.ts";
import type { Entry, Tree } from "../kernel/ports.ts";
import { legsOf } from "../workspace/books/invariants.ts";
import { RECEIPTS } from "../workspace/layout.ts";
import type { Config } from "../workspace/settings/config.ts";
import { loadChart, loadMonth, monthFiles, monthOfId } from "../workspace/books/months.ts";
import { refusedQuestions, likelyAccount } from "../workspace/statements/questions.ts";
import { receiptFromYaml } from "../workspace/statements/receipt.ts";
import type { Host } from "./host.ts";
import { followRows, openQuestion } from "./rows.ts";

/** False while a run is executing: it may have committed entries whose cards it is about to open itself. */
export async function reconcileCards(host: Host): Promise<boolean> {
  if ((await host.engine.list({ status: ["running"], limit: 1 })).length > 0) return false;
  const tree = host.git.tree(await host.git.head());
  const pending = new Map<string, Entry>();
  const unread = new Set<string>();
  for (const file of await monthFiles(tree)) {
    const month = await loadMonth(tree, file);
    if (month === null || month.unread !== null) unread.add(file);
    for (const entry of month?.entries ?? []) if (entry.status === "pending-review") pending.set(entry.id, entry);
  }
  const refused = getFact(host.database, ASKED) === null ? await refusedRows(tree, await host.config(tree)) : [];
  // One transaction: a fresh clone may have thousands of entries to ask about.
  host.database.write(() => {
    follow(host, pending, unread);
    for (const question of refused) openQuestion(host, question);
    setFact(host.database, ASKED, "yes");
  });
  await followRows(host);
  return true;
}

/** Marks a store that has all cards of refused rows: runs open them, and a new store reads HEAD once. */
const ASKED = "refused rows are asked";

async function refusedRows(tree: Tree, { statements }: Config) {
  const found: ReturnType<typeof refusedQuestions> = [];
  const { accounts } = await loadChart(tree);
  for (const { path } of await tree.list(RECEIPTS)) {
    const text = await tree.read(path);
    if (text?.includes("refused: []") === false)
      found.push(...refusedQuestions(receiptFromYaml(text, path), (card) => likelyAccount(statements, accounts, card)));
  }
  return found;
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
