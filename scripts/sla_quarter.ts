/*
name: SLA quarter
description: The other breaches in the quarter of a period
input: {period: {type: string, required: true}, breaches: {type: list, required: true}}
*/
const { period, breaches } = input;
const quarterOf = (month: string) => `${month.slice(0, 4)}-${Math.ceil(Number(month.slice(5, 7)) / 3)}`;
({ earlier: breaches.filter((one: any) => quarterOf(one.period) === quarterOf(period) && one.period !== period) });
