/*
name: Payment terms
description: When to pay an invoice and how much, with the discount for paying early; and whether its terms are the vendor's
input: {invoice: {type: object, required: true}, vendor: {type: object, required: true}, today: {type: date, required: true}}
*/
const { invoice, vendor, today } = input;
const early = vendor.early_discount_days > 0 ? `${vendor.early_discount_pct}/${vendor.early_discount_days} ` : "";
const last = script_run("days", { from: invoice.invoice_date, add: Number(vendor.early_discount_days) }).day;
const saves = vendor.early_discount_days > 0 && today <= last;
const discount = compute_percent_of({ amount: invoice.amount, pct: saves ? vendor.early_discount_pct : 0 });
({
  match: invoice.terms === `${early}net ${vendor.terms_days}`,
  discount: discount.result,
  amount: discount.rest,
  pay_date: saves ? last : invoice.due_date > today ? invoice.due_date : today,
});
