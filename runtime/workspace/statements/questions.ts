/**
 * Questions to a person about the rows of a statement: refused rows, rows that may be the same as entries of the books, and whether deleted
 * rows are to be booked again. A question shows its rows and entries, so that it can be answered without opening the books.
 */
import { createHash } from "node:crypto";
import { count, upTo } from "../../kernel/text.ts";
import { canonicalJson } from "../../kernel/canonical.ts";
import type { Account, AskedRow, Change, Entry, Json, Receipt, Refused, UnknownAccount } from "../../kernel/ports.ts";
import { IMPORT, receiptFile } from "../layout.ts";
import type { Parsed } from "./parsed-statement.ts";
import { ALL_ROWS, type KeptReceipt } from "./receipt.ts";
import { excerpt } from "./cells.ts";
import type { Statement } from "./proof.ts";
import type { Config } from "../settings/config.ts";
import { NO_BANK, recognised } from "./origin.ts";

type Review = Extract<Change, { op: "review" }>;

/** Something for a person, about no entry. */
export const reviewOf = (title: string, body: Json, more: Partial<Review> = {}): Review => ({
  ...{ op: "review", title: title.slice(0, 200), body, entry: null },
  ...more,
});

// Nobody decides hundreds of cards one by one, so more pairs than this become one question.
const MOST_QUESTIONS = 25;
// A person checks the first ones and recognizes the rest; the receipt has them all.
const MOST_LINES = 12;

/** Assigns rows to questions: pairs on the same day share one, each pair some days apart gets its own. */
export function inQuestions(rows: readonly AskedRow[]): AskedRow[] {
  const near = rows.filter(({ why }) => why === "near");
  const groups = Map.groupBy(rows, ({ why, id }) => (why === "near" && near.length <= MOST_QUESTIONS ? id : why));
  return [...groups.values()].flatMap((group) => {
    const ids = group.map(({ id }) => id).join();
    const question = createHash("sha256").update(ids).digest("hex").slice(0, 12);
    return group.map((row) => ({ ...row, question }));
  });
}

/** A card for each question on the receipt. `find`: the entry of an id that a row may be. */
export async function sameQuestions(receipt: KeptReceipt, find: (id: string) => Promise<Entry | null>): Promise<Review[]> {
  const questions = Map.groupBy(receipt.asked, ({ question }) => question);
  const shownIds = new Set([...questions.values()].flatMap((rows) => rows.slice(0, MOST_LINES).map(({ entry }) => entry)));
  const found = await Promise.all([...shownIds].map(async (id) => [id, await find(id)] as const));
  const entries = new Map(found.flatMap(([id, entry]) => (entry === null ? [] : [[id, entry] as const])));
  return [...questions].map(([question, rows]) => {
    const [first] = rows;
    const known = entries.get(first?.entry ?? "");
    const what =
      rows.length === 1 && first !== undefined ? `${excerpt(first.description)} ${first.amount} of ${first.date}` : `${rows.length} rows`;
    const as =
      rows.length > 1
        ? "entries of the books"
        : known === undefined
          ? "an entry of the books"
          : `${excerpt(known.description)} of ${known.date}`;
    const twin = first?.why === "twin";
    const title = twin
      ? `${receipt.file}: is there a second ${what}?`
      : `${receipt.file}: ${rows.length === 1 ? "is" : "are"} ${what} the same as ${as}?`;
    const lines = rows.slice(0, MOST_LINES).map((row) => `${lineOf(row)}  =  ${shown(entries.get(row.entry), row.entry)}`);
    const more = rows.length > MOST_LINES ? [`and ${rows.length - MOST_LINES} more: ${receiptFile(receipt.hash)}`] : [];
    const body = {
      file: `${IMPORT}${receipt.file}`,
      approve: twin
        ? "no: the row is the entry in the books, and the gap stays"
        : "they are the same; the entries stay and take over the references",
      reject: twin ? "yes: it is booked like the first" : "they are different payments, which are booked like those entries",
      ...(receipt.gap === null ? {} : { "the bank says": `${receipt.gap} more than the books have now` }),
    };
    return reviewOf(title, body, { rows: { kind: "same", hash: receipt.hash, question }, booked: [...lines, ...more] });
  });
}

/** A card for the rows of a statement that are no longer in the books. `words`: texts of rows by entry id. */
export function goneQuestion(receipt: KeptReceipt, ids: string[], words: ReadonlyMap<string, string>): Review {
  const rows = count(ids.length, "row");
  const title = `${rows} of statement ${excerpt(receipt.file)} ${ids.length === 1 ? "is" : "are"} no longer in the books`;
  const body = { receipt: receiptFile(receipt.hash), approve: "book them again, as they were", reject: "leave them out for good" };
  const lines = ids.map((id) => words.get(id) ?? id);
  return reviewOf(title, body, { rows: { kind: "gone", hash: receipt.hash, ids }, booked: upTo(lines, MOST_LINES) });
}

const MOST_SHOWN = 5;

/**
 * Statements of one file for accounts that no rule names, as refused lines of its receipt: one for each account. `left`: those a person has
 * left out.
 */
export function unknownAccounts(
  file: { name: string; hash: string },
  statements: readonly Statement[],
  config: Pick<Config, "statements" | "currency">,
  accounts: readonly Account[],
  left: readonly object[],
): Refused[] {
  const groups = Map.groupBy(statements, (one) => JSON.stringify(recognised(file, one, config, accounts)));
  return [...groups.values()].flatMap((group): Refused[] => {
    const [first] = group;
    if (first === undefined) return [];
    const match = recognised(file, first, config, accounts);
    if (left.some((one) => canonicalJson(one) === canonicalJson(match))) return [];
    const rows = group.flatMap((one) => one.rows);
    return [unknownAccount({ match, card: first.card, rows: upTo(rows.map(lineOf), MOST_SHOWN) })];
  });
}

