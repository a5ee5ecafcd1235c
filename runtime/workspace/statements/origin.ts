/**
 * To which account of the books a statement belongs: by the rules of config.yaml, and by which rule a person's answer would be known again. A rule
 * made from an answer must never take the statements of another account: rather ask once more.
 */
import type { Account, UnknownAccount } from "../../kernel/ports.ts";
import type { Config, StatementRule } from "../settings/config.ts";
import { collapse } from "./cells.ts";
import type { Statement } from "./proof.ts";

/** What a statement says about its origin. */
export type Origin = Pick<Statement, "account" | "bank" | "card" | "currency" | "dialect" | "from" | "to" | "rows">;
type Rules = Pick<Config, "statements" | "currency">;
/** `hash`: of its content. */
type Named = { name: string; hash: string };

const ANY_CURRENCY = "any";
/** In a rule: of a statement that names neither bank nor kind of account. */
export const NO_BANK = "none";

/** The bank with the account's kind, which with its number and currency name one account: two of them may have one number. */
const bankOf = ({ bank, card }: Origin): string => [bank, card ? "CARD" : null].filter((part) => part !== null).join(" ") || NO_BANK;

/** The currency of a statement; `any` of one with rows in several. OFX states one, also where payments were made abroad. */
function currencyOf({ currency, dialect, rows }: Origin): string {
  const [first = currency, ...more] = dialect === "ofx" ? [] : new Set(rows.map((row) => row.currency));
  return more.length === 0 ? first : ANY_CURRENCY;
}

/** The currency of the statements of a rule: as it says; any where it names the account or the file's content; else that of the books. */
function currencyFor({ match, mapping }: StatementRule, own: string): string {
  return match.currency ?? mapping?.currency ?? (match.bank_account === undefined && match.content === undefined ? own : ANY_CURRENCY);
}

/** The rules with their accounts by number: config.yaml may have a name, and the keys of rows begin with the number. */
const numbered = (rules: readonly StatementRule[], accounts: readonly Account[]): StatementRule[] =>
  rules.map((rule) => ({ ...rule, account: accounts.find(({ name }) => name === rule.account)?.id ?? rule.account }));

/** Accounts that banks send statements of, but for cards. */
export const isBank = ({ type, name }: Account): boolean => type === "asset" && name.startsWith("Assets:Bank:");

/** Dialect and mapping for a file by its name alone, before its bank account is known. */
export function settingsFor(rules: readonly StatementRule[], file: string): Partial<Pick<StatementRule, "dialect" | "mapping">> {
  const rule = rules.find(
    (one) => one.match.file !== undefined && fits(one.match.file, file) && (one.dialect !== undefined || one.mapping !== undefined),
  );
  return { dialect: rule?.dialect, mapping: rule?.mapping };
}

/**
 * The books' account of a statement: that of the first rule whose conditions all hold, and which is for its currency (`currencyFor`). Without a rule, a statement that names its account, is of a card or in another currency than the books belongs to none until a person decides;
 * any other belongs to the only bank account, if there is exactly one. Null: unknown.
 */
export function matchAccount({ statements: rules, currency }: Rules, accounts: Account[], file: Named, statement: Origin): string | null {
  const { account, card, dialect } = statement;
  const own = currencyOf(statement);
  const rule = numbered(rules, accounts).find(
    ({ match, ...more }) =>
      Object.keys(match).length > 0 &&
      [ANY_CURRENCY, own].includes(currencyFor({ match, ...more }, currency)) &&
      (match.file === undefined || fits(match.file, file.name, statement)) &&
      (match.content === undefined || file.hash.startsWith(match.content)) &&
      (match.dialect === undefined || match.dialect === dialect) &&
      (match.bank === undefined || plainBank(match.bank) === plainBank(bankOf(statement))) &&
      (match.bank_account === undefined || (account !== null && plainId(match.bank_account) === plainId(account))),
  );
  if (rule !== undefined) return rule.account;
  const [only, second] = accounts.filter(isBank);
  return account === null && !card && own === currency && only !== undefined && second === undefined ? only.id : null;
}

