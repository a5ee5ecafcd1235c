/**
 * Plans an undo on a tree without touching anything: which commits are reverted, the new text of each file, the money by account and month,
 * and what stays. `undo.ts` shows the plan first and carries out exactly what was shown.
 */
import { ClearedError, onCode } from "../../kernel/errors.ts";
import type { MoneyDifference } from "../evidence/types.ts";
import type { Clock, Difference, Engine, Git, Json, Step, Tree } from "../../kernel/ports.ts";
import { dayIn } from "../../scripts/header.ts";
import { amountsIn } from "../../rules/tools/trace.ts";
import { fromExact, minus, totalOf } from "../../workspace/books/amounts.ts";
import type { Config } from "../../workspace/settings/config.ts";
import { changedBy, commitNamed, commitsSaying, newestTouching, type PastCommit, revertOf } from "../../workspace/git/past.ts";
import { JOURNAL, MAIN_JOURNAL, RECEIPTS } from "../../workspace/layout.ts";
import { isMonthFile } from "../../workspace/books/main-journal.ts";
import { loadMonth, toMonth } from "../../workspace/books/months.ts";
import { isOpenReceipt, receiptFromYaml } from "../../workspace/statements/receipt.ts";
import { undoBooks } from "../../workspace/books/undo-books.ts";
import type { Proposal } from "../proposal-types.ts";
import { UNDECIDED } from "./store.ts";
import { canonicalHash } from "../../kernel/canonical.ts";

export interface PlanWorld {
  dir: string;
  git: Git;
  clock: Clock;
  engine: Pick<Engine, "get" | "steps" | "list">;
  config(tree?: Tree): Promise<Config>;
}

/** What to undo. `commits`: newest first, each still in force. */
export interface UndoTarget {
  kind: "proposal" | "run" | "import" | "commit";
  /** Proposal, run or commit id. */
  id: string;
  /** In words: `proposal 7 "AWS is Software"`. */
  title: string;
  /** Subject of the reverting commit. */
  subject: string;
  commits: PastCommit[];
  proposal: Proposal | null;
}

export interface UndoPlan {
  title: string;
  commits: string[];
  files: { path: string; change: "restored" | "removed" | "changed" }[];
  money: MoneyDifference[];
  entries: { removed: number; reversed: number; restored: number };
  /** Statements whose receipt is removed: name and SHA-256 of the content. */
  statements: { file: string; hash: string }[];
  /** What stays, and other remarks, one sentence each. */
  notes: string[];
  /** Identifies the plan that was shown: an undo that would now do something else is refused. */
  seen: string;
}

const short = (commit: string): string => commit.slice(0, 7);
export const refusal = (message: string): ClearedError => new ClearedError("UNDO_REFUSED", message);

/** `proposal`: the proposal that the name stands for, if any, looked up by the caller. @throws UNDO_REFUSED, RUN_UNKNOWN, USAGE */
export async function targetOf(world: PlanWorld, name: string, proposal: Proposal | null): Promise<UndoTarget> {
  const head = await world.git.head();
  if (proposal !== null) return proposalTarget(world, head, proposal);
  if (name === "import") return runTarget(world, head, "import", ...(await lastImport(world, head)));
  if (/^run_[0-9A-Z]+$/.test(name)) return runTarget(world, head, "run", name);
  const named = await commitNamed(world.dir, head, name);
  if (named?.trailers["Reverts"] !== undefined) return commitTarget(world, head, named);
  throw new ClearedError(
    "USAGE",
    named === null
      ? `"${name.slice(0, 60)}" is not a proposal's number, a run or an undo on the branch. Write a number of \`cleared proposals\`, a run of \`cleared runs\`, or "import" for the last one.`
      : `${short(named.commit)} is not the commit of an undo. Write the run or the proposal it belongs to, or use "git revert ${short(named.commit)}".`,
  );
}

