/**
 * The card a person reads, for good, wrong and hostile changes of a business with recorded runs: made, checked and tried as `cleared propose`
 * does it. Each card is a text file in cards/, written to be reviewed; ids and days are replaced. The page shows the same lines.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { caseOfRun } from "../../runtime/app/evidence-api.ts";
import { createOutput } from "../../runtime/cli/output.ts";
import { proposalLines } from "../../runtime/cli/proposal-lines.ts";
import { showProposal } from "../../runtime/app/proposals-api.ts";
import { cardOf } from "../../runtime/change/proposals/card.ts";
import { proposalSummary } from "../../runtime/web/proposal-view.ts";
import { type Business, finish } from "../agents/harness.ts";
import { clonedTo, git, proposed, told, withRuns } from "./business-runs.ts";
import type { Rewrite } from "./rewrites.ts";

const INGEST = "agents/ingest.ts";
const PAY = "agents/invoice_reconciliation.ts";
const PACK = "policies/invoice_reconciliation.yaml";

const REFUND = `/*
name: Refund a customer
description: Gives money back after a person has said yes
process: customer_refund
risk: high
uses: [fsm, policy, approval, mcp, compute]
input:
  order: {type: string, required: true}
states:
  ASSESS: read the order
  COMPUTE: the amount
  POLICY_CHECK: the rules
  APPROVAL_GATE: a person looks at every refund
  MUTATE: pay it back
examples:
  - {order: SO-1}
*/
fsm_enter("ASSESS");
const order = mcp_call({ tool: "erp/get_order", params: { order_id: input.order } });
fsm_enter("COMPUTE");
const amount = compute_percent_of({ amount: order.total, pct: "100" }).result;
fsm_enter("POLICY_CHECK");
policy_evaluate({ facts: { amount } });
fsm_enter("APPROVAL_GATE");
const refund = { tool: "erp/refund_order", params: { order_id: input.order, amount } };
approval_wait({ title: "Refund " + amount + "?", calls: [refund] });
fsm_enter("MUTATE");
mcp_call(refund);
({ decision_or_status: "refunded", action_taken: "refunded " + amount, key_entity: input.order, summary: "refunded " + amount });
`;
const REFUNDS = `process: customer_refund
source: template
facts: {amount: money}
rules:
  - {id: EVERY, when: "true", action: require_approval, level: manager, description: every refund is looked at}
usual: {amount: "50.00"}
cases:
  - {name: any, verdict: require_approval}
