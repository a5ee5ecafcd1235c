/*
name: Hourly share
description: Pay for hours of paid leave; a month's salary counts 12 times a year for 2,080 hours
input: {pay_type: {type: string, required: true, enum: [salary, hourly]}, pay_rate: {type: money, required: true}, hours: {type: string, required: true}}
*/
const { pay_type, pay_rate, hours } = input;
const year = compute_net_price_delta({
  original_items: [],
  modified_items: [{ id: "year", price: pay_rate, quantity: pay_type === "salary" ? 12 : 2080 }],
}).net_delta;
compute_dt_prorata({ full_period_amount: year, days_in_period: hours, total_days_in_period: 2080 }).result;
