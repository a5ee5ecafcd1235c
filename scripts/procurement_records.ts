/*
name: Procurement records
description: A requisition with its vendor, who asked, the budget of the year and what was ordered before
input: {requisition_id: {type: string, required: true}}
*/
const today = mcp_call("erp/get_business_date");
const asked = mcp_record({ tool: "erp/get_requisition", params: { requisition_id: input.requisition_id } });
const { vendor_id, department_id, requester_id } = asked;
const vendor = mcp_record({ tool: "erp/get_vendor", params: { vendor_id } });
const requester = mcp_record({ tool: "erp/get_employee", params: { employee_id: requester_id } });
const budget = mcp_record({ tool: "erp/get_budget", params: { department_id, period: today.slice(0, 4) } });
const before = mcp_fetch_all({ tool: "erp/list_purchase_orders", params: { vendor_id } });
({ today, asked, vendor, requester, budget, before });
