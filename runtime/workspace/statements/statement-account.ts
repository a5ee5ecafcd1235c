/** To which account of the books a statement belongs, and how config.yaml says it is read. */
import type { Account, UnknownAccount } from "../../kernel/ports.ts";
import type { StatementRule } from "../settings/config.ts";
import type { Statement } from "./types.ts";

/** What a statement says of where it comes from. */
export type Origin = Pick<Statement, "account" | "card" | "dialect">;

/** Numbers of the accounts statements may belong to: assets below `Assets:Bank`. */
export function bankAccounts(accounts: Account[]): string[] {
  return accounts.filter((account) => account.type === "asset" && account.name.startsWith("Assets:Bank:")).map((account) => account.id);
}

/** Dialect and mapping for a file by its name alone, before its bank account is known. */
export function settingsFor(rules: readonly StatementRule[], file: string): { dialect?: string | undefined; mapping?: unknown } {
  const rule = rules.find(
    (one) => one.match.file !== undefined && matchesGlob(one.match.file, file) && (one.dialect !== undefined || one.mapping !== undefined),
  );
  return { dialect: rule?.dialect, mapping: rule?.mapping };
}

/**
 * The books' account of a statement: that of the first rule whose conditions all hold. A statement that says of which account it is, or that
 * it is of a card, belongs to none until somebody has said so; one that says nothing, to the only bank account. Null: nobody knows.
 */
export function matchAccount(rules: readonly StatementRule[], accounts: Account[], file: string, statement: Origin): string | null {
  const { account, card, dialect } = statement;
  const rule = rules.find(
    ({ match }) =>
      Object.keys(match).length > 0 &&
      (match.file === undefined || matchesGlob(match.file, file)) &&
      (match.dialect === undefined || match.dialect === dialect) &&
      (match.bank_account === undefined || (account !== null && plainId(match.bank_account) === plainId(account))),
  );
  if (rule !== undefined) return rule.account;
  const [only, second] = bankAccounts(accounts);
  return account === null && !card && only !== undefined && second === undefined ? only : null;
}

/** What a rule of config.yaml would recognise the account of such statements by. */
export function recognised(file: string, { account, card, dialect }: Origin): UnknownAccount["match"] {
  if (account !== null) return { bank_account: plainId(account) };
  return card && dialect !== "ofx" ? { dialect } : { file };
}

/**
 * The account that a person most likely means, by number: the only one of its kind that no rule names yet. Null when there is not exactly
 * one.
 */
export function likelyAccount(rules: readonly StatementRule[], accounts: Account[], card: boolean): Account | null {
  const isOfKind = ({ type, name }: Account) => (card ? type === "liability" && /\bcard\b/i.test(name) : name.startsWith("Assets:Bank:"));
  const [only, second] = accounts.filter(isOfKind);
  if (only === undefined || second !== undefined) return null;
  return rules.some(({ account }) => account === only.id || account === only.name) ? null : only;
}

/** Banks write one id with and without blanks: `NL28 INGB 1200 3244 16`. */
function plainId(text: string): string {
  return text.replace(/\s+/g, "").toUpperCase();
}

/** `*` is any text, `?` one character. Linear in the name for each star, so no pattern can hang the host. */
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
