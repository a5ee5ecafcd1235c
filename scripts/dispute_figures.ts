/*
name: Dispute figures
description: How much of a dispute the records support, and how old its invoice was
input: {dispute: {type: object, required: true}, invoice: {type: object, required: true}, delivery: {type: object, required: true}}
*/
const { dispute, invoice, delivery } = input;
const share = (part: number, whole: number) =>
  compute_dt_prorata({ full_period_amount: invoice.amount, days_in_period: part, total_days_in_period: whole }).result;
const damaged = delivery.found === false ? "0.00" : share(delivery.damaged, delivery.units);
const unused = share(dispute.unused_days, dispute.cycle_days);
const supported = script_run("total", { amounts: dispute.evidence === null ? ["0.00"] : [damaged, unused] });
const credit = compute_sub_limit({ claimed: dispute.claimed, sub_limit: supported });
({ supported, credit, age_days: script_run("days", { from: invoice.issued_on, to: dispute.filed_on }).days });
