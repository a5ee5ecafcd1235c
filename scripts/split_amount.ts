/*
name: Split amount
description: Split an amount into equal parts that add up to it to the cent; the first parts carry the odd cents
input: {amount: {type: money, required: true}, parts: {type: integer, required: true}}
*/
// From an agent: script_run("split_amount", { amount: "100.00", parts: 3 }) gives ["33.34", "33.33", "33.33"].
const total = new Decimal(input.amount);
const share = total.div(input.parts).toDecimalPlaces(2, Decimal.ROUND_DOWN);
const cent = new Decimal(total.isNegative() ? "-0.01" : "0.01");
const odd = total.minus(share.times(input.parts)).div(cent).toNumber();

const parts = [];
for (let i = 0; i < input.parts; i++) parts.push((i < odd ? share.plus(cent) : share).toFixed(2));
parts;
