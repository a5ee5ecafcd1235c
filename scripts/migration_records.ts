/*
name: Migration records
description: A subscription, its customer, and the plans it goes from and to
input: {subscription_id: {type: string, required: true}, plan_id: {type: string, required: true}}
*/
const { subscription_id, plan_id } = input;
const today = mcp_call("erp/get_business_date");
const subscription = mcp_record({ tool: "erp/get_subscription", params: { subscription_id } });
const customer = mcp_record({ tool: "erp/get_customer", params: { customer_id: subscription.customer_id } });
const from = mcp_record({ tool: "erp/get_plan", params: { plan_id: subscription.plan_id } });
const to = mcp_record({ tool: "erp/get_plan", params: { plan_id } });
({ today, subscription, customer, from, to });
