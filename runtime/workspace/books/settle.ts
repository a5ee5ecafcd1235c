/**
 * Statements whose rows are in the books by now: their balances are stated, and their receipts say what they come to. Called by an import,
 * for the statements before it that did not tie, and by a decision about rows.
 */
import type { Entry } from "../../kernel/ports.ts";
import { listedBy } from "./claims.ts";
import { receiptFile } from "../layout.ts";
import type { Overlay } from "../overlay.ts";
import { isOpenReceipt, type KeptReceipt, receiptToYaml } from "../statements/receipt.ts";
import { type StatedContext, mayTie, stateBalances } from "./view-balances.ts";

type SettleContext = Pick<StatedContext, "overlay" | "config" | "closed" | "by">;

/** The receipt once its balances are stated. `isFresh`: entries of this statement that are new. @throws JOURNAL_FORM */
export async function settle(receipt: KeptReceipt, context: SettleContext, isFresh: (entry: Entry) => boolean): Promise<KeptReceipt> {
  const isAsked = receipt.asked.length > 0;
  const about = { ...context, hash: receipt.hash, listed: listedBy(receipt), isFresh, isOpen: isOpenReceipt(receipt), isAsked };
  const gaps: (string | null)[] = [];
  for (const part of receipt.record.stated) gaps.push(await stateBalances(part, about));
  return { ...receipt, gap: gaps.find((gap) => gap !== null) ?? null };
}

/**
 * Statements that did not tie or wait for an answer, looked at again: rows that are in the books by now are asked about no more, and
 * balances that tie now are stated. @throws JOURNAL_FORM
 */
export async function heal(receipts: readonly KeptReceipt[], context: SettleContext): Promise<void> {
  const { overlay } = context;
  for (const receipt of receipts) {
    const now = await withoutAnswered(receipt, overlay);
    const mayBeTied =
      receipt.gap !== null && (await Promise.all(receipt.record.stated.map((part) => mayTie(part, overlay)))).includes(true);
    if (now === receipt && (!mayBeTied || isOpenReceipt(receipt))) continue;
    const after = isOpenReceipt(now) ? now : await settle(now, context, () => false);
    if (now === receipt && after.gap === receipt.gap) continue;
    const path = receiptFile(receipt.hash);
    const base = overlay.files.get(path)?.base ?? (await (await overlay.head()).blob(path));
    overlay.record({ op: "file", path, text: receiptToYaml(after), base });
  }
}

/** Rows that were asked about or deleted, and are in the books by now. */
async function withoutAnswered(receipt: KeptReceipt, overlay: Overlay): Promise<KeptReceipt> {
  const { asked, removed, record } = receipt;
  const there = await overlay.existing([...asked.map(({ id }) => id), ...removed]);
  if (there.size === 0) return receipt;
  return {
    ...receipt,
    asked: asked.filter(({ id }) => !there.has(id)),
    removed: removed.filter((id) => !there.has(id)),
    known: receipt.known + there.size,
    record: { ...record, known: [...record.known, ...there] },
  };
}
