/**
 * What a person's decision on a card does to the books, as new file content on the tree at HEAD: an entry is confirmed, moved to another
 * account or set aside in suspense; a refused row is marked as dealt with.
 */
import { ClearedError, didYouMean } from "../../kernel/errors.ts";
import type { Entry, Files, Tree } from "../../kernel/ports.ts";
import { accountOf } from "./draft.ts";
import { isEntryId } from "./entry-id.ts";
import type { BookRules } from "./invariants.ts";
import { IMPORTERS, RECEIPTS, receiptFile } from "../layout.ts";
import { applyEdits, noEdits, plain } from "./ledger.ts";
import type { Chart } from "./main-journal.ts";
import { findEntry, loadChart } from "./months.ts";
import { ALL_ROWS, receiptAt, receiptToYaml } from "../statements/receipt.ts";
import { monthsOf, reversalOf } from "./reversals.ts";

export interface EntryDecision {
  approve: boolean;
  /** Who decided; for the tag `by`. */
  by: string;
  /** Number or name of the account the leg that is not the bank's shall be on. */
  account?: string;
  reason?: string;
}

export interface DecisionRules extends BookRules {
  accounts: { suspense: string };
}

/**
 * Approve: user-confirmed; approve with another account: user-corrected, the leg moves there; reject: user-corrected, what is not the
 * bank's moves to suspense. Legs of a voided entry stay, else it and its reversal would no longer cancel out. An entry that already
 * reads like that gives no change, so a decision can be repeated after a crash.
 * @throws JOURNAL_ENTRY_MISSING, JOURNAL_STATUS, ACCOUNT_UNKNOWN, JOURNAL_*
 */
export async function confirmEntry(head: Tree, id: string, decision: EntryDecision, rules: DecisionRules): Promise<Files> {
  const entry = isEntryId(id) ? await findEntry(head, id) : null;
  if (entry === null) throw new ClearedError("JOURNAL_ENTRY_MISSING", `No entry has the id "${id.slice(0, 40)}".`);
  const chart = await loadChart(head);
  const reversal = await reversalOf(entry, monthsOf(head));
  if (reversal !== null && decision.account !== undefined) {
    throw new ClearedError(
      "JOURNAL_STATUS",
      `${id} has been voided by ${reversal}, so its account does not matter any more. Approve it without one, or reject it.`,
    );
  }
  const to = reversal !== null ? undefined : decision.approve ? decision.account : rules.accounts.suspense;
  const target = to === undefined ? null : accountOf(chart, to).name;
  if (entry.status !== "pending-review") {
    const isSame =
      entry.tags["by"] === decision.by &&
      (target === null ? entry.status === "user-confirmed" : entry.postings.some(({ account }) => account === target));
    if (isSame) return new Map();
    throw new ClearedError(
      "JOURNAL_STATUS",
      `${id} is already ${entry.status}. \`cleared correct ${id} --account NUMBER\` moves a confirmed entry.`,
    );
  }
  const decided = decide(plain(entry), decision, target, chart);
  return (await applyEdits(head, { ...noEdits(), replace: new Map([[id, decided]]) }, rules)).files();
}

function decide(entry: Entry, { approve, by, reason }: EntryDecision, target: string | null, chart: Chart): Entry {
  const note = reason ?? (approve ? undefined : "rejected");
  const tags = { ...entry.tags, by, ...(note === undefined ? {} : { note }) };
  if (target === null) return { ...entry, status: "user-confirmed", tags };
  const legs = otherLegs(entry, chart);
  if (legs.length === 0 || (approve && legs.length > 1)) {
    throw new ClearedError(
      "JOURNAL_STATUS",
      `${entry.id} has not exactly one leg beside the bank's, so it is not clear which one moves. Void it and write a new entry.`,
    );
  }
  if (approve && entry.postings.some(({ account }, i) => account === target && !legs.includes(i))) throw wouldCancel(entry.id, target);
  const isThere = approve && entry.postings[legs[0] ?? 0]?.account === target;
  const postings = entry.postings.map((posting, i) => (legs.includes(i) ? { ...posting, account: target } : posting));
  return { ...entry, status: isThere ? "user-confirmed" : "user-corrected", tags, postings };
}

/** Places of the legs on income and expense, else of the others that are not on an asset or liability, else of the second of two. */
export function otherLegs(entry: Entry, chart: Chart): number[] {
  const types = entry.postings.map(({ account }) => chart.byWord.get(account)?.type);
  const places = (wanted: readonly (string | undefined)[]): number[] => types.flatMap((type, i) => (wanted.includes(type) ? [i] : []));
  for (const found of [places(["income", "expense"]), places(["equity"])]) if (found.length > 0) return found;
  if (entry.postings.length !== 2 || places(["asset", "liability"]).length !== 2) return [];
  // Between two own accounts: the one whose number the row's key does not begin with moves.
  const bank = chart.byWord.get(entry.tags["key"]?.split(":")[0] ?? "")?.name;
  const leg = entry.postings.findIndex(({ account }) => account !== bank);
  return bank === undefined || leg < 0 ? [] : [leg];
}

/** Takes a refused row (or all of them, for ALL_ROWS) off the receipt's open rows; no change when it is not there. @throws FILE_MISSING, FILE_INVALID */
export async function closeRow(head: Tree, hash: string, line: number): Promise<Files> {
  const path = receiptFile(hash);
  const receipt = await receiptAt(head, hash);
  if (receipt === null) {
    const paths = (await head.list(RECEIPTS)).map((entry) => entry.path);
    throw new ClearedError("FILE_MISSING", `There is no receipt ${path.slice(0, 120)}.${didYouMean(path, paths)}`);
  }
  const refused = receipt.refused.filter((row) => line !== ALL_ROWS && row.line !== line);
  if (refused.length === receipt.refused.length) return new Map();
  return new Map([[path, receiptToYaml({ ...receipt, refused })]]);
}

/** Adds the dialect that was guessed for a statement, under a name of its own; no change when it is there. @throws CONFIG_INVALID */
export async function addDialect(head: Tree, text: string): Promise<Files> {
  const { parseDialects } = await import("../statements/dialect.ts");
  for (let n = 1; ; n++) {
    const numbered = n === 1 ? text : text.replace(/^name: .*$/m, (line) => `${line}-${n}`);
    const [dialect] = parseDialects([{ path: IMPORTERS, text: numbered }]);
    const path = `${IMPORTERS}${dialect?.name}.yaml`;
    const there = await head.read(path);
    if (there === numbered) return new Map();
    if (there === null) return new Map([[path, numbered]]);
  }
}

export const wouldCancel = (id: string, target: string): ClearedError =>
  new ClearedError("JOURNAL_LEG", `${id} has a leg on ${target} already; moved there, the two would cancel out. Choose another account.`);
