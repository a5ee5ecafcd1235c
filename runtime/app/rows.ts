/**
 * Questions about rows of statements: answered on a card or by `cleared revive`, asked again after the store has lost them, and closed once
 * the books have the answer.
 */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { canonicalJson } from "../kernel/canonical.ts";
import { committedOrRefused } from "../engine/attempt.ts";
import { NOTHING_ASKED, toReleased } from "../engine/store/cards.ts";
import { ClearedError } from "../kernel/errors.ts";
import { count } from "../kernel/text.ts";
import type { Card, Change, Decision, Entry, Finding, Git, Released, RowsQuestion, RunRecord, Tree } from "../kernel/ports.ts";
import { allReceipts, claimedBy, existingIn, goneFrom } from "../workspace/books/claims.ts";
import { asCorrected, correctable, correctEntry, correctionsOf } from "../workspace/books/decisions.ts";
import { decideSame, leaveOut, reviveRows } from "../workspace/books/decide-rows.ts";
import { legsOf, monthsOf } from "../workspace/books/invariants.ts";
import { isEntryId } from "../workspace/books/entry-id.ts";
import { filesIn } from "../workspace/statements/import-files.ts";
import { IMPORT, PROCESSED, receiptFile } from "../workspace/layout.ts";
import { treeOver } from "../workspace/git/tree.ts";
import { findEntry, loadMonth, monthOfId } from "../workspace/books/months.ts";
import { sameQuestions } from "../workspace/statements/questions.ts";
import { type KeptReceipt, isOfCard, isOpenReceipt, receiptFromYaml } from "../workspace/statements/receipt.ts";
import { excerpt } from "../workspace/statements/cells.ts";
import type { Host } from "./host.ts";
import { askingFor, closeAccount, isAnswered, reopened } from "./statement-accounts.ts";
import { assertCommitted } from "./work-tree.ts";

/**
 * A card that asks to which account a confirmed entry moves, or the open one for it. `account`: the intended answer; nothing is opened for what
 * cannot be done. @throws JOURNAL_*, ACCOUNT_UNKNOWN
 */
export async function askCorrection(host: Host, { entry: id, account }: { entry: string; account?: string }): Promise<Card> {
  const { cards, clock, git } = host;
  const head = git.tree(await git.head());
  await assertCommitted(host, account);
  const entry = await correctable(head, id);
  if (account !== undefined) await correctEntry(head, id, { approve: true, by: "", account }, await host.config(head));
  const open = () => cards.list({ open: true, kind: "correction" }).find(({ body }) => (body as { entry: string }).entry === entry.id);
  if (open() === undefined) {
    const body = {
      entry: entry.id,
      booked: await bookedNow(head, entry),
      about: { approve: "an entry moves it to the account that you name", reject: "it stays" },
    };
    const key = `correction:${entry.id}:${randomUUID()}`;
    cards.open(key, { ...NOTHING_ASKED, kind: "correction", title: entry.description, body, run: entry.tags["run"] ?? null }, clock.now());
  }
  return open() as Card;
}

const bookedNow = async (head: Tree, entry: Entry): Promise<string[]> =>
  legsOf(asCorrected(entry, await correctionsOf(entry, monthsOf(head))));

/** An approval is for what the card shows: if the entry in the books has changed, the card is updated first. @throws CARD_CLOSED */
export async function assertAsBooked({ cards }: Host, card: Card, head: Tree): Promise<void> {
  const body = card.body as { entry: string; booked?: string[] };
  const entry = await findEntry(head, body.entry);
  const booked = entry === null ? [] : await bookedNow(head, entry);
  if (canonicalJson(body.booked ?? []) === canonicalJson(booked)) return;
  cards.restate(card.id, { title: card.title, body: { ...body, booked } });
  const now = `Card ${card.name} no longer shows ${body.entry} as the books have it: ${booked.join("; ")}`;
  const name = cards.get(card.id)?.name ?? card.name;
  throw new ClearedError("CARD_CHANGED", `${now}. Nothing was decided; look at the card again, then decide it as ${name}.`);
}

/** What a decision on such a card changes in the files at HEAD. @throws FILE_MISSING, JOURNAL_* */
export async function answerRows(host: Host, card: Card, { decision, by }: Decision, head: Tree): Promise<Map<string, string | null>> {
  const question = { kind: card.kind, ...(card.body as object) } as RowsQuestion;
  const answer = { approve: decision === "approved", by };
  if (question.kind === "same") return decideSame(head, question, answer, await host.config(head));
  // An approval is proposed (proposeAccount), not written here.
  if (question.kind === "account") return closeAccount(head, question.match);
  if (!answer.approve) return leaveOut(head, question.ids);
  return reviveRows(head, question.ids, await pastOf(host.git, question.ids), answer, await host.config(head));
}

