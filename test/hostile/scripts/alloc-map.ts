/*
expect: {status: failed, code: [LIMIT_MEMORY, SANDBOX_CRASHED, LIMIT_CPU, LIMIT_WALL]}
*/
const m = new Map();
for (let i = 0; ; i++) m.set(i, { i })
