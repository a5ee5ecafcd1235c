/*
expect: {status: done, result: {a: 3, b: 5, constructor: 1}}
*/
const totals: Record<string, number> = {};
for (const [key, n] of [["a", 1], ["b", 5], ["a", 2], ["constructor", 1]] as [string, number][]) totals[key] = (Object.hasOwn(totals, key) ? totals[key]! : 0) + n;
totals
