/*
name: Stated amount
description: What a call moves at most by its own parameters and by what was given with it - the sum of the amounts in it, whatever their signs
input: {params: {type: object, required: true}, given: {type: money},
  by_person: {type: boolean, required: true, describe: else a model has chosen the call}}
*/
const MONEY = /(?:amount|total|price|cost|fee|credit|debit|balance|pay|salary|rent|tax|net|gross)$/;
const numbers = [...JSON.stringify(input.params).matchAll(/(?:"(\w*)":|[[,])"?-?(\d+(?:\.\d+)?)"?(?=[,}\]])/g)];
const stated = numbers.filter(([, key = "", value]) => value.includes(".") || MONEY.test(key)).map(([, , value]) => value);
// What a person gave is computed, and shown at the gate: this is where these amounts come from. A model's have to stand in what was read.
const taken = stated.map((value) => (input.by_person ? script_run("total", { amounts: [value] }) : value));
const sum = () => taken.reduce((all, one) => all.plus(one), new Decimal("0.00")).toString();
const moved = input.by_person ? script_run("total", { amounts: ["0.00", ...taken] }) : sum();
// Who gave the task may say that more moves than its call names, and not less: it decides how senior an approver must be.
input.given !== undefined && new Decimal(input.given).abs().gt(moved) ? input.given : moved;
