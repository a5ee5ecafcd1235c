/*
expect: {status: done, result: [[["x", 2]], [1, 2, 3], {a: 1, b: 3}]}
*/
const m = new Map<string, number>();
m.set("x", 1);
m.set("x", (m.get("x") ?? 0) + 1);
[[...m], [...new Set([1, 2, 2, 3])], { ...{ a: 1, b: 2 }, b: 3 }]
