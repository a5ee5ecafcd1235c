/*
expect: {status: failed, code: [LIMIT_MEMORY, SANDBOX_CRASHED, LIMIT_CPU, LIMIT_WALL]}
*/
const n = (1n << 60000000n).toString();
for (;;) void n;