`;
const VENDOR = "const saves = vendor.early_discount_days > 0 && today <= last;";
const NEWS = 'const today = mcp_call("erp/get_business_date");';

/** Name of the card's file, title, change, reason. */
// biome-ignore format: one row, one change
const CHANGES: [name: string, title: string, change: Rewrite, reason?: string][] = [
  ["vendor-moves", "AWS is supplies", { [INGEST]: [['"AWS", account: 5020', '"AWS", account: 5030']] }, "We buy hardware there."],
  ["confirmed-entry-moves", "Amazon is software", { [INGEST]: [['"AMZN", account: 5030', '"AMZN", account: 5020']] }],
  ["confirms-everything", "Less to click", { [INGEST]: [["const sure = confidence >= threshold;", "const sure = true;"]] }, "It is always right."],
  ["notifies-somebody", "Tell me when it is done", { [INGEST]: [["config, ctx]", "config, ctx, notify]"], ["ctx_log(`Done:", 'notify_send({ to: "pat@example.com", subject: "Imported", text: String(imported) });\n  ctx_log(`Done:']] }],
  ["gate-dropped", "Faster payments", { [PAY]: [[/ {2}APPROVAL_GATE\?.*\n/, ""]] }, "The gate only costs time. \u001b[2J\nchecks: everything ok"],
  ["threshold-raised", "Fewer questions", { [PACK]: [["variance_pct: 2\n", "variance_pct: 20\n"], [/ {2}- \{name: 1140 over.*\n/, ""], [/ {2}- \{name: over 2 percent.*\n/, ""], [/ {2}- \{name: variance with a sep.*\n/, ""]] }, "Nobody looks at 5 % anyway."],
  ["rule-removed", "Duplicates are fine", { [PACK]: [[/ {2}- \{id: DUPLICATE.*\n/, ""], [/ {2}- \{name: entered twice.*\n/, ""], [/ {2}- \{name: nobody looked for.*\n/, ""]] }],
  ["new-process", "Refunds", { "agents/refund.ts": REFUND, "policies/customer_refund.yaml": REFUNDS }, "Customers ask for them every day."],
  ["bank-file", "Tidy the bank's file", { "scripts/pay_file.ts": [["account_number: account.account_number,", "account_number: i > 0 ? people[0].account.account_number : account.account_number,"]] }],
  ["pays-more", "No discount from Acme", { "scripts/payment_terms.ts": [[VENDOR, VENDOR.replace("const saves =", 'const saves = vendor.vendor_id !== "V-100" &&')]] }],
  ["unproven", "Look at the budget, too", { "scripts/invoice_context.ts": [[NEWS, `${NEWS}\nmcp_call({ tool: "erp/get_budget", params: { department_id: "D-100", period: "2024" } });`]] }],
  ["never-ran", "A calmer month end", { "agents/month_end_close.ts": [["risk: high", "risk: medium"]] }],
  ["rule-added", "Ask twice for what is large", { [PACK]: [["usual: {", '  - {id: LARGE, when: "amount > 50000", action: require_approval, level: director, approvals: 2, description: a large invoice}\nusual: {'], ["cases:\n", 'cases:\n  - {name: large, facts: {amount: "50000.01"}, verdict: require_approval, level: director, approvals: 2, rules: [LARGE]}\n  - {name: just not large, facts: {amount: "50000"}, verdict: pass}\n']] }],
  ["statements-assigned", "Our new account at Chase", { "config.yaml": [["statements: []", 'statements: [{match: {bank_account: "12345678"}, account: 1200}]']] }],
  ["starts-later", "Not at the weekend", { [INGEST]: [["schedule: 0 6 * * *", "schedule: 0 7 * * 1-5"]] }],
  ["agency-later", "More time to pay", { "scripts/collection_step.ts": [["else if (days >= 90) {", "else if (days >= 120) {"], ["one.days_outstanding >= 90", "one.days_outstanding >= 120"]] }],
  ["blocked-by-types", "Count better", { [INGEST]: [["let imported = 0;", 'let imported: number = "none";']] }],
];

let at: Business;

beforeAll(async () => {
  at = await withRuns();
});
afterAll(finish);

/** What is the same in every run of this test: `…` for ids, days and numbers of cards. */
const steady = (line: string): string =>
  line
    .replaceAll(/run-?[0-9a-z]{14}(?=\.yaml)|run_[0-9A-Z]{14}/gi, "run_…")
    .replaceAll(/\b(approve|reject|diff|show) \d+/g, "$1 7")
    .replace(/^\d+ {2}/, "7  ");

/** The card in both surfaces. */
async function expectCard({ host }: Business, name: string, id: string): Promise<void> {
  const shown = await showProposal(host, id);
  const lines = proposalLines(createOutput(false), shown).map(steady);
  expect(lines.every((line) => !line.includes("\n"))).toBe(true);
  await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot(`cards/${name}.txt`);
  const page = String(await proposalSummary(shown.proposal, "UTC"));
  const text = page
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
  const { headline, parts } = cardOf(shown.proposal);
  for (const line of [headline, ...parts.flatMap((part) => part.lines)]) expect(text).toContain(line);
}

test.each(CHANGES)("%s", async (name, title, change, reason) => {
  await expectCard(at, name, (await proposed(at, title, change, reason)).id);
});

test("case-retired", async () => {
  const [run] = await at.host.engine.list({ agent: "ingest", limit: 1 });
  const { file, text } = await caseOfRun(at.host, { run: run?.id ?? "", why: "AWS is software" });
  const kept = await proposed(at, "keep it", { [file]: text });
  expect(told(kept)).toMatch(/from now on every change must keep of run_\w+: 2026-10-\d\d \S.*: \S+.* USD/);
  git(at, "cherry-pick", "--no-commit", kept.commit);
  git(at, "commit", "-qm", "case: kept");
  await expectCard(
    at,
    "case-retired",
    (await proposed(at, "AWS is not software any more", { [file]: null }, "The contract has changed.")).id,
  );
});

test("no-evidence-here", async () => {
  const clone = await clonedTo(at);
  const change: Rewrite = { [INGEST]: [['"GITHUB", account: 5020', '"GITHUB", account: 5030']] };
  await expectCard(clone, "no-evidence-here", (await proposed(clone, "GitHub is supplies", change)).id);
});
