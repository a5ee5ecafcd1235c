/*
expect: {status: done, result: ["function", 0]}
*/
// Promise is reachable, and does nothing before the end.
const P = (async () => {})().constructor;
const seen = [];
P.resolve().then(() => seen.push(echo(1)));
[typeof P, seen.length]