/**
 * The conditions by which a rule of config.yaml would recognize the account of such statements, of later months too. Where the statement names
 * its number, they are all that names it. A bank has one dialect for all its accounts and cards, so where no number tells them apart, the file's name
 * does, without its dates. If any account's download may have the name, the rule is for the content of this file alone, and the next one is asked
 * about, unless the books have a single card.
 */
export function recognised(
  { name, hash }: Named,
  statement: Origin,
  { statements: rules, currency: own }: Rules,
  accounts: readonly Account[],
): UnknownAccount["match"] {
  const { account, card, dialect } = statement;
  const currency = currencyOf(statement);
  if (account !== null) return { bank_account: plainId(account), bank: bankOf(statement), dialect, currency };
  const foreign = currency === own ? {} : { currency };
  // No pattern in a name may become one in the rule.
  const plain = name.replaceAll("*", "?");
  const like = withoutDates(plain, statement);
  const known = numbered(rules, accounts);
  const others = known.filter(
    ({ match, ...more }) =>
      (match.dialect ?? dialect) === dialect &&
      [ANY_CURRENCY, currency].includes(currencyFor({ match, ...more }, own)) &&
      match.file !== undefined &&
      match.content === undefined &&
      withoutDates(match.file) === like,
  );
  const isOfMany = new Set(others.map((one) => one.account)).size > 1;
  const match = { file: like, dialect, ...foreign };
  if (!isOfMany && toldBy({ match, card }, known, accounts) !== null) return match;
  return ofContent({ ...match, file: plain }, hash);
}

/** For this file alone. */
export const ofContent = (match: UnknownAccount["match"], hash: string): UnknownAccount["match"] => ({
  ...match,
  content: hash.slice(0, SHORT_HASH),
});

/** The account that these conditions tell by a file's name: of the books' single card, or one that the name names; else null. */
export function toldBy(
  { match, card }: Pick<UnknownAccount, "match" | "card">,
  rules: readonly StatementRule[],
  accounts: readonly Account[],
): string | null {
  const [only, second] = accounts.filter(isCard);
  if (card && match.currency === undefined && second === undefined && only !== undefined) return only.id;
  const known = numbered(rules, accounts);
  const own = accounts.filter((one) => isBank(one) || isCard(one) || known.some(({ account }) => account === one.id));
  return tellsAccount(match.file ?? "", own);
}

const isCard = ({ type, name }: Account): boolean => type === "liability" && /\bcard\b/i.test(name);
const SHORT_HASH = 12;

// Words of account names that say nothing of one account.
const COMMON = new Set("account bank card credit debit konto".split(" "));

/**
 * The account of which a name without its dates has words or numbers: of the name of one of those that have statements (`own`), and of no second one.
 * Null: any account's download may have the name.
 */
