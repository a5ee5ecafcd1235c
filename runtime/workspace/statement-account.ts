/** To which account of the books a statement belongs, and how config.yaml says it is read. */
import { ClearedError } from "../errors.ts";
import type { Account } from "../ports.ts";
import type { StatementRule } from "./config.ts";
import { IMPORT } from "./layout.ts";
import { excerpt } from "./statements/cells.ts";

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
 * The books' account of a statement: the first rule whose conditions all hold; without one, the workspace's only bank account.
 * `banks` are the numbers of its bank accounts.
 * @throws STATEMENT_ACCOUNT with the line to add to config.yaml
 */
export function matchAccount(
  rules: readonly StatementRule[],
  banks: readonly string[],
  statement: { file: string; bankAccount: string | null },
): string {
  const { file, bankAccount } = statement;
  const fits = ({ match }: StatementRule) =>
    (match.file !== undefined || match.bank_account !== undefined) &&
    (match.file === undefined || matchesGlob(match.file, file)) &&
    (match.bank_account === undefined || (bankAccount !== null && plainId(match.bank_account) === plainId(bankAccount)));
  const rule = rules.find(fits);
  if (rule !== undefined) return rule.account;
  const [only, second] = banks;
  if (only !== undefined && second === undefined) return only;
  const which = bankAccount === null ? `file: "${excerpt(file)}"` : `bank_account: "${excerpt(bankAccount)}"`;
  const why =
    only === undefined
      ? "the chart has no account below Assets:Bank"
      : `the chart has ${banks.length} bank accounts (${banks.slice(0, 5).join(", ")})`;
  throw new ClearedError(
    "STATEMENT_ACCOUNT",
    `It is not known to which account this statement belongs: no rule fits and ${why}. Add to config.yaml under statements: - match: { ${which} } with its account.`,
    {
      at: { file: `${IMPORT}${file}` },
      data: { bank_account: bankAccount },
    },
  );
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
