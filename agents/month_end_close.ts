/*
name: Month-End Close
description: Check that a month can be closed, post its closing entries and lock it once the CFO has signed
trigger: a2a
process: month_end_close
risk: high
uses: [fsm, mcp, compute, data, policy, approval, script, notify]
input:
  period: {type: string, required: true, describe: YYYY-MM}
states:
  ASSESS: read reconciliations, entries, accruals, intercompany balances, new assets, the trial balance
  COMPUTE: largest unexplained difference, depreciation, revenue earned, late charges, income tax, result by department
  POLICY_CHECK: everything reconciled, no unexplained difference above 1,000
  APPROVAL_GATE: the CFO signs
  MUTATE: post the closing entries, lock the period
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
const deferred = mcp_fetch_all({ tool: "erp/list_deferred_revenue", params: {} }).records;
const invoices = mcp_fetch_all({ tool: "erp/list_ar_invoices", params: { status: "open" } }).records;
const company = mcp_call("erp/get_company");
const trial = mcp_call({ tool: "erp/get_trial_balance", params: { period } });
const types = mcp_call({ tool: "erp/list_gl_accounts", params: {} });
const chain = mcp_call({ tool: "erp/get_approval_chain", params: { department_id: "D-FIN" } });
const cfo = data_first({ records: chain, where: { role: "cfo" } });
const signer = mcp_record({ tool: "erp/get_employee", params: { employee_id: cfo.employee_id } });
fsm_enter("COMPUTE");
const records = { reconciliations: reconciliations.records, assets, deferred, invoices, company, trial, types: types.records ?? types };
const { figures, ...found } = script_run("close_figures", { period, ...records });
fsm_enter("POLICY_CHECK");
const open = reconciliations.records.filter((one) => one.status !== "signed").length + (unmatched.records ?? unmatched).length;
const unreconciled_accounts = reconciliations.complete && reconciliations.records.length > 0 ? open : null;
const [period_status, unexplained_variance, unapproved_entries] = [state.status, found.unexplained, drafts.records.length];
const facts = { period_status, unreconciled_accounts, unexplained_variance, unapproved_entries };
const verdict = policy_evaluate({ facts, about: { period, balance: trial.debit } });
const lock = { period, locked_by: "@approver", trial_balance_hash: found.hash };
const calls = [...found.entries, { tool: "erp/lock_period", params: lock }];
const left = [...(accruals.records ?? accruals), ...drafts.records].map((one: any) => one.description ?? one.memo);
const details = { debit: trial.debit, credit: trial.credit, ...figures, left };
const { by } = script_run("carry_out", { title: `Close ${period}, result ${figures.result}?`, calls, ask: true, fixed: true, details });
fsm_enter("SCHEDULE_NOTIFY");
const summary = `${period} locked on ${today}, signed by ${by}: balance ${trial.debit}, result ${figures.result}, ${left.length} items left`;
notify_send({ to: signer.email, subject: `${period} is closed`, text: summary, key: period });
const told = { approval: `signed by ${by}: ${verdict.summary}`, trial_balance_hash: found.hash, ...figures, deferred: left };
({ period, balance: trial.debit, debit: trial.debit, credit: trial.credit, ...told, summary });
