/**
 * Random overlapping statements of one account: splits, orders, repeats, other formats, references numbered anew, pending rows, missing rows,
 * deletions by hand. In the end the books have every payment of the bank once, or what they lack was said. One number is one history;
 * CLEARED_LONG=1 tries a thousand of them.
 */
import { expect, test } from "vitest";
import type { Entry } from "../../runtime/kernel/ports.ts";
import { allReceipts, existingIn, goneFrom } from "../../runtime/workspace/books/claims.ts";
import { parseConfig } from "../../runtime/workspace/settings/config.ts";
import { decideSame, leaveOut, reviveRows } from "../../runtime/workspace/books/decide-rows.ts";
import { findEntry } from "../../runtime/workspace/books/months.ts";
import { factsOfKey } from "../../runtime/workspace/statements/identity.ts";
import { verifyBooks } from "../../runtime/workspace/books/verify.ts";
import { book, commit, memoryWorkspace, money, type Workspace } from "./books-bench.ts";
import { dayOf, OPENING, type Payment, payments, plan, random, textOf } from "./random-bank.ts";
import { expectSound, memoryTree, withChanges } from "./memory-tree.ts";

const HISTORIES = process.env["CLEARED_LONG"] === "1" ? 1000 : 25;

interface History {
  workspace: Workspace;
  all: readonly Payment[];
  /** Entries that were deleted, as they were. */
  past: Map<string, Entry>;
  said: string[];
  log: string[];
}

async function live(seed: number): Promise<{ isExact: boolean; said: string[]; log: string[] }> {
  const next = random(seed);
  const all = payments(next);
  const history: History = { workspace: memoryWorkspace(), all, past: new Map(), said: [], log: [] };
  const { workspace, said, log } = history;
  try {
    const texts: string[] = [];
    for (let serial = 0; serial < 6; serial++) {
      const statement = plan(all, next);
      if (statement === null) continue;
      const text = textOf(all, statement, serial);
      texts.push(text);
      log.push(`${statement.format} ${statement.from}-${statement.to} lacks ${statement.lacks} pending ${statement.pending}`);
    }
    for (let i = texts.length - 1; i > 0; i--) if (next(3) === 0) [texts[i], texts[i - 1]] = [texts[i - 1] ?? "", texts[i] ?? ""];
    for (const [i, text] of texts.entries()) {
      await importText(history, text, `${seed}-${i}`);
      if (next(4) === 0) await importText(history, text, `${seed}-${i}-again`);
      if (next(5) === 0) await removeOne(history, next);
      if (next(2) === 0) await answer(history);
    }
    await comeBack(history);
    await answer(history);
    const whole = textOf(all, { format: "balance", from: 0, to: all.length, lacks: null, pending: false }, 99);
    await importText(history, whole, `${seed}-whole`);
    await answer(history);
    const verified = await verifyBooks(memoryTree(workspace.files));
    for (const { message } of verified.findings) said.push(message);
    // A statement that contradicts the bank's balance is refused as a whole: its receipt and its card say so until it is mended.
    for (const { file, gap, asked, refused, unbooked } of await allReceipts(memoryTree(workspace.files)))
      if (gap !== null || asked.length + refused.length + unbooked.length > 0) said.push(`${file}: ${gap} ${asked.length}`);
    if (seed % 10 === 0 && verified.findings.length === 0) await expectSound(workspace.files);
    const booked = (await rowEntries(workspace)).map(({ amount }) => amount).sort();
    const wanted = all.map(({ cents }) => money(cents)).sort();
    const balance = (await (await workspace.view("look")).ports.books.balance("1010"))["USD"];
    const isExact =
      JSON.stringify(booked) === JSON.stringify(wanted) && balance === money(OPENING + all.reduce((sum, { cents }) => sum + cents, 0));
    if (!isExact) log.push(`booked ${booked.join(" ")}`, `wanted ${wanted.join(" ")}`, `balance ${balance}`);
    return { isExact, said, log };
  } finally {
    workspace.dispose();
  }
}

async function importText({ workspace, past, said, log }: History, text: string, run: string): Promise<void> {
  const name = `${run}.${text.startsWith("OFX") ? "ofx" : "csv"}`;
  workspace.drop(name, text);
  const view = await workspace.view(`run_${run}`);
  try {
    await book(view, await view.ports.imports.parse(name, { all: false }));
    const receipt = await view.ports.imports.markProcessed(name);
    for (const change of view.takeChanges()) if (change.op === "review") log.push(`  card: ${change.title}`);
    await commit(view);
    await view.tidy();
    const { rows, new: fresh, known, twin, refused, unbooked, asked, removed, gap } = receipt;
    expect(fresh + known + twin + refused.length + unbooked.length + asked.length + removed.length).toBe(rows);
    // Until somebody has deleted something, every state is sound.
    if (past.size === 0) expect((await verifyBooks(memoryTree(workspace.files))).findings).toEqual([]);
    log.push(`${name}: ${fresh} new ${known} known ${twin} twin ${asked.length} asked ${removed.length} removed gap ${gap}`);
  } catch (error) {
    if ((error as { code?: string }).code !== "JOURNAL_ASSERTION") throw error;
    said.push(`${name} contradicts`);
    log.push(`${name}: ${(error as Error).message}`);
  }
}