// Number of changes of a month that are searched for a deleted entry.
const LONGEST = 5000;

/** Entries that are no longer in the books, as the branch last had them, each with its correction. */
async function pastOf(git: Git, ids: readonly string[]): Promise<Map<string, Entry>> {
  const found = new Map<string, Entry>();
  for (const [path, wanted] of Map.groupBy(ids, monthOfId)) {
    for (const { commit } of await git.log({ limit: LONGEST, path })) {
      if (wanted.every((id) => found.has(id))) break;
      const parent = (await git.objects.commit(commit))?.parents[0] ?? null;
      const tree = parent === null ? null : git.tree(parent);
      const month = tree === null ? null : await loadMonth(tree, path);
      for (const id of wanted) {
        const entry = month?.byId.get(id);
        if (tree === null || entry === undefined || found.has(id)) continue;
        for (const one of [entry, ...(await correctionsOf(entry, monthsOf(tree)))]) found.set(one.id, one);
      }
    }
  }
  return found;
}

// A person needs a few to recognize the rest.
const SHOWN = 5;

/** Findings of `cleared verify` about statements with rows that are no longer in the books, and about unreadable receipts. */
export async function goneFindings(git: Git, head: Tree): Promise<Finding[]> {
  const findings: Finding[] = [];
  const gone = await goneFrom(await allReceipts(head, findings), (ids) => existingIn(head, ids));
  const first = gone.flatMap(({ ids }) => ids.slice(0, SHOWN));
  const past = await pastOf(git, first);
  for (const { receipt, ids } of gone) {
    const { file, hash } = receipt;
    const shown = ids.slice(0, SHOWN).map((id) => `${id}${past.has(id) ? ` "${excerpt(past.get(id)?.description ?? "")}"` : ""}`);
    const name = /^[\w.-]+$/.test(file) ? file : hash.slice(0, 12);
    const one = ids.length === 1;
    const message = `${ids.length} ${one ? "row" : "rows"} of statement ${excerpt(file)} ${one ? "is" : "are"} no longer in the books: ${shown.join(", ")}${ids.length > SHOWN ? " and others" : ""}. \`cleared revive ${name}\` books ${one ? "it" : "them"} again, with --leave-out ${one ? "it stays" : "they stay"} out.`;
    findings.push({ code: "JOURNAL_ROW_GONE", at: { file: receiptFile(hash) }, message });
  }
  return findings;
}

/**
 * Books rows again that somebody deleted from the books, or excludes them permanently; an account of a statement that a person left out is asked
 * about again. `names`: ids of entries, file names of statements, or the beginning of a statement's hash. @throws USAGE, GIT_STATE, JOURNAL_ENTRY_MISSING, JOURNAL_*
 */
export async function revive(
  host: Host,
  { names, leave, by }: { names: readonly string[]; leave: boolean; by: string },
): Promise<{ entries: string[]; commit: string | null }> {
  const { git } = host;
  const { bringBack } = await import("../change/proposals/undo.ts");
  const files = await Promise.all([IMPORT, PROCESSED].map((folder) => filesIn(host.dir, folder)));
  const present = new Set(files.flat().map(({ hash }) => hash));
  // Without the file no answer about its account could be carried out.
  const isLeft = (one: KeptReceipt) =>
    !leave && one.record.left_accounts !== undefined && present.has(one.hash) && names.some((name) => isOf(name, one));
  const left = (await allReceipts(git.tree(await git.head()))).filter(isLeft);
  const ids = await idsOf(git.tree(await git.head()), names, isLeft, (...about) => whyNone(host.dir, present, ...about));
  const past = leave ? new Map<string, Entry>() : await pastOf(git, ids);
  const result = await git.commit({
    message:
      ids.length === 0
        ? `correct: ask again about the accounts of ${count(left.length, "statement")}`
        : `correct: ${leave ? "leave out" : "bring back"} ${ids.length} deleted entries`,
    trailers: { "Approved-by": by },
    build: async (head) => {
      if (leave) return leaveOut(head, ids);
      const back = ids.length === 0 ? new Map() : await reviveRows(head, ids, past, { by }, await host.config(head));
      return new Map([...back, ...reopened((await allReceipts(treeOver(head, back))).filter(isLeft))]);
    },
  });
  const commit = committedOrRefused(result, "try again");
  await bringBack(host, left);
  await followRows(host);
  return { entries: ids, commit };
}

/** A statement's file name, or the beginning of its hash. */
const isOf = (name: string, { file, hash }: Pick<KeptReceipt, "file" | "hash">): boolean =>
  file === name || (/^[0-9a-f]{7,64}$/.test(name) && hash.startsWith(name));

type About = [name: string, own: readonly KeptReceipt[], claimed: number];

