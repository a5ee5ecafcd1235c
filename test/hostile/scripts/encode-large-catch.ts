/*
expect: {status: failed, code: LIMIT_BYTES}
*/
try { echo({ x: "x".repeat(5e6) }) } catch {}
1
