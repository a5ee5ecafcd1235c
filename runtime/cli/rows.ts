/**
 * Questions about rows of statements: answered from a card or by `cleared revive`, asked again when the store has lost them, and closed
 * once the books have answered them.
 */
import { toReleased } from "../engine/cards.ts";
import { ClearedError } from "../errors.ts";
import type { Card, Decision, Entry, Finding, Git, RowsQuestion, RunRecord, Tree } from "../ports.ts";
import { allReceipts, claimedBy, existingIn, goneFrom } from "../workspace/claims.ts";
import { decideSame, leaveOut, reviveRows } from "../workspace/decide-rows.ts";
import { isEntryId } from "../workspace/entry-id.ts";
import { filesIn } from "../workspace/import-files.ts";
import { IMPORT, receiptFile } from "../workspace/layout.ts";
import { findEntry, loadMonth, monthOfId } from "../workspace/months.ts";
import { sameQuestions } from "../workspace/questions.ts";
import { type KeptReceipt, receiptFromYaml } from "../workspace/receipt.ts";
import { excerpt } from "../workspace/statements/cells.ts";
import type { Host } from "./host.ts";

/** What an answer to such a card does to the files at HEAD. @throws FILE_MISSING, JOURNAL_* */
export async function answerRows(host: Host, card: Card, { decision, by }: Decision, head: Tree): Promise<Map<string, string | null>> {
  const question = { kind: card.kind, ...(card.body as object) } as RowsQuestion;
  const answer = { approve: decision === "approved", by };
  if (question.kind === "same") return decideSame(head, question, answer, await host.config(head));
  if (!answer.approve) return leaveOut(head, question.ids);
  return reviveRows(head, question.ids, await pastOf(host.git, question.ids), answer, await host.config(head));
}

// So many changes of one month are looked through for an entry that was deleted.
const LONGEST = 5000;

/** Entries that are no longer in the books, as the branch last had them. */
export async function pastOf(git: Git, ids: readonly string[]): Promise<Map<string, Entry>> {
  const found = new Map<string, Entry>();
  for (const [path, wanted] of Map.groupBy(ids, monthOfId)) {
    for (const { commit } of await git.log({ limit: LONGEST, path })) {
      if (wanted.every((id) => found.has(id))) break;
      const parent = await git.parent(commit);
      const month = parent === null ? null : await loadMonth(git.tree(parent), path);
      for (const id of wanted) {
        const entry = month?.byId.get(id);
        if (entry !== undefined && !found.has(id)) found.set(id, entry);
      }
    }
  }
  return found;
}

// A person looks at the first and recognises the rest.
const SHOWN = 5;

/** What `cleared verify` says of statements whose rows are no longer in the books, and of receipts that nobody can read. */
export async function goneFindings(git: Git, head: Tree): Promise<Finding[]> {
  const findings: Finding[] = [];
  const gone = await goneFrom(await allReceipts(head, findings), (ids) => existingIn(head, ids));
  const past = await pastOf(
    git,
    gone.flatMap(({ ids }) => ids.slice(0, SHOWN)),
  );
  for (const {
    receipt: { file, hash },
    ids,
  } of gone) {
    const shown = ids.slice(0, SHOWN).map((id) => `${id}${past.has(id) ? ` "${excerpt(past.get(id)?.description ?? "")}"` : ""}`);
    const name = /^[\w.-]+$/.test(file) ? file : hash.slice(0, 12);
    const one = ids.length === 1;
    const message = `${ids.length} ${one ? "row" : "rows"} of statement ${excerpt(file)} ${one ? "is" : "are"} no longer in the books: ${shown.join(", ")}${ids.length > SHOWN ? " and others" : ""}. \`cleared revive ${name}\` books ${one ? "it" : "them"} again, with --leave-out ${one ? "it stays" : "they stay"} away.`;
    findings.push({ code: "JOURNAL_ROW_GONE", at: { file: receiptFile(hash) }, message });
  }
  return findings;
}

