/*
name: SLA Breach
description: Find what a missed service level owes, and apply the credit
trigger: a2a
process: sla_breach
risk: high
uses: [fsm, mcp, compute, data, policy, approval, script, notify]
input: {contract_id: {type: string, required: true}, period: {type: string, required: true, describe: YYYY-MM}}
states:
  ASSESS: read the contract with its tiers, the measured uptime, earlier breaches and credits
  COMPUTE: downtime against what is allowed, the credit of the tier, the quarter
  POLICY_CHECK: within what is granted without asking, not disputed, account current; strategic customers and repeats go up
  APPROVAL_GATE?: a person looks at what is outside the policy
  MUTATE: apply the credit
  SCHEDULE_NOTIFY: tell the owner of the contract, in open hours
examples: [{contract_id: CTR-441, period: 2024-09}]
*/
fsm_enter("ASSESS");
const { contract_id, period } = input;
const { contract, uptime, owner, before, earlier, all_known } = script_run("sla_records", { contract_id, period });
fsm_enter("COMPUTE");
const { credit, ...breach } = script_run("sla_figures", { contract, uptime });
const owed = !new Decimal(credit).isZero() && before.found === false;
const quarterWith = (own: string) => script_run("total", { amounts: [own, ...earlier.map((one: any) => one.credit)] });
fsm_enter("POLICY_CHECK");
const breaches_in_quarter = all_known ? earlier.length + (owed ? 1 : 0) : null;
const { strategic, disputed, account_current } = contract;
const reason = `${breach.downtime_minutes} minutes down in ${period}, ${breach.allowed_minutes} allowed`;
const facts = { credit, currency: contract.currency ?? null, strategic, breaches_in_quarter, disputed, account_current, reason };
const verdict = policy_evaluate({ facts, about: { contract_id, owed: credit, credit: "0.00", customer: contract.party_id, breach } });
const calls = owed ? [{ tool: "erp/apply_credit", params: { contract_id, period, amount: credit, reason } }] : [];
const title = `Credit ${credit} on ${contract_id} for ${period}? ${reason}`;
const details = { ...breach, quarter_total: quarterWith(credit), breaches_in_quarter };
const { by, no, made } = script_run("carry_out", { title, calls, otherwise: [], ask: !verdict.passed, details });
const subject = `Service credit ${contract_id} ${period}`;
if (no !== null) script_run("refused", { to: owner.email, subject, what: `${contract_id}, ${period}: nothing is credited.`, by, no });
const given = made["erp/apply_credit"]?.[0] ?? { amount: "0.00", reason };
fsm_enter("SCHEDULE_NOTIFY");
const already = before.found === false ? "nothing to credit" : `${before.amount} credited already on ${before.applied_on}`;
const summary = `${contract_id}, ${period}: ${owed ? `${given.amount} credited by ${by}` : already}; ${given.reason}`;
// Told once of each sum that stands.
const stands = owed ? given.amount : (before.amount ?? "0.00");
notify_send({ to: owner.email, subject, text: summary, key: `${contract_id} ${period} ${stands}` });
const quarter_total = quarterWith(made["erp/apply_credit"]?.[0]?.amount ?? credit);
const told = { breach: { ...breach, uptime_pct: uptime.uptime_pct }, customer: contract.party_id, quarter_total };
({ credit: given.amount, ...told, approved_by: by, summary });
