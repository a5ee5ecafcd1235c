/** A proposal with everything a page can show of one, and text in it that means harm, as another clone could send it. */
import type { Proposal } from "../../runtime/change/proposal-types.ts";
import type { Fact } from "../../runtime/app/facts.ts";

export const HOSTILE = `<script>alert(1)</script>"'&\u202e900`;

const sha = (sign: string): string => sign.repeat(40);
const LONG = "Expenses:Office Supplies:Paper and printing:A very long name of an account that does not fit";

export const proposalAt = (at: number): Proposal => ({
  id: "prop_0123456789",
  number: 11,
  title: `AWS is Software ${HOSTILE}`,
  reason: `They bill software.\nchecks: all fine ${HOSTILE}`,
  by: "agent:learner",
  at,
  since: at,
  base: sha("a"),
  commit: sha("b"),
  files: [
    { path: "agents/ingest.ts", change: "changed" },
    { path: "policies/ingest.yaml", change: "added" },
  ],
  state: "ready",
  why: null,
  despite: HOSTILE,
  decisions: [],
  applied: null,
  reverted: null,
  report: {
    on: sha("a"),
    at,
    names: { "agents/ingest.ts": `Daily Ingest ${HOSTILE}` },
    checks: [
      { check: "header", status: "ok", says: "1 agent", findings: [], ms: 1 },
      { check: "dry_run", status: "skipped", says: "no agent is touched", findings: [], ms: 0 },
      {
        ...{ check: "types", status: "failed", says: "1 script", ms: 3 },
        findings: [
          {
            code: "SCRIPT_TYPES",
            at: { file: "agents/ingest.ts", line: 3, col: 7 },
            message: `Type ${HOSTILE}`,
            why: "It would fail.",
            todo: "Correct it.",
          },
        ],
      },
    ],
    widening: [
      { kind: "review", text: `Daily Ingest: books as user-confirmed ${HOSTILE}`, at: { file: "agents/ingest.ts", line: 62 } },
      { kind: "recipient", text: `Daily Ingest: names a recipient: ${"x".repeat(300)}`, at: null },
    ],
    backtests: [
      {
        ...{ agent: "ingest", code: "prop_0123456789", runs: 214, days: 90, net: { USD: "0.00" }, entries: 2, facts: [] },
        counts: { same: 211, changed: 2, worse: 1, failed: 0, not_replayable: 0 },
        money: [
          { account: LONG, month: "2026-10", currency: "USD", was: "1234.50", now: "1150.50", difference: "-84.00" },
          { account: `Expenses:Software ${HOSTILE}`, month: "2026-10", currency: "USD", was: "0.00", now: "84.00", difference: "84.00" },
        ],
        moves: [{ from: "Expenses:Office Supplies", to: `Expenses:Software ${HOSTILE}`, entries: 2, amount: "84.00", currency: "USD" }],
        differences: [
          {
            ...{
              run: "run_01J9ABCDEFGHJK",
              class: "worse",
              why: [`is no longer shown to a person ${HOSTILE}`, "and one more"],
              money: [],
              facts: [],
            },
            divergence: {
              ...{ step: 12, at: null },
              recorded: { tool: "journal_add_double", params: { debit_account: "5030", description: HOSTILE } },
              now: { tool: "journal_add_double", params: { debit_account: "5020", description: HOSTILE } },
            },
            entries: [
              {
                was: {
                  id: "x",
                  date: "2026-10-02",
                  status: "pending-review",
                  description: `AWS ${HOSTILE}`,
                  counterparty: "",
                  tags: {},
                  evidence: "",
                  legs: [{ account: LONG, amount: "84.00", currency: "USD" }],
                },
                now: null,
              },
            ],
            supposed: [HOSTILE],
          },
        ],
        waiting: [{ run: "run_02", moves: true, why: null }],
      },
    ],
    cases: { passed: 30, failed: [`a ${HOSTILE}`], open: ["b"], fixed: ["c"] },
    dryRun: [{ agent: "ingest", lines: [`books 12 entries ${HOSTILE}`] }],
    freezes: { "cases/ingest/run_01.yaml": "case: 1\n" },
    level: "board",
    levels: ["board"],
    approvals: 2,
  },
});

export const factOf = (proposal: Proposal): Omit<NonNullable<Fact<"proposal">>, "card"> => ({
  proposal,
  rejected: [{ ...proposal, number: 5, title: `Before ${HOSTILE}`, state: "rejected", why: `no ${HOSTILE}` }],
  patch: `diff --git a/agents/ingest.ts b/agents/ingest.ts\n--- a/agents/ingest.ts\n+++ b/agents/ingest.ts\n@@ -1,2 +1,2 @@\n-const a = "${HOSTILE}";\n+const a = "${"long ".repeat(60)}";\n`,
  excerpts: new Map([["agents/ingest.ts:3", `const hostile = "${HOSTILE}";`]]),
});
