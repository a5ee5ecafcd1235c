/*
name: Migration calls
description: What changing a plan writes, in order - the plan, the bill, what the plan adds, and last what deletes data
input: {subscription: {type: object, required: true}, plan_id: {type: string, required: true}, today: {type: date, required: true}, net: {type: money, required: true}, lost: {type: list, required: true}, gained: {type: list, required: true}}
*/
const { subscription, plan_id, today, net, lost, gained } = input;
const { subscription_id, customer_id } = subscription;
const calls: { tool: string; params: object }[] = [];
calls.push({ tool: "erp/update_subscription", params: { subscription_id, plan_id, effective_on: today } });
const owed = new Decimal(net);
const bill = { reference: `${subscription_id} ${plan_id} ${today}`, customer_id, amount: net.replace("-", "") };
if (!owed.isZero()) calls.push({ tool: owed.isNegative() ? "erp/refund_customer" : "erp/charge_customer", params: bill });
for (const feature of gained) calls.push({ tool: "erp/provision_feature", params: { subscription_id, feature, enabled: true } });
const deletes = (one: any) => one.stored_gb > 0;
for (const { feature } of lost.filter((one: any) => !deletes(one)))
  calls.push({ tool: "erp/provision_feature", params: { subscription_id, feature, enabled: false } });
for (const { feature } of lost.filter(deletes)) calls.push({ tool: "erp/deprovision_feature", params: { subscription_id, feature } });
calls;
