/*
name: Dispute Resolution
description: Weigh a dispute against the delivery and the contract, credit what is supported, tell the customer
trigger: a2a
process: dispute_resolution
risk: medium
uses: [fsm, mcp, compute, data, policy, approval, script, notify]
input: {dispute_id: {type: string, required: true}}
states:
  ASSESS: read the dispute, its invoice, payments, delivery, the customer's earlier disputes
  COMPUTE: the credit that the records support, days since the invoice
  POLICY_CHECK: evidence, filed within 60 days, credits above 1,000
  APPROVAL_GATE: a person decides
  MUTATE: credit memo, close the dispute
  SCHEDULE_NOTIFY: tell the customer
examples: [{dispute_id: D-410}]
*/
fsm_enter("ASSESS");
const { dispute_id } = input;
const { dispute, invoice, delivery, customer, earlier } = script_run("dispute_records", { dispute_id });
const { ar_invoice_id, claimed } = dispute;
fsm_enter("COMPUTE");
const evidence = dispute.evidence !== null;
const { supported, credit, age_days } = script_run("dispute_figures", { dispute, invoice, delivery });
fsm_enter("POLICY_CHECK");
const facts = { dispute_status: dispute.status, credit, currency: invoice.currency, evidence, age_days };
const verdict = policy_evaluate({ facts, about: { dispute_id, claimed, supported: credit, amount: "0.00", customer: customer.name } });
const outcome = new Decimal(credit).isZero() ? "declined" : new Decimal(credit).eq(claimed) ? "credited" : "partial";
const reason = `${dispute.reason}: ${supported} of ${claimed} is supported${evidence ? ` by ${dispute.evidence}` : ", no evidence"}`;
const { calls, otherwise } = script_run("dispute_calls", { dispute, credit });
const title = `${customer.name}, ${dispute_id}: ${outcome}, ${credit} of ${claimed}?`;
const details = { reason, age_days, earlier: earlier.length };
const { by, no, made } = script_run("carry_out", { title, calls, otherwise, ask: true, details, same: ["amount", "decided_credit"] });
const letter = { to: customer.email, subject: `Your dispute ${dispute_id}` };
if (no !== null) script_run("refused", { ...letter, what: `${dispute_id}: nothing of the ${claimed} you claim is credited.`, by, no });
fsm_enter("SCHEDULE_NOTIFY");
const [given] = made["erp/issue_credit_memo"] ?? [{ ar_invoice_id, amount: "0.00", reason: dispute.reason }];
const sum = new Decimal(given.amount);
const told = sum.isZero() ? "declined" : sum.eq(claimed) ? "credited" : "partial";
const decision = told === "declined" ? "rejected" : told;
const because = `${given.reason}: a credit of ${given.amount} for ${claimed}, ${evidence ? `evidence ${dispute.evidence}` : "no evidence"}`;
const summary = `${dispute_id} ${told}: ${given.amount} of ${claimed} on ${given.ar_invoice_id}, decided by ${by}`;
notify_send({ ...letter, text: `${summary}. ${because}`, key: summary });
({ decision, amount: given.amount, reason: because, verdict: verdict.summary, approved_by: by, notice: customer.email, summary });
