/*
name: Onboarding records
description: A customer with their checklist, who would look after them, and the day
input: {customer_id: {type: string, required: true}, plan_id: {type: string, required: true}, csm: {type: string}}
*/
const { customer_id, plan_id } = input;
const today = mcp_call("erp/get_business_date");
const customer = mcp_record({ tool: "erp/get_customer", params: { customer_id } });
// A plan that nobody sells ends the run here.
mcp_record({ tool: "erp/get_plan", params: { plan_id } });
const items = mcp_fetch_all({ tool: "erp/list_onboarding_items", params: { customer_id } });
const team = mcp_fetch_all({ tool: "erp/list_employees", params: { status: "active" } }).records;
const listed = mcp_call({ tool: "erp/list_listed_countries", params: {} });
const listed_country = (listed.records ?? listed).some((one: any) => one.country === customer.country);
const csm = data_first({ records: team, where: input.csm === undefined ? { title: "Customer Success" } : { employee_id: input.csm } });
const contract_signed = items.records.some((one) => one.item === "contract signed" && one.done);
const open_items = items.complete ? items.records.filter((one) => !one.done).length : null;
({ customer, contract_signed, open_items, listed_country, csm, today });
