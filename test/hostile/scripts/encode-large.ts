/*
expect: {status: failed, code: LIMIT_BYTES}
*/
echo({ x: "x".repeat(5e6) })
