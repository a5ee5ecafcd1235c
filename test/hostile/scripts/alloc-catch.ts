/*
expect: {status: failed, code: [LIMIT_MEMORY, SANDBOX_CRASHED, LIMIT_CPU, LIMIT_WALL]}
*/
const keep = [];
for (;;) { try { keep.push(new Array(1e5).fill(1.5)) } catch {} }
