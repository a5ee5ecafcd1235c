/*
expect: {status: failed, code: [LIMIT_MEMORY, SANDBOX_CRASHED, LIMIT_CPU, LIMIT_WALL]}
*/
new Array(1e8).fill(0).length
