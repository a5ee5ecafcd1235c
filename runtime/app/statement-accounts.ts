/**
 * Answers to the question to which account of the books a statement belongs: an approval is proposed as a rule of config.yaml, a rejection is
 * kept in the receipts of its statements.
 */
import { canonicalJson } from "../kernel/canonical.ts";
import { ClearedError, toWire } from "../kernel/errors.ts";
import type { Card, Decision, Refused, RowsQuestion, Tree, UnknownAccount } from "../kernel/ports.ts";
import { allReceipts } from "../workspace/books/claims.ts";
import { accountOf } from "../workspace/books/invariants.ts";
import { noStatements } from "../workspace/books/main-journal.ts";
import { loadChart } from "../workspace/books/months.ts";
import { type StatementRule, parseConfig } from "../workspace/settings/config.ts";
import { CONFIG, MAIN_JOURNAL, receiptFile } from "../workspace/layout.ts";
import { isSameMatch, itemOf, withAnswer } from "../workspace/statements/answered-rule.ts";
import { likelyAccount, ofContent, toldBy } from "../workspace/statements/origin.ts";
import { nameOf, unknownAccount } from "../workspace/statements/questions.ts";
import { type KeptReceipt, receiptToYaml } from "../workspace/statements/receipt.ts";
import { OPEN, createProposals } from "../change/proposals/store.ts";
import type { Host } from "./host.ts";

/**
 * Proposes the answer to the question which account a statement belongs to, as a change of config.yaml: its statements are booked once that is
 * approved. Returns the number of the proposal. @throws USAGE, ACCOUNT_UNKNOWN, CONFIG_INVALID
 */
export async function proposeAccount(host: Host, card: Card, { by, account: given }: Decision): Promise<number> {
  const asked = card.body as unknown as Extract<RowsQuestion, { kind: "account" }>;
  const { match } = asked;
  const head = host.git.tree(await host.git.head());
  const config = await host.config(head);
  const chart = await loadChart(head);
  // The answer for one unknown account is unlikely to be right for a second, whether or not it is applied yet.
  const taken = given === undefined ? [...config.statements, ...(await proposedRules(host))] : [];
  const account = given === undefined ? likelyAccount({ ...config, statements: taken }, chart.accounts, asked) : accountOf(chart, given);
  const unfit = account === null ? null : noStatements(account);
  if (account === null || unfit !== null) {
    const usual = account === null ? likelyAccount(config, chart.accounts, asked) : null;
    const own = chart.accounts.filter((one) => noStatements(one) === null && one.id !== usual?.id).map(({ id, name }) => `${id} ${name}`);
    const why =
      account === null
        ? `${usual === null ? "" : `${usual.id} ${usual.name} is proposed for another one; name it again only if it is the same account. `}Say which account it is`
        : `${unfit} Name another`;
    throw new ClearedError(
      "USAGE",
      `${why}: \`cleared approve ${card.name} --account NUMBER\` with ${[...own, `one that you add to ${MAIN_JOURNAL} and commit`].join(" or ")}.`,
    );
  }
  // Another account than the one that the file's name tells: that one's next file has this name, too.
  const isByName = match.file !== undefined && match.content === undefined && match.currency === undefined;
  const isTold = !isByName || toldBy(asked, config.statements, chart.accounts) === account.id;
  const rule = { match: isTold ? match : ofContent(match, asked.hash), account: account.id };
  const text = withAnswer((await head.read(CONFIG)) ?? "", rule);
  try {
    parseConfig(text);
  } catch (error) {
    const hint = `Add it under statements: yourself, and commit that: ${itemOf(rule)}`;
    throw new ClearedError("CONFIG_INVALID", `The answer cannot be added to ${CONFIG} (${toWire(error).message}). ${hint}`, {
      cause: error,
    });
  }
  const name = nameOf({ ...asked, match: rule.match });
  const title = `Statements of ${name} belong to ${account.id} ${account.name}`.slice(0, 200);
  const { proposeFiles } = await import("./proposals-api.ts");
  const made = await proposeFiles(host, { title, reason: `${by} answered card ${card.id}.`, by, files: { [CONFIG]: text } });
  return made.number;
}

/** Whether the answer to such a question stands: as a rule of config.yaml, or of an open proposal. */
export async function isAnswered(
  host: Omit<Host, "close">,
  head: Tree,
  { match, hash }: { match: UnknownAccount["match"]; hash: string },
): Promise<boolean> {
  const rules = [...(await host.config(head)).statements, ...(await proposedRules(host))];
  return rules.some((one) => [match, ofContent(match, hash)].some((answered) => isSameMatch(one.match, answered)));
}

/** Rules for config.yaml in open proposals. */
async function proposedRules(host: Omit<Host, "close">): Promise<StatementRule[]> {
  const open = (await createProposals(host).list()).filter(({ state }) => OPEN.includes(state));
  const rules = open.map(async ({ commit }) => (await host.config(host.git.tree(commit)).catch(() => null))?.statements ?? []);
  return (await Promise.all(rules)).flat();
}

/** Receipts that wait for an answer about an account. */
export async function askingFor(head: Tree, match: UnknownAccount["match"]): Promise<KeptReceipt[]> {
  const key = canonicalJson(match);
  return (await allReceipts(head, [])).filter(({ refused }) => refused.some((one) => isAbout(one, key)));
}

const isAbout = ({ account }: Refused, key: string): boolean => account !== undefined && canonicalJson(account.match) === key;

/** Statements of this account are left unbooked: their receipts no longer wait for the answer, and keep it. */
export async function closeAccount(head: Tree, match: UnknownAccount["match"]): Promise<Map<string, string | null>> {
  const key = canonicalJson(match);
  const files = new Map<string, string>();
  for (const { hash, refused, record, ...rest } of await askingFor(head, match)) {
    const about = refused.flatMap((one) => (one.account !== undefined && isAbout(one, key) ? [one.account] : []));
    const left = { ...record, left_accounts: [...(record.left_accounts ?? []), ...about] };
    files.set(receiptFile(hash), receiptToYaml({ ...rest, hash, refused: refused.filter((one) => !isAbout(one, key)), record: left }));
  }
  return files;
}

/** The receipts of these statements, as they ask again about the accounts that a person has left out. */
export function reopened(receipts: readonly KeptReceipt[]): Map<string, string | null> {
  const texts = receipts.map((receipt): [string, string] => {
    const { left_accounts = [], ...record } = receipt.record;
    const refused = [...left_accounts.map(unknownAccount), ...receipt.refused];
    return [receiptFile(receipt.hash), receiptToYaml({ ...receipt, refused, record })];
  });
  return new Map(texts);
}
