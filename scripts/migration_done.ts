/*
name: Migration done
description: What became of a subscription - plan, bill, features - told from the calls as approved
input: {made: {type: object, required: true}, subscription: {type: object, required: true}, planned: {type: object, required: true, describe: "{plan_id, net, bill}"}}
*/
const { made, subscription, planned } = input;
const of = (tool: string) => made[`erp/${tool}`] ?? [];
const [changed] = of("update_subscription");
const { name: plan } = mcp_record({ tool: "erp/get_plan", params: { plan_id: changed.plan_id } });
const [refund, charge] = [of("refund_customer")[0], of("charge_customer")[0]];
const billed = refund === undefined ? (charge?.amount ?? "0.00") : `-${refund.amount}`;
// The parts explain the bill of the plan they were computed for, and no other.
const billing = new Decimal(billed).eq(planned.net) && changed.plan_id === planned.plan_id ? { ...planned.bill, net: billed } : { net: billed };
// What a customer never had is not lost, and what they had is not new.
const had = (feature: string) => subscription.features.find((one: any) => one.enabled && one.feature === feature);
const gone = [...of("provision_feature").filter((one: any) => !one.enabled && had(one.feature)), ...of("deprovision_feature")];
const lost = gone.map(({ feature }: any) => ({ feature, stored_gb: had(feature)?.stored_gb ?? 0 }));
const added = of("provision_feature").flatMap((one: any) => (one.enabled && !had(one.feature) ? [one.feature] : []));
const [effective, features_lost] = [changed.effective_on, lost.map((one) => one.feature)];
const names = lost.map((one) => `${one.feature} (${one.stored_gb} GB)`).join(", ") || "none";
({ plan, billing, effective, names, answer: { plan, billing, effective, features_lost, features_added: added } });