async function proposalTarget(world: PlanWorld, head: string, proposal: Proposal): Promise<UndoTarget> {
  const { id, number, title, applied, reverted, state } = proposal;
  const words = `proposal ${number} "${title}"`;
  if (applied === null)
    throw refusal(
      `${words} is ${state}; only one that was applied can be undone.${UNDECIDED.includes(state) ? ` \`cleared reject ${number}\` rejects it.` : ""}`,
    );
  const commit = await commitNamed(world.dir, head, applied);
  const by = commit === null ? null : await revertOf(world.dir, head, commit.commit);
  if (commit === null || by !== null) throw undone(words, by?.commit ?? reverted, by);
  return { kind: "proposal", id, title: words, subject: `${verbOf(commit)}: revert ${title}`, commits: [commit], proposal };
}

/** @param what names the import */
async function runTarget(world: PlanWorld, head: string, kind: "run" | "import", id: string, what = ""): Promise<UndoTarget> {
  const run = await world.engine.get(id);
  const all = (await commitsSaying(world.dir, head, `Run: ${id}`)).filter(({ trailers }) => trailers["Run"] === id);
  if (run === null && all.length === 0) throw new ClearedError("RUN_UNKNOWN", `There is no run "${id}". \`cleared runs\` lists them.`);
  if (run !== null && run.endedAt === null)
    throw refusal(
      `${id} has not ended (${run.status}${run.waitsFor === null ? "" : `: ${run.waitsFor.slice(0, 80)}`}). Cancel it first: \`cleared runs cancel ${id}\`.`,
    );
  const agent = run?.agent ?? (all[0]?.trailers["Agent"] ?? "").split("@")[0];
  const words = `${kind === "import" ? `${what}, ` : ""}${id} (${agent})`;
  const commits: PastCommit[] = [];
  let by: PastCommit | null = null;
  for (const one of all) {
    const revert = await revertOf(world.dir, head, one.commit);
    if (revert === null) commits.push(one);
    else by = revert;
  }
  if (commits.length === 0)
    throw all.length > 0
      ? undone(words, by?.commit ?? null, by)
      : refusal(`${words} changed nothing in the workspace, so there is nothing to take back.`);
  return { kind, id, title: words, subject: `undo: ${kind === "import" ? "import " : ""}${id} (${agent})`, commits, proposal: null };
}

async function commitTarget(world: PlanWorld, head: string, commit: PastCommit): Promise<UndoTarget> {
  const words = `${short(commit.commit)} "${commit.subject}"`;
  const by = await revertOf(world.dir, head, commit.commit);
  if (by !== null) throw undone(words, by.commit, by);
  const subject = `undo: ${commit.subject}`.slice(0, 60);
  return { kind: "commit", id: commit.commit, title: words, subject, commits: [commit], proposal: null };
}

