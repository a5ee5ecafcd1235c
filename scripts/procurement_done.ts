/*
name: Procurement done
description: The number of an order, where it was approved, and whom it went to
input: {ordered: {type: object, required: true}, approved: {type: boolean, required: true}}
*/
const { requisition_id, vendor_id } = input.ordered;
const po_number = input.approved ? mcp_record({ tool: "erp/get_purchase_order", params: { requisition_id } }).po_id : null;
({ po_number, seller: mcp_record({ tool: "erp/get_vendor", params: { vendor_id } }).name });
