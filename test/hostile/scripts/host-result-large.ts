/*
expect: {status: failed, code: LIMIT_BYTES}
*/
"x".repeat(1e7)