function undone(words: string, commit: string | null, by: PastCommit | null): ClearedError {
  const who = by === null ? "" : ` by ${by.trailers["Undone-by"] ?? "plain git"} on ${by.date.slice(0, 10)}`;
  return refusal(
    `${words} is undone already${who}${commit === null ? "" : ` (${short(commit)}); \`cleared undo ${short(commit)}\` or "git revert ${short(commit)}" brings it back`}.`,
  );
}

const verbOf = (commit: PastCommit): string => /^([a-z]+): /.exec(commit.subject)?.[1] ?? "agent";

/**
 * The run of the newest commit in force that wrote a receipt, and words for that import: its statements, and newer imports that are already
 * undone. @throws UNDO_REFUSED
 */
async function lastImport(world: PlanWorld, head: string): Promise<[run: string, words: string]> {
  const newer: string[] = [];
  for (const commit of await newestTouching(world.dir, head, RECEIPTS)) {
    const run = commit.trailers["Run"];
    if (run === undefined) continue;
    const files = (await statementsIn(world, commit)).join(", ");
    const words = `${files === "" ? "" : `${files}, `}imported on ${commit.date.slice(0, 10)}`;
    if ((await revertOf(world.dir, head, commit.commit)) !== null) newer.push(files === "" ? run : files);
    else if (newer.length === 0) return [run, `the last import, ${words}`];
    else return [run, `an older import, ${words} (${[...new Set(newer)].slice(0, 5).join(", ")}: undone already)`];
  }
  throw refusal("No import is in force: the books hold no statement that could be taken back.");
}

/** Names of the statements whose receipts a commit wrote. */
async function statementsIn({ git }: PlanWorld, { parent, commit }: PastCommit): Promise<string[]> {
  const written = (await git.objects.changes(parent, commit)).filter(({ path, now }) => path.startsWith(RECEIPTS) && now !== null);
  const texts = await Promise.all(written.map(async ({ path }) => receiptFromYaml((await git.tree(commit).read(path)) ?? "", path).file));
  return [...new Set(texts)];
}

/** What undoing the target changes on this tree. @throws UNDO_REFUSED, JOURNAL_* */
export async function planAt(
  world: PlanWorld,
  target: UndoTarget,
  head: Tree,
  reason: string,
): Promise<UndoPlan & { texts: Map<string, string | null> }> {
  const past = [];
  for (const one of target.commits.toReversed()) {
    const touches = await world.git.objects.changes(one.parent, one.commit);
    const [before, after] = [world.git.tree(one.parent), world.git.tree(one.commit)];
    past.push({ commit: one, touches, before, after, paths: touches.map(({ path }) => path) });
  }
  const spans = spansOf(past);
  const texts = new Map<string, string | null>();
  const refused: string[] = [];
  const moved = new Set<string>();
  for (const [path, span] of spans) {
    const now = await head.blob(path);
    if (now === span.before) continue;
    const isOwnReceipt = path.startsWith(RECEIPTS) && span.before === null;
    if ((span.unbroken && now === span.after) || isOwnReceipt) texts.set(path, span.before === null ? null : await span.base.read(path));
    else if (isBook(path)) moved.add(path);
    else refused.push(await changedSince(world, head, path, span.last));
  }
  if (refused.length > 0)
    throw refusal(`${refused.join("; ")}. Undo that first, or write the older text as a new change; nothing was undone.`);
  const config = await world.config(head);
  const today = dayIn(config.timezone, world.clock.now());
  const books = await undoBooks(head, past, config, { today, reason, run: target.kind === "commit" ? short(target.id) : target.id });
  // The result of the commits is unchanged byte for byte, so the old text is restored with its comments.
  const exact = moved.size === 0 && books.reversed === 0 && books.notes.length === 0;
  if (!exact) {
    for (const path of spans.keys()) if (isBook(path)) texts.delete(path);
    for (const [path, text] of books.files) texts.set(path, text);
  }
  const statements = await statementsOf(head, texts);
  const money = await moneyBetween(head, texts);
  const files: UndoPlan["files"] = [];
  for (const [path, text] of [...texts].sort(([a], [b]) => (a < b ? -1 : 1)))
    files.push({ path, change: text === null ? "removed" : (await head.blob(path)) === null ? "restored" : "changed" });
  const entries = { removed: books.removed, reversed: books.reversed, restored: books.restored };
  const commits = target.commits.map(({ commit }) => commit);
  const notes = [...books.notes, ...(target.kind === "run" || target.kind === "import" ? await actsOutside(world, target.id) : [])];
  const seen = canonicalHash({ commits, files, money, entries, notes }).slice(0, 16);
  return { title: target.title, commits, files, money, entries, statements, notes, seen, texts };
}

const isBook = (path: string): boolean => path === MAIN_JOURNAL || path.startsWith(JOURNAL);

interface Span {
  before: string | null;
  after: string | null;
  /** Nobody else changed the file between the commits. */
  unbroken: boolean;
  base: Tree;
  last: string;
}

function spansOf(past: readonly { commit: PastCommit; touches: readonly Difference[]; before: Tree }[]): Map<string, Span> {
  const spans = new Map<string, Span>();
  for (const { commit, touches, before: base } of past) {
    for (const { path, was, now } of touches) {
      const [before, after] = [was?.oid ?? null, now?.oid ?? null];
      const first = spans.get(path);
      const last = commit.commit;
      if (first === undefined) spans.set(path, { before, after, unbroken: true, base, last });
      else spans.set(path, { ...first, after, unbroken: first.unbroken && first.after === before, last });
    }
  }
  return spans;
}

async function changedSince({ dir }: PlanWorld, head: Tree, path: string, since: string): Promise<string> {
  const by = await changedBy(dir, head.commit, path, since);
  if (by === null) return `${path} is not as it was left`;
  const owner = by.trailers["Proposal"] ?? by.trailers["Run"];
  const how = owner === undefined ? "" : `, which \`cleared undo ${owner}\` takes back`;
  return `${path} was changed since by ${short(by.commit)} "${by.subject.slice(0, 60)}"${how}`;
}

