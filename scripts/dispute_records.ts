/*
name: Dispute records
description: A dispute, what was billed and delivered, and the customer's earlier disputes
input: {dispute_id: {type: string, required: true}}
*/
const dispute = mcp_record({ tool: "erp/get_dispute", params: { dispute_id: input.dispute_id } });
const { ar_invoice_id, customer_id } = dispute;
const invoice = mcp_record({ tool: "erp/get_ar_invoice", params: { ar_invoice_id } });
const delivery = mcp_call({ tool: "erp/get_delivery", params: { ar_invoice_id } });
const customer = mcp_record({ tool: "erp/get_customer", params: { customer_id } });
const earlier = mcp_fetch_all({ tool: "erp/list_disputes", params: { customer_id, status: "resolved" } }).records;
({ dispute, invoice, delivery, customer, earlier });
