/*
expect: {status: done, result: ["1", "2"]}
*/
// Conversions of a value are the script own code; the door never asks for one.
const S = Object.getOwnPropertySymbols(Array.prototype)[0].constructor;
const tricky = { [S.toPrimitive]() { return echo("9") }, [S.iterator]: function* () { yield echo("9") }, get [S.toStringTag]() { return echo("9") }, a: "1" };
[echo([tricky])[0].a, echo("2")]