/** The deleted entries of each name; none is fine where `isLeft` holds for its receipt. @throws USAGE */
async function idsOf(
  head: Tree,
  names: readonly string[],
  isLeft: (one: KeptReceipt) => boolean,
  why: (...about: About) => string,
): Promise<string[]> {
  const receipts = await allReceipts(head);
  const found = new Set<string>();
  for (const name of names) {
    const own = receipts.filter((one) => isOf(name, one));
    const claimed = isEntryId(name) ? [name] : own.flatMap(claimedBy);
    const there = await existingIn(head, claimed);
    const gone = claimed.filter((id) => !there.has(id));
    if (gone.length === 0 && !own.some(isLeft)) throw new ClearedError("USAGE", why(name, own, claimed.length));
    for (const id of gone) found.add(id);
  }
  return [...found];
}

/** Why nothing of this name can be booked again or left out. `present`: hashes of the files that are there; `own`: the receipts that it names. */
function whyNone(dir: string, present: ReadonlySet<string>, ...[name, own, claimed]: About): string {
  const file = own[0]?.file ?? name;
  const put = own.some(({ hash }) => present.has(hash))
    ? ""
    : ` The file is in neither ${IMPORT} nor ${PROCESSED}: put it back into ${IMPORT} first.`;
  if (own.some(isOpenReceipt))
    return `What the books lack of ${file} is not deleted, it waits: answer its cards in \`cleared queue\`; \`cleared import\` then books it.${put}`;
  if (own.some(({ record }) => record.left_accounts !== undefined)) return `The account of ${file} is left out already.${put}`;
  if ((claimed === 0 || own.length > 0) && /^[\w.-]+$/.test(file) && existsSync(join(dir, PROCESSED, file)))
    return own.length === 0
      ? `No row of ${file} is in the books; \`cleared import ${PROCESSED}${file}\` books what the books lack of it.`
      : `No entry of ${file} is missing. \`cleared import --again ${PROCESSED}${file}\` reads it anew, with what a person left out.`;
  if (isEntryId(name) || own.length > 0) return `Nothing of ${name} is missing: its entries are in the books.`;
  return `"${name.slice(0, 60)}" is neither the id of an entry nor a statement that was imported. \`cleared verify\` names what is missing.`;
}

/** Opens cards for open questions of statements in import/, and closes those that the books, or an open proposal, have answered. */
export async function followRows(host: Omit<Host, "close">): Promise<void> {
  const { cards, clock, git } = host;
  const head = git.tree(await git.head());
  const at = clock.now();
  const receiptOf = async (hash: string): Promise<KeptReceipt | null> => {
    const text = await head.read(receiptFile(hash));
    return text === null ? null : receiptFromYaml(text, receiptFile(hash));
  };
  for (const card of (["same", "gone", "account", "row"] as const).flatMap((kind) => cards.list({ open: true, kind }))) {
    const { hash, line } = card.body as { hash: string; line?: number };
    const receipt = await receiptOf(hash);
    const isAsked =
      card.kind === "row"
        ? receipt?.refused.some(isOfCard(line)) === true
        : await isOpen(host, { kind: card.kind, ...(card.body as object) } as RowsQuestion, receipt, head);
    if (isAsked) continue;
    cards.decide(card.id, { card: card.id, decision: "expired", by: "runtime", at, reason: "the books at HEAD no longer ask" });
  }
  for (const { hash } of await filesIn(host.dir, IMPORT)) {
    const receipt = await receiptOf(hash);
    if (receipt === null || receipt.asked.length === 0) continue;
    for (const change of await sameQuestions(receipt, (id) => findEntry(head, id))) openQuestion(host, change);
  }
}

export type Question = Extract<Change, { op: "review" }>;

const released = (question: Question) =>
  toReleased({ id: "", mode: "live" } as RunRecord, 0, 0, question) as Extract<Released, { kind: "card" }>;
export const questionKey = (question: Question): string => released(question).key;

/** A question that belongs to no run. */
export function openQuestion({ cards, clock }: Pick<Host, "cards" | "clock">, question: Question): void {
  const { key, card } = released(question);
  cards.open(key, { ...card, run: null }, clock.now());
}

async function isOpen(host: Omit<Host, "close">, question: RowsQuestion, receipt: KeptReceipt | null, head: Tree): Promise<boolean> {
  if (question.kind === "account") return (await askingFor(head, question.match)).length > 0 && !(await isAnswered(host, head, question));
  if (receipt === null) return false;
  if (question.kind === "same") return receipt.asked.some((row) => row.question === question.question);
  const gone = await goneFrom([receipt], (ids) => existingIn(head, ids));
  return question.ids.some((id) => gone.some(({ ids }) => ids.includes(id)));
}
