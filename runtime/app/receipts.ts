/** Receipts in a run's steps, the cards they close, which files a run was started for, and what is known of them beside the store. */
import type { ImportFile } from "../workspace/statements/import-files.ts";
import { isOfCard } from "../workspace/statements/receipt.ts";
import type { Cause, Once, Receipt, RunRecord, Step } from "../kernel/ports.ts";
import type { FoundFile } from "../outside/triggers/files.ts";
import type { Host } from "./host.ts";

/** The receipts among a run's results, found by what the steps changed. */
export function receiptsOf(steps: readonly Step[]): Receipt[] {
  return steps
    .filter((step) => step.changes.some((change) => change.op === "processed"))
    .map((step) => JSON.parse(step.result ?? "null") as Receipt);
}

type Settling = Pick<Host, "cards" | "engine" | "clock">;

/** Closes cards of refused rows that a later import of the same file could read after all. */
export async function settleRows({ cards, engine, clock }: Settling, run: RunRecord, steps: readonly Step[]): Promise<void> {
  const ended = await engine.get(run.id);
  if (ended?.status !== "done" || run.mode !== "live") return;
  for (const receipt of receiptsOf(steps)) {
    for (const card of cards.list({ open: true, kind: "row" })) {
      const { hash, line } = card.body as { hash?: string; line?: number };
      const isOpen = receipt.refused.some(isOfCard(line));
      if (hash !== receipt.hash || isOpen) continue;
      cards.decide(card.id, { card: card.id, decision: "expired", by: "runtime", at: clock.now(), reason: `imported by ${run.id}` });
    }
  }
}

/**
 * The files a run was started for: those that count as new although they have a receipt (by name or hash), all of them as they were, and how
 * many of their rows it gets.
 */
export function startedFor({ kind, detail }: Cause): { again: string[]; files?: ImportFile[]; rows?: number } {
  const { again = [], take, rows } = (kind === "watch" ? (detail ?? {}) : {}) as { again?: string[]; take?: ImportFile[]; rows?: number };
  return { again, ...(take === undefined ? {} : { files: take }), ...(rows === undefined ? {} : { rows }) };
}

const factOf = (what: "acted" | "completed", agent: string, { hash, mark }: FoundFile, name = ""): string =>
  `file ${what} ${agent} ${hash}${mark} ${name}`;

/** Keeps beside the store what an agent did with the files of a live run, by their content: that it acted outside, or has ended. */
export function keepFiles(sent: Once, { agent, mode, cause }: RunRecord, what: "acted" | "completed"): void {
  for (const file of mode === "live" ? ((startedFor(cause).files ?? []) as FoundFile[]) : []) {
    sent.keep(factOf(what, agent, file));
    sent.keep(factOf(what, agent, file, file.name));
  }
}

/** What an agent did with this content before, if it did: under another name, the file is a copy. */
export function keptOf(sent: Once, agent: string, file: FoundFile): { acted: boolean; completed: boolean; isCopy: boolean } {
  const has = (what: "acted" | "completed", name?: string) => sent.has(factOf(what, agent, file, name));
  return { acted: has("acted"), completed: has("completed"), isCopy: !has("completed", file.name) };
}
