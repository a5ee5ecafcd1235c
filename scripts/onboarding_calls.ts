/*
name: Onboarding calls
description: What a new customer gets - the account in their region, who looks after them, the project
input: {customer: {type: object, required: true}, plan_id: {type: string, required: true},
  lead_id: {type: string, required: true}, kickoff_on: {type: date, required: true}}
*/
const { customer, plan_id, lead_id, kickoff_on } = input;
const { customer_id, name, country } = customer;
[
  { tool: "erp/provision_account", params: { customer_id, plan_id, region: country === "US" ? "us" : "eu" } },
  { tool: "erp/assign_csm", params: { customer_id, csm: lead_id } },
  { tool: "erp/create_project", params: { customer_id, name: `${name} go-live`, kickoff_on, lead_id } },
];
