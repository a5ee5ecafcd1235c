/*
name: Invoice context
description: What an invoice is held against beside its order, as facts for the policy; the day, and the vendor
input: {invoice: {type: object, required: true}, order: {type: object, required: true}}
*/
const { invoice, order } = input;
const { invoice_id, po_id, vendor_id, invoice_date, status, currency } = invoice;
const today = mcp_call("erp/get_business_date");
const receipt = mcp_call({ tool: "erp/get_goods_receipt", params: { po_id } });
const vendor = mcp_record({ tool: "erp/get_vendor", params: { vendor_id } });
const ofVendor = mcp_fetch_all({ tool: "erp/list_invoices", params: { vendor_id } });
const ofOrder = mcp_fetch_all({ tool: "erp/list_invoices", params: { po_id } });
// Compared by its letters and digits.
const numberOf = (one: any) => one.vendor_number.normalize("NFKC").replace(/[^\p{L}\p{N}]/gu, "").toUpperCase();
const isSame = (one: any) => one.invoice_id !== invoice_id && numberOf(one) === numberOf(invoice);
const isEarlier = (one: any) => one.invoice_date < invoice_date || (one.invoice_date === invoice_date && one.invoice_id < invoice_id);
// What was dealt with comes first, whatever date this one bears; of two that were not, the earlier does.
const comesFirst = (one: any) => isEarlier(one) || !["received", "rejected"].includes(one.status);
// With what was approved before, and what came before it, an order is invoiced once. A credit makes room only when it was settled.
const isOwed = (one: any) => !new Decimal(one.amount).isNegative() || one.status === "paid";
const counts = (one: any) => one.invoice_id !== invoice_id && one.status !== "rejected" && comesFirst(one) && isOwed(one);
const others = ofOrder.records.filter(counts);
const currency_match = [order, ...others].every((one) => one.currency === currency);
const invoiced =
  ofOrder.complete && currency_match ? script_run("total", { amounts: [invoice.amount, ...others.map((one) => one.amount)] }) : null;
const facts = {
  vendor_match: order.vendor_id === vendor_id,
  currency_match,
  order_status: order.status,
  invoice_status: status,
  vendor_status: vendor.approved && vendor.status === "active" ? "approved" : vendor.status,
  goods_received: receipt.accepted === true && receipt.quantity_received === receipt.quantity_ordered,
  duplicate: ofVendor.complete ? ofVendor.records.some((one) => isSame(one) && comesFirst(one)) : null,
};
({ today, vendor, invoiced, facts });
