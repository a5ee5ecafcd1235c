/*
name: Collection records
description: Open invoices with their age, and what is overdue by customer with what was sent to them; `complete` where all were read
input: {customers: {type: list, required: true, describe: ids; none for everyone}}
*/
const { customers } = input;
const today = mcp_call("erp/get_business_date");
for (const customer_id of customers) mcp_record({ tool: "erp/get_customer", params: { customer_id } });
const open = mcp_fetch_all({ tool: "erp/list_ar_invoices", params: { status: "open" } });
const aged = open.records
  .filter((one) => customers.length === 0 || customers.includes(one.customer_id))
  .map((one) => ({ ...one, days_outstanding: script_run("days", { from: one.due_on, to: today }).days }));
const overdue = data_group_by({ records: aged.filter((one) => one.days_outstanding > 0), by: "customer_id" });
const known = overdue.map(({ key: customer_id, records }) => ({
  customer: mcp_record({ tool: "erp/get_customer", params: { customer_id } }),
  reminders: ["reminder", "notice", "final"].map((tier) => mcp_call({ tool: "erp/get_reminder", params: { customer_id, tier } })),
  invoices: records,
}));
({ today, complete: open.complete, aged, known });
