/*
expect: {status: done, result: 1}
*/
// The place of a call is read from text with names the script chose.
const at = "x (agents/none.ts:1:1)\n    at y (agents/other.ts:2:2";
const f = { [at]() { return echo(1) } }[at];
f()
