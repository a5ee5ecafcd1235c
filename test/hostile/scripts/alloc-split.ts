/*
expect: {status: failed, code: [LIMIT_MEMORY, SANDBOX_CRASHED, LIMIT_CPU, LIMIT_WALL]}
*/
const s = "ab".padEnd(1e8, "ab");
const p = s.split("");
p.length
