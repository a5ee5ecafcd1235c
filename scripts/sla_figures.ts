/*
name: SLA figures
description: Downtime, what the contract allows, and the credit of its tier, at most its cap
input: {contract: {type: object, required: true}, uptime: {type: object, required: true}}
*/
const { contract, uptime } = input;
const minutes = contract.measurement_days * 1440;
const down = new Decimal(100).minus(uptime.uptime_pct).times(uptime.total_minutes).div(100);
const allowed = new Decimal(100).minus(contract.sla_target_pct).times(minutes).div(100);
// The contract says "below 99.9: 10 %, below 99.5: 15 %"; a tier here says from which uptime its credit holds.
const tiers = contract.tiers.sort((a: any, b: any) => new Decimal(b.uptime_below_pct).cmp(a.uptime_below_pct));
const sla_tiers = [
  { min_uptime: tiers[0].uptime_below_pct, credit_pct: 0 },
  ...tiers.map((tier: any, i: number) => ({ min_uptime: tiers[i + 1]?.uptime_below_pct ?? 0, credit_pct: tier.credit_pct })),
];
const owed = compute_ops_sla_credit({ monthly_fee: contract.monthly_fee, actual_uptime_pct: uptime.uptime_pct, sla_tiers });
const cap = compute_percent_of({ amount: contract.monthly_fee, pct: contract.credit_cap_pct }).result;
const credit = compute_sub_limit({ claimed: owed.credit_amount, sub_limit: cap });
({ credit, exposure: cap, credit_pct: owed.credit_pct, downtime_minutes: down.toString(), allowed_minutes: allowed.toString() });
