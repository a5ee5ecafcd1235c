/*
expect: {status: done, result: [1, 2, false]}
*/
// Names from a bank may be any text: a Map holds them all.
const counts = new Map<string, number>();
for (const name of ["constructor", "__proto__", "__proto__"]) counts.set(name, (counts.get(name) ?? 0) + 1);
[counts.get("constructor"), counts.get("__proto__"), counts.has("toString")]
