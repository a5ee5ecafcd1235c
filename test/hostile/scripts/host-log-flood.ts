/*
expect: {status: failed, code: LIMIT_BYTES}
*/
const big = "x".repeat(4e6);
for (let i = 0; i < 1000; i++) echo(big)
