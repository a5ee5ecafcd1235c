/**
 * A statement whose rows contradict a balance that the bank has stated: which balance, by how much, and the probable cause. Checked before
 * the statement's receipt is written, so that a contradiction does not stop the other statements of the run.
 */
import { shifted } from "../../kernel/day.ts";
import { type ClearedError, onCode } from "../../kernel/errors.ts";
import type { Entry, Posting, Refused } from "../../kernel/ports.ts";
import { fromExact, toExact } from "../books/amounts.ts";
import { applyEdits } from "../books/ledger.ts";
import { ifWhole, loadMonth, monthFiles } from "../books/months.ts";
import { monthFile } from "../layout.ts";
import { forkOf, type Overlay } from "../overlay.ts";
import type { PairRow } from "./known-rows.ts";
import type { Parsed } from "./parsed-statement.ts";
import { excerpt } from "./cells.ts";
import { type StatedContext, stateBalances } from "../books/view-balances.ts";

/** Why the statement is not booked, and the entries that the run made from it; null when it contradicts nothing. */
export async function contradictionOf(parsed: Parsed, context: StatedContext): Promise<{ refused: Refused; entries: string[] } | null> {
  const { overlay, closed } = context;
  const keys = new Set(parsed.parts.flatMap((part) => part.rows.map((row) => row.key)));
  // A further entry of the same row has the row's key with a number appended.
  const own = overlay.edits().add.filter(({ tags }) => keys.has((tags["key"] ?? "").replace(/#\d+$/, "")));
  if (own.length === 0 || !(await mayContradict(own, overlay))) return null;
  const failing = async (without: readonly Entry[]): Promise<ClearedError | null> => {
    const trial = forkOf(overlay);
    for (const { id } of without) trial.record({ op: "remove", id });
    const stated = without.length > 0 ? [] : parsed.parts.flatMap((part) => part.stated);
    for (const one of stated) await ifWhole(() => stateBalances(one, { ...context, overlay: trial }));
    const applied = applyEdits(await overlay.head(), trial.edits(), { closed_through: closed });
    return applied.then(
      () => null,
      onCode("JOURNAL_ASSERTION", (error) => error),
    );
  };
  const failed = await failing([]);
  // If it fails without the statement too, the statement is not the cause.
  if (failed === null || (await failing(own)) !== null) return null;
  const { entry: id, account, difference } = failed.data as { entry: string; account: string; difference: string };
  const entry = await overlay.get(id);
  const posting = entry?.postings.find((one) => one.account === account && one.assertion !== undefined);
  const message =
    entry === null || posting === undefined
      ? failed.message
      : `The bank stated ${posting.assertion} ${posting.currency} on ${account} for ${entry.date}; with the rows of this file the books would say ${computed(posting, difference)} ${posting.currency}, so none of it is booked. ${await causes(own, account, posting.currency, difference, overlay)}`;
  return { refused: { line: 0, code: "JOURNAL_ASSERTION", message: message.slice(0, 2000) }, entries: own.map((one) => one.id) };
}

const computed = ({ assertion = "0" }: Posting, difference: string): string => fromExact(toExact(assertion) - toExact(difference), 2);

/** A cheap check first: only an assertion on or after the first day, on an account that moves, can fail. Most statements are newer than all assertions. */
async function mayContradict(own: readonly Entry[], overlay: Overlay): Promise<boolean> {
  const first = own.reduce((day, { date }) => (date < day ? date : day), own[0]?.date ?? "");
  const accounts = new Set(own.flatMap(({ postings }) => postings.map(({ account }) => account)));
  const states = ({ date, postings }: Entry): boolean =>
    date >= first && postings.some(({ account, assertion }) => assertion !== undefined && accounts.has(account));
  if (overlay.edits().add.some(states)) return true;
  const head = await overlay.head();
  for (const file of await monthFiles(head)) {
    if (file >= monthFile(first) && (await loadMonth(head, file))?.entries.some(states) === true) return true;
  }
  return false;
}

// A payment is booked within a few days of its announcement.
const NEAR_DAYS = 5;

type Movement = Pick<PairRow, "date" | "amount" | "text">;

/** The likeliest causes, from the books: the same payments, which no rule recognized and nobody was asked about, or one row that equals the difference. */
async function causes(own: readonly Entry[], account: string, currency: string, difference: string, overlay: Overlay): Promise<string> {
  const rows = movements(own, account, currency);
  if (rows.length === 0) return "";
  const days = rows.map(({ date }) => date).sort();
  const booked: Movement[] = [];
  const mine = new Set(own.map(({ id }) => id));
  for (const file of await overlay.months()) {
    if (file < monthFile(shifted(days[0] ?? "", -NEAR_DAYS)) || file > monthFile(shifted(days.at(-1) ?? "", NEAR_DAYS))) continue;
    const others = ((await ifWhole(() => overlay.month(file))) ?? []).filter(({ id }) => !mine.has(id));
    booked.push(...movements(others, account, currency));
  }
  const alike = matched(rows, booked);
  const found: string[] = [];
  if (alike.length > 0)
    found.push(
      `${count(alike)} in the books with the same amount at most ${NEAR_DAYS} days apart${example(alike)}: they may be the same payments with different descriptions.`,
    );
  const missing = -toExact(difference);
  const sum = alike.reduce((total, [row]) => total + toExact(row.amount), 0n);
  const alone = rows.find(({ amount }) => toExact(amount) === missing);
  if (found.length > 0 && sum === missing) found.push("Without them the balance holds.");
  else if (alone !== undefined) found.push(`The row ${words(alone)} alone is the whole difference.`);
  if (found.length === 0) found.push("A statement in between may be missing, or a row was missing in the one that stated the balance.");
  return found.join(" ");
}

function movements(entries: readonly Entry[], account: string, currency: string): Movement[] {
  return entries.flatMap(({ date, description, postings }) =>
    postings.flatMap((one) =>
      one.account === account && one.currency === currency ? [{ date, amount: one.amount, text: description }] : [],
    ),
  );
}

/** Pairs each row with an entry of the same amount within a few days; each entry is used once. */
function matched(rows: readonly Movement[], booked: Movement[]): [row: Movement, entry: Movement][] {
  const left = Map.groupBy(booked, ({ amount }) => toExact(amount));
  return rows.flatMap((row): [Movement, Movement][] => {
    const alike = left.get(toExact(row.amount)) ?? [];
    const at = alike.findIndex(({ date }) => date >= shifted(row.date, -NEAR_DAYS) && date <= shifted(row.date, NEAR_DAYS));
    const [entry] = at < 0 ? [] : alike.splice(at, 1);
    return entry === undefined ? [] : [[row, entry]];
  });
}

const count = ({ length }: { length: number }): string => `${length} of its rows ${length === 1 ? "is" : "are"}`;
const words = ({ date, amount, text }: Movement): string => `${date} "${excerpt(text)}" ${amount}`;
const example = ([first]: [Movement, Movement][]): string =>
  first === undefined ? "" : ` (${words(first[0])}, in the books ${first[1].date} "${excerpt(first[1].text)}")`;
