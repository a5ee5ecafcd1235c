/*
name: Collection step
description: What is overdue of one customer, since when, what was said already, and what comes next
input: {customer: {type: object, required: true}, invoices: {type: list, required: true, describe: overdue ones with days_outstanding}, reminders: {type: list, required: true}, today: {type: date, required: true}, agency: {type: string, required: true}}
*/
const { customer, invoices, reminders, today, agency } = input;
const { customer_id } = customer;
const oldest = invoices.reduce((most: any, one: any) => (one.days_outstanding > most.days_outstanding ? one : most));
const days = oldest.days_outstanding;
const disputed = invoices.some((one: any) => one.disputed);
const sent = reminders.filter((one: any) => one.found !== false);
const last = sent
  .map((one: any) => one.sent_on)
  .sort()
  .at(-1);
const silent = last === undefined ? 0 : script_run("days", { from: last, to: today }).days;
const tier = days >= 60 ? "notice" : "reminder";
const calls = [];
let action = "wait: less than 30 days";
if (disputed) action = "wait: disputed";
else if (days >= 90) {
  action = `hand over to ${agency}`;
  for (const { ar_invoice_id } of invoices.filter((one: any) => one.days_outstanding >= 90))
    calls.push({ tool: "erp/hand_over_to_agency", params: { ar_invoice_id, agency } });
} else if (days >= 30 && sent.some((one: any) => one.tier === tier)) action = `wait: ${tier} sent already`;
else if (days >= 30) {
  action = `send ${tier}`;
  const subject = `${tier === "notice" ? "Formal notice" : "Reminder"}: ${oldest.ar_invoice_id}`;
  const text = `${oldest.ar_invoice_id} over ${oldest.balance} ${oldest.currency} was due on ${oldest.due_on}. Please pay, or tell us why not.`;
  calls.push({ tool: "erp/send_reminder", params: { customer_id, tier, subject, text } });
}
const facts = { days_overdue: days, days_without_answer: silent, disputed, write_off: false };
({ customer_id, name: customer.name, amount: data_sum({ records: invoices, field: "balance" }).sum, days, action, calls, facts });
