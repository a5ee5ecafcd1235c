/*
name: Pay a supplier
description: Asks a person, then pays; nothing else may be paid with that yes
uses: [approval, bank, ctx]
input:
  to: {type: string, required: true}
  amount: {type: money, required: true}
*/
const answer = approval_wait({
  title: `Pay ${input.to} ${input.amount}?`,
  calls: [{ tool: "bank_pay", params: { to: input.to, amount: input.amount } }],
  expires: "3d",
});
if (answer.decision === "rejected") return { paid: false, reason: answer.reason ?? "" };
// The call as approved: whoever approves may change its figures first.
const [{ params: payment }] = answer.calls;
const { payment_id } = bank_pay(payment);
({ paid: true, amount: payment.amount, payment_id })
