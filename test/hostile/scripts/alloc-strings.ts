/*
expect: {status: failed, code: [LIMIT_MEMORY, SANDBOX_CRASHED, LIMIT_CPU, LIMIT_WALL]}
*/
const keep = [];
for (let i = 0; ; i++) keep.push(("x" + i).padEnd(1e6, "y").toUpperCase())
