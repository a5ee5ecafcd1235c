/*
name: Dispute calls
description: The credit memo of a dispute where there is one, and what closes it; and what a rejection does
input: {dispute: {type: object, required: true}, credit: {type: money, required: true}}
*/
const { dispute, credit } = input;
const { dispute_id, ar_invoice_id, reason } = dispute;
const close = { tool: "erp/resolve_dispute", params: { dispute_id, decided_credit: credit } };
const memo = { tool: "erp/issue_credit_memo", params: { dispute_id, ar_invoice_id, amount: credit, reason } };
const nothing = script_run("total", { amounts: ["0.00"] });
const decline = { tool: "erp/resolve_dispute", params: { dispute_id, decided_credit: nothing } };
// Rejecting a credit declines the dispute; rejecting the decline leaves it as it is.
new Decimal(credit).isZero() ? { calls: [close] } : { calls: [memo, close], otherwise: [decline] };