function tellsAccount(like: string, own: readonly Account[]): string | null {
  const name = like.replaceAll(ANY_DATE, " ").replace(/\.[a-z]+$/i, "");
  const rest = new Set([...wordsOf(name), ...wordsOf(name.replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2"))]);
  const known = own.map(({ id, name }) => ({ id, words: wordsOf(name.split(":").at(-1) ?? "") }));
  const isOfOne = (word: string) => !COMMON.has(word) && known.filter(({ words }) => words.has(word)).length === 1;
  const [only, second] = known.filter(({ words }) => [...rest].some((word) => words.has(word) && isOfOne(word)));
  return second === undefined ? (only?.id ?? null) : null;
}

/** In small letters without accents, with the long numbers: `PayPal N26` has two, `Chase1234` has `1234` too. */
function wordsOf(text: string): ReadonlySet<string> {
  const plain = text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  return new Set([...(plain.match(/(?=[\p{N}]*\p{L})[\p{L}\p{N}]{2,}/gu) ?? []), ...(plain.match(/\d{4,}/g) ?? [])]);
}

const ANY_DATE = "{date}";
const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const MONTH =
  "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?";
const [YEAR, NUMBER, SEPARATOR] = ["(?:19|20)\\d\\d", "(?:0[1-9]|[12]\\d|3[01])", "[-_. ]?"];
// A year with its month, and the day beside them in the same form: `20261031`, `2026-10`, `31.10.2026`, `10-31-2026`, `31 Oct 2026`, `2026 October`.
const DATE = new RegExp(
  [
    `(?<!\\d)(?<y>${YEAR})(?<s>${SEPARATOR})(?<a>${NUMBER})(?:\\k<s>${NUMBER})?(?!\\d)`,
    `(?<!\\d)(?<a>${NUMBER})(?<s>${SEPARATOR})(?<b>${NUMBER})\\k<s>(?<y>${YEAR})(?!\\d)`,
    `(?:(?<!\\d)${NUMBER}${SEPARATOR})?(?<!\\p{L})(?<m>${MONTH})${SEPARATOR}(?<y>${YEAR})(?!\\d)`,
    `(?<!\\d)(?<y>${YEAR})${SEPARATOR}(?<m>${MONTH})(?!\\p{L})`,
  ].join("|"),
  "giu",
);

/**
 * `giro-2026-10.csv` -> `giro-{date}.csv`. Any number may be an account's, so with a statement only what is of its months, or of one beside them,
 * is a date; every other digit and word stays.
 */
function withoutDates(file: string, { from, to }: Pick<Origin, "from" | "to"> = { from: null, to: null }): string {
  return file.replace(DATE, (...found) => {
    const { y, a, b, m } = found.at(-1) as Partial<Record<"y" | "a" | "b" | "m", string>>;
    const months = m === undefined ? [a, b].map(Number) : [MONTHS.indexOf(m.slice(0, 3).toLowerCase()) + 1];
    const isNear = (month: number) =>
      from === null ||
      to === null ||
      (monthAt(y, month) >= monthAt(from, from.slice(5, 7)) - 1 && monthAt(y, month) <= monthAt(to, to.slice(5, 7)) + 1);
    return months.some((month) => month >= 1 && month <= 12 && isNear(month)) ? ANY_DATE : found[0];
  });
}

/** Months since the year 0, of a text that begins with a year. */
const monthAt = (year = "", month: number | string): number => Number(year.slice(0, 4)) * 12 + Number(month);

/** Whether a file pattern of config.yaml fits: `*` is any text, `?` one character, `{date}` a date of the statement. */
const fits = (pattern: string, file: string, statement?: Origin): boolean =>
  matchesGlob(pattern, file) || (pattern.includes(ANY_DATE) && matchesGlob(pattern, withoutDates(file, statement)));

/** The account that a person most likely means: in the currency of the books the only one of its kind, if no rule names it yet; else null. */
export function likelyAccount(
  { statements: rules, currency }: Rules,
  accounts: Account[],
  { card, match }: Pick<UnknownAccount, "card" | "match">,
): Account | null {
  if ((match.currency ?? currency) !== currency) return null;
  const [only, second] = accounts.filter(card ? isCard : isBank);
  if (only === undefined || second !== undefined) return null;
  return numbered(rules, accounts).some(({ account }) => account === only.id) ? null : only;
}

/** Banks write one id with and without blanks: `NL28 INGB 1200 3244 16`. */
const plainId = (text: string): string => text.replace(/\s+/g, "").toUpperCase();
/** The blanks between the bank, its branch and the kind stay. */
const plainBank = (text: string): string => collapse(text).toUpperCase();

/** Linear in the name for each star, so no pattern can hang the host. */
function matchesGlob(pattern: string, name: string): boolean {
  let [p, n, star, mark] = [0, 0, -1, 0];
  while (n < name.length) {
    if (pattern[p] === "*") [star, mark] = [p++, n];
    else if (p < pattern.length && (pattern[p] === "?" || pattern[p] === name[n])) [p, n] = [p + 1, n + 1];
    else if (star >= 0) [p, n] = [star + 1, ++mark];
    else return false;
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}
