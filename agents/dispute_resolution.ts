/*
name: Dispute Resolution
description: Weigh a dispute against the delivery and the contract, credit what is supported, tell the customer
trigger: a2a
process: dispute_resolution
risk: medium
uses: [fsm, mcp, compute, data, policy, approval, script, notify]
input:
  dispute_id: {type: string, required: true}
states:
  ASSESS: read the dispute, its invoice, payments, delivery, the customer's earlier disputes
  COMPUTE: the credit that the records support, days since the invoice
  POLICY_CHECK: evidence, filed within 60 days, credits above 1,000
  APPROVAL_GATE: a person decides
  MUTATE: credit memo, close the dispute
  SCHEDULE_NOTIFY: tell the customer
examples:
  - {dispute_id: D-410}
*/
fsm_enter("ASSESS");
const { dispute_id } = input;
const dispute = mcp_record({ tool: "erp/get_dispute", params: { dispute_id } });
const { ar_invoice_id, customer_id, claimed } = dispute;
const invoice = mcp_record({ tool: "erp/get_ar_invoice", params: { ar_invoice_id } });
const delivery = mcp_call({ tool: "erp/get_delivery", params: { ar_invoice_id } });
const customer = mcp_record({ tool: "erp/get_customer", params: { customer_id } });
const earlier = mcp_fetch_all({ tool: "erp/list_disputes", params: { customer_id, status: "resolved" } }).records;
fsm_enter("COMPUTE");
const evidence = dispute.evidence !== null;
const share = (part: number, whole: number) =>
  compute_dt_prorata({ full_period_amount: invoice.amount, days_in_period: part, total_days_in_period: whole }).result;
const damaged = delivery.found === false ? "0.00" : share(delivery.damaged, delivery.units);
const unused = share(dispute.unused_days, dispute.cycle_days);
const supported = script_run("total", { amounts: evidence ? [damaged, unused] : ["0.00"] });
const credit = compute_sub_limit({ claimed, sub_limit: supported });
const { days: age_days } = script_run("days", { from: invoice.issued_on, to: dispute.filed_on });
fsm_enter("POLICY_CHECK");
const verdict = policy_evaluate({ about: { dispute_id, amount: credit, customer: customer.name }, facts: { dispute_status: dispute.status, credit, evidence, age_days } });
const outcome = new Decimal(credit).isZero() ? "declined" : new Decimal(credit).eq(claimed) ? "credited" : "partial";
const reason = `${dispute.reason}: ${supported} of ${claimed} is supported${evidence ? ` by ${dispute.evidence}` : ", no evidence"}`;
const close = { tool: "erp/resolve_dispute", params: { dispute_id, outcome, decided_credit: credit } as object };
const memo = { tool: "erp/issue_credit_memo", params: { dispute_id, ar_invoice_id, amount: credit, reason: dispute.reason } };
const calls = outcome === "declined" ? [close] : [memo, close];
// Rejecting a credit declines the dispute; rejecting the decline leaves it as it is.
const declined = { ...close.params, outcome: "declined", decided_credit: script_run("total", { amounts: ["0.00"] }) };
const otherwise = outcome === "declined" ? {} : { otherwise: [{ ...close, params: declined }] };
const title = `${customer.name}, ${dispute_id}: ${outcome}, ${credit} of ${claimed}?`;
const { by, no, made } = script_run("carry_out", { title, calls, ...otherwise, ask: true, details: { reason, age_days, earlier: earlier.length } });
const subject = `Your dispute ${dispute_id}`;
if (no !== null) script_run("refused", { to: customer.email, subject, what: `${dispute_id}: nothing of the ${claimed} you claim is credited.`, by, no });
fsm_enter("SCHEDULE_NOTIFY");
const [given] = made["erp/issue_credit_memo"] ?? [{ ar_invoice_id, amount: "0.00", reason: dispute.reason }];
// Without a memo nothing was credited, whatever the dispute is closed as.
const none = new Decimal(given.amount).isZero();
const [{ outcome: told }] = made["erp/resolve_dispute"];
const decision = none ? "rejected" : told === "declined" ? "partial" : told;
const because = `${given.reason}: ${given.amount} of ${claimed}${evidence ? ` is supported by ${dispute.evidence}` : ", no evidence"}`;
const summary = `${dispute_id} ${told}: ${given.amount} of ${claimed} on ${given.ar_invoice_id}, decided by ${by}`;
notify_send({ to: customer.email, subject, text: `${summary}. ${because}`, key: dispute_id });
({ decision, amount: given.amount, reason: because, verdict: verdict.summary, approved_by: by, notice: customer.email, summary });
