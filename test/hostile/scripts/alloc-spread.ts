/*
expect: {status: failed, code: [LIMIT_MEMORY, SANDBOX_CRASHED, LIMIT_CPU, LIMIT_DEPTH]}
*/
const s = "x".repeat(2e8);
[...s].length