/** Sums by account, month and currency that would change. */
async function moneyBetween(head: Tree, texts: ReadonlyMap<string, string | null>): Promise<MoneyDifference[]> {
  const found: MoneyDifference[] = [];
  for (const [file, text] of [...texts].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!isMonthFile(file)) continue;
    const [was, now] = [(await loadMonth(head, file))?.totals ?? new Map(), toMonth(file, text ?? "").totals];
    for (const account of [...new Set([...was.keys(), ...now.keys()])].sort()) {
      for (const currency of new Set<string>([...(was.get(account)?.keys() ?? []), ...(now.get(account)?.keys() ?? [])])) {
        const [before, after] = [totalOf(was, account, currency), totalOf(now, account, currency)];
        const difference = minus(after, before);
        if (difference === 0n) continue;
        const month = file.slice(JOURNAL.length, JOURNAL.length + 7).replace("/", "-");
        found.push({ account, month, currency, was: fromExact(before, 2), now: fromExact(after, 2), difference: fromExact(difference, 2) });
      }
    }
  }
  return found;
}

/** Statements of which rows can be booked again: their receipt is removed, or open as it was before. */
async function statementsOf(head: Tree, texts: ReadonlyMap<string, string | null>): Promise<UndoPlan["statements"]> {
  const found = [];
  for (const [path, text] of [...texts].filter(([one]) => one.startsWith(RECEIPTS))) {
    const [now, then] = [await head.read(path), text].map((one) => (one === null ? null : receiptFromYaml(one, path)));
    if (now != null && (then == null || (isOpenReceipt(then) && !isOpenReceipt(now)))) found.push({ file: now.file, hash: now.hash });
  }
  return found;
}

/** What a run did outside the workspace, which no commit reverts; child runs are named. */
async function actsOutside({ engine }: PlanWorld, run: string): Promise<string[]> {
  if ((await engine.get(run)) === null) return ["The run's history is not in this clone: what it did outside is not known here."];
  const steps = await engine.steps(run).catch(onCode("HISTORY_GONE", ({ message }) => message));
  if (typeof steps === "string") return [`${steps} So what it did outside is not known here.`];
  const acts = steps.filter((step) => (step.effect === "external" || step.effect === "notify") && step.state !== "error");
  return acts.map((step) => {
    const child = (JSON.parse(step.result ?? "null") as { run?: unknown } | null)?.run;
    if (typeof child === "string" && child.startsWith("run_")) return `not undone: ${child}, which it started; \`cleared undo ${child}\`.`;
    return `not undone: ${callWords(step)}${step.state === "intent" ? ", which may have happened" : ""}.`;
  });
}

/** `erp/schedule_payment of 84.00` */
function callWords(step: Step): string {
  const params = JSON.parse(step.params) as { tool?: Json; to?: Json };
  const [amount] = amountsIn(params as Json);
  const name = typeof params.tool === "string" ? params.tool : step.name;
  return `${name}${typeof params.to === "string" ? ` to ${params.to.slice(0, 60)}` : ""}${amount === undefined ? "" : ` of ${amount.value}`}`;
}
