/*
expect: {status: failed, code: LIMIT_BYTES}
*/
// Each inner call starts its own count; the outer one goes on with its own.
const big = "x".repeat(1 << 20);
const list = [];
for (let i = 0; i < 60; i++) list.push(big, { get q() { echo(1); return 1 } });
echo(list)
