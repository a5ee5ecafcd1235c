/*
name: Invoice context
description: What an invoice is held against beside its order, as facts for the policy; the day, and the vendor
input:
  invoice: {type: object, required: true}
*/
const { po_id, vendor_id, vendor_number } = input.invoice;
const today = mcp_call("erp/get_business_date");
const receipt = mcp_call({ tool: "erp/get_goods_receipt", params: { po_id } });
const vendor = mcp_call({ tool: "erp/get_vendor", params: { vendor_id } });
const same = mcp_fetch_all({ tool: "erp/list_invoices", params: { vendor_id, vendor_number } });
const facts = {
  invoice_status: input.invoice.status,
  vendor_status: vendor.approved && vendor.status === "active" ? "approved" : vendor.status,
  goods_received: receipt.accepted === true && receipt.quantity_received === receipt.quantity_ordered,
  duplicate: same.complete ? same.records.length > 1 : null,
};
({ today, vendor, facts });
