/*
expect: {status: done, result: ["2026-02-28T00:00:00.000Z", "2026-03-01", 1]}
*/
const d = new Date("2026-02-28");
const next = new Date(d.getTime() + 86400000).toISOString().slice(0, 10);
[d, next, new Date(2026, 1, 28).getUTCMonth()]
