/*
name: Invoice Reconciliation
description: Match a supplier invoice with its order, receipt and vendor; approve it and schedule its payment
trigger: a2a
process: invoice_reconciliation
risk: medium
uses: [fsm, mcp, compute, data, policy, approval, script]
input:
  invoice_id: {type: string, required: true}
states:
  ASSESS: read the invoice, its order, the goods receipt, the vendor, its invoices and those of the order
  COMPUTE: variance, early payment discount, pay date
  POLICY_CHECK: vendor and currency of the order, within 2 % or 500 of it with its other invoices, received, not entered before
  APPROVAL_GATE?: a manager looks at what is outside the policy
  MUTATE: approve the invoice, schedule its payment
examples:
  - {invoice_id: INV-2024-447}
*/
fsm_enter("ASSESS");
const { invoice_id } = input;
const invoice = mcp_record({ tool: "erp/get_invoice", params: { invoice_id } });
const order = mcp_record({ tool: "erp/get_purchase_order", params: { po_id: invoice.po_id } });
const found = script_run("invoice_context", { invoice, order });
fsm_enter("COMPUTE");
const known = found.invoiced !== null;
const { variance, pct_exact } = compute_variance_check({
  invoiced: found.invoiced ?? invoice.amount,
  po_amount: order.amount,
  threshold_pct: 0,
});
const termsOn = (today: string) => script_run("payment_terms", { invoice, vendor: found.vendor, today });
const { match: terms_match } = termsOn(found.today);
fsm_enter("POLICY_CHECK");
const verdict = policy_evaluate({ about: { invoice_id, amount: invoice.amount, vendor: found.vendor.name, variance }, facts: { ...found.facts, currency: invoice.currency ?? null, amount: invoice.amount, variance_pct: known ? pct_exact : null, variance: known ? variance : null, terms_match } });
const otherwise = [{ tool: "erp/reject_invoice", params: { invoice_id, reason: "@reason" } }];
// Once the day of the discount has passed, the whole amount is asked about.
let day = found.today;
let asked: any;
do {
  const { match: _, ...pay } = termsOn(day);
  const calls = [
    { tool: "erp/approve_invoice", params: { invoice_id, approved_by: "@approver" } },
    { tool: "erp/schedule_payment", params: { invoice_id, ...pay } },
  ];
  const title = `Pay ${pay.amount} ${invoice.currency ?? "(no currency given)"} to ${found.vendor.name} for ${invoice_id}? Variance ${pct_exact} %`;
  // With a discount the amount, the discount and the day it holds until are one figure.
  const fixed = !new Decimal(pay.discount).isZero();
  asked = script_run("carry_out", { title, calls, otherwise, ask: !verdict.passed, fixed, today: day, again: day !== found.today });
  if (asked.passed) day = mcp_call("erp/get_business_date");
} while (asked.passed);
const { by, no, made } = asked;
const decision = no === null ? "approved" : "rejected";
const { invoice_id: _, ...paid } = made["erp/schedule_payment"]?.[0] ?? { invoice_id, amount: "0.00" };
const summary = `${invoice_id} ${decision} by ${by}: ${no ?? `${paid.amount} on ${paid.pay_date}`}, variance ${pct_exact} %`;
const told = { decision, amount: invoice.amount, vendor: found.vendor.name, variance, variance_pct: pct_exact };
({ ...told, reason: no ?? verdict.summary, pays: paid, by, summary });
