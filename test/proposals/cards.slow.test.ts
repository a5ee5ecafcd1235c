/**
 * The card a person reads, for good, wrong and hostile changes of a workspace with recorded runs: made, checked and tried as `cleared propose`
 * does it. Each card is a text file in cards/, written to be reviewed; ids and days are replaced.
 */
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { caseOfRun } from "../../runtime/cli/cases-api.ts";
import type { Host } from "../../runtime/cli/host.ts";
import { importFiles } from "../../runtime/cli/imports.ts";
import { createOutput } from "../../runtime/cli/output.ts";
import { proposalLines } from "../../runtime/cli/proposal-lines.ts";
import { propose } from "../../runtime/cli/proposals-api.ts";
import { host, removeAll, type Workspace, workspace } from "../engine/harness.ts";
import { type Rewrite, rewritten } from "./rewrites.ts";

const INGEST = "agents/ingest.ts";
const PAY = "agents/invoice_reconciliation.ts";
const PACK = "policies/invoice_reconciliation.yaml";
const STATEMENT = join(import.meta.dirname, "../../examples/statements/chase-checking-2026-10.csv");

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
/** Name of the card's file, title, reason, change. */
// biome-ignore format: one row, one change
const CHANGES: [string, string, string, Rewrite][] = [
  ["good-rewrite", "AWS is supplies", "We buy hardware there.", { [INGEST]: [['"AWS", account: 5020', '"AWS", account: 5030']] }],
  ["widened-capability", "Tell me when it is done", "", { [INGEST]: [["config, ctx]", "config, ctx, notify]"], ["ctx_log(`Done:", 'notify_send({ to: "pat@example.com", subject: "Imported", text: String(imported) });\n  ctx_log(`Done:']] }],
  ["gate-dropped", "Faster payments", "The gate only costs time. \u001b[2J\nchecks: everything ok", { [PAY]: [[/ {2}APPROVAL_GATE\?.*\n/, ""], ["ask: !verdict.passed", "ask: false"]] }],
  ["threshold-raised", "Fewer questions", "Nobody looks at 5 % anyway.", { [PACK]: [["variance_pct: 2\n", "variance_pct: 20\n"], [/ {2}- \{name: 1140 over[^\n]*\n/, ""], [/ {2}- \{name: over 2 percent[^\n]*\n/, ""]] }],
  ["auto-confirms-everything", "Less to click", "It is always right.", { [INGEST]: [['sure ? "auto-confirmed" : "pending-review"', '"auto-confirmed"'], ["if (!sure) open.push", "if (imported < 0) open.push"]] }],
  ["policy-rule-removed", "Duplicates are fine", "", { [PACK]: [[/ {2}- \{id: DUPLICATE[^\n]*\n/, ""], [/ {2}- \{name: entered twice[^\n]*\n/, ""], [/ {2}- \{name: nobody looked for a dup[^\n]*\n/, ""]] }],
  ["new-process-type", "Refunds", "Customers ask for them every day.", { "agents/refund.ts": REFUND, "policies/customer_refund.yaml": REFUNDS }],
  ["case-retired", "AWS is not software any more", "The contract has changed.", {}],
  ["blocked-by-types", "Count better", "", { [INGEST]: [["let imported = 0;", 'let imported: number = "none";']] }],
];

let one: Workspace;
let owner: Host;

beforeAll(async () => {
  one = await workspace();
  owner = await host(one);
  await importFiles(owner, { files: [STATEMENT], dryRun: false, again: false });
}, 60_000);
afterAll(removeAll);

/** A case that is there already, of the run that is recorded. */
async function frozen(): Promise<string> {
  const [run] = await owner.engine.list({ agent: "ingest", limit: 1 });
  const { file, text } = await caseOfRun(owner, { run: run?.id ?? "", why: "AWS is software" });
  one.commit({ [file]: text }, "cases: AWS is software");
  return file;
}

/** What is the same in every run of this test: `…` for ids, days and numbers of cards. */
const steady = (line: string): string =>
  line
    .replaceAll(/run_[0-9A-Z]{14}/g, "run_…")
    .replaceAll(/\d{4}-\d\d-\d\d(?=: | , |,|$)/g, "…")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "…")
    .replaceAll(/notice_[0-9a-f]{24}/g, "notice_…")
    .replaceAll(/run-?[0-9a-z]{14}(?=\.yaml)/gi, "run_…")
    .replaceAll(/prop_[0-9A-Z]{10}/g, "prop_…")
    .replaceAll(/\b(approve|reject|diff|show) \d+/g, "$1 7")
    .replace(/^\d+ {2}/, "7  ");

test.each(CHANGES)(
  "%s",
  async (name, title, reason, told) => {
    const change: Rewrite = name === "case-retired" ? { [await frozen()]: null } : told;
    const paths = Object.keys(change);
    const files = new Map(
      one
        .git("ls-files", ...paths)
        .split("\n")
        .filter(Boolean)
        .map((path): [string, string] => [path, one.read(path)]),
    );
    const changed = rewritten(files, change);
    for (const path of paths) {
      const text = changed.get(path);
      if (text === undefined) one.git("rm", "-q", path);
      else one.write(path, text);
    }
    const shown = await propose(owner, { title, reason, by: "Pat", paths: [] });
    const lines = proposalLines(createOutput(false), shown).map(steady);
    expect(lines.every((line) => !line.includes("\n"))).toBe(true);
    await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot(`cards/${name}.txt`);
  },
  30_000,
);
