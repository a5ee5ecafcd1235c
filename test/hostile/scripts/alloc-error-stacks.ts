/*
expect: {status: failed, code: [LIMIT_MEMORY, SANDBOX_CRASHED, LIMIT_CPU, LIMIT_WALL]}
*/
const keep = [];
for (;;) keep.push(new Error("x".repeat(1000) + keep.length).stack)
