/*
name: Close records
description: What closing a month follows from, and who signs it
input: {period: {type: string, required: true}}
*/
const { period } = input;
const listOf = (answer: any): any[] => answer.records ?? answer;
const state = mcp_record({ tool: "erp/get_period", params: { period } });
const reconciliations = mcp_fetch_all({ tool: "erp/list_reconciliations", params: { period } });
const drafts = mcp_fetch_all({ tool: "erp/list_entries", params: { period, status: "draft" } });
const isClosing = ({ reference }: any) => ["DEP", "REV", "LATE", "TAX"].some((kind) => String(reference).startsWith(`${kind}-${period}`));
const entries = mcp_fetch_all({ tool: "erp/list_entries", params: { period, status: "posted" } }).records.filter(isClosing);
const lines = ({ reference }: any) => mcp_record({ tool: "erp/get_entry", params: { reference } }).lines;
const posted = entries.flatMap((one: any) => lines(one) ?? []);
const accruals = listOf(mcp_call({ tool: "erp/list_accruals", params: { period, status: "pending" } }));
const unmatched = listOf(mcp_call({ tool: "erp/list_intercompany", params: { period, matched: false } }));
const assets = mcp_fetch_all({ tool: "erp/list_assets", params: { from: `${period}-01`, to: `${period}-31` } }).records;
const deferred = mcp_fetch_all({ tool: "erp/list_deferred_revenue", params: {} }).records;
const invoices = mcp_fetch_all({ tool: "erp/list_ar_invoices", params: { status: "open" } }).records;
const company = mcp_call("erp/get_company");
const trial = mcp_call({ tool: "erp/get_trial_balance", params: { period } });
const types = listOf(mcp_call({ tool: "erp/list_gl_accounts", params: {} }));
const chain = mcp_call({ tool: "erp/get_approval_chain", params: { department_id: "D-FIN" } });
const cfo = data_first({ records: chain, where: { role: "cfo" } });
const signer = mcp_record({ tool: "erp/get_employee", params: { employee_id: cfo.employee_id } });
({ state, reconciliations, drafts, accruals, unmatched, trial, signer, books: { posted, assets, deferred, invoices, company, types } });
