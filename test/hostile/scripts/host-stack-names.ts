/*
expect: {status: done, result: 1}
*/
// A name of 4 MB stands in every frame of every call.
const name = "n".repeat(4e6);
const f = { [name](i) { return echo(i) } }[name];
for (let i = 0; i < 30; i++) f(1);
f(1)
