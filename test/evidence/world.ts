/**
 * What a run has left in the world, read where it lies: the books of HEAD, the store's cards and notices, and what reached the bank or the tool
 * server. Beside it the same as effects predict it.
 */
import type { Host } from "../../runtime/app/host.ts";
import type { Effects } from "../../runtime/change/evidence/types.ts";
import type { Json, RunRecord } from "../../runtime/kernel/ports.ts";
import { type Exact, ZERO, fromExact, plus, toExact } from "../../runtime/workspace/books/amounts.ts";
import { loadMonth, monthFiles } from "../../runtime/workspace/books/months.ts";

export interface Happened {
  /** Payee, status, tags and legs of the entries, a line each. */
  books: string[];
  cards: string[];
  notices: string[];
  /** Acts that came through, by tool; how many, and what their amounts come to. */
  payments: string[];
}

/** An act outside as the one it reached has written it down. */
export interface Reached {
  tool: string;
  params: Record<string, Json>;
}

const TELLING: ReadonlySet<string> = new Set(["conf", "ev", "note", "ref"]);
const tagsOf = (tags: Record<string, string>): string =>
  Object.entries(tags)
    .filter(([name]) => TELLING.has(name))
    .sort()
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");

export async function happened({ git, cards, database }: Host, { id }: RunRecord, reached: readonly Reached[]): Promise<Happened> {
  const head = git.tree(await git.head());
  const months = await Promise.all((await monthFiles(head)).map((file) => loadMonth(head, file)));
  const entries = months.flatMap((month) => month?.entries.filter(({ tags }) => tags["run"] === id) ?? []);
  const notices = database.all<{ channel: string; payload: string }>("SELECT channel, payload FROM notices");
  return {
    books: entries
      .map(({ id: entry, status, counterparty, tags, postings }) => line(entry, status, counterparty, tagsOf(tags), postings))
      .sort(),
    cards: cards
      .list({ run: id })
      .filter(({ kind, key }) => kind !== "in_doubt" && !key.startsWith("notice:"))
      .map(({ title }) => title)
      .sort(),
    notices: notices
      .map(({ channel, payload }) => ({ channel, ...(JSON.parse(payload) as { run: string; to: string; subject: string; text: string }) }))
      .filter(({ run }) => run === id)
      .map(({ channel, to, subject, text }) => [channel, to, subject, text].join(" | "))
      .sort(),
    payments: sums(reached),
  };
}

/** `channel`: of notices that name none. */
export function predicted({ entries, gates, reviews, notices, calls }: Effects, channel: string): Happened {
  return {
    books: entries
      .map(({ id, status, counterparty, tags, evidence, legs }) =>
        line(id, status, counterparty, tagsOf({ ...tags, ...(evidence === "" ? {} : { ev: evidence }) }), legs),
      )
      .sort(),
    cards: [...gates, ...reviews].map(({ title }) => title).sort(),
    notices: notices.map((one) => [one.channel ?? channel, one.to, one.subject, one.text].join(" | ")).sort(),
    payments: sums(calls as Reached[]),
  };
}

function line(
  id: string,
  status: string,
  payee: string,
  tags: string,
  legs: readonly { account: string; amount: string; currency: string }[],
): string {
  return [id, status, payee, tags, ...legs.map(({ account, amount, currency }) => `${account} ${amount} ${currency}`)].join(" | ");
}

/** `bank_pay: 2, 240.00` */
function sums(acts: readonly Reached[]): string[] {
  const found = new Map<string, { count: number; sum: Exact }>();
  for (const { tool, params } of acts) {
    const { count, sum } = found.get(tool) ?? { count: 0, sum: ZERO };
    const amount = params["amount"];
    found.set(tool, {
      count: count + 1,
      sum: typeof amount === "string" || typeof amount === "number" ? plus(sum, toExact(String(amount))) : sum,
    });
  }
  return [...found].map(([tool, { count, sum }]) => `${tool}: ${count}, ${fromExact(sum, 2)}`).sort();
}
