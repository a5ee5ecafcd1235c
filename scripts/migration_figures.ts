/*
name: Migration figures
description: What changing a plan costs today, and which features and data it takes away
input: {subscription: {type: object, required: true}, from: {type: object, required: true}, to: {type: object, required: true}, today: {type: date, required: true}}
*/
const { subscription, from, to, today } = input;
const left = script_run("days", { from: today, to: subscription.period_end }).days + 1;
const total_days = script_run("days", { from: subscription.period_start, to: subscription.period_end }).days + 1;
const share = (full_period_amount: Money) =>
  compute_dt_prorata({ full_period_amount, days_in_period: left, total_days_in_period: total_days }).result;
const credit = share(from.price_month);
const cost = share(to.price_month);
const months = (day: string) => Number(day.slice(0, 4)) * 12 + Number(day.slice(5, 7));
const cheaper = new Decimal(to.price_month).lt(from.price_month);
const remaining_months = cheaper ? Math.max(0, months(subscription.contract_end) - months(today)) : 0;
const { termination_fee: fee } = compute_contract_termination_fee({
  monthly_value: from.price_month,
  remaining_months,
  termination_fee_pct: from.termination_fee_pct,
});
const net = script_run("total", { amounts: [cost, fee, `-${credit}`] });
const kept = to.features.split(", ");
const lost = subscription.features.filter((one: any) => one.enabled && !kept.includes(one.feature));
const gained = kept.filter((feature: string) => !subscription.features.some((one: any) => one.enabled && one.feature === feature));
({ credit, cost, fee, net, lost, gained, deleted: lost.filter((one: any) => one.stored_gb > 0) });
