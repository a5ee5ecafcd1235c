/*
expect: {status: failed, code: [LIMIT_MEMORY, SANDBOX_CRASHED, LIMIT_CPU, LIMIT_WALL, SCRIPT_ERROR]}
*/
let n = 3n;
for (;;) n = n ** 7n
