/*
expect: {status: done, result: ["a1", "a2", "a3", "b1", "b2"]}
*/
const rows = [{ k: "b", n: 1 }, { k: "a", n: 1 }, { k: "a", n: 2 }, { k: "b", n: 2 }, { k: "a", n: 3 }];
rows.sort((x, y) => x.k.localeCompare(y.k)).map((row) => row.k + row.n)
