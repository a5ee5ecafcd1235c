/*
name: Pay a supplier
description: Asks a person, then pays; nothing else may be paid with that yes
uses: [approval, bank, ctx]
input:
  to: {type: string, required: true}
  amount: {type: money, required: true}
*/
const payment = { to: input.to, amount: input.amount };
const answer = approval_wait({
  title: `Pay ${input.to} ${input.amount}?`,
  calls: [{ tool: "bank_pay", params: payment }],
  expires: "3d",
});
if (answer.decision === "rejected") return { paid: false, reason: answer.reason ?? "" };
const { payment_id } = bank_pay(payment);
({ paid: true, payment_id })
