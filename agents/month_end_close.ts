/*
name: Month-End Close
description: Check that a month can be closed, post its closing entries and lock it once the CFO has signed
trigger: a2a
process: month_end_close
risk: high
uses: [fsm, mcp, compute, data, policy, approval, script, notify]
input: {period: {type: string, required: true, describe: YYYY-MM}}
states:
  ASSESS: read reconciliations, entries, accruals, intercompany balances, new assets, the trial balance
  COMPUTE: largest unexplained difference, depreciation, revenue earned, late charges, income tax, result by department
  POLICY_CHECK: everything reconciled, no unexplained difference above 1,000
  APPROVAL_GATE: the CFO signs
  MUTATE: post the closing entries, lock the period
  SCHEDULE_NOTIFY: tell the CFO what was left for the next month
examples: [{period: 2024-09}]
*/
fsm_enter("ASSESS");
const { period } = input;
const today = mcp_call("erp/get_business_date");
const read = script_run("close_records", { period });
const { reconciliations, drafts, trial, signer } = read;
fsm_enter("COMPUTE");
const { figures, ...found } = script_run("close_figures", { period, trial, reconciliations: reconciliations.records, ...read.books });
fsm_enter("POLICY_CHECK");
const open = reconciliations.records.filter((one: any) => one.status !== "signed").length + read.unmatched.length;
const unreconciled_accounts = reconciliations.complete && reconciliations.records.length > 0 ? open : null;
const [period_status, unexplained_variance, unapproved_entries] = [read.state.status, found.unexplained, drafts.records.length];
const facts = { period_status, unreconciled_accounts, unexplained_variance, unapproved_entries };
const verdict = policy_evaluate({ facts, about: { period, balance: trial.debit } });
const lock = { period, locked_by: "@approver", trial_balance_hash: found.hash };
const calls = [...found.entries, { tool: "erp/lock_period", params: lock }];
const left = [...read.accruals, ...drafts.records].map((one: any) => one.description ?? one.memo);
const details = { debit: trial.debit, credit: trial.credit, ...figures, left };
const { by } = script_run("carry_out", { title: `Close ${period}, result ${figures.result}?`, calls, ask: true, fixed: true, details });
fsm_enter("SCHEDULE_NOTIFY");
const summary = `${period} locked on ${today}, signed by ${by}: balance ${trial.debit}, result ${figures.result}, ${left.length} items left`;
notify_send({ to: signer.email, subject: `${period} is closed`, text: summary, key: summary });
const told = { approval: `signed by ${by}: ${verdict.summary}`, trial_balance_hash: found.hash, ...figures, deferred: left };
({ period, balance: trial.debit, debit: trial.debit, credit: trial.credit, ...told, summary });
