/*
name: Total
description: The exact sum of amounts; one that begins with "-" is taken off
input: {amounts: {type: list, required: true}}
*/
const records = input.amounts.map((amount: string) => ({ amount: amount.replace(/^--/, "") }));
data_sum({ records, field: "amount" }).sum;