/**
 * Books rows again that somebody has deleted from the books, or leaves them out for good. `names`: ids of entries, file names of statements
 * or the beginning of a statement's hash. @throws USAGE, GIT_STATE, JOURNAL_ENTRY_MISSING, JOURNAL_*
 */
export async function revive(
  host: Host,
  { names, leave, by }: { names: readonly string[]; leave: boolean; by: string },
): Promise<{ entries: string[]; commit: string | null }> {
  const { git } = host;
  const ids = await idsOf(git.tree(await git.head()), names);
  const past = leave ? new Map<string, Entry>() : await pastOf(git, ids);
  const result = await git.commit({
    message: leave ? `correct: leave out ${ids.length} deleted entries` : `correct: bring back ${ids.length} deleted entries`,
    trailers: { "Approved-by": by },
    build: async (head) => (leave ? leaveOut(head, ids) : reviveRows(head, ids, past, { by }, await host.config(head))),
    guard: () => host.world.guard(),
  });
  if (result.status === "user_edit")
    throw new ClearedError("GIT_STATE", `${result.paths.join(", ")} has uncommitted edits of yours. Commit or undo them, then try again.`);
  if (result.status === "blocked") throw new ClearedError("GIT_STATE", result.reason);
  await followRows(host);
  return { entries: ids, commit: result.status === "committed" ? result.commit : null };
}

async function idsOf(head: Tree, names: readonly string[]): Promise<string[]> {
  const receipts = await allReceipts(head);
  const found = new Set<string>();
  for (const name of names) {
    const own = receipts.filter(({ file, hash }) => file === name || (/^[0-9a-f]{7,64}$/.test(name) && hash.startsWith(name)));
    const claimed = isEntryId(name) ? [name] : own.flatMap(claimedBy);
    const there = await existingIn(head, claimed);
    const gone = claimed.filter((id) => !there.has(id));
    if (gone.length === 0)
      throw new ClearedError(
        "USAGE",
        isEntryId(name) || own.length > 0
          ? `Nothing of ${name} is gone: its entries are in the books.`
          : `"${name.slice(0, 60)}" is neither the id of an entry nor a statement that was imported. \`cleared verify\` names what is gone.`,
      );
    for (const id of gone) found.add(id);
  }
  return [...found];
}

/** Opens cards for open questions of statements in import/, and closes those that the books have answered. */
export async function followRows(host: Pick<Host, "cards" | "clock" | "dir" | "git">): Promise<void> {
  const { cards, clock, git } = host;
  const head = git.tree(await git.head());
  const at = clock.now();
  const receiptOf = async (hash: string): Promise<KeptReceipt | null> => {
    const text = await head.read(receiptFile(hash));
    return text === null ? null : receiptFromYaml(text, receiptFile(hash));
  };
  for (const card of [...cards.list({ open: true, kind: "same" }), ...cards.list({ open: true, kind: "gone" })]) {
    const question = { kind: card.kind, ...(card.body as object) } as RowsQuestion;
    if (await isOpen(question, await receiptOf(question.hash), head)) continue;
    cards.decide(card.id, { card: card.id, decision: "expired", by: "runtime", at, reason: "the books at HEAD no longer ask" });
  }
  for (const { hash } of await filesIn(host.dir, IMPORT)) {
    const receipt = await receiptOf(hash);
    if (receipt === null || receipt.asked.length === 0) continue;
    for (const change of await sameQuestions(receipt, (id) => findEntry(head, id))) {
      const released = toReleased({ id: "", mode: "live" } as RunRecord, 0, 0, change);
      if (released?.kind === "card") cards.open(released.key, { ...released.card, run: null }, at);
    }
  }
}

async function isOpen(question: RowsQuestion, receipt: KeptReceipt | null, head: Tree): Promise<boolean> {
  if (receipt === null) return false;
  if (question.kind === "same") return receipt.asked.some((row) => row.question === question.question);
  const gone = await goneFrom([receipt], (ids) => existingIn(head, ids));
  return question.ids.some((id) => gone.some(({ ids }) => ids.includes(id)));
}