/** The entries that rows have become. */
async function rowEntries(workspace: Workspace): Promise<{ date: string; amount: string }[]> {
  const entries = await (await workspace.view("look")).ports.books.query({ account: "1010" });
  return entries.flatMap(({ date, tags, postings }) =>
    factsOfKey(tags["key"] ?? "") === null
      ? []
      : postings.flatMap(({ account, amount }) => (account.startsWith("Assets") ? [{ date, amount }] : [])),
  );
}

/** Answers what is asked as somebody does who knows what the bank has paid; deleted entries come back first. */
async function answer(history: History): Promise<void> {
  const { workspace, all, said, log } = history;
  const config = parseConfig(workspace.files.get("config.yaml") ?? "");
  for (;;) {
    const tree = memoryTree(workspace.files);
    const open = (await allReceipts(tree)).flatMap((receipt) => receipt.asked.map((row) => ({ hash: receipt.hash, ...row })));
    const [first] = open;
    if (first === undefined) return;
    const rows = open.filter(({ hash, question }) => hash === first.hash && question === first.question);
    const there = await Promise.all(rows.map(({ entry }) => findEntry(tree, entry)));
    if (there.includes(null)) {
      if (!(await comeBack(history))) return void said.push("an entry that is asked about is gone");
      continue;
    }
    const booked = await rowEntries(workspace);
    const isNew = (row: (typeof rows)[number]): boolean => lacking(all, booked, row) > 0;
    const answers = new Set(rows.map(isNew));
    if (answers.size > 1) return void said.push("rows of one question are not alike");
    const approve = !answers.has(true);
    log.push(`${rows.length} ${first.why} ${first.date} ${first.amount}: ${approve ? "same" : "different"}`);
    try {
      workspace.files = withChanges(workspace.files, await decideSame(tree, first, { approve, by: "ann" }, config));
    } catch (error) {
      if ((error as { code?: string }).code !== "JOURNAL_ASSERTION") throw error;
      return void said.push("an answer contradicts a balance");
    }
  }
}

async function removeOne({ workspace, past, log }: History, next: (below: number) => number): Promise<void> {
  const entries = (await (await workspace.view("look")).ports.books.query({ account: "1010" })).filter(
    ({ tags }) => factsOfKey(tags["key"] ?? "") !== null,
  );
  const entry = entries[next(Math.max(1, entries.length))];
  if (entry === undefined) return;
  past.set(entry.id, entry);
  const path = `journal/${entry.date.slice(0, 4)}/${entry.date.slice(5, 7)}.journal`;
  const blocks = (workspace.files.get(path) ?? "").trimEnd().split("\n\n");
  const left = blocks.filter((one) => !one.includes(`(${entry.id})`));
  if (left.length === 0) return;
  workspace.files.set(path, `${left.join("\n\n")}\n`);
  log.push(`deleted ${entry.id} ${entry.postings.map(({ amount }) => amount).join(" ")}`);
}

/** What was deleted comes back, or stays out where it was booked again under another name. False: nothing was gone, or it contradicts a balance. */
async function comeBack({ workspace, all, past, said, log }: History): Promise<boolean> {
  const tree = memoryTree(workspace.files);
  const config = parseConfig(workspace.files.get("config.yaml") ?? "");
  const gone = [...new Set((await goneFrom(await allReceipts(tree), (ids) => existingIn(tree, ids))).flatMap(({ ids }) => ids))];
  if (gone.length === 0) return false;
  const booked = await rowEntries(workspace);
  const back: string[] = [];
  for (const id of gone) {
    const facts = factsOfKey(past.get(id)?.tags["key"] ?? "");
    const isLacking = facts !== null && lacking(all, booked, facts) > 0;
    if (isLacking) booked.push(facts);
    if (isLacking) back.push(id);
  }
  const out = gone.filter((id) => !back.includes(id));
  try {
    workspace.files = withChanges(workspace.files, await leaveOut(tree, out));
    workspace.files = withChanges(workspace.files, await reviveRows(memoryTree(workspace.files), back, past, { by: "ann" }, config));
    log.push(`revived ${back.join(" ")}, left out ${out.join(" ")}`);
    return true;
  } catch (error) {
    if ((error as { code?: string }).code !== "JOURNAL_ASSERTION") throw error;
    said.push("what was deleted contradicts a balance");
    return false;
  }
}

/** How many payments like this one the bank has made that the books do not have. */
function lacking(
  all: readonly Payment[],
  booked: readonly { date: string; amount: string }[],
  row: { date: string; amount: string },
): number {
  const daysOf = ({ day, pending }: Payment): string[] => [dayOf(day), ...(pending === null ? [] : [dayOf(pending)])];
  const bank = all.filter((one) => money(one.cents) === row.amount && daysOf(one).includes(row.date));
  const days = new Set(bank.flatMap(daysOf));
  return bank.length - booked.filter(({ amount, date }) => amount === row.amount && days.has(date)).length;
}

test(`${HISTORIES} histories end exact, or what they lack was said`, { timeout: 3_600_000 }, async () => {
  let exact = 0;
  const silent: string[] = [];
  for (let seed = 1; seed <= HISTORIES; seed++) {
    const { isExact, said, log } = await live(seed);
    if (isExact) exact++;
    else if (said.length === 0) silent.push(`${seed}:\n${log.join("\n")}`);
  }
  expect(silent).toEqual([]);
  console.log(`${exact} of ${HISTORIES} histories are exact`);
  // 948 of 1,000 when last measured: the rest lack what a person was asked about or told.
  expect(exact).toBeGreaterThan(HISTORIES * 0.94);
});
