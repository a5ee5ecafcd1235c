/*
name: Invoice context
description: What an invoice is held against beside its order, as facts for the policy; the day, and the vendor
input:
  invoice: {type: object, required: true}
*/
const { invoice_id, po_id, vendor_id, vendor_number, invoice_date, status } = input.invoice;
const today = mcp_call("erp/get_business_date");
const receipt = mcp_call({ tool: "erp/get_goods_receipt", params: { po_id } });
const vendor = mcp_call({ tool: "erp/get_vendor", params: { vendor_id } });
const same = mcp_fetch_all({ tool: "erp/list_invoices", params: { vendor_id, vendor_number } });
// Of two with one number, the later is the duplicate.
const isEarlier = (one: any) => one.invoice_date < invoice_date || (one.invoice_date === invoice_date && one.invoice_id < invoice_id);
const facts = {
  invoice_status: status,
  vendor_status: vendor.approved && vendor.status === "active" ? "approved" : vendor.status,
  goods_received: receipt.accepted === true && receipt.quantity_received === receipt.quantity_ordered,
  duplicate: same.complete ? same.records.some(isEarlier) : null,
};
({ today, vendor, facts });
