/** `cleared verify`: every invariant of the books at HEAD, uncommitted edits, and with --independent the results of hledger and Ledger. */
import { formatAt } from "../../kernel/errors.ts";
import { withGit } from "../../workspace/git/git.ts";
import { CONFIG, JOURNAL, MAIN_JOURNAL, PROCESSED } from "../../workspace/layout.ts";
import { allReceipts } from "../../workspace/books/claims.ts";
import { changedStatements, unbookedStatements } from "../../workspace/statements/tidy.ts";
import { secondOpinion, verifyBooks } from "../../workspace/books/verify.ts";
import { lastConfig, readLocal } from "../../app/local.ts";
import { goneFindings } from "../../app/rows.ts";
import type { Command } from "../invocation.ts";
import { moneyOf } from "../text.ts";

export const run: Command = async ({ output, dir }, _, options) => {
  const local = readLocal(dir);
  const { branch } = local.config;
  return withGit(dir, branch, async (git) => {
    const tree = git.tree(await git.head());
    const { config, fault } = lastConfig(local, (await tree.read(CONFIG)) ?? "");
    const books = await verifyBooks(tree, config);
    if (fault !== null) books.findings.push({ code: fault.code, at: fault.at ?? { file: CONFIG }, message: fault.message });
    const changed = await changedStatements(dir, tree);
    books.findings.push(...changed, ...(await goneFindings(git, tree)));
    const edited = await git.edited([CONFIG, MAIN_JOURNAL, ...(await tree.list(JOURNAL)).map((one) => one.path)]);
    const asks = options["independent"] === true && books.findings.length === 0;
    const opinions = asks ? await secondOpinion(tree, books.balances) : [];
    output.result({
      commit: tree.commit,
      entries: books.entries,
      findings: books.findings,
      balances: books.whole ? books.balances : null,
      edited,
      independent: opinions,
    });
    for (const finding of books.findings) output.text(`${formatAt(finding.at)} ${finding.code}\n  ${finding.message}`);
    for (const name of await unbookedStatements(dir, await allReceipts(tree), changed))
      output.line(output.yellow(`${PROCESSED}${name} is not in the books: \`cleared import ${PROCESSED}${name}\` books it`));
    for (const path of edited) output.line(output.yellow(`${path} has uncommitted edits; checked is what ${branch} has`));
    if (!books.whole) output.line(output.yellow("No balances are shown: they would lack what cannot be read."));
    output.rows(Object.entries(books.whole ? books.balances : {}).map(([account, amounts]) => [`  ${account}`, moneyOf(amounts)]));
    for (const opinion of opinions) output.line(`${opinion.tool} ${opinion.status}${opinion.message === "" ? "" : `: ${opinion.message}`}`);
    if (options["independent"] === true && !asks) output.line("hledger and Ledger run once our own check has no findings.");
    const wrong = books.findings.length > 0 || opinions.some((opinion) => opinion.status === "differs" || opinion.status === "refuses");
    output.line(
      wrong
        ? output.red(`${books.findings.length} findings in ${books.entries} entries`)
        : output.green(`${books.entries} entries, all in order`),
    );
    return wrong ? 2 : 0;
  });
};
