/*
name: Month-End Close
description: Check that a month can be closed, post its depreciation and lock it once the CFO has signed
process: month_end_close
risk: high
uses: [fsm, mcp, compute, data, policy, approval, script, notify]
input:
  period: {type: string, required: true, describe: YYYY-MM}
states:
  ASSESS: read reconciliations, entries, accruals, intercompany balances, new assets, the trial balance
  COMPUTE: largest unexplained difference, depreciation of new assets, result of the month
  POLICY_CHECK: everything reconciled, no unexplained difference above 1,000
  APPROVAL_GATE: the CFO signs
  MUTATE: post depreciation, lock the period
  SCHEDULE_NOTIFY: tell the CFO what was left for the next month
examples:
  - {period: 2024-09}
*/
fsm_enter("ASSESS");
const { period } = input;
const today = mcp_call("erp/get_business_date");
const state = mcp_record({ tool: "erp/get_period", params: { period } });
const reconciliations = mcp_fetch_all({ tool: "erp/list_reconciliations", params: { period } });
const drafts = mcp_fetch_all({ tool: "erp/list_entries", params: { period, status: "draft" } });
const accruals = mcp_call({ tool: "erp/list_accruals", params: { period, status: "pending" } });
const unmatched = mcp_call({ tool: "erp/list_intercompany", params: { period, matched: false } });
const assets = mcp_fetch_all({ tool: "erp/list_assets", params: { from: `${period}-01`, to: `${period}-31` } }).records;
const trial = mcp_call({ tool: "erp/get_trial_balance", params: { period } });
const types = mcp_call({ tool: "erp/list_gl_accounts", params: {} });
const chain = mcp_call({ tool: "erp/get_approval_chain", params: { department_id: "D-FIN" } });
const cfo = data_first({ records: chain, where: { role: "cfo" } });
const signer = mcp_record({ tool: "erp/get_employee", params: { employee_id: cfo.employee_id } });
fsm_enter("COMPUTE");
const found = script_run("close_figures", {
  period,
  reconciliations: reconciliations.records,
  assets,
  trial,
  types: types.records ?? types,
});
fsm_enter("POLICY_CHECK");
const open = reconciliations.records.filter((one) => one.status !== "signed").length + (unmatched.records ?? unmatched).length;
const unreconciled_accounts = reconciliations.complete && reconciliations.records.length > 0 ? open : null;
const facts = {
  period_status: state.status,
  unreconciled_accounts,
  unexplained_variance: found.unexplained,
  unapproved_entries: drafts.records.length,
};
const verdict = policy_evaluate({ facts, about: { period, balance: trial.debit } });
const lock = { period, locked_by: "@approver", trial_balance_hash: found.hash };
const calls = [...found.entries, { tool: "erp/lock_period", params: lock }];
const deferred = [...(accruals.records ?? accruals), ...drafts.records].map((one: any) => one.description ?? one.memo);
const details = { debit: trial.debit, credit: trial.credit, result: found.result, depreciation: found.depreciation, deferred };
const { by } = script_run("carry_out", { title: `Close ${period}, result ${found.result}?`, calls, ask: true, fixed: true, details });
fsm_enter("SCHEDULE_NOTIFY");
const summary = `${period} locked on ${today}, signed by ${by}: balance ${trial.debit}, result ${found.result}, ${deferred.length} items left`;
notify_send({ to: signer.email, subject: `${period} is closed`, text: summary, key: period });
({
  period,
  balance: trial.debit,
  approval: `signed by ${by}: ${verdict.summary}`,
  trial_balance_hash: found.hash,
  result: found.result,
  deferred,
  summary,
});
