/*
name: Audit records
description: What an audit compares - the controls, the customers, required and held documents, listed countries, open due diligence
input: {audit_id: {type: string, required: true}, customers: {type: list, required: true}}
*/
const { audit_id } = input;
const today = mcp_call("erp/get_business_date");
const audit = mcp_record({ tool: "erp/get_audit", params: { audit_id } });
const everyone = mcp_fetch_all({ tool: "erp/list_customers" });
const named = input.customers.map((customer_id: string) => mcp_record({ tool: "erp/get_customer", params: { customer_id } }));
const customers = named.length === 0 ? everyone.records : named;
const required = mcp_fetch_all({ tool: "erp/list_kyc_requirements" });
const held = mcp_fetch_all({ tool: "erp/list_kyc_documents" });
const listed = mcp_call({ tool: "erp/list_listed_countries", params: {} });
const countries = (listed.records ?? listed).map((one: any) => one.country);
const cases = customers.map(({ customer_id }) => mcp_call({ tool: "erp/get_edd_case", params: { customer_id } }));
const whole = everyone.complete && required.complete && held.complete;
({ today, audit, customers, required: required.records, held: held.records, countries, cases, whole });