/** As a refused line of a receipt. */
export function unknownAccount(account: UnknownAccount): Refused {
  const message = `It is not known to which account of the books ${nameOf(account)} belongs. Answer its card in \`cleared queue\` and approve the proposal that its answer makes, or add to config.yaml under statements: - match: ${JSON.stringify(account.match)} with its account.`;
  return { line: 0, code: "STATEMENT_ACCOUNT", message, account };
}

/** `card 4111 in USD`, `account 0007 of bank 111 CHECKING in EUR`, `the account of giro-{date}.csv`, `the account of export.csv (content 1b2c3d4e5f60)` */
export function nameOf({ match, card }: Pick<UnknownAccount, "match" | "card">): string {
  const { bank_account, bank, file, content, currency } = match;
  const kind = card ? "card" : "account";
  const numbered = `${kind} ${bank_account}${[undefined, NO_BANK, "CARD"].includes(bank) ? "" : ` of bank ${bank}`}`;
  const name = bank_account === undefined ? `the ${kind} of ${file}` : numbered;
  return `${name}${currency === undefined ? "" : ` in ${currency === "any" ? "several currencies" : currency}`}${content === undefined ? "" : ` (content ${content})`}`;
}

/** For which later files an answer holds, where only their name can say. */
function reachOf({ file, content, dialect, currency = "" }: UnknownAccount["match"]): string {
  const like = `every ${currency === "any" ? dialect : `${currency} ${dialect}`.trim()} file that is called ${file}, from now on`;
  if (content === undefined)
    return currency === "" ? `${like}; with another account than its name tells, or than the only card, this file alone` : like;
  return "this file alone, because any account's download may be called so; that of a file named after its account, as checking-2026-10.csv, holds for later ones";
}

/** The card for an account that no rule names. `likely`: the account of the books that it probably is. */
function accountQuestion(file: string, hash: string, { match, card, rows }: UnknownAccount, likely: Account | null): Review {
  const then = "the rule is proposed for config.yaml, and its statements are booked once that is approved";
  const body = {
    file: `${IMPORT}${file}`,
    ...(match.file === undefined ? {} : { "the answer holds for": reachOf(match) }),
    approve: `${likely === null ? "" : `${likely.id} ${likely.name} if it is proposed for no other, or `}the account that you name; ${then}`,
    reject: "none of them; nothing of it that lies in import/ is booked",
  };
  const title = `${file}: which account of the books is ${nameOf({ match, card })}?`;
  return reviewOf(title, body, { rows: { kind: "account", hash, match, card }, booked: rows });
}

/** `2026-11-05  -4.50 USD  COFFEE` */
export const lineOf = ({ date, amount, currency, description }: Pick<AskedRow, "date" | "amount" | "currency" | "description">): string =>
  `${date}  ${amount} ${currency}  ${excerpt(description)}`;

const shown = (entry: Entry | undefined, id: string): string =>
  entry === undefined ? `deleted from the books (${id})` : `${entry.date}  ${excerpt(entry.description)}  (${id})`;

// A file read by the wrong dialect may have every row refused: nobody decides thousands of cards, and one card is enough.
const MOST_CARDS = 25;

/** Questions about refused rows: one each, or one for all. `likely`: the account of the books that an unknown one probably is; `guess`: text of a likely dialect. */
export function refusedQuestions(
  { file, hash, refused }: Pick<Receipt, "file" | "hash" | "refused">,
  likely: (unknown: UnknownAccount) => Account | null,
  guess: Parsed["guess"] = null,
): Review[] {
  const card = (title: string, { line, code, message }: Refused): Review => {
    const body = { file: `${IMPORT}${file}`, line, code, message, ...(guess === null ? {} : { dialect: guess }) };
    return reviewOf(title, body, { row: { hash, line } });
  };
  const accounts = refused.flatMap(({ account }) => (account === undefined ? [] : [accountQuestion(file, hash, account, likely(account))]));
  const unread = refused.filter(({ account }) => account === undefined);
  const [first] = unread;
  if (first === undefined || unread.length <= MOST_CARDS) return [...accounts, ...unread.map((row) => card(titleOf(file, row), row))];
  const message = `${unread.length} rows, the first at line ${first.line}: ${first.message}`;
  return [...accounts, card(`${file}: ${unread.length} rows cannot be read`, { line: ALL_ROWS, code: first.code, message })];
}

const WORDS: Partial<Record<string, string>> = {
  STATEMENT_DIALECT: "is in a format that no dialect reads",
  STATEMENT_ENCODING: "is in another character encoding than its dialect says",
  STATEMENT_ROW: "cannot be read",
  STATEMENT_INVALID: "cannot be read",
  JOURNAL_ASSERTION: "contradicts a balance of the bank and is not booked",
};

/** The title of the card of a refused row or file; the card itself has the code and the full message. */
export function titleOf(name: string, { line, code }: Refused): string {
  const whole = line === 0 || code === "STATEMENT_DIALECT" || code === "STATEMENT_ENCODING";
  return `${name}${whole ? "" : `, line ${line}`} ${WORDS[code] ?? "is not booked"}`;
}
