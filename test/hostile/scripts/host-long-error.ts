/*
expect: {status: failed, code: SCRIPT_ERROR}
*/
throw new Error("x".repeat(1e7))
