/*
name: Migration questions
description: What is confirmed one by one before a subscription changes its plan
input: {customer: {type: object, required: true}, from: {type: object, required: true}, to: {type: object, required: true},
  today: {type: date, required: true}, lost: {type: list, required: true}, gained: {type: list, required: true},
  deleted: {type: list, required: true}, bill: {type: object, required: true}, net: {type: money, required: true}}
*/
const { customer, from, to, today, lost, gained, deleted, bill, net } = input;
const names = (features: any[]) => features.map((one) => `${one.feature} (${one.stored_gb} GB)`).join(", ") || "none";
[
  `${customer.name}: from ${from.name} to ${to.name} on ${today}? New: ${gained.join(", ") || "nothing"}`,
  `Features lost: ${names(lost)}?`,
  `Data deleted for good: ${names(deleted)}?`,
  `Bill ${net}: ${bill.cost} new, ${bill.fee} fee, ${bill.credit} credit?`,
];
